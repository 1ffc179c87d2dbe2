// The list of policies: those of the program, then those that were registered.
#pragma once

#include <span>

#include "rudder/buffer/policy_registry.hpp"

namespace rudder::buffer {

/// A policy's description and its maker.
struct PolicyEntry {
    const PolicyInfo* info;
    MakePolicy* make;
};

[[nodiscard]] std::span<const PolicyEntry> policy_entries();

}  // namespace rudder::buffer
