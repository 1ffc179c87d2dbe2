// What could be replied to an observation: a list of actions, and one of them by chance.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/steer/observation.hpp"

namespace rudder::steer {

/// Actions worth a try, keep first, all of them by the schema: replacing, each policy of its list,
/// and steps up and down of each knob that the setting has. Knobs that act on time alone only where
/// time is what counts. No window is longer than `longest_window`; what leaves the setting as it is
/// is left out.
[[nodiscard]] std::vector<Action> reply_choices(const Observation& observation,
                                                const buffer::PolicySpec& built_in,
                                                const Json& schema, std::uint64_t longest_window);

/// What decides a draw.
struct ChanceKey {
    std::uint64_t seed = 0;
    std::uint64_t host = 0;
    std::uint64_t question = 0;  ///< its number
    std::uint64_t step = 0;
};

/// One of them: keep, or with a probability that changes every 16 questions one of the others. All
/// knobs are alike, however many values they have; where replacing is possible, three of four do
/// that.
[[nodiscard]] std::size_t chosen_by_chance(const std::vector<Action>& choices,
                                           const ChanceKey& key);

}  // namespace rudder::steer
