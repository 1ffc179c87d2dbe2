// A link with a delay and a rate (the alpha-beta model), for slow networks on fast machines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/executor/executor.hpp"

namespace rudder::comm {

/// What a link costs: every message takes `delay`, and its bytes leave at `rate` one message after
/// the other.
struct LinkModel {
    Duration delay{0};
    double bytes_per_second = 0;  ///< 0: no limit

    [[nodiscard]] Duration transfer(std::size_t bytes) const;
    /// As many as leave before the first arrives; 0 without a rate.
    [[nodiscard]] std::size_t bytes_under_way() const {
        return static_cast<std::size_t>(to_seconds(delay) * bytes_per_second);
    }
    [[nodiscard]] bool active() const noexcept {
        return delay > Duration::zero() || bytes_per_second > 0;
    }
};

/// From a step of the run on, the link is another.
struct LinkChange {
    std::uint64_t step = 0;
    LinkModel model;
};

/// A link, and how it changes.
struct LinkSchedule {
    LinkModel first;
    std::vector<LinkChange> changes{};  ///< by step, ascending
};

/// Makes the changes of a link that are due; whoever begins a step calls it.
class LinkChanges {
public:
    explicit LinkChanges(std::vector<LinkChange> changes = {}) : changes_(std::move(changes)) {}
    /// The link from now on, if the steps up to this one have changed it.
    [[nodiscard]] const LinkModel* due(std::uint64_t step) {
        const std::size_t before = next_;
        while (next_ < changes_.size() && changes_[next_].step <= step)
            ++next_;
        return next_ == before ? nullptr : &changes_[next_ - 1].model;
    }

private:
    std::vector<LinkChange> changes_;
    std::size_t next_ = 0;
};

/// Reads "100us,1gbit": a time (ns, us, ms, s) and a rate (bit, kbit, mbit, gbit per second, or
/// with B for bytes: MB, GB). A usage Error otherwise.
[[nodiscard]] LinkModel parse_link(const std::string& text);
/// Reads a link, and changes behind semicolons: "100us,10gbit;step:300:100us,1gbit".
[[nodiscard]] LinkSchedule parse_link_schedule(const std::string& text);

}  // namespace rudder::comm
