// One step after the other: rows, forward and backward, the sum of gradients, the update.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "rudder/core/function_ref.hpp"
#include "train/checkpoints/digest.hpp"
#include "train/learned/row_learner.hpp"
#include "train/learner.hpp"
#include "train/memory_watch.hpp"
#include "train/slowness.hpp"

#include "gradient_exchange.hpp"
#include "pipeline.hpp"
#include "run_buffer.hpp"
#include "seed_targets.hpp"
#include "steering.hpp"
#include "stopwatch.hpp"

namespace rudder::train {

/// Brings rows to the network's device as soon as they are there.
class RowsToDevice final : public RowsWatcher {
public:
    RowsToDevice(nn::Network& network, const store::RowFormat& format)
        : network_(network), format_(format) {}
    void begun(std::span<float> memory) override {
        network_.rows_begin(std::as_writable_bytes(memory));
    }
    void ended(std::span<float> memory) noexcept override {
        network_.rows_end(std::as_writable_bytes(memory));
    }
    void assembled(const sample::Batch& batch, std::span<const float> rows) override;

private:
    nn::Network& network_;
    const store::RowFormat& format_;
};

class StepLoop {
public:
    /// Begins with step `first`, whose losses so far have this digest. `steering` is null where
    /// nobody steers, `rows` where none are learned. What is given must outlive it.
    StepLoop(Ground& ground, Learner& learner, RowLearner* rows, GradientExchange& exchange,
             RunBuffer& buffer, Steering* steering, std::uint64_t first, std::uint64_t digest);

    /// Collective: does the step that comes next. `wishes` is asked when the gradients are done;
    /// `rate_factor` is of the learning rate. A loss that is NaN or infinite is an Error that
    /// names step and rank.
    StepConsensus step(StepRecord& record, FunctionRef<StepWishes()> wishes, double rate_factor);
    /// What was done since the last step is not part of the next one.
    void skip_time() {
        const Duration now = Executor::current().now();
        step_watch_.lap(now);
        phase_watch_.lap(now);
        pace_watch_.lap(now);
    }
    /// What this rank's training vertices scored since the last time.
    [[nodiscard]] Score take_score() noexcept { return std::exchange(score_, {}); }
    /// Of all losses so far.
    [[nodiscard]] std::uint64_t digest() const { return digest_.value(); }
    /// As Pipeline::stop.
    [[nodiscard]] Rows stop() { return pipeline_.stop(); }
    [[nodiscard]] std::uint64_t row_bytes() const { return pipeline_.row_bytes(); }
    /// What this rank has received since its first step, but for rows: up to the end of the last
    /// step, by the transport's own total and not by its kinds.
    [[nodiscard]] std::uint64_t received_but_rows() const noexcept { return but_rows_; }
    /// Messages that the rows of the steps done came in, counted as they came; waits for those that
    /// are still on their way to the buffer. Rows of steps that are not done are not among them.
    [[nodiscard]] comm::CodedBytes received_rows();
    /// Of this rank, up to the end of the last step.
    [[nodiscard]] const nn::DeviceTimes& device_times() const noexcept { return device_times_; }
    /// What was decoded since the first step, up to the end of the last one; rows of steps done.
    [[nodiscard]] comm::CodingTotals decoded();

private:
    [[nodiscard]] AssembledStep& next(StepRecord& record);
    void count_received(StepRecord& record);
    void compute(const AssembledStep& step, std::uint64_t number);
    /// What a part's batch is trained for.
    [[nodiscard]] nn::SeedTargets targets_of(std::size_t part, const sample::Batch& batch);
    void refuse_broken(const StepConsensus& consensus, std::uint64_t step) const;
    /// Makes buffer and look-ahead smaller, and says so.
    void give_back(const MemoryShortage& shortage);

    Ground& ground_;
    Learner& learner_;
    RowLearner* rows_;
    GradientExchange& exchange_;
    RunBuffer& buffer_;
    Steering* steering_;
    RowsToDevice to_device_;
    Pipeline pipeline_;
    Stopwatch step_watch_;
    Stopwatch phase_watch_;  ///< since the last phase of a step ended
    Stopwatch pace_watch_;   ///< since the last gradients were there
    SeedTargetReader targets_;
    SeedPairReader pairs_;
    std::vector<LocalId> places_;  ///< of a batch's edges, where these have targets
    std::vector<float> losses_;    ///< of the own parts
    Slowness slowness_;
    MemoryWatch memory_;
    std::uint64_t queue_bytes_;    ///< of batches that may wait
    bool all_given_back_ = false;  ///< that could be
    Score score_;
    nn::DeviceTimes device_times_;
    LossDigest digest_;
    comm::AccountTotals before_;         ///< of this rank, at the start
    comm::CodingTotals coded_before_;    ///< likewise
    comm::Bytes received_;               ///< by this rank, up to the last step
    std::uint64_t but_rows_ = 0;         ///< likewise
    comm::CodingTotals coded_;           ///< likewise
    comm::CodedBytes pulled_;            ///< rows of steps done that no buffer fetched
    std::optional<std::uint64_t> done_;  ///< the last step
};

}  // namespace rudder::train
