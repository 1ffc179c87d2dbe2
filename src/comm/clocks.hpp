// How far the clocks of ranks are apart, for whoever puts their times side by side.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/comm/communicator.hpp"
#include "rudder/core/function_ref.hpp"

namespace rudder::comm {

/// One rank's clock as rank 0 sees it.
struct ClockReading {
    std::int64_t ahead = 0;        ///< nanoseconds; 0 where the round trip hides the difference
    std::uint64_t round_trip = 0;  ///< the smallest of those tried: `ahead` is off by half of it
};

/// Rank 0 asks every rank for its time, several times, and keeps the answer that took least.
/// Collective; by rank, on rank 0; empty elsewhere. `clock` tells nanoseconds.
[[nodiscard]] std::vector<ClockReading> compare_clocks(const Communicator& comm,
                                                       FunctionRef<std::uint64_t()> clock);

}  // namespace rudder::comm
