#include "machine_ranks.hpp"

#include <vector>

#include <fmt/format.h>

#include "rudder/comm/channels.hpp"
#include "rudder/core/error.hpp"

#include "window.hpp"

namespace rudder::comm {

namespace {

/// Of the communicator of all ranks.
constexpr Tag share_tag = channel_of(Talk::windows);

}  // namespace

HostMap group_hosts(std::span<const int> machine_of, int per_host) {
    if (per_host == 0) return HostMap(std::vector<int>(machine_of.begin(), machine_of.end()));
    HostMap map = HostMap::consecutive(static_cast<int>(machine_of.size()), per_host);
    for (int host = 0; host < map.hosts(); ++host) {
        const int first = map.members(host).front();
        for (const int member : map.members(host)) {
            if (machine_of[static_cast<std::size_t>(member)] ==
                machine_of[static_cast<std::size_t>(first)]) {
                continue;
            }
            throw usage_error(fmt::format("{} ranks per host would join ranks {} and {}, which are "
                                          "on different machines",
                                          per_host, first, member),
                              "--ranks-per-host", "give a number that divides those per machine");
        }
    }
    return map;
}

std::string window_name(std::uint64_t job, int first, std::string_view which) {
    return fmt::format("{}{:x}-{}-{}", window_prefix, job, first, which);
}

std::shared_ptr<std::span<std::byte>> share_on_host(Transport& transport, std::uint64_t job,
                                                    std::size_t bytes, std::uint64_t key) {
    const int rank = transport.rank();
    const auto& members = transport.hosts().members(transport.hosts().host_of(rank));
    if (members.size() == 1) return private_window(bytes);  // on huge pages, unlike shared memory
    const std::string name = window_name(job, members.front(), fmt::format("{:x}", key));
    const std::byte sign{1};
    if (rank == members.front()) {
        auto window = create_shared_window(name, bytes);
        std::vector<Request> requests;
        for (const int member : members) {
            if (member == rank) continue;
            requests.emplace_back(
                transport.send(member, share_tag, Kind::control, std::span(&sign, 1)));
        }
        for (const int member : members) {
            if (member != rank) requests.emplace_back(transport.receive_message(member, share_tag));
        }
        wait_all(requests);
        unlink_shared_window(name);
        return window;
    }
    Request(transport.receive_message(members.front(), share_tag)).wait();
    auto window = open_shared_window(name, bytes);
    Request(transport.send(members.front(), share_tag, Kind::control, std::span(&sign, 1))).wait();
    return window;
}

}  // namespace rudder::comm
