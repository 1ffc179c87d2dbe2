// What a loader's steps come to, for whoever watches them as a run.
#pragma once

#include "rudder/train/observer.hpp"
#include "rudder/train/result.hpp"
#include "train/ground.hpp"
#include "train/steps/buffer_setup.hpp"
#include "train/steps/run_buffer.hpp"
#include "train/steps/run_records.hpp"
#include "train/steps/steering.hpp"
#include "train/steps/stopwatch.hpp"

namespace rudder::train {

/// One rank's side: all ranks have one or none has, and meet in every step.
class LoaderRun {
public:
    /// What is given must outlive it; `steering` is null where nobody steers. `observer` is told on
    /// rank 0.
    LoaderRun(const Ground& ground, const BufferSetup& setup, RunBuffer& buffer, Steering* steering,
              TrainObserver& observer);

    /// An epoch's time begins here.
    void begin_epoch() { epoch_watch_.lap(); }
    /// Of a step of this rank, with the loss of all parts. Collective every so often.
    void add(StepRecord record);
    /// Collective: no more steps are taken; agents end.
    void end_steps();
    /// Collective, after that, when nothing is under way: what it came to, on rank 0. `unused`:
    /// rows of steps that were assembled and not taken; `in_flight`: the most bytes of such steps.
    [[nodiscard]] TrainResult close(const Rows& unused, std::uint64_t in_flight);

private:
    void end_epoch(std::uint32_t epoch);

    const Ground& ground_;
    const BufferSetup& setup_;
    RunBuffer& buffer_;
    Steering* steering_;
    TrainObserver& observer_;
    RunRecords records_;
    RunCounts counts_;
    TrainResult result_;
    Stopwatch whole_;
    Stopwatch epoch_watch_;
    double epoch_loss_ = 0;
    double cpu_before_;
};

}  // namespace rudder::train
