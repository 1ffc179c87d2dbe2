// Refusing a policy whose facts are not there.
#pragma once

#include <string>

#include "rudder/buffer/policy_spec.hpp"
#include "rudder/core/error.hpp"

namespace rudder::buffer {

/// A usage Error unless the facts hold what the policy needs.
inline void require(bool there, const PolicySpec& spec, const std::string& what) {
    if (there) return;
    throw usage_error("policy '" + spec.text() + "' needs " + what + ", which are not known here",
                      "--policy", "choose another policy, or record a trace that has them");
}

}  // namespace rudder::buffer
