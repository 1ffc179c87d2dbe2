// The clairvoyant floor of a recorded run, step by step.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/buffer/trace.hpp"

namespace rudder::buffer {

struct FloorSteps {
    std::uint64_t first_step = 0;
    std::vector<double> rows;  ///< of each step, over all hosts
};

/// Rows that `optimal` fetches with the buffer the run had. A usage Error if the trace does not say
/// how large that was.
[[nodiscard]] FloorSteps floor_steps(const Trace& trace);

}  // namespace rudder::buffer
