// The JSON forms of knobs and settings.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/steer/knobs.hpp"

#include "knob_range.hpp"

namespace rudder::steer {

namespace {

/// Whole numbers as such, in range or not: readers of logs need not care that they are kept as
/// doubles.
Json number_json(const Knob& k, double value) {
    constexpr double past_u64 = 18446744073709551616.0;
    const bool whole = value >= 0 && value < past_u64 && value == std::floor(value);
    if (k.kind == KnobKind::whole && whole) return static_cast<std::uint64_t>(value);
    return value;
}

Json value_json(const Knob& k, const KnobValue& value) {
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return number_json(k, std::get<double>(value));
}

KnobValue value_of(const Json& value, const Knob& k, const std::string& where) {
    if (value.is_string()) return value.get<std::string>();
    if (value.is_number()) return value.get<double>();
    throw usage_error(
        fmt::format("invalid value for knob '{}': {}", k.name, value.dump()), where,
        k.kind == KnobKind::text ? "give a policy in quotes" : "give " + KnobRange::of(k).text());
}

/// The grammar of policies that may be set while running.
std::string policy_pattern() {
    std::string names;
    for (const buffer::PolicyInfo* info : buffer::all_policies()) {
        if (info->name == "optimal") continue;
        names += fmt::format("{}{}", names.empty() ? "" : "|", info->name);
    }
    return fmt::format("^({})(:[0-9.]+)?(,[a-z]+(:[0-9.]+)?)*$", names);
}

}  // namespace

Json to_json(const Setting& setting) {
    Json object = Json::object();
    for (const Knob& k : all_knobs()) {
        if (const auto value = knob_value(setting, k.id)) {
            object[std::string(k.name)] = value_json(k, *value);
        }
    }
    return object;
}

Setting parse_setting(const Json& object, const std::string& where) {
    Setting setting;
    setting.policy = buffer::PolicySpec::parse(json_string(object, "policy", where), where);
    setting.capacity = json_u64(object, "capacity", where);
    setting.bulk = json_u64(object, "bulk", where);
    setting.sample_threads = json_u64(object, "sample_threads", where);
    setting.fetch_threads = json_u64(object, "fetch_threads", where);
    if (!object.contains("in_flight")) return setting;  // of an earlier version
    setting.demand_first = json_u64(object, "demand_first", where);
    setting.in_flight = json_u64(object, "in_flight", where);
    setting.buckets = json_u64(object, "buckets", where);
    return setting;
}

Json to_json(std::span<const KnobChange> changes) {
    Json object = Json::object();
    for (const KnobChange& change : changes) {
        const Knob& k = knob(change.id);
        object[std::string(k.name)] = value_json(k, change.value);
    }
    return object;
}

std::vector<KnobChange> knob_changes(const Json& object, const std::string& where) {
    if (!object.is_object()) {
        throw usage_error("invalid knobs: not a JSON object", where, R"(write {"window": 16})");
    }
    std::vector<KnobChange> changes;
    for (const auto& [name, value] : object.items()) {
        const Knob& k = knob(name, where);
        changes.push_back({k.id, value_of(value, k, where)});
        check_change(changes.back(), where);
    }
    return changes;
}

Json knob_schema(const Knob& k, const KnobRange& range) {
    Json schema;
    if (k.kind == KnobKind::text) {
        schema = {{"type", "string"}, {"pattern", policy_pattern()}, {"maxLength", 200}};
    } else {
        const auto number = [&range](double value) -> Json {
            if (range.whole) return static_cast<std::int64_t>(value);
            return value;
        };
        schema = {{"type", range.whole ? "integer" : "number"},
                  {range.above_minimum ? "exclusiveMinimum" : "minimum", number(range.minimum)},
                  {"maximum", number(range.maximum)}};
    }
    schema["description"] = k.sentence;
    return schema;
}

Json knobs_json() {
    Json list = Json::array();
    for (const Knob& k : all_knobs()) {
        Json object{{"name", k.name}};
        object["type"] = k.kind == KnobKind::text    ? "policy"
                         : k.kind == KnobKind::whole ? "whole"
                                                     : "real";
        if (k.kind != KnobKind::text) {
            object["minimum"] = number_json(k, k.minimum);
            object["maximum"] = number_json(k, k.maximum);
        }
        object["default"] = number_json(k, k.fallback);
        if (k.kind == KnobKind::text) object["default"] = "window:16";
        if (k.id == KnobId::capacity) object["default"] = nullptr;  // as configured
        object["judged_by"] = k.on_time ? "stretches of the run" : "shadow buffers";
        object["sentence"] = k.sentence;
        object["cost"] = k.cost;
        list.push_back(std::move(object));
    }
    return list;
}

}  // namespace rudder::steer
