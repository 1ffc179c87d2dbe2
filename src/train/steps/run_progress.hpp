// Where a run stands, and what follows from its scores: the best epoch, plateaus, early stopping.
#pragma once

#include <cstdint>

#include "train/checkpoints/run_state.hpp"
#include "train/learner.hpp"

namespace rudder::train {

/// The same on all ranks, but for the counts. What is given must outlive it.
class RunProgress {
public:
    RunProgress(const Ground& ground, const Learner& learner, RunState start);

    [[nodiscard]] const RunState& state() const noexcept { return state_; }
    [[nodiscard]] RunCounts& counts() noexcept { return state_.counts; }
    [[nodiscard]] std::uint64_t step() const noexcept { return state_.step; }
    /// Of the step that comes next, from 0.
    [[nodiscard]] std::uint32_t epoch() const noexcept;
    [[nodiscard]] bool at_end_of_epoch() const noexcept { return state_.step % epoch_steps_ == 0; }
    /// All steps are done, or more would not help.
    [[nodiscard]] bool done() const noexcept {
        return state_.step >= steps_ || state_.stopped_early;
    }
    /// The last epoch is to be evaluated, and was not. By this rank's clock, where nobody said how
    /// often.
    [[nodiscard]] bool lacks_scores() const;

    void step_done(float loss);
    /// Adds what the training vertices of the epoch under way scored, on any rank.
    void add_score(const Score& score) { state_.epoch_score += score; }
    /// The epoch that has just ended, after so many seconds since the run began or went on.
    [[nodiscard]] EpochRecord ended_epoch(double seconds) const;
    void add_epoch(const EpochRecord& epoch);
    /// What the last epoch scored, by an evaluation of so many seconds; whether it is the best.
    bool add_scores(Scores scores, double seconds);

private:
    [[nodiscard]] bool better(const Scores& scores, const Scores& best) const;

    const Ground& ground_;
    const Learner& learner_;
    std::uint64_t epoch_steps_;
    std::uint64_t steps_;  ///< in all
    RunState state_;
};

}  // namespace rudder::train
