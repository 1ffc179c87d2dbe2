// The version of the program, as manifests and `--version` show it.
#pragma once

#include <string_view>

namespace rudder {

inline constexpr std::string_view version = "0.1.0";

}  // namespace rudder
