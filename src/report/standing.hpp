// How a run stands: the value that the live view draws, that `rudder top` follows and that
// GET /status answers with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/fields.hpp"
#include "rudder/core/json_fwd.hpp"
#include "rudder/core/rows.hpp"
#include "rudder/core/seconds.hpp"
#include "steer/log/decision_log.hpp"

namespace rudder::report {

/// What a rank did in the last seconds that are known of it; seconds are means over its steps.
struct RankPace {
    std::uint64_t rank = 0;
    double step_seconds = 0;
    double compute_seconds = 0;
    double stall_seconds = 0;  ///< waiting for its own rows, before the gradients
    double bytes_per_second = 0;
    double hit_rate = 0;  ///< of rows of other hosts
    // With computing, the parts of a step: core/step_time.hpp.
    double wait_rows_seconds = 0;
    double wait_gradients_seconds = 0;
    double wait_ranks_seconds = 0;
    double wait_agent_seconds = 0;
    double rest_seconds = 0;

    static constexpr auto fields = field_list(
        field("rank", &RankPace::rank, FieldKind::plain),
        field("step_seconds", &RankPace::step_seconds, FieldKind::plain),
        field("compute_seconds", &RankPace::compute_seconds, FieldKind::plain),
        field("stall_seconds", &RankPace::stall_seconds, FieldKind::plain),
        field("bytes_per_second", &RankPace::bytes_per_second, FieldKind::plain),
        field("hit_rate", &RankPace::hit_rate, FieldKind::plain),
        added_field("wait_rows_seconds", &RankPace::wait_rows_seconds, FieldKind::plain, {}),
        added_field("wait_gradients_seconds", &RankPace::wait_gradients_seconds, FieldKind::plain,
                    {}),
        added_field("wait_ranks_seconds", &RankPace::wait_ranks_seconds, FieldKind::plain, {}),
        added_field("wait_agent_seconds", &RankPace::wait_agent_seconds, FieldKind::plain, {}),
        added_field("rest_seconds", &RankPace::rest_seconds, FieldKind::plain, {}));

    /// What the others wait for.
    [[nodiscard]] double own_seconds() const noexcept { return compute_seconds + stall_seconds; }
    /// Where the time of its step went, also where an earlier version told less of it.
    [[nodiscard]] Seconds parts() const noexcept;
};
static_assert(lists_all_fields<RankPace>);

/// A change that an agent made, in words.
struct AppliedDecision {
    std::uint64_t step = 0;
    std::uint64_t rank = 0;
    std::string agent;
    std::string action;
    std::string reason;  ///< may be empty
    std::string effect;
    std::optional<double> fewer_rows{};  ///< than otherwise, as a share; where it was measured

    static constexpr auto fields =
        field_list(field("step", &AppliedDecision::step, FieldKind::plain),
                   field("rank", &AppliedDecision::rank, FieldKind::plain),
                   field("agent", &AppliedDecision::agent, FieldKind::plain),
                   field("action", &AppliedDecision::action, FieldKind::plain),
                   field("reason", &AppliedDecision::reason, FieldKind::plain),
                   field("effect", &AppliedDecision::effect, FieldKind::plain),
                   field("fewer_rows", &AppliedDecision::fewer_rows, FieldKind::plain));
};
static_assert(lists_all_fields<AppliedDecision>);

struct Standing {
    std::string name;  ///< of several runs, which this is; may be empty
    std::string state = "running";
    std::uint64_t step = 0;   ///< done
    std::uint64_t steps = 0;  ///< of the whole run; 0: not known
    std::uint64_t epoch = 0;  ///< that the last step was of, counted from 1; 0: none was done
    std::uint64_t epochs = 0;
    double seconds = 0;  ///< of the steps that are known, and of evaluation
    std::optional<double> seconds_left{};
    std::optional<double> loss{};
    std::vector<double> losses{};                ///< so far, a few points
    std::optional<double> valid{};               ///< share of right answers, of the last evaluation
    std::optional<std::uint64_t> valid_epoch{};  ///< counted from 1
    std::string policy;                          ///< now; empty: no buffer
    std::string agent;
    std::uint64_t decisions = 0;                ///< that were told of
    std::uint64_t applied = 0;                  ///< of these, changes that were made
    std::optional<AppliedDecision> decision{};  ///< the last of those
    // Of the last seconds.
    std::uint64_t ranks = 1;
    double steps_per_second = 0;
    double bytes_per_second = 0;      ///< of the ranks below
    double wait_rows = 0;             ///< share of their time
    Rows rows{};                      ///< of their steps
    std::vector<RankPace> by_rank{};  ///< those that are known: rank 0 first, all after a while

    static constexpr auto fields = field_list(
        field("name", &Standing::name, FieldKind::plain),
        field("state", &Standing::state, FieldKind::plain),
        field("step", &Standing::step, FieldKind::plain),
        field("steps", &Standing::steps, FieldKind::plain),
        field("epoch", &Standing::epoch, FieldKind::plain),
        field("epochs", &Standing::epochs, FieldKind::plain),
        field("seconds", &Standing::seconds, FieldKind::plain),
        field("seconds_left", &Standing::seconds_left, FieldKind::plain),
        field("loss", &Standing::loss, FieldKind::plain),
        field("losses", &Standing::losses, FieldKind::plain),
        field("valid", &Standing::valid, FieldKind::plain),
        field("valid_epoch", &Standing::valid_epoch, FieldKind::plain),
        field("policy", &Standing::policy, FieldKind::plain),
        field("agent", &Standing::agent, FieldKind::plain),
        field("decisions", &Standing::decisions, FieldKind::plain),
        field("applied", &Standing::applied, FieldKind::plain),
        field("decision", &Standing::decision, FieldKind::plain),
        field("ranks", &Standing::ranks, FieldKind::plain),
        field("steps_per_second", &Standing::steps_per_second, FieldKind::plain),
        field("bytes_per_second", &Standing::bytes_per_second, FieldKind::plain),
        field("wait_rows", &Standing::wait_rows, FieldKind::plain), field("rows", &Standing::rows),
        field("by_rank", &Standing::by_rank, FieldKind::plain));
};
static_assert(lists_all_fields<Standing>);

/// Numbers that are not finite are null.
[[nodiscard]] Json to_json(const Standing& standing);
/// The reverse; an input Error naming `where` otherwise.
[[nodiscard]] Standing standing_from_json(const Json& json, const std::string& where);

/// Whether a decision changed something and was not taken back.
[[nodiscard]] bool was_applied(const steer::DecisionRecord& record) noexcept;
/// What was done, why, and what came of it, each in a few words.
[[nodiscard]] AppliedDecision in_words(const steer::DecisionRecord& record);
/// The same in one line.
[[nodiscard]] std::string decision_text(const AppliedDecision& decision);

}  // namespace rudder::report
