// Collecting samples over recorded traces.
#pragma once

#include <string>

#include "rudder/buffer/replay.hpp"

#include "collector.hpp"

namespace rudder::steer {

/// Runs a policy without its own signal over all hosts, side by side, each with a collector. A
/// usage Error where the policy takes no decisions.
[[nodiscard]] SampleTable collect(const buffer::Trace& trace, const std::string& graph,
                                  const buffer::PolicySpec& policy, const buffer::BufferSize& size,
                                  const CollectOptions& options);

}  // namespace rudder::steer
