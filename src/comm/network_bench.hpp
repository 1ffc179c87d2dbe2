// What ranks can do together, measured as a machine profile has it.
#pragma once

#include "core/machine_profile.hpp"
#include "rudder/comm/communicator.hpp"

namespace rudder::comm {

/// Latency, rate, messages per second and times by size of two ranks of one host and of two hosts,
/// as far as there are such; the rate while all ranks send; exchanges of all with all, even and
/// skewed; ordered sums by size; the barrier. Takes about `seconds` beyond what each must do once.
/// Collective; the same on all ranks. `carrier` and `link` are left empty. Not for one rank.
[[nodiscard]] NetworkRates measure_network(const Communicator& comm, double seconds);

/// What each rank sends to each other in an exchange of `bytes` on average in which rank 0 receives
/// `skew` times the mean: how much to rank 0, and how much to any other.
struct SkewedBytes {
    std::uint64_t to_first;
    std::uint64_t to_others;
};
[[nodiscard]] SkewedBytes skewed_bytes(std::uint64_t bytes, double skew, int ranks);

}  // namespace rudder::comm
