// What the sums of a step carry between ranks, without sending anything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster_model.hpp"

namespace rudder::train {

/// Floats that are summed over all ranks in a step, one vector after the other.
struct SummedVector {
    std::uint64_t floats = 0;
    std::uint64_t width = 4;  ///< bytes of each as it travels
};

/// Bytes and messages of a step's sums. The owner of a piece receives every contribution that other
/// ranks have to it, and sends the sum on (comm::OrderedReducer); by hosts, what ranks of one host
/// contribute crosses as one message and the sum once.
class SumBytes {
public:
    /// `contributions`: of each rank, one per own part.
    SumBytes(const ClusterModel& cluster, std::span<const std::uint64_t> contributions,
             std::span<const SummedVector> vectors);

    /// That a rank receives in a step, from ranks of its host, too.
    [[nodiscard]] std::uint64_t received(int rank) const { return received_[index(rank)]; }
    /// Contributions of a rank to what the ranks of another host own.
    [[nodiscard]] std::uint64_t to_owners(int rank, int host) const {
        return contributions_[index(rank)] * owned_[index(host)];
    }
    /// Sums that a host owns, to another one.
    [[nodiscard]] std::uint64_t to_all(int from, int to) const;
    /// Messages that a rank sends, and as many that it takes, in each of the two halves.
    [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }

private:
    [[nodiscard]] static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

    ClusterModel cluster_;
    std::vector<std::uint64_t> contributions_;
    std::vector<std::uint64_t> owned_;     ///< bytes of the pieces of a host's ranks
    std::vector<std::uint64_t> received_;  ///< by rank
    std::uint64_t messages_ = 0;
};

}  // namespace rudder::train
