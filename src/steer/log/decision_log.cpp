#include "decision_log.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "steer/knob_range.hpp"

namespace rudder::steer {

namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30;

constexpr std::array<std::string_view, 5> statuses{"applied", "late", "invalid", "refused",
                                                   "undone"};

DecisionStatus parse_status(const std::string& name, const std::string& where) {
    const auto found = std::ranges::find(statuses, name);
    if (found == statuses.end()) {
        throw input_error(fmt::format("unknown status '{}'", name), where,
                          "it is applied, late, invalid, refused or undone");
    }
    return static_cast<DecisionStatus>(found - statuses.begin());
}

Json outcome_json(const std::optional<Outcome>& outcome) {
    if (!outcome) return nullptr;
    return json_object({{"steps", outcome->steps},
                        {"rows", outcome->rows},
                        {"hit_rate", outcome->hit_rate},
                        {"seconds", outcome->seconds},
                        {"correct", outcome->correct()}});
}

Json alternatives_json(const DecisionRecord& record) {
    Json list = Json::array();
    if (!record.alternative) return list;
    Json one = json_object({{"action", to_json(*record.alternative)}});
    if (record.outcome) one["rows"] = record.outcome->alternative;
    list.push_back(std::move(one));
    return list;
}

/// The outcome, with what the alternative came to, and the alternative.
void parse_outcome(const Json& line, DecisionRecord& record, const std::string& where) {
    const Json& alternatives = json_field(line, "alternatives", where);
    if (!alternatives.is_array()) throw input_error("invalid alternatives: not a list", where, "");
    if (const Json& outcome = json_field(line, "outcome", where); !outcome.is_null()) {
        record.outcome = {.steps = json_u64(outcome, "steps", where),
                          .rows = json_number(outcome, "rows", where),
                          .alternative = 0,
                          .hit_rate = json_number(outcome, "hit_rate", where),
                          .seconds = json_number(outcome, "seconds", where)};
    }
    if (alternatives.empty()) return;
    const Json& first = alternatives.front();
    record.alternative = read_action(json_field(first, "action", where), false, where);
    if (record.outcome) record.outcome->alternative = json_number(first, "rows", where);
}

std::optional<Forecast> parse_forecast(const Json& line, const std::string& where) {
    if (!line.contains("forecast")) return std::nullopt;
    const auto direction = [&](const char* key) {
        const double value = json_number(line["forecast"], key, where);
        if (value == 0) return 0;
        return value > 0 ? 1 : -1;
    };
    return Forecast{direction("hit_rate"), direction("rows")};
}

DecisionRecord read_record(const Json& line, const std::string& where) {
    DecisionRecord record;
    record.step = json_u64(line, "step", where);
    record.rank = static_cast<std::uint32_t>(json_u64(line, "rank", where));
    record.agent = json_string(line, "agent", where);
    if (const Json& seen = json_field(line, "observation", where); !seen.is_null()) {
        record.observation = parse_observation(seen, where);
    }
    record.status = parse_status(json_string(line, "status", where), where);
    // What was not taken is kept as it was said.
    const bool taken =
        record.status == DecisionStatus::applied || record.status == DecisionStatus::undone;
    record.action = read_action(json_field(line, "action", where), taken, where);
    record.forecast = parse_forecast(line, where);
    record.effective_step = json_u64(line, "effective_step", where);
    record.latency = json_number(line, "latency", where);
    parse_outcome(line, record, where);
    if (line.contains("note")) record.note = json_string(line, "note", where);
    if (line.contains("problem")) record.problem = json_string(line, "problem", where);
    record.run = json_string(line, "run", where);
    return record;
}

}  // namespace

std::string_view to_string(DecisionStatus status) noexcept {
    return statuses[static_cast<std::size_t>(status)];
}

Json to_json(const DecisionRecord& record) {
    Json line =
        json_object({{"step", record.step}, {"rank", record.rank}, {"agent", record.agent}});
    // Sequences count from 1: an observation without one was not kept.
    line["observation"] = record.observation.sequence == 0 ? Json() : to_json(record.observation);
    line["action"] = to_json(record.action);
    line["effective_step"] = record.effective_step;
    line["reason"] = nullptr;
    if (record.action.reason != Reason::none) line["reason"] = to_string(record.action.reason);
    line["latency"] = record.latency;
    line["status"] = to_string(record.status);
    line["outcome"] = outcome_json(record.outcome);
    line["alternatives"] = alternatives_json(record);
    if (record.forecast) {
        line["forecast"] =
            json_object({{"hit_rate", record.forecast->hit_rate}, {"rows", record.forecast->rows}});
    }
    if (!record.note.empty()) line["note"] = record.note;
    if (!record.problem.empty()) line["problem"] = record.problem;
    line["run"] = record.run;
    return line;
}

DecisionRecord parse_decision(const Json& line, const std::string& where) {
    try {
        return read_record(line, where);
    } catch (const Error& error) {
        // Actions and policies inside come with errors of wrong use; here they are bad data.
        if (error.kind() != ErrorKind::usage) throw;
        throw input_error(error.problem(), where, error.remedy());
    }
}

std::vector<DecisionRecord> read_decisions(const std::filesystem::path& path) {
    const auto file = std::filesystem::is_directory(path) ? path / "decisions.jsonl" : path;
    const std::string text = read_text(file, most_bytes);
    std::vector<DecisionRecord> records;
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = text.find('\n', begin);
        const bool whole = end != std::string::npos;
        const std::string_view line =
            std::string_view(text).substr(begin, whole ? end - begin : std::string::npos);
        begin = whole ? end + 1 : text.size();
        const std::string where = fmt::format("{}, line {}", file.string(), ++number);
        try {
            records.push_back(parse_decision(parse_json(line, where), where));
        } catch (const Error&) {
            if (whole) throw;  // a line that was cut ends the log of a run that was
        }
    }
    return records;
}

std::string log_line(const DecisionRecord& record) {
    Json line = to_json(record);
    const auto seen = line.find("observation");
    if (seen != line.end() && seen->is_object()) (*seen)["history"] = Json::array();
    return line.dump();
}

}  // namespace rudder::steer
