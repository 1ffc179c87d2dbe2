// Agents of one's own, known by name like those of the program.
#pragma once

#include <memory>

#include "rudder/steer/agent_spec.hpp"

namespace rudder::steer {

/// Makes one agent of a given spec. A usage or input Error where it lacks what it needs.
using MakeAgent = std::unique_ptr<Agent>(const AgentSpec& spec, const AgentFacts& facts);

/// Makes an agent known: from then on `--agent`, replays and mixtures find it by its name. To be
/// called before anything else runs, as in the first lines of main, and on every rank; not safe
/// from several threads. What `info` shows must live as long as the program. A name that is taken
/// is an InternalError.
void register_agent(const AgentInfo& info, MakeAgent* make);

}  // namespace rudder::steer
