// Hosts: groups of ranks that share memory, or that are to be treated as if they did.
#pragma once

#include <vector>

namespace rudder::comm {

/// Which host each rank belongs to. Hosts are numbered by their first rank.
class HostMap {
public:
    HostMap() = default;
    /// From any label per rank (equal labels: one host).
    explicit HostMap(const std::vector<int>& label_of_rank);
    /// `per_host` consecutive ranks each; the last host may have fewer.
    [[nodiscard]] static HostMap consecutive(int ranks, int per_host);

    [[nodiscard]] int hosts() const noexcept { return static_cast<int>(members_.size()); }
    [[nodiscard]] int host_of(int rank) const { return host_[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] bool same(int a, int b) const { return host_of(a) == host_of(b); }
    /// The ranks of a host, ascending.
    [[nodiscard]] const std::vector<int>& members(int host) const {
        return members_[static_cast<std::size_t>(host)];
    }

private:
    std::vector<int> host_;
    std::vector<std::vector<int>> members_;
};

}  // namespace rudder::comm
