// Ranges of knobs, and reading of actions, for sources of this layer.
#pragma once

#include <string>
#include <string_view>

#include "rudder/steer/action.hpp"
#include "rudder/steer/knobs.hpp"

namespace rudder::steer {

struct KnobRange {
    bool whole = false;
    double minimum = 0;
    double maximum = 0;
    bool above_minimum = false;
    std::string_view why{};  ///< it is as narrow as it is, where that is not plain

    [[nodiscard]] static KnobRange of(const Knob& k);
    [[nodiscard]] static KnobRange of(const Knob& k, const KnobLimits& limits);
    [[nodiscard]] bool holds(double value) const noexcept;
    [[nodiscard]] std::string text() const;  ///< "a whole number from 1 and up to 64"
};

/// Whether it is a parameter of policies.
[[nodiscard]] constexpr bool of_policy(KnobId id) noexcept {
    return id == KnobId::window || id == KnobId::decay || id == KnobId::fraction ||
           id == KnobId::distance;
}

/// The schema of a knob's value.
[[nodiscard]] Json knob_schema(const Knob& k, const KnobRange& range);

/// Reads an action. Unless `checked`, numbers may be out of range, missing (read as no number) or
/// of the wrong kind; names must be known all the same.
[[nodiscard]] Action read_action(const Json& object, bool checked, const std::string& where);

}  // namespace rudder::steer
