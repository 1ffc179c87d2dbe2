// When a run's checkpoints are due, and what goes into them.
#pragma once

#include "rudder/train/trainer.hpp"
#include "train/evaluation/evaluation.hpp"
#include "train/learner.hpp"
#include "train/steps/stopwatch.hpp"

#include "checkpoint_keeper.hpp"

namespace rudder::train {

/// What is given must outlive it.
class Checkpointing {
public:
    /// Pages that were never touched take longer to copy to than the copying: they are touched
    /// here, so that none are left to the first checkpoint.
    Checkpointing(const CheckpointPlan& plan, const TrainOptions& options, const Learner& learner);

    /// The run leaves some; the same on all ranks.
    [[nodiscard]] bool wanted() const noexcept { return plan_.wanted; }
    /// At the end of this epoch (from 0), unless it is the last.
    [[nodiscard]] bool due_after(std::uint32_t epoch) const noexcept;
    [[nodiscard]] bool due_by_clock() const;

    /// This rank writes them.
    [[nodiscard]] bool writes() const noexcept { return plan_.keeper != nullptr; }
    /// One is being taken: from now on the clock counts to the next.
    void begin() { watch_.lap(); }
    /// Writes it, beside training; waits for a copy of the weights, no longer. `under_evaluation`
    /// are weights that are being evaluated and differ from the network's; empty: none do.
    /// `open_decisions`: as in Checkpoint.
    void write(RunState state, std::span<const float> under_evaluation,
               std::vector<std::string> open_decisions, LearnedState learned);
    /// The weights after that step, of which there may be no checkpoint, are the best so far; with
    /// the rows that were learned.
    void best(std::uint64_t step, const RunState& state, std::span<const float> weights,
              LearnedState learned);
    /// Waits for what is being written.
    void wait();

private:
    [[nodiscard]] RunIdentity identity() const;

    const CheckpointPlan& plan_;
    const TrainOptions& options_;
    const Learner& learner_;
    Stopwatch watch_;  ///< since the last one
};

}  // namespace rudder::train
