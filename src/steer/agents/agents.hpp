// The agents, each with what there is to say about it and a way to make it.
#pragma once

#include "rudder/steer/agent_registry.hpp"

namespace rudder::steer {

extern const AgentInfo never_info;
extern const AgentInfo always_info;
extern const AgentInfo every_info;
extern const AgentInfo threshold_info;
extern const AgentInfo schedule_info;
extern const AgentInfo random_info;
extern const AgentInfo lr_info;
extern const AgentInfo svm_info;
extern const AgentInfo rf_info;
extern const AgentInfo xgb_info;
extern const AgentInfo mlp_info;
extern const AgentInfo tabnet_info;
extern const AgentInfo llm_info;
extern const AgentInfo bandit_info;
extern const AgentInfo mixture_info;
extern const AgentInfo replay_info;

MakeAgent make_never;
MakeAgent make_always;
MakeAgent make_every;
MakeAgent make_threshold;
MakeAgent make_schedule;
MakeAgent make_random;
MakeAgent make_classifier_agent;
MakeAgent make_llm;
MakeAgent make_bandit;
MakeAgent make_mixture;
MakeAgent make_replay;

}  // namespace rudder::steer
