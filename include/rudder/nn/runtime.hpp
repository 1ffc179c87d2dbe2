// What torch and its libraries are told before their first use, and why.
#pragma once

#include <string>
#include <vector>

namespace rudder {

/// One setting: what, to which value, for which reason.
struct RuntimeSetting {
    std::string name;
    std::string value;
    std::string reason;
};

/// Sets what is safe on this machine: instruction-set cap where AMX is broken, one thread inside
/// the libraries (loops over chunks are ours), waiting that gives the core away. Call first in
/// main; settings that the user made in the environment are kept. Cheap: loads nothing.
void prepare_torch_environment();
/// Applies what needs the library itself (its thread counts); called by make_network.
void prepare_torch();
/// All of it, for `doctor`.
[[nodiscard]] std::vector<RuntimeSetting> runtime_settings();

}  // namespace rudder
