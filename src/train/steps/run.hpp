// One run of a trainer: steps and epochs, from wherever its state says to the end.
#pragma once

#include "train/checkpoints/checkpointing.hpp"
#include "train/trainer_state.hpp"

#include "epoch_profile.hpp"
#include "run_buffer.hpp"
#include "run_progress.hpp"
#include "run_records.hpp"
#include "step_loop.hpp"
#include "stopwatch.hpp"

namespace rudder::train {

/// Says when what happens; each part does its own.
class Run {
public:
    Run(Trainer::State& trainer, TrainObserver& observer, const CheckpointPlan& checkpoints);

    TrainResult train();

private:
    bool train_epoch();
    void finish_epoch(bool checkpoint_due);
    [[nodiscard]] bool agreed_to_evaluate() const;
    void finish_evaluation();
    void tell_epoch(const EpochRecord& epoch);
    void finish_profile();
    void gather_score();
    void write_checkpoint();
    [[nodiscard]] std::vector<std::string> count_agents(const Steering::Standing& agents,
                                                        RunState& state) const;
    TrainResult finish(bool interrupted);
    void count_up(ClosingFigures& own, TrainResult& result);

    Trainer::State& s_;
    TrainObserver& observer_;
    RunProgress progress_;
    Checkpointing checkpoints_;
    RunBuffer buffer_;
    RunRecords records_;
    StepLoop loop_;
    EpochProfile profile_;
    Stopwatch whole_;
    Stopwatch epoch_watch_;
    double started_in_ = 0;  ///< seconds that the start of the last evaluation took
    double cpu_before_;
};

}  // namespace rudder::train
