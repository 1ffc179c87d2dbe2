// The schema of replies, and their strict reading.
#include "reply.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "steer/knob_range.hpp"

#include "protocol.hpp"

namespace rudder::steer {

namespace {

constexpr std::size_t longest_reply = 16384;
constexpr std::array fractions{0.1, 0.25, 0.5, 1.0};
/// Where a knob takes any number: few steps, so that models cannot write digits without end.
constexpr std::array reals{0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 1.0};
/// Codes that say something about what was seen; the others are other agents'.
constexpr std::array model_reasons{
    Reason::low_hit_rate,  Reason::high_stall, Reason::rising_cost,  Reason::good_enough,
    Reason::no_candidates, Reason::ending,     Reason::trying,       Reason::shadow_better,
    Reason::timed_better,  Reason::was_worse,  Reason::phase_changed};

/// Whether the run could be in that policy now: memory may allow less than it did.
bool can_be_set(const std::string& policy, const Observation& observation) {
    try {
        const std::array change{KnobChange{KnobId::policy, policy}};
        static_cast<void>(
            with_changes(observation.setting, change, observation.limits, "the schema"));
        return true;
    } catch (const Error&) {
        return false;
    }
}

Json real_steps(const Json& range) {
    Json steps = Json::array();
    for (const double step : reals) {
        const bool low = range.contains("exclusiveMinimum")
                             ? step > range["exclusiveMinimum"].get<double>()
                             : step >= range.value("minimum", 0.0);
        if (low && step <= range.value("maximum", 1.0)) steps.push_back(step);
    }
    return {{"enum", std::move(steps)}};
}

/// Whether a knob can be anything else than it is.
bool has_choice(const Json& range) {
    return !range.contains("minimum") || !range.contains("maximum") ||
           range["minimum"] < range["maximum"];
}

/// One variant for each knob that may come first: that knob is required, later ones may follow. So
/// at least one is set, without a word for it that some servers do not know.
Json knob_variants(const Json& knobs) {
    Json variants = Json::array();
    const auto& properties = knobs.at("properties");
    for (auto first = properties.begin(); first != properties.end(); ++first) {
        Json variant{{"type", "object"}, {"properties", Json::object()}};
        for (auto next = first; next != properties.end(); ++next) {
            // Another policy has other parameters.
            const bool dropped = first.key() == "policy" && next != first &&
                                 of_policy(knob(next.key(), "the schema").id);
            if (!dropped) variant["properties"][next.key()] = next.value();
        }
        variant["required"] = {first.key()};
        variant["additionalProperties"] = false;
        variants.push_back(std::move(variant));
    }
    return {{"anyOf", std::move(variants)}};
}

void narrow_knobs(Json& knobs, const Observation& observation, const buffer::PolicySpec& built_in) {
    Json kept = Json::object();
    for (const auto& [name, range] : knobs.at("properties").items()) {
        if (name == "policy") {
            kept[name] = {{"enum", policy_choices(observation, built_in)}};
        } else if (range.value("type", "") == "number") {
            kept[name] = real_steps(range);
        } else if (has_choice(range)) {
            kept[name] = {{"type", "integer"},
                          {"minimum", range.at("minimum")},
                          {"maximum", range.at("maximum")}};
        }
    }
    knobs["properties"] = std::move(kept);
    knobs = knob_variants(knobs);
}

Json reason_words() {
    Json words = Json::array();
    for (const Reason reason : model_reasons)
        words.push_back(to_string(reason));
    return words;
}

Error no_answer(std::string problem, const std::string& where) {
    return {ErrorKind::failed, std::move(problem), where, ""};
}

}  // namespace

int trend(std::string_view word) noexcept {
    if (word == "increase") return 1;
    return word == "decrease" ? -1 : 0;
}

Json trend_schema() {
    return {{"enum", {"increase", "decrease", "stagnant"}}};
}

std::vector<std::string> policy_choices(const Observation& observation,
                                        const buffer::PolicySpec& built_in) {
    std::vector<std::string> words;
    const auto add = [&](std::string text) {
        if (std::ranges::find(words, text) == words.end() && can_be_set(text, observation))
            words.push_back(std::move(text));
    };
    add(observation.setting.policy.text());
    add(built_in.text());
    for (const std::uint64_t window : {4U, 16U, 64U})
        if (window <= observation.limits.window) add(fmt::format("window:{}", window));
    for (const char* name : {"scored,every:16", "lru", "lfu", "static-degree"})
        add(name);
    return words;
}

Json reply_schema(const Observation& observation, const buffer::PolicySpec& built_in) {
    std::vector<KnobId> allowed;
    for (const Knob& k : all_knobs())
        if (knob_value(observation.setting, k.id)) allowed.push_back(k.id);
    const Json actions = action_schema(allowed, observation.limits);
    Json impact{{"type", "object"}, {"properties", Json::object()}};
    impact["properties"]["hit_rate"] = trend_schema();
    impact["properties"]["rows"] = trend_schema();
    impact["required"] = {"hit_rate", "rows"};
    impact["additionalProperties"] = false;

    Json schema{{"anyOf", Json::array()}};
    for (Json variant : actions.at("anyOf")) {
        Json& properties = variant.at("properties");
        const std::string kind = properties.at("action").at("const");
        if (kind == "replace" && !observation.takes_decisions) continue;
        if (properties.contains("fraction")) properties["fraction"] = {{"enum", fractions}};
        if (properties.contains("knobs")) narrow_knobs(properties["knobs"], observation, built_in);
        properties["reason"] = {{"enum", reason_words()}};
        properties["expected_impact"] = impact;
        schema["anyOf"].push_back(std::move(variant));
    }
    return schema;
}

bool can_change(const Action& action, const Observation& observation, const Json& schema) {
    if (!schema_problem(to_json(action), schema).empty()) return false;
    try {
        return action.kind != ActionKind::set ||
               with_changes(observation.setting, action.knobs, observation.limits, "a reply") !=
                   observation.setting;
    } catch (const Error&) {
        return false;
    }
}

Json parse_reply_object(std::string_view text, const Json& schema, const std::string& where) {
    const std::string_view reply = trimmed(text);
    if (reply.empty()) throw no_answer("the model's reply is blank", where);
    if (reply.size() > longest_reply) {
        throw no_answer(
            fmt::format("the model's reply is longer than {} characters", longest_reply), where);
    }
    if (reply.starts_with("```"))
        throw no_answer("the reply is wrapped in a code fence, not JSON alone", where);
    if (reply.starts_with("<think"))
        throw no_answer("the reply thinks aloud before its JSON", where);
    if (reply.front() == '[') throw no_answer("the reply is a list, not one JSON object", where);
    if (reply.front() != '{') {
        throw no_answer(
            fmt::format("the reply begins with '{}', not with a JSON object", printable(reply, 24)),
            where);
    }
    Json object = parse_reply_json(reply, "invalid reply: not a JSON object", where);
    if (auto problem = schema_problem(object, schema); !problem.empty())
        throw no_answer(std::move(problem), where);
    return object;
}

ModelReply parse_reply(std::string_view text, const Json& schema, const Observation& observation,
                       const std::string& where) {
    Json object = parse_reply_object(text, schema, where);
    ModelReply reply;
    if (const auto impact = object.find("expected_impact"); impact != object.end()) {
        reply.forecast = Forecast{trend(impact->at("hit_rate").get<std::string>()),
                                  trend(impact->at("rows").get<std::string>())};
        object.erase(impact);
    }
    try {
        reply.action = parse_action(object, where);
        static_cast<void>(
            with_changes(observation.setting, reply.action.knobs, observation.limits, where));
    } catch (const Error& error) {
        throw no_answer(printable(error.problem(), 200), where);
    }
    if (reply.action.reason == Reason::none) reply.action.reason = Reason::model_choice;
    return reply;
}

}  // namespace rudder::steer
