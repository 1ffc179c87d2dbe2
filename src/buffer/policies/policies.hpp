// The policies, each with what there is to say about it and a way to make it.
#pragma once

#include "rudder/buffer/cloned_policy.hpp"
#include "rudder/buffer/policy_registry.hpp"

namespace rudder::buffer {

extern const PolicyInfo none_info;
extern const PolicyInfo static_degree_info;
extern const PolicyInfo static_random_info;
extern const PolicyInfo static_vip_info;
extern const PolicyInfo lru_info;
extern const PolicyInfo lfu_info;
extern const PolicyInfo clock_info;
extern const PolicyInfo periodic_info;
extern const PolicyInfo scored_faithful_info;
extern const PolicyInfo scored_info;
extern const PolicyInfo window_info;
extern const PolicyInfo optimal_info;

MakePolicy make_none;
MakePolicy make_static_degree;
MakePolicy make_static_random;
MakePolicy make_static_vip;
MakePolicy make_lru;
MakePolicy make_lfu;
MakePolicy make_clock;
MakePolicy make_periodic;
MakePolicy make_scored_faithful;
MakePolicy make_scored;
MakePolicy make_window;
MakePolicy make_optimal;

}  // namespace rudder::buffer
