// Reading actions that were refused, too: logs keep what was said as it was said.
#pragma once

#include <string>

#include "rudder/steer/action.hpp"

namespace rudder::steer {

/// Reads an action. Unless `checked`, numbers may be out of range, missing (read as no number) or
/// of the wrong kind; names must be known all the same.
[[nodiscard]] Action read_action(const Json& object, bool checked, const std::string& where);

}  // namespace rudder::steer
