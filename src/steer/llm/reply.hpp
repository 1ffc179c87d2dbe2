// What a model may reply, and the strict reading of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/steer/agent.hpp"

namespace rudder::steer {

/// The schema of a reply: that of an action, narrowed to what makes sense now (knobs the setting
/// has, a list of policies, steps of numbers in place of reals), with an optional
/// `expected_impact`. Closed: enums and bounded integers only.
[[nodiscard]] Json reply_schema(const Observation& observation, const buffer::PolicySpec& built_in);

/// The policies of its list: worth a try, that of now and the built-in rule first.
[[nodiscard]] std::vector<std::string> policy_choices(const Observation& observation,
                                                      const buffer::PolicySpec& built_in);

/// What is wrong with a value by a schema, in a few words; empty: nothing. Knows what our schemas
/// use: type, enum, const, minimum, maximum, maxLength, properties, required, minProperties,
/// additionalProperties, anyOf.
[[nodiscard]] std::string schema_problem(const Json& value, const Json& schema,
                                         const std::string& name = "the reply");

/// Whether a model may ask for the action, and that would change anything.
[[nodiscard]] bool can_change(const Action& action, const Observation& observation,
                              const Json& schema);

/// The one JSON object that a reply must be. An Error (kind failed) with a problem of its own for
/// everything else: nothing is searched for, cut out or repaired.
[[nodiscard]] Json parse_reply_object(std::string_view text, const Json& schema,
                                      const std::string& where);

struct ModelReply {
    Action action;
    std::optional<Forecast> forecast;
};
/// Reads a reply by its schema; an Error (kind failed) where it is none, or asks for a setting that
/// cannot be.
[[nodiscard]] ModelReply parse_reply(std::string_view text, const Json& schema,
                                     const Observation& observation, const std::string& where);

/// +1, 0 or -1 of increase, stagnant or decrease.
[[nodiscard]] int trend(std::string_view word) noexcept;
/// The schema of such a word.
[[nodiscard]] Json trend_schema();

}  // namespace rudder::steer
