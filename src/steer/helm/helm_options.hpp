// What a helm is told wherever it runs.
#pragma once

#include "rudder/buffer/trace.hpp"

#include "helm.hpp"

namespace rudder::steer {

/// Where it starts, what it falls back to, and how many rows there may be.
[[nodiscard]] HelmOptions helm_options(AgentSpec agent, const buffer::PolicySpec& policy,
                                       std::uint64_t slots);
/// The same over a recorded trace, where agents are asked by plain calls.
[[nodiscard]] HelmOptions replay_helm_options(AgentSpec agent, const buffer::HostTrace& trace,
                                              const buffer::PolicySpec& policy,
                                              std::uint64_t slots);

}  // namespace rudder::steer
