#include "rudder/steer/action.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "knob_range.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<std::string_view, 3> kinds{"keep", "replace", "set"};

/// In the order of Reason, without `none`.
constexpr std::array<std::string_view, 18> reasons{
    "rule",         "scheduled",   "replayed",      "chance", "low_hit_rate", "high_stall",
    "rising_cost",  "good_enough", "no_candidates", "ending", "trying",       "shadow_better",
    "timed_better", "was_worse",   "phase_changed", "leader", "predicted",    "model_choice"};
static_assert(reasons.size() == static_cast<std::size_t>(Reason::model_choice));

/// The place of a word in a closed list; a usage Error that shows the list otherwise.
std::size_t place_of(const Json& value, std::span<const std::string_view> words,
                     std::string_view what, const std::string& where) {
    if (value.is_string()) {
        const auto found = std::ranges::find(words, value.get<std::string>());
        if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
    }
    throw usage_error(fmt::format("unknown {} {}", what, value.dump()), where,
                      fmt::format("use one of {}", join(words, ", ")));
}

double fraction_of(const Json& value, bool checked, const std::string& where) {
    const double fraction =
        value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!checked || (fraction >= 0 && fraction <= 1)) return fraction;
    throw usage_error(fmt::format("invalid fraction: {}", value.dump()), where,
                      "give a number from 0 and up to 1");
}

/// Knobs as they were written, whether they may be set or not.
std::vector<KnobChange> unchecked_knobs(const Json& object, const std::string& where) {
    std::vector<KnobChange> changes;
    for (const auto& [name, value] : object.items()) {
        KnobChange change{knob(name, where).id, std::numeric_limits<double>::quiet_NaN()};
        if (value.is_string()) change.value = value.get<std::string>();
        if (value.is_number()) change.value = value.get<double>();
        changes.push_back(std::move(change));
    }
    return changes;
}

void refuse_keys(const Json& object, ActionKind kind, const std::string& where) {
    for (const auto& [key, value] : object.items()) {
        if (key == "action" || key == "reason") continue;
        if (key == "fraction" && kind == ActionKind::replace) continue;
        if (key == "knobs" && kind == ActionKind::set) continue;
        const bool known = key == "fraction" || key == "knobs";
        throw usage_error(
            known ? fmt::format("key '{}' does not belong to action '{}'", key, to_string(kind))
                  : fmt::format("unknown key '{}' in an action", key),
            where,
            "an action has action, fraction (with replace), knobs (with set) and "
            "reason");
    }
}

}  // namespace

std::string_view to_string(ActionKind kind) noexcept {
    return kinds[static_cast<std::size_t>(kind)];
}

std::span<const std::string_view> reason_names() noexcept {
    return reasons;
}

std::string_view to_string(Reason reason) noexcept {
    return reason == Reason::none ? std::string_view{}
                                  : reasons[static_cast<std::size_t>(reason) - 1];
}

Json to_json(const Action& action) {
    Json object = json_object({{"action", to_string(action.kind)}});
    if (action.kind == ActionKind::replace) object["fraction"] = action.fraction;
    if (action.kind == ActionKind::set) object["knobs"] = to_json(std::span(action.knobs));
    if (action.reason != Reason::none) object["reason"] = to_string(action.reason);
    return object;
}

Action read_action(const Json& object, bool checked, const std::string& where) {
    if (!object.is_object() || !object.contains("action")) {
        throw usage_error("an action is a JSON object with the key 'action'", where,
                          R"(write {"action": "keep"}, "replace" or "set")");
    }
    Action action;
    action.kind = static_cast<ActionKind>(place_of(object["action"], kinds, "action", where));
    refuse_keys(object, action.kind, where);
    if (object.contains("fraction")) {
        action.fraction = fraction_of(object["fraction"], checked, where);
    }
    if (action.kind == ActionKind::set) {
        const Json knobs = object.value("knobs", Json::object());
        if (checked && knobs.empty()) {
            throw usage_error("action 'set' names no knob", where,
                              R"(add "knobs": {"window": 16})");
        }
        action.knobs = checked ? knob_changes(knobs, where) : unchecked_knobs(knobs, where);
    }
    if (object.contains("reason")) {
        action.reason =
            static_cast<Reason>(place_of(object["reason"], reasons, "reason", where) + 1);
    }
    return action;
}

Action parse_action(const Json& object, const std::string& where) {
    return read_action(object, true, where);
}

Json action_schema(std::span<const KnobId> allowed, const KnobLimits& limits) {
    const auto variant = [](ActionKind kind) {
        Json object{{"type", "object"}};
        object["properties"]["action"] = {{"const", to_string(kind)}};
        object["required"] = {"action"};
        object["additionalProperties"] = false;
        return object;
    };
    const auto with_reason = [](Json object) {
        object["properties"]["reason"] = {{"type", "string"}, {"enum", reasons}};
        return object;
    };
    Json replace = variant(ActionKind::replace);
    replace["properties"]["fraction"] = {
        {"type", "number"},
        {"minimum", 0},
        {"maximum", 1},
        {"description", "Share of the buffer to replace, at most."}};
    Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
    schema["title"] = "action";
    schema["anyOf"] = {with_reason(variant(ActionKind::keep)), with_reason(std::move(replace))};
    if (allowed.empty()) return schema;

    Json knobs{{"type", "object"}, {"properties", Json::object()}};
    for (const KnobId id : allowed) {
        const Knob& k = knob(id);
        knobs["properties"][std::string(k.name)] = knob_schema(k, KnobRange::of(k, limits));
    }
    knobs["minProperties"] = 1;
    knobs["additionalProperties"] = false;
    Json set = variant(ActionKind::set);
    set["properties"]["knobs"] = std::move(knobs);
    set["required"].push_back("knobs");
    schema["anyOf"].push_back(with_reason(std::move(set)));
    return schema;
}

}  // namespace rudder::steer
