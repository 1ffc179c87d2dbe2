// Gradients of all parts, summed in part order while the backward pass still runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/reduction.hpp"
#include "partition/share.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/array.hpp"
#include "rudder/nn/network.hpp"

namespace rudder::train {

/// What a rank wants after a step.
struct StepWishes {
    bool stop = false;        ///< it was asked to
    bool checkpoint = false;  ///< one is due by its clock
    bool records = false;     ///< they have not been gathered for long
};

/// What all ranks learn of a step besides the gradient.
struct StepConsensus {
    float loss = 0;           ///< sum over the parts, in part order
    bool stop = false;        ///< some rank wants to
    bool checkpoint = false;  ///< some rank wants one
    bool records = false;     ///< some rank wants them gathered
    int broken_part = -1;     ///< the first part whose loss is no number, or -1
};

/// One rank's share in the reductions of a run. Each own part has a gradient of its own; the sums
/// are the same on all ranks, bit for bit, however the parts are spread.
class GradientExchange {
public:
    /// Collective. `buckets` are those of the network, whose gradient has `size` floats; `extra`
    /// floats of each rank travel along with every step.
    GradientExchange(const comm::Communicator& comm, partition::PartShare own, PartId parts,
                     std::size_t size, std::span<const nn::Bucket> buckets, std::size_t extra = 0);

    /// Where own part `i` (0, 1, ...) writes its gradient.
    [[nodiscard]] std::span<float> gradient(std::size_t i) { return gradients_[i].span(); }
    /// Bucket `b` of the last own part is complete: starts its reduction. Does not wait.
    void bucket_ready(std::size_t b);
    /// What this rank sends along with the step; zero at first, and after each `finish`.
    [[nodiscard]] std::span<float> extra() noexcept { return extra_; }
    /// The sum over all ranks of what they sent along, after `finish`.
    [[nodiscard]] std::span<const float> extra_sum() const noexcept {
        return std::span(fact_sum_).last(extra_.size());
    }
    /// Hands in the loss of each own part and this rank's wishes; waits for all.
    StepConsensus finish(std::span<const float> losses, const StepWishes& wishes);
    /// The sum, after `finish`.
    [[nodiscard]] std::span<float> sum() noexcept { return sum_.span(); }

private:
    std::vector<Array<float>> gradients_;  ///< by own part
    Array<float> sum_;
    std::vector<nn::Bucket> groups_;      ///< adjacent buckets reduced as one
    std::vector<std::size_t> group_end_;  ///< the last bucket of each group
    std::size_t next_group_ = 0;
    std::vector<std::vector<float>>
        facts_;  ///< by own part: loss, wishes, one flag per part, extra
    std::vector<float> fact_sum_;
    std::vector<float> extra_;
    partition::PartShare own_;
    comm::OrderedReducer reducer_;
    std::vector<comm::Request> under_way_;
};

}  // namespace rudder::train
