// Several watchers of one run.
#pragma once

#include <algorithm>
#include <vector>

#include "rudder/train/trainer.hpp"

namespace rudder::cli {

/// Passes on what it sees to all that were added, in that order. They must outlive it.
class TrainObservers final : public TrainObserver {
public:
    void add(TrainObserver& observer) { all_.push_back(&observer); }

    void step_done(const StepRecord& record, std::uint64_t steps) override {
        for (TrainObserver* one : all_)
            one->step_done(record, steps);
    }
    void records(std::span<const StepRecord> records) override {
        for (TrainObserver* one : all_)
            one->records(records);
    }
    void decisions(std::span<const DecisionLine> lines) override {
        for (TrainObserver* one : all_)
            one->decisions(lines);
    }
    void epoch_done(const EpochRecord& record, std::uint32_t epochs) override {
        for (TrainObserver* one : all_)
            one->epoch_done(record, epochs);
    }
    void profile(const RunProfile& profile) override {
        for (TrainObserver* one : all_)
            one->profile(profile);
    }
    /// Of the one that writes it.
    [[nodiscard]] std::uint64_t metrics_bytes() const override {
        std::uint64_t bytes = 0;
        for (const TrainObserver* one : all_)
            bytes = std::max(bytes, one->metrics_bytes());
        return bytes;
    }

private:
    std::vector<TrainObserver*> all_;
};

}  // namespace rudder::cli
