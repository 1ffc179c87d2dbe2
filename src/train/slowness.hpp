// A rank that computes slower than it could, to see what that does to a run.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "core/executor/executor.hpp"

namespace rudder::train {

/// In steps [from, to) of rank `rank` computing takes `factor` times as long. Nothing else changes.
struct Slowness {
    int rank = -1;
    double factor = 1;
    std::uint64_t from = 0;
    std::uint64_t to = std::numeric_limits<std::uint64_t>::max();

    /// Waits for what is missing of a step whose computing took so long.
    void wait(int of_rank, std::uint64_t step, Duration computing) const;
};

/// Reads "RANK:FACTOR" or "RANK:FACTOR:FROM-TO"; nothing: no rank is slow. A usage Error otherwise.
[[nodiscard]] Slowness parse_slowness(const std::string& text);

}  // namespace rudder::train
