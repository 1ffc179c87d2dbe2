// Arrays in the windows of all hosts, each part's stretch filled by its owner and sent to the
// others.
#pragma once

#include <span>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/partition/book.hpp"

#include "owners.hpp"

namespace rudder::sample {

/// Where topology travels, while sources are made.
inline constexpr comm::Channel topology_channel = comm::channel_of(comm::Talk::topology);

/// Collective. Each of `stretches` gives a part's span of a window of this host. Parts of other
/// hosts come straight into the window, each to one rank of this host; own parts leave from it. All
/// receives are posted before anything is sent, so nothing is copied.
template <class... Stretch>
void exchange_parts(const comm::Communicator& comm, const partition::PartitionBook& book,
                    const PartOwners& owners, const Stretch&... stretches) {
    const comm::HostMap& hosts = comm.hosts();
    const int me = comm.global_rank(comm.rank());
    const auto receiver = [&](int host, PartId part) {
        const std::vector<int>& members = hosts.members(host);
        return members[part % members.size()];
    };
    std::vector<comm::Request> requests;
    for (PartId p = 0; p < book.parts(); ++p) {
        const int owner = comm.global_rank(owners.rank(p));
        if (hosts.same(owner, me) || receiver(hosts.host_of(me), p) != me) continue;
        const int from = owners.rank(p);
        (requests.push_back(
             comm.receive(from, topology_channel, stretches(p), comm::Kind::topology)),
         ...);
    }
    comm.barrier();
    const auto send = [&](int to, auto stretch) {
        using T = typename decltype(stretch)::element_type;
        requests.push_back(
            comm.send(to, topology_channel, comm::Kind::topology, std::span<const T>(stretch)));
    };
    for (PartId p = 0; p < book.parts(); ++p) {
        if (owners.rank(p) != comm.rank()) continue;
        for (int host = 0; host < hosts.hosts(); ++host) {
            if (host == hosts.host_of(me)) continue;
            (send(comm.group_rank(receiver(host, p)), stretches(p)), ...);
        }
    }
    comm::wait_all(requests);
    comm.barrier();
}

}  // namespace rudder::sample
