// The agents, each with what there is to say about it and a way to make it.
#pragma once

#include <memory>

#include "rudder/steer/agent_spec.hpp"

namespace rudder {

/// Makes one agent of a given spec.
using MakeAgent = std::unique_ptr<Agent>(const AgentSpec& spec, const AgentFacts& facts);

extern const AgentInfo never_info;
extern const AgentInfo always_info;
extern const AgentInfo every_info;
extern const AgentInfo llm_info;

MakeAgent make_never;
MakeAgent make_always;
MakeAgent make_every;
MakeAgent make_llm;

}  // namespace rudder
