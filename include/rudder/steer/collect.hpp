// Collecting samples over recorded traces.
#pragma once

#include <string>

#include "rudder/buffer/replay.hpp"
#include "rudder/steer/collector.hpp"

namespace rudder {

/// Runs a policy without its own signal over all hosts, side by side, each with a collector. A
/// usage Error where the policy takes no decisions.
[[nodiscard]] SampleTable collect(const Trace& trace, const std::string& graph,
                                  const PolicySpec& policy, const BufferSize& size,
                                  const CollectOptions& options);

}  // namespace rudder
