// Where a run stands between two steps: all that is needed to go on, besides weights and optimiser.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/steer/helm_totals.hpp"
#include "rudder/train/records.hpp"

namespace rudder::train {

/// What a run has counted so far, over all ranks, for the steps done.
struct RunCounts {
    Rows rows;
    Seconds seconds;
    std::uint64_t edges = 0;
    comm::Bytes bytes;  ///< received
    double wall_seconds = 0;
    double cpu_seconds = 0;
    double policy_seconds = 0;
    steer::HelmTotals agent;  ///< of decisions of the steps done
    /// As transports counted it, not summed from `bytes`. So much was sent, too: what had not come
    /// when a checkpoint was taken is in neither.
    std::uint64_t received_total = 0;
    double pilot_seconds = 0;
    comm::CodingTotals coding;  ///< of steps in which messages could be coded
    std::uint64_t learned = 0;  ///< rows, of rows.demand

    static constexpr auto fields = field_list(
        field("rows", &RunCounts::rows), field("seconds", &RunCounts::seconds),
        field("edges", &RunCounts::edges, FieldKind::count), field("bytes", &RunCounts::bytes),
        field("wall_seconds", &RunCounts::wall_seconds, FieldKind::seconds),
        field("cpu_seconds", &RunCounts::cpu_seconds, FieldKind::seconds),
        added_field("policy_seconds", &RunCounts::policy_seconds, FieldKind::seconds, ""),
        added_field("agent", &RunCounts::agent, FieldKind::plain, ""),
        added_field("received_total", &RunCounts::received_total, FieldKind::count, ""),
        added_field("pilot_seconds", &RunCounts::pilot_seconds, FieldKind::seconds, ""),
        added_field("coding", &RunCounts::coding, FieldKind::plain, ""),
        added_field("learned", &RunCounts::learned, FieldKind::count, ""));
};
static_assert(lists_all_fields<RunCounts>);

/// The position of a run. The same on all ranks, but for `counts`, which rank 0 has.
struct RunState {
    std::uint64_t step = 0;  ///< steps done
    std::uint64_t digest = 0;
    float first_loss = 0;
    float last_loss = 0;
    std::vector<EpochRecord> epochs;  ///< done
    std::optional<std::uint32_t> best_epoch;
    double rate_factor = 1;           ///< of the learning rate, by plateaus so far
    std::uint32_t plateau_begin = 0;  ///< evaluations before the present plateau
    bool stopped_early = false;

    // Of the epoch under way.
    double epoch_loss = 0;
    double epoch_seconds = 0;
    Score epoch_score;  ///< of its training vertices so far, over all ranks

    RunCounts counts;
    std::uint64_t metrics_bytes = 0;  ///< length of metrics.jsonl with the steps done

    static constexpr auto fields = field_list(
        field("step", &RunState::step, FieldKind::count), field("digest", &RunState::digest),
        field("first_loss", &RunState::first_loss, FieldKind::value),
        field("last_loss", &RunState::last_loss, FieldKind::value),
        field("epochs", &RunState::epochs, FieldKind::value),
        field("best_epoch", &RunState::best_epoch, FieldKind::value),
        field("rate_factor", &RunState::rate_factor, FieldKind::value),
        field("plateau_begin", &RunState::plateau_begin, FieldKind::value),
        field("stopped_early", &RunState::stopped_early, FieldKind::value),
        field("epoch_loss", &RunState::epoch_loss, FieldKind::value),
        field("epoch_seconds", &RunState::epoch_seconds, FieldKind::seconds),
        field("epoch_score", &RunState::epoch_score), field("counts", &RunState::counts),
        field("metrics_bytes", &RunState::metrics_bytes, FieldKind::count));
};
static_assert(lists_all_fields<RunState>);

[[nodiscard]] Json to_json(const RunState& state);
/// The reverse; an input Error naming `where` if something is missing.
[[nodiscard]] RunState run_state_from_json(const Json& json, const std::string& where);

}  // namespace rudder::train
