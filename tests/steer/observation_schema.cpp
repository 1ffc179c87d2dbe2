// The JSON schema of an observation, which its JSON form must fit.
#include <array>

#include "core/json.hpp"
#include "rudder/steer/observation.hpp"
#include "steer/knob_range.hpp"

namespace rudder::test {

using namespace steer;

namespace {

Json count() {
    return {{"type", "integer"}, {"minimum", 0}};
}

Json amount() {
    return {{"type", "number"}, {"minimum", 0}};
}

Json share() {
    return {{"type", "number"}, {"minimum", 0}, {"maximum", 1}};
}

Json text() {
    return {{"type", "string"}};
}

Json list_of(Json items) {
    return {{"type", "array"}, {"items", std::move(items)}};
}

/// An object with these keys and no others, all required but those of `optional`.
Json closed(Json properties, const std::vector<std::string>& optional = {}) {
    Json required = Json::array();
    for (const auto& [key, value] : properties.items()) {
        if (std::find(optional.begin(), optional.end(), key) == optional.end()) {
            required.push_back(key);
        }
    }
    return {{"type", "object"},
            {"properties", std::move(properties)},
            {"required", std::move(required)},
            {"additionalProperties", false}};
}

Json before_and_after(const Json& value) {
    return closed({{"before", value}, {"after", value}});
}

Json rows() {
    Json properties;
    for (const char* name : {"steps", "needed", "hit", "demand", "replacement", "ahead", "wasted"})
        properties[name] = count();
    return closed(std::move(properties));
}

/// Knobs as values, not as wishes: whatever the run has.
Json knobs_schema() {
    Json properties;
    std::vector<std::string> optional;
    for (const Knob& k : all_knobs()) {
        const std::string name(k.name);
        properties[name] = k.kind == KnobKind::text ? text() : knob_schema(k, KnobRange::of(k));
        if (k.id == KnobId::window || k.id == KnobId::decay || k.id == KnobId::fraction ||
            k.id == KnobId::distance) {
            optional.push_back(name);
        }
    }
    return closed(std::move(properties), optional);
}

Json reading() {
    return closed({{"name", text()},
                   {"knobs", knobs_schema()},
                   {"age", count()},
                   {"rows", rows()},
                   {"total", rows()}});
}

/// What was said, not what may be said.
Json past_action() {
    Json properties{{"action", {{"enum", {"keep", "replace", "set"}}}},
                    {"fraction", {{"type", "number"}}},
                    {"knobs", {{"type", "object"}}},
                    {"reason", {{"enum", reason_names()}}}};
    return closed(std::move(properties), {"fraction", "knobs", "reason"});
}

Json past() {
    Json properties{{"step", count()},
                    {"action", past_action()},
                    {"status", text()},
                    {"hit_rate", before_and_after(share())},
                    {"rows", before_and_after(amount())},
                    {"correct", {{"type", "boolean"}}},
                    {"tied", {{"const", true}}}};
    return closed(std::move(properties), {"correct", "tied"});
}

}  // namespace

Json observation_schema() {
    Json p;
    for (const char* name : {"sequence", "step", "steps", "steps_per_epoch"})
        p[name] = count();
    p["hit_rate"] = share();
    p["cost"] = {{"enum", {"rows", "seconds"}}};
    p["cost_per_step"] = amount();
    p["rows"] = rows();
    p["total"] = rows();
    p["rows_by_owner"] = list_of(count());
    p["row_bytes"] = count();
    p["seconds"] = closed({{"steps", count()},
                           {"step", amount()},
                           {"fetch", amount()},
                           {"stall", amount()},
                           {"compute", amount()}});
    p["knobs"] = knobs_schema();
    p["limits"] = closed({{"capacity", count()},
                          {"window", count()},
                          {"sample_threads", count()},
                          {"fetch_threads", count()},
                          {"in_flight", count()},
                          {"buckets", count()}});
    p["halo"] = count();
    p["sizes"] = closed({{"batch", count()}, {"vertices", count()}, {"own_vertices", count()}});
    p["takes_decisions"] = {{"type", "boolean"}};
    p["candidates"] = count();
    p["since_change"] = count();
    p["twin"] = reading();
    p["built_in"] = reading();
    p["shadows"] = list_of(reading());
    p["history"] = list_of(past());
    Json schema{{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
    schema["title"] = "observation";
    schema.update(closed(std::move(p), {"sizes"}));
    return schema;
}

}  // namespace rudder::test
