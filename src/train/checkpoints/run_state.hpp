// Where a run stands between two steps: all that is needed to go on, besides weights and optimiser.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/train/records.hpp"

namespace rudder::train {

/// What a run has counted so far, over all ranks, for the steps done.
struct RunCounts {
    buffer::RowCounts rows;
    StepSeconds seconds;
    std::uint64_t edges = 0;
    std::array<std::uint64_t, comm::kind_count> bytes{};  ///< received
    double wall_seconds = 0;
    double cpu_seconds = 0;
};

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
};

[[nodiscard]] Json to_json(const RunState& state);
/// The reverse; an input Error naming `where` if something is missing.
[[nodiscard]] RunState run_state_from_json(const Json& json, const std::string& where);

}  // namespace rudder::train
