// Collecting samples: decisions by chance over a trace, each labelled by trying both answers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/buffer/replay.hpp"
#include "rudder/steer/sample_table.hpp"

namespace rudder {

/// Decides by chance, with a probability that changes from stretch to stretch, so that buffers
/// which replace rarely and such that replace often both occur. Keyed by seed, host and step.
[[nodiscard]] bool decided_by_chance(std::uint64_t seed, std::uint64_t host, std::uint64_t step);

struct CollectOptions {
    std::uint64_t seed = 0;
    std::uint64_t horizon = 16;  ///< steps over which both answers are compared
    std::uint64_t stride = 1;    ///< labels one step in so many, drawn
    std::uint32_t sample = 16;   ///< shadows of the observation follow one id in so many
};

/// Runs a policy without its own signal over all hosts, side by side. For each labelled step two
/// copies of the buffer, all ids of it, take the steps of the horizon: one replaces now, the other
/// does not, then both follow the built-in rule. The label is 1 if and only if the first fetched
/// fewer rows. Steps whose horizon would go beyond the trace have none and are left out. A usage
/// Error where the policy takes no decisions.
[[nodiscard]] SampleTable collect(const Trace& trace, const std::string& graph,
                                  const PolicySpec& policy, const BufferSize& size,
                                  const CollectOptions& options);

}  // namespace rudder
