// What options do to the parts of a step, and which way.
#pragma once

#include <string_view>

#include "explanation.hpp"

namespace rudder::report {

/// The part of a step that an option acts on first, by its key; empty: on none, or on all.
[[nodiscard]] std::string_view first_part_of(std::string_view option);

/// Whether a change of an option may be why a part of a step has become longer, or shorter: it acts
/// on that part, and not the other way. Which way words act is not known, so that they may.
[[nodiscard]] bool may_explain(const SettingChange& change, std::string_view part, bool longer);

}  // namespace rudder::report
