// How ranks without MPI find each other: all call on rank 0, and it tells each where the others
// are; then each has a connection to every other.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "peer_door.hpp"
#include "socket_job.hpp"

namespace rudder::comm {

/// What a rank says of itself.
struct RankCard {
    Address address;            ///< where it listens for the others
    std::uint64_t machine = 0;  ///< the same on ranks that can share memory
    std::array<char, 64> machine_name{};
};

/// All ranks of a job, as each of them knows them then.
struct Meeting {
    std::uint64_t job = 0;  ///< a number that all have drawn together
    std::vector<RankCard> cards;
    std::vector<int> sockets;  ///< to each rank, non-blocking; -1 to oneself

    /// The machine of each rank, labelled by its first rank; and what it calls itself.
    [[nodiscard]] std::vector<int> machines() const;
    [[nodiscard]] std::vector<std::string> machine_names() const;
};

/// Meets the other ranks; an Error of kind `rank` says who is missing when the time is over, a
/// usage or system Error where the address or port cannot be used.
[[nodiscard]] Meeting meet(const SocketJob& job, std::chrono::milliseconds patience);

/// A socket that listens on a port of this machine (0: any that is free), and which one that is.
[[nodiscard]] int listen_on(std::uint16_t port, Reach reach);
[[nodiscard]] std::uint16_t port_of(int listener);

}  // namespace rudder::comm
