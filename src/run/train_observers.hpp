// Several watchers of one run.
#pragma once

#include <algorithm>
#include <vector>

#include "rudder/train/observer.hpp"

namespace rudder::run {

/// Passes on what it sees to all that were added, in that order. They must outlive it.
class TrainObservers final : public train::TrainObserver {
public:
    void add(train::TrainObserver& observer) { all_.push_back(&observer); }

    void step_done(const train::StepRecord& record, std::uint64_t steps) override {
        for (train::TrainObserver* one : all_)
            one->step_done(record, steps);
    }
    void records(std::span<const train::StepRecord> records) override {
        for (train::TrainObserver* one : all_)
            one->records(records);
    }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        for (train::TrainObserver* one : all_)
            one->decisions(decisions);
    }
    void prompts(std::span<const steer::PromptLine> lines) override {
        for (train::TrainObserver* one : all_)
            one->prompts(lines);
    }
    void epoch_done(const train::EpochRecord& record, std::uint32_t epochs) override {
        for (train::TrainObserver* one : all_)
            one->epoch_done(record, epochs);
    }
    void profile(const RunProfile& profile) override {
        for (train::TrainObserver* one : all_)
            one->profile(profile);
    }
    /// Of the one that writes it.
    [[nodiscard]] std::uint64_t metrics_bytes() const override {
        std::uint64_t bytes = 0;
        for (const train::TrainObserver* one : all_)
            bytes = std::max(bytes, one->metrics_bytes());
        return bytes;
    }

private:
    std::vector<train::TrainObserver*> all_;
};

}  // namespace rudder::run
