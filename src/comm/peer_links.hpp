// Connections between the watchdogs of different machines.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/comm/communicator.hpp"

#include "watch_board.hpp"

namespace rudder::comm {

/// One TCP connection to each rank in `peers`, made at start. What is sent is whole reports; a
/// connection that closes without a last report means that its rank died.
class PeerLinks {
public:
    /// Collective over `comm`: peers[r] says whether this rank wants a connection to rank r (and
    /// rank r then wants one to this). `token` keeps strangers out.
    PeerLinks(const Communicator& comm, const std::vector<bool>& peers, std::uint64_t token);
    ~PeerLinks();
    PeerLinks(PeerLinks&&) = delete;

    /// The socket to rank r, or -1.
    [[nodiscard]] int socket(int rank) const { return sockets_[static_cast<std::size_t>(rank)]; }
    /// Sends a report to all; never waits (a full connection misses one heartbeat).
    void send_all(const RankReport& report);
    /// Reads what has come from rank r into `report`; false if the connection has closed.
    [[nodiscard]] bool receive(int rank, RankReport& report, bool& fresh);

private:
    std::vector<int> sockets_;
    std::vector<std::vector<char>> partial_;
};

}  // namespace rudder::comm
