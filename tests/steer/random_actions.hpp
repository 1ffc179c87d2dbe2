// Random actions that an agent may take.
#pragma once

#include <array>
#include <cmath>

#include "rudder/core/random.hpp"
#include "rudder/steer/action.hpp"

namespace rudder::test {

/// A change of a knob within its own range.
inline steer::KnobChange random_change(steer::KnobId id, Draws& draws) {
    const steer::Knob& k = steer::knob(id);
    if (k.kind == steer::KnobKind::text) {
        constexpr std::array policies{"window:7,distance:3", "scored,every:4", "lru", "none"};
        return {id, std::string(policies.at(draws.below(policies.size())))};
    }
    const double share = static_cast<double>(1 + draws.below(1023)) / 1024;
    const double value = k.minimum + share * (k.maximum - k.minimum);
    return {id, k.kind == steer::KnobKind::whole ? std::floor(value) : value};
}

inline steer::Action random_action(Draws& draws) {
    steer::Action action;
    action.kind = static_cast<steer::ActionKind>(draws.below(3));
    action.reason = static_cast<steer::Reason>(draws.below(19));
    if (action.kind == steer::ActionKind::replace)
        action.fraction = static_cast<double>(draws.below(1025)) / 1024;
    if (action.kind != steer::ActionKind::set) return action;
    for (const steer::Knob& k : steer::all_knobs()) {
        if (draws.below(2) == 1) action.knobs.push_back(random_change(k.id, draws));
    }
    return action;
}

}  // namespace rudder::test
