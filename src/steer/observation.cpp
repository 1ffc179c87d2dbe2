#include "rudder/steer/observation.hpp"

#include "core/json.hpp"
#include "rudder/core/error.hpp"

#include "knob_range.hpp"

namespace rudder::steer {

namespace {

Json reading_json(const ShadowReading& reading) {
    return json_object({{"name", reading.name},
                        {"knobs", to_json(reading.setting)},
                        {"age", reading.age},
                        {"rows", to_json(reading.rows)},
                        {"total", to_json(reading.total)}});
}

Json past_json(const PastDecision& past) {
    Json object = json_object(
        {{"step", past.step},
         {"action", to_json(past.action)},
         {"status", past.status},
         {"hit_rate",
          json_object({{"before", past.hit_rate_before}, {"after", past.hit_rate_after}})},
         {"rows", json_object({{"before", past.rows_before}, {"after", past.rows_after}})}});
    if (past.correct) object["correct"] = *past.correct;
    if (past.tied) object["tied"] = true;
    return object;
}

Rows parse_rows(const Json& object, const std::string& where) {
    Rows rows;
    rows.steps = json_u64(object, "steps", where);
    rows.needed = json_u64(object, "needed", where);
    rows.hit = json_u64(object, "hit", where);
    rows.demand = json_u64(object, "demand", where);
    rows.replacement = json_u64(object, "replacement", where);
    rows.ahead = json_u64(object, "ahead", where);
    rows.wasted = json_u64(object, "wasted", where);
    return rows;
}

ShadowReading parse_reading(const Json& object, const std::string& where) {
    return {json_string(object, "name", where),
            parse_setting(json_field(object, "knobs", where), where),
            json_u64(object, "age", where), parse_rows(json_field(object, "rows", where), where),
            parse_rows(json_field(object, "total", where), where)};
}

PastDecision parse_past(const Json& object, const std::string& where) {
    PastDecision past;
    past.step = json_u64(object, "step", where);
    past.action = read_action(json_field(object, "action", where), false, where);
    past.status = json_string(object, "status", where);
    const Json& hit_rate = json_field(object, "hit_rate", where);
    past.hit_rate_before = json_number(hit_rate, "before", where);
    past.hit_rate_after = json_number(hit_rate, "after", where);
    const Json& rows = json_field(object, "rows", where);
    past.rows_before = json_number(rows, "before", where);
    past.rows_after = json_number(rows, "after", where);
    if (object.contains("correct")) past.correct = json_bool(object, "correct", where);
    if (object.contains("tied")) past.tied = json_bool(object, "tied", where);
    return past;
}

Seconds parse_seconds(const Json& object, const std::string& where) {
    return {.steps = json_u64(object, "steps", where),
            .step = json_number(object, "step", where),
            .fetch = json_number(object, "fetch", where),
            .stall = json_number(object, "stall", where),
            .compute = json_number(object, "compute", where)};
}

CostKind parse_cost(const Json& object, const std::string& where) {
    const std::string name = json_string(object, "cost", where);
    if (name == to_string(CostKind::rows)) return CostKind::rows;
    if (name == to_string(CostKind::seconds)) return CostKind::seconds;
    throw input_error("unknown cost '" + name + "'", where, "it is rows or seconds");
}

/// The elements of an array, each read by `read`.
template <class Read>
auto parse_list(const Json& object, const char* key, const std::string& where, Read read) {
    std::vector<decltype(read(object, where))> list;
    const Json& array = json_field(object, key, where);
    if (!array.is_array())
        throw input_error("invalid " + std::string(key) + ": not a list", where, "");
    for (const Json& element : array)
        list.push_back(read(element, where));
    return list;
}

Observation read_observation(const Json& o, const std::string& where) {
    Observation observation;
    observation.sequence = json_u64(o, "sequence", where);
    observation.step = json_u64(o, "step", where);
    observation.steps = json_u64(o, "steps", where);
    observation.steps_per_epoch = json_u64(o, "steps_per_epoch", where);
    observation.rows = parse_rows(json_field(o, "rows", where), where);
    observation.total = parse_rows(json_field(o, "total", where), where);
    observation.rows_by_owner =
        parse_list(o, "rows_by_owner", where, [](const Json& rows, const std::string& place) {
            if (rows.is_number_unsigned()) return rows.get<std::uint64_t>();
            throw input_error("invalid rows_by_owner: not all whole numbers", place, "");
        });
    observation.row_bytes = json_u64(o, "row_bytes", where);
    observation.seconds = parse_seconds(json_field(o, "seconds", where), where);
    observation.cost = parse_cost(o, where);
    observation.setting = parse_setting(json_field(o, "knobs", where), where);
    const Json& limits = json_field(o, "limits", where);
    observation.limits.slots = json_u64(limits, "capacity", where);
    observation.limits.window = json_u64(limits, "window", where);
    observation.limits.sample_threads = json_u64(limits, "sample_threads", where);
    observation.limits.fetch_threads = json_u64(limits, "fetch_threads", where);
    if (limits.contains("in_flight")) {  // logs of earlier versions lack them
        observation.limits.in_flight = json_u64(limits, "in_flight", where);
        observation.limits.buckets = json_u64(limits, "buckets", where);
    }
    observation.halo = json_u64(o, "halo", where);
    if (o.contains("sizes")) {  // logs of earlier versions lack them
        const Json& sizes = json_field(o, "sizes", where);
        observation.sizes = {json_u64(sizes, "batch", where), json_u64(sizes, "vertices", where),
                             json_u64(sizes, "own_vertices", where)};
    }
    observation.takes_decisions = json_bool(o, "takes_decisions", where);
    observation.candidates = json_u64(o, "candidates", where);
    observation.since_change = json_u64(o, "since_change", where);
    observation.twin = parse_reading(json_field(o, "twin", where), where);
    observation.built_in = parse_reading(json_field(o, "built_in", where), where);
    observation.shadows = parse_list(o, "shadows", where, parse_reading);
    observation.history = parse_list(o, "history", where, parse_past);
    return observation;
}

}  // namespace

std::string_view to_string(CostKind kind) noexcept {
    return kind == CostKind::rows ? "rows" : "seconds";
}

double hit_rate(const Rows& rows) noexcept {
    return rows.needed == 0 ? 0 : static_cast<double>(rows.hit) / static_cast<double>(rows.needed);
}

double Observation::hit_rate() const noexcept {
    return rudder::steer::hit_rate(rows);
}

double Observation::cost_per_step() const noexcept {
    if (cost == CostKind::seconds) {
        return seconds.steps == 0 ? 0 : seconds.stall / static_cast<double>(seconds.steps);
    }
    return rows.steps == 0 ? 0
                           : static_cast<double>(rows.fetched()) / static_cast<double>(rows.steps);
}

Json to_json(const Rows& rows) {
    return json_object({{"steps", rows.steps},
                        {"needed", rows.needed},
                        {"hit", rows.hit},
                        {"demand", rows.demand},
                        {"replacement", rows.replacement},
                        {"ahead", rows.ahead},
                        {"wasted", rows.wasted}});
}

Json to_json(const Observation& o) {
    Json object = json_object({{"sequence", o.sequence},
                               {"step", o.step},
                               {"steps", o.steps},
                               {"steps_per_epoch", o.steps_per_epoch},
                               {"hit_rate", o.hit_rate()},
                               {"cost", to_string(o.cost)},
                               {"cost_per_step", o.cost_per_step()},
                               {"rows", to_json(o.rows)},
                               {"total", to_json(o.total)},
                               {"rows_by_owner", o.rows_by_owner},
                               {"row_bytes", o.row_bytes}});
    object["seconds"] = json_object({{"steps", o.seconds.steps},
                                     {"step", o.seconds.step},
                                     {"fetch", o.seconds.fetch},
                                     {"stall", o.seconds.stall},
                                     {"compute", o.seconds.compute}});
    object["knobs"] = to_json(o.setting);
    object["limits"] = json_object({{"capacity", o.limits.slots},
                                    {"window", o.limits.window},
                                    {"sample_threads", o.limits.sample_threads},
                                    {"fetch_threads", o.limits.fetch_threads},
                                    {"in_flight", o.limits.in_flight},
                                    {"buckets", o.limits.buckets}});
    object["halo"] = o.halo;
    object["sizes"] = json_object({{"batch", o.sizes.batch},
                                   {"vertices", o.sizes.vertices},
                                   {"own_vertices", o.sizes.own_vertices}});
    object["takes_decisions"] = o.takes_decisions;
    object["candidates"] = o.candidates;
    object["since_change"] = o.since_change;
    object["twin"] = reading_json(o.twin);
    object["built_in"] = reading_json(o.built_in);
    object["shadows"] = Json::array();
    for (const ShadowReading& reading : o.shadows)
        object["shadows"].push_back(reading_json(reading));
    object["history"] = Json::array();
    for (const PastDecision& past : o.history)
        object["history"].push_back(past_json(past));
    return object;
}

Observation parse_observation(const Json& object, const std::string& where) {
    try {
        return read_observation(object, where);
    } catch (const Error& error) {
        // Policies and actions inside come with errors of wrong use; here they are bad data.
        if (error.kind() != ErrorKind::usage) throw;
        throw input_error(error.problem(), where, error.remedy());
    }
}

}  // namespace rudder::steer
