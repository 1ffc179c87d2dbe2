// One run of a trainer: what changes from step to step.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "buffer/trace_writer.hpp"
#include "steer/helm/rule_pilot.hpp"
#include "train/checkpoints/digest.hpp"
#include "train/checkpoints/run_state.hpp"
#include "train/trainer_state.hpp"

#include "epoch_profile.hpp"
#include "pipeline.hpp"
#include "record_book.hpp"
#include "seed_targets.hpp"
#include "steering.hpp"

namespace rudder::train {

/// Seconds on the executor's clock.
class Stopwatch {
public:
    Stopwatch() : start_(Executor::current().now()) {}
    /// Seconds since the start or the last lap.
    double lap() {
        const double seconds = passed();
        start_ = Executor::current().now();
        return seconds;
    }
    [[nodiscard]] double passed() const {
        return std::chrono::duration<double>(Executor::current().now() - start_).count();
    }

private:
    Duration start_;
};

/// The loop over steps and epochs, from wherever the state says.
class Run {
public:
    Run(Trainer::State& trainer, TrainObserver& observer, const CheckpointPlan& checkpoints);

    TrainResult train();

private:
    [[nodiscard]] sample::LookAheadOptions look_ahead() const;
    [[nodiscard]] std::uint64_t steps_per_epoch() const noexcept {
        return s_.schedule.steps_per_epoch();
    }

    // run_buffer.cpp: what is kept of other hosts' rows, and recorded of what is needed.
    [[nodiscard]] std::unique_ptr<buffer::TraceWriter> make_trace() const;
    [[nodiscard]] std::unique_ptr<buffer::LiveBuffer> make_buffer() const;
    [[nodiscard]] std::unique_ptr<steer::RulePilot> make_window_pilot() const;
    void adapt_window(const Seconds& seconds);
    void note_knobs(const AssembledStep& step, StepRecord& record);
    void share_knobs(std::span<StepRecord> records) const;

    // run.cpp: steps.
    bool train_epoch();
    StepConsensus train_step(StepRecord& record);
    [[nodiscard]] AssembledStep& next_step(std::uint64_t step);
    void compute(const AssembledStep& step, StepRecord& record);
    void update(std::uint64_t step);
    void refuse_broken(const StepConsensus& consensus, std::uint64_t step) const;
    void flush();
    void finish_profile();

    // run_epochs.cpp: what happens between epochs.
    void finish_epoch();
    void start_evaluation(std::span<const float> weights);
    void finish_evaluation();
    void note_scores(EpochRecord& epoch);
    [[nodiscard]] bool better(const Scores& scores, const Scores& best) const;
    [[nodiscard]] std::uint32_t evaluations() const;
    [[nodiscard]] std::uint32_t evaluations_since_best() const;
    void tell_epoch(const EpochRecord& epoch);

    // run_checkpoints.cpp: putting the run down, and its end.
    [[nodiscard]] bool checkpoint_due_by_clock() const;
    [[nodiscard]] bool records_due_by_clock() const;
    void prepare_checkpoints();
    void write_checkpoint();
    void copy_network(Checkpoint& checkpoint);
    void gather_score();
    TrainResult finish(bool interrupted);
    void count_up(ClosingFigures& own, TrainResult& result);

    Trainer::State& s_;
    TrainObserver& observer_;
    const CheckpointPlan& checkpoints_;
    RunState state_;
    std::uint64_t steps_;  ///< in all
    RecordBook book_;
    std::unique_ptr<buffer::TraceWriter>
        trace_;           ///< on the first rank of each buffer, if asked for
    Steering* steering_;  ///< null where nobody steers
    std::unique_ptr<steer::RulePilot> window_pilot_;  ///< null where the window is set
    std::unique_ptr<buffer::LiveBuffer> buffer_;      ///< none if every row is pulled
    Pipeline pipeline_;
    Stopwatch whole_;
    Stopwatch epoch_watch_;
    Stopwatch step_watch_;
    Stopwatch checkpoint_watch_;
    Stopwatch records_watch_;  ///< since they were gathered
    EpochProfile profile_;
    double cpu_before_;
    comm::Bytes received_;  ///< by this rank, up to the last step
    LossDigest digest_;
    SeedTargetReader targets_;
    std::vector<float> losses_;  ///< of the own parts
    Score own_score_;            ///< of this rank in the epoch under way, since the last gathering
    bool pending_ = false;       ///< the last epoch's evaluation is under way
    std::uint64_t resumed_at_ = 0;
};

}  // namespace rudder::train
