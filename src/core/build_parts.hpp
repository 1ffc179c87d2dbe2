// Parts that a build may lack, because a library was missing or was left out.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "rudder/core/error.hpp"

namespace rudder {

struct BuildPart {
    std::string_view name;     ///< "METIS"
    std::string_view use;      ///< what it is for: "partition --method metis"
    std::string_view package;  ///< of Debian, to build with it
    bool built_in;
};
[[nodiscard]] std::span<const BuildPart> build_parts() noexcept;
[[nodiscard]] bool built_in(std::string_view name);

/// A usage Error that names the part, and says what to do: `instead`, if anything, or to rebuild.
[[nodiscard]] Error missing_part(std::string_view name, std::string where,
                                 std::string_view instead = "");
/// Throws it where this build lacks the part.
void require_part(std::string_view name, const std::string& where);

}  // namespace rudder
