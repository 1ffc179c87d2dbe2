// The rule that adapts the window where nobody has set it and no other agent steers.
#pragma once

#include <memory>

#include "rudder/steer/agent.hpp"

namespace rudder::steer {

/// Every 32 steps: twice as long (64 at most) where steps wait for rows and the queue of sampled
/// steps has room, half as long (4 at least) where the queue fills its memory.
[[nodiscard]] std::unique_ptr<Agent> make_adaptive_window();

}  // namespace rudder::steer
