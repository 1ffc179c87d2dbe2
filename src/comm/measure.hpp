// What the ranks' connections can do, measured.
#pragma once

#include <vector>

#include "rudder/comm/communicator.hpp"

namespace rudder::comm {

/// Between two ranks: half a round trip of 8 bytes, and the rate of 1 MiB messages one way.
struct PairFigures {
    int first;
    int second;
    double latency_us;
    double mbit_s;
};

/// Measures rank 0 with every other, and up to 5 ranks every pair; collective. All get the result.
[[nodiscard]] std::vector<PairFigures> measure_pairs(const Communicator& comm);

/// Bytes per second of a few messages that each rank sends to the next at once: the slowest rank's;
/// collective, the same on all.
[[nodiscard]] double measure_rate(const Communicator& comm);

/// The median time of a barrier over all ranks, in microseconds; collective.
[[nodiscard]] double measure_barrier_us(const Communicator& comm);

}  // namespace rudder::comm
