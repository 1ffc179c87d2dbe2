// What spans are called in a profile.
#pragma once

#include <string>
#include <string_view>

#include "core/profile.hpp"

namespace rudder::report {

/// The name and the category of an event.
struct PhaseName {
    std::string name;
    std::string_view category;
};

/// Those of a span or a wait of that text.
[[nodiscard]] PhaseName phase_name(std::string_view text, ProfileEvent::Kind kind);

/// Where rows of a category stand, from the top.
[[nodiscard]] int category_order(std::string_view category);

// Categories that flows look for.
inline constexpr std::string_view sample_category = "sample";
inline constexpr std::string_view fetch_category = "fetch";
inline constexpr std::string_view compute_category = "compute";

}  // namespace rudder::report
