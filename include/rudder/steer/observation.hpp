// What an agent is shown: windowed, fractional, priced numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/fields.hpp"
#include "rudder/core/json_fwd.hpp"
#include "rudder/core/rows.hpp"
#include "rudder/core/seconds.hpp"
#include "rudder/steer/action.hpp"
#include "rudder/steer/knobs.hpp"

namespace rudder::steer {

/// What a run pays in: rows fetched, or seconds its steps wait.
enum class CostKind : std::uint8_t { rows, seconds };
[[nodiscard]] std::string_view to_string(CostKind kind) noexcept;

/// What a shadow buffer would have fetched. Counts are scaled to all rows.
struct ShadowReading {
    std::string name;       ///< as the agent called it
    Setting setting;        ///< as it is now
    std::uint64_t age = 0;  ///< steps since it was opened
    Rows rows;              ///< of this observation's steps
    Rows total;             ///< since it was opened
    /// Fetched in each step that it took since the observation before, of an agent's own; in no
    /// log.
    std::vector<double> by_step{};

    static constexpr auto fields =
        unnamed_fields(&ShadowReading::name, &ShadowReading::setting, &ShadowReading::age,
                       &ShadowReading::rows, &ShadowReading::total, &ShadowReading::by_step);
};
static_assert(lists_all_fields<ShadowReading>);

/// Sizes of a run that do not change; 0: not known.
struct RunSizes {
    std::uint64_t batch = 0;         ///< seeds per part and step
    std::uint64_t vertices = 0;      ///< of the graph
    std::uint64_t own_vertices = 0;  ///< of the parts that share the buffer

    static constexpr auto fields =
        unnamed_fields(&RunSizes::batch, &RunSizes::vertices, &RunSizes::own_vertices);
};
static_assert(lists_all_fields<RunSizes>);

/// A past decision and what came of it.
struct PastDecision {
    std::uint64_t step = 0;
    Action action;
    std::string status;
    double hit_rate_before = 0;  ///< of the window before it
    double hit_rate_after = 0;   ///< of the window after it
    double rows_before = 0;      ///< fetched per step
    double rows_after = 0;
    std::optional<bool> correct;  ///< no worse than the alternative, where that is known
    bool tied = false;            ///< and no better either

    static constexpr auto fields = unnamed_fields(
        &PastDecision::step, &PastDecision::action, &PastDecision::status,
        &PastDecision::hit_rate_before, &PastDecision::hit_rate_after, &PastDecision::rows_before,
        &PastDecision::rows_after, &PastDecision::correct, &PastDecision::tied);
};
static_assert(lists_all_fields<PastDecision>);

struct Observation {
    std::uint64_t sequence = 0;
    std::uint64_t step = 0;   ///< the one to come
    std::uint64_t steps = 0;  ///< of the run; 0: not known
    std::uint64_t steps_per_epoch = 0;

    Rows rows;   ///< of the steps since the observation before
    Rows total;  ///< since the start
    std::vector<std::uint64_t>
        rows_by_owner;  ///< fetched since the observation before; may be empty
    std::uint64_t row_bytes = 0;
    Seconds seconds;  ///< since the observation before
    CostKind cost = CostKind::rows;
    // Of the queue of sampled steps, in live runs: for rules of the program, in no log.
    std::uint64_t queue_bytes = 0;
    std::uint64_t queue_limit = 0;
    bool clock_turn = true;  ///< no other agent of the job tries something on the clock; in no log

    Setting setting;
    KnobLimits limits;
    std::uint64_t halo = 0;  ///< rows
    RunSizes sizes;
    bool takes_decisions = false;    ///< the policy replaces when told to
    std::uint64_t candidates = 0;    ///< rows a replacement could bring in, where the policy knows
    std::uint64_t since_change = 0;  ///< steps since a change of ours took effect

    /// Always there: `twin` does what the real buffer does, `built-in` the built-in rule, both on
    /// the sample that all shadows follow, so that their rows compare without noise of sampling.
    ShadowReading twin;
    ShadowReading built_in;
    std::vector<ShadowReading> shadows;  ///< that the agent asked for, in the order it did
    std::vector<PastDecision> history;   ///< oldest first

    /// Share of needed rows that were in the buffer; 0 where none was needed.
    [[nodiscard]] double hit_rate() const noexcept;
    /// Per step of the window: rows fetched, or seconds of stall.
    [[nodiscard]] double cost_per_step() const noexcept;
    [[nodiscard]] std::uint64_t steps_left() const noexcept {
        return steps > step ? steps - step : 0;
    }

    static constexpr auto fields =
        unnamed_fields(&Observation::sequence, &Observation::step, &Observation::steps,
                       &Observation::steps_per_epoch, &Observation::rows, &Observation::total,
                       &Observation::rows_by_owner, &Observation::row_bytes, &Observation::seconds,
                       &Observation::cost, &Observation::queue_bytes, &Observation::queue_limit,
                       &Observation::clock_turn, &Observation::setting, &Observation::limits,
                       &Observation::halo, &Observation::sizes, &Observation::takes_decisions,
                       &Observation::candidates, &Observation::since_change, &Observation::twin,
                       &Observation::built_in, &Observation::shadows, &Observation::history);
};
static_assert(lists_all_fields<Observation>);

[[nodiscard]] double hit_rate(const Rows& rows) noexcept;

[[nodiscard]] Json to_json(const Rows& rows);
[[nodiscard]] Json to_json(const Observation& observation);
/// Reads what to_json wrote; an input Error naming `where` otherwise.
[[nodiscard]] Observation parse_observation(const Json& object, const std::string& where);

}  // namespace rudder::steer
