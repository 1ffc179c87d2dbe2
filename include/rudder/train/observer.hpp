// Who watches a training run.
#pragma once

#include <cstdint>
#include <span>

#include "rudder/train/records.hpp"

namespace rudder {
struct RunProfile;
namespace steer {
struct DecisionRecord;
struct PromptLine;
}  // namespace steer
}  // namespace rudder

namespace rudder::train {

/// Watches a run on rank 0.
class TrainObserver {
public:
    virtual ~TrainObserver() = default;
    /// After every step, of rank 0 alone.
    virtual void step_done(const StepRecord& /*record*/, std::uint64_t /*steps*/) {}
    /// Every so often: the steps of all ranks since the last time, in the order of step and rank.
    virtual void records(std::span<const StepRecord> /*records*/) {}
    /// Along with the records: decisions of agents whose outcome is known by now.
    virtual void decisions(std::span<const steer::DecisionRecord> /*decisions*/) {}
    /// Likewise: questions for language models that were collected, by host and step.
    virtual void prompts(std::span<const steer::PromptLine> /*lines*/) {}
    /// Once its evaluation is known, which may be an epoch later.
    virtual void epoch_done(const EpochRecord& /*record*/, std::uint32_t /*epochs*/) {}
    /// What all ranks did during the epoch that was to be profiled.
    virtual void profile(const RunProfile& /*profile*/) {}
    /// How long metrics.jsonl is with the steps recorded so far.
    [[nodiscard]] virtual std::uint64_t metrics_bytes() const { return 0; }
};

}  // namespace rudder::train
