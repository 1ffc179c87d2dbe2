// The records of a run's steps: brought together, counted, and told to whoever watches.
#pragma once

#include "rudder/train/observer.hpp"
#include "train/checkpoints/run_state.hpp"

#include "record_book.hpp"
#include "run_buffer.hpp"
#include "steering.hpp"
#include "stopwatch.hpp"

namespace rudder::train {

class RunRecords {
public:
    /// `steering` is null where nobody steers. What is given must outlive it.
    RunRecords(const comm::Communicator& comm, TrainObserver& observer, const RunBuffer& buffer,
               Steering* steering);

    /// Of a step of this rank.
    void add(StepRecord record) { book_.add(std::move(record)); }
    /// As many wait as may.
    [[nodiscard]] bool full() const noexcept;
    /// They have not been brought together for long; rank 0's clock counts.
    [[nodiscard]] bool due_by_clock() const;
    /// Collective: records of all ranks come to rank 0, which counts and tells them.
    void flush(RunCounts& counts);

private:
    /// A decision about a step that is not done.
    struct CountedDecision {
        std::uint64_t step;
        steer::HelmTotals counts;
    };
    void count_decisions(std::span<const steer::DecisionRecord> told, steer::HelmTotals& counts);

    const comm::Communicator& comm_;
    TrainObserver& observer_;
    const RunBuffer& buffer_;
    Steering* steering_;
    RecordBook book_;
    Stopwatch watch_;  ///< since the last flush
    std::vector<CountedDecision> ahead_;
    std::uint64_t done_ = 0;  ///< steps, as far as records say
};

}  // namespace rudder::train
