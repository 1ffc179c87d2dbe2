#include "rudder/train/records.hpp"

#include "rudder/core/error.hpp"
#include "rudder/core/json.hpp"
#include "rudder/steer/knobs.hpp"

namespace rudder {

StepSeconds& StepSeconds::operator+=(const StepSeconds& other) noexcept {
    step += other.step;
    sample += other.sample;
    fetch += other.fetch;
    stall += other.stall;
    compute += other.compute;
    reduce += other.reduce;
    return *this;
}

Json to_json(const RowCounts& rows) {
    return {{"needed", rows.needed},
            {"local", rows.local},
            {"hit", rows.hit},
            {"demand", rows.demand},
            {"replacement", rows.replacement},
            {"ahead", rows.ahead},
            {"wasted", rows.wasted},
            {"saved", rows.saved}};
}

Json to_json(const StepSeconds& seconds) {
    return {{"step", seconds.step},   {"sample", seconds.sample},   {"fetch", seconds.fetch},
            {"stall", seconds.stall}, {"compute", seconds.compute}, {"reduce", seconds.reduce}};
}

Json bytes_json(const std::array<std::uint64_t, kind_count>& bytes) {
    Json json = Json::object();
    for (std::size_t k = 0; k < kind_count; ++k)
        json[std::string(to_string(static_cast<Kind>(k)))] = bytes[k];
    return json;
}

namespace {

/// All knobs the policy has, and those beside it.
Json knobs_json(const StepRecord& record) {
    if (record.policy.empty()) return Json::object();
    Json knobs{{"policy", record.policy}, {"window", record.window}, {"capacity", record.capacity}};
    Setting setting;
    try {
        setting.policy = PolicySpec::parse(record.policy);
    } catch (const Error&) {
        return knobs;  // a text too long to travel whole
    }
    setting.capacity = record.capacity;
    setting.bulk = record.bulk;
    setting.sample_threads = record.sample_threads;
    setting.fetch_threads = record.fetch_threads;
    const Json all = to_json(setting);
    for (const auto& [name, value] : all.items()) {
        if (!knobs.contains(name)) knobs[name] = value;
    }
    return knobs;
}

}  // namespace

Json to_json(const StepRecord& record) {
    return {{"step", record.step},
            {"epoch", record.epoch},
            {"rank", record.rank},
            {"loss", record.loss},
            {"seconds", to_json(record.seconds)},
            {"rows", to_json(record.rows)},
            {"bytes", bytes_json(record.bytes)},
            {"bytes_by_owner", record.bytes_by_owner},
            {"edges", record.edges},
            {"knobs", knobs_json(record)}};
}

}  // namespace rudder
