// How good the decisions of a log were: by the agent's own forecasts, by the counterfactual, and by
// what the run cost beside fixed rules.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/buffer/trace.hpp"
#include "rudder/core/json_fwd.hpp"

#include "decision_log.hpp"

namespace rudder::steer {

/// Right ones out of all, with the 95 % interval of the share (Wilson's).
struct ShareScore {
    std::uint64_t right = 0;
    std::uint64_t all = 0;
    [[nodiscard]] double share() const noexcept;
    [[nodiscard]] double low() const noexcept;
    [[nodiscard]] double high() const noexcept;
};

/// What a forecast is compared with.
enum class PassRule : std::uint8_t {
    forecast,    ///< the agent's own: its sign against that of what followed
    classifier,  ///< none was made: yes must be followed by a rise, no by no fall
    none         ///< the agent takes no decisions of that kind
};
[[nodiscard]] std::string_view to_string(PassRule rule) noexcept;

/// As published: pairs of successive records of a rank; the outcome is the sign of the difference
/// of cumulative hit rates in whole per cent, or of missed rows per step. Invalid, late and refused
/// replies count as wrong.
struct PassScore {
    PassRule rule = PassRule::none;
    ShareScore hit_rate;
    ShareScore rows;  ///< of communication; with forecasts alone
    /// Label accuracy, of classifiers alone: yes where the hit rate then rose by more points than
    /// fetching took seconds longer (in replays, rows), no elsewhere.
    ShareScore label;
};

/// Against the other action on a copy of the buffer, as the helm found it while it ran.
struct CounterfactualScore {
    ShareScore
        share;  ///< no worse than the alternative; else wrong, and so are answers that failed
    std::uint64_t judged = 0;       ///< of them, by shadows
    std::uint64_t no_effect = 0;    ///< of the judged: both came to the same rows
    std::uint64_t horizon = 0;      ///< steps a decision to replace is judged over; 0: none was
    std::uint64_t set_horizon = 0;  ///< the same of a change of knobs

    /// Better than the alternative, of those that had an effect and of answers that failed.
    [[nodiscard]] ShareScore better() const noexcept;
};

/// Rows of the same trace and capacity, under the log and under what stands beside it.
struct CostScore {
    std::uint64_t rows = 0;  ///< what the log's decisions come to
    std::string built_in_rule;
    std::uint64_t built_in = 0;
    std::string best_rule;  ///< the best of the declared class in hindsight
    std::uint64_t best = 0;
    std::uint64_t window = 0;  ///< the static window:16
    std::uint64_t floor = 0;
    /// As the run itself counted it, where that is known; `rows` are then those of the run.
    std::optional<double> counted_excess{};
    [[nodiscard]] double excess() const noexcept;  ///< over the built-in rule
    [[nodiscard]] double regret() const noexcept;  ///< over the best of the class
};

struct LogScore {
    std::string agent;
    std::string run;
    std::uint64_t decisions = 0;
    std::uint64_t applied = 0;  ///< replace and set, those that were undone later included
    std::uint64_t kept = 0;     ///< that were to change nothing
    std::uint64_t late = 0;
    std::uint64_t invalid = 0;
    std::uint64_t refused = 0;
    std::uint64_t undone = 0;
    PassScore pass;
    CounterfactualScore counterfactual;
    std::optional<CostScore> cost;  ///< where a trace is at hand
};

/// Scores the decisions of one run, of any number of ranks.
[[nodiscard]] LogScore score_log(std::span<const DecisionRecord> records);
/// What they cost: the trace with the settings and decisions of the log, and with all of the
/// declared class. A usage Error if the trace is of another run.
[[nodiscard]] CostScore score_cost(std::span<const DecisionRecord> records,
                                   const buffer::Trace& trace);

[[nodiscard]] Json to_json(const LogScore& score);

}  // namespace rudder::steer
