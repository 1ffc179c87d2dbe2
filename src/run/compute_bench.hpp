// What one rank of this machine computes, measured as a machine profile has it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine_profile.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/types.hpp"

namespace rudder::run {

struct ComputeBenchOptions {
    double seconds = 20;          ///< in all, beyond what each figure must do once
    VertexId vertices = 100'000;  ///< of the graph that is generated for it, in a temporary folder
    std::uint64_t batch = 1000;   ///< seeds of a step; fewer where there are fewer vertices
};

/// The rates with one thread and with all that loops run on now, of the slowest rank while all
/// ranks are at it: they share the machine's memory. Collective; the same on all ranks.
[[nodiscard]] std::vector<ComputeRates> measure_compute(const comm::Communicator& comm,
                                                        const ComputeBenchOptions& options);

}  // namespace rudder::run
