// Connections between the watchdogs of different machines.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

#include "rudder/comm/communicator.hpp"

#include "peer_door.hpp"
#include "watch_board.hpp"

namespace rudder::comm {

/// One TCP connection to each rank in `peers`, made at start. What is sent is whole reports; a
/// connection that closes without a last report means that its rank died. Any thread may call.
class PeerLinks {
public:
    /// Collective over `comm`: peers[r] says whether this rank wants a connection to rank r (and
    /// rank r then wants one to this). `token` keeps strangers out.
    PeerLinks(const Communicator& comm, const std::vector<bool>& peers, const JobToken& token);
    /// Over sockets that are there already, by rank; -1: none.
    explicit PeerLinks(std::vector<int> sockets);
    ~PeerLinks();
    PeerLinks(PeerLinks&&) = delete;

    /// The socket to rank r, or -1.
    [[nodiscard]] int socket(int rank) const;
    /// Sends a report to all; never waits. What a full connection does not take is sent first the
    /// next time: then the last report, whatever came between is left out.
    void send_all(const RankReport& report);
    /// Waits until all has left, so long at most.
    void flush(std::chrono::milliseconds limit);

    enum class Heard : std::uint8_t {
        nothing,
        report,
        closed,
        nonsense,  ///< bytes that no rank of ours sends; the connection is closed
    };
    /// Reads what has come from rank r; `report` is the last that came whole, even if the
    /// connection closed behind it.
    [[nodiscard]] Heard receive(int rank, RankReport& report);

private:
    /// What has not left yet: the rest of a report, and a whole one behind it.
    struct Outgoing {
        std::vector<char> rest;
        std::vector<char> next;
    };

    [[nodiscard]] bool send_some();
    void close_link(std::size_t index);

    mutable std::mutex mutex_;
    std::vector<int> sockets_;
    std::vector<std::vector<char>> partial_;
    std::vector<Outgoing> outgoing_;
};

}  // namespace rudder::comm
