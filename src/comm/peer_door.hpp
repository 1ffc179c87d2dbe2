// Where the watchdogs of other machines connect: a port that lets in ranks of this job alone.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

namespace rudder::comm {

/// What ranks of one job know, and nobody else: drawn by the system's generator, told over MPI.
using JobToken = std::array<std::uint64_t, 2>;
[[nodiscard]] JobToken draw_token();

/// Where a rank listens: its addresses (network order; loopback last) and its port.
struct Address {
    std::array<std::uint32_t, 8> hosts{};
    std::uint16_t port = 0;
};

/// From where a port can be reached.
enum class Reach : std::uint8_t { this_machine, everywhere };

/// A port that listens while it lives.
class PeerDoor {
public:
    /// A system Error if no port can be had.
    explicit PeerDoor(Reach reach = Reach::everywhere);
    ~PeerDoor();
    PeerDoor(PeerDoor&&) = delete;

    [[nodiscard]] Address address() const;
    /// Lets in the ranks from `first` on that `expected` asks for, one connection each; their
    /// sockets by rank, -1 for those that did not come in time. Who does not give the token and
    /// such a rank is sent away; who says nothing delays nobody.
    [[nodiscard]] std::vector<int> admit(const JobToken& token, int first,
                                         const std::vector<bool>& expected,
                                         std::chrono::milliseconds limit) const;

private:
    int listener_;
    std::uint16_t port_ = 0;
};

/// Connects to a door as that rank; -1 if it cannot be reached.
[[nodiscard]] int knock(const Address& address, const JobToken& token, int rank);

}  // namespace rudder::comm
