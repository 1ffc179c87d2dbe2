// decisions.jsonl: what was decided, why, and what came of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/fields.hpp"
#include "rudder/core/json_fwd.hpp"
#include "rudder/steer/agent.hpp"

namespace rudder::steer {

enum class DecisionStatus : std::uint8_t { applied, late, invalid, refused, undone };
inline constexpr std::size_t decision_statuses = 5;
[[nodiscard]] std::string_view to_string(DecisionStatus status) noexcept;

/// Real rows over the steps after a decision, and what the other action would have cost on the
/// sampled ids.
struct Outcome {
    std::uint64_t steps = 0;  ///< that were looked at
    double rows = 0;          ///< fetched per step, by the shadow that took the action
    double alternative = 0;   ///< by the one that did not
    double hit_rate = 0;      ///< of the real buffer
    double seconds = 0;       ///< of stall per step
    [[nodiscard]] bool correct() const noexcept { return rows <= alternative; }
    [[nodiscard]] bool tied() const noexcept { return rows == alternative; }

    static constexpr auto fields =
        unnamed_fields(&Outcome::steps, &Outcome::rows, &Outcome::alternative, &Outcome::hit_rate,
                       &Outcome::seconds);
};
static_assert(lists_all_fields<Outcome>);

/// One line.
struct DecisionRecord {
    std::uint64_t step = 0;  ///< of the observation
    std::uint32_t rank = 0;
    std::string agent;
    Observation observation;
    Action action;
    std::optional<Forecast> forecast;
    std::uint64_t effective_step = 0;
    std::string note;
    double latency = 0;  ///< seconds
    DecisionStatus status = DecisionStatus::applied;
    std::string problem;  ///< why it was refused, invalid or undone
    std::optional<Outcome> outcome;
    std::optional<Action> alternative;  ///< what the outcome is compared with
    std::string run;                    ///< as AgentFacts::run

    static constexpr auto fields = unnamed_fields(
        &DecisionRecord::step, &DecisionRecord::rank, &DecisionRecord::agent,
        &DecisionRecord::observation, &DecisionRecord::action, &DecisionRecord::forecast,
        &DecisionRecord::effective_step, &DecisionRecord::note, &DecisionRecord::latency,
        &DecisionRecord::status, &DecisionRecord::problem, &DecisionRecord::outcome,
        &DecisionRecord::alternative, &DecisionRecord::run);
};
static_assert(lists_all_fields<DecisionRecord>);

[[nodiscard]] Json to_json(const DecisionRecord& record);
/// The line of a log, without its end. The history is left out: the lines before are.
[[nodiscard]] std::string log_line(const DecisionRecord& record);
[[nodiscard]] DecisionRecord parse_decision(const Json& line, const std::string& where);
/// Reads a log, or the decisions.jsonl of a run folder. A last line that was cut is left out; any
/// other damage is an input Error with its line.
[[nodiscard]] std::vector<DecisionRecord> read_decisions(const std::filesystem::path& path);

}  // namespace rudder::steer
