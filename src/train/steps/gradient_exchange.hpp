// Gradients of all parts, summed in part order while the backward pass still runs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/reduction.hpp"
#include "partition/share.hpp"
#include "rudder/comm/communicator.hpp"
#include "rudder/core/array.hpp"
#include "rudder/core/seconds.hpp"
#include "rudder/nn/network.hpp"

namespace rudder::train {

/// What a rank wants after a step.
struct StepWishes {
    bool stop = false;        ///< it was asked to
    bool checkpoint = false;  ///< one is due by its clock
    bool records = false;     ///< they have not been gathered for long
};

/// How a rank came to the end of a step's backward pass, in seconds since the last step's gradients
/// were there; ranks need no common clock, since they had those at about the same time.
struct StepPace {
    double rows = 0;   ///< that it waited for rows
    double agent = 0;  ///< that it waited for an agent, whose answer its rows waited for
    double ready = 0;  ///< when it handed in its last gradient
};

/// Divides what a step waited for (`stall` and `reduce`) into rows, gradients on their way, slower
/// ranks and the agent: `slowest` is the pace of the rank that came last.
void divide_waits(Seconds& seconds, const StepPace& own, const StepPace& slowest) noexcept;

/// What all ranks learn of a step besides the gradient.
struct StepConsensus {
    float loss = 0;           ///< sum over the parts, in part order
    bool stop = false;        ///< some rank wants to
    bool checkpoint = false;  ///< some rank wants one
    bool records = false;     ///< some rank wants them gathered
    int broken_part = -1;     ///< the first part whose loss is no number, or -1
    StepPace slowest{};       ///< of the rank that came last
};

/// What is summed up in every step.
struct GradientLayout {
    std::size_t size = 0;                 ///< floats of the network's gradient
    std::span<const nn::Bucket> buckets;  ///< in which the network completes it
    std::size_t extra = 0;                ///< floats of each rank that travel along
    comm::SumPrecision precision = comm::SumPrecision::float32;  ///< of the gradient
    std::shared_ptr<comm::MessageCoder> coder{};                 ///< of messages; null: none
};

/// Buckets that are reduced as one: at most as many groups as may be under way, and none of fewer
/// bytes than `least`, which leave before the first arrives, so that a link is not waited for more
/// often than it is filled.
struct BucketGroup {
    nn::Bucket range;
    std::size_t last = 0;  ///< bucket
};
[[nodiscard]] std::vector<BucketGroup> group_buckets(std::span<const nn::Bucket> buckets,
                                                     std::size_t bytes_each, std::size_t least);
/// So many groups, or as many as there are buckets, of about as many floats each.
[[nodiscard]] std::vector<BucketGroup> divide_buckets(std::span<const nn::Bucket> buckets,
                                                      std::size_t groups);

/// One rank's share in the reductions of a run. Each own part has a gradient of its own; the sums
/// are the same on all ranks, bit for bit, however the parts are spread.
class GradientExchange {
public:
    /// Collective.
    GradientExchange(const comm::Communicator& comm, partition::PartShare own, PartId parts,
                     const GradientLayout& layout);

    /// From the next step on the gradient is reduced in so many groups of buckets, at most
    /// most_groups(); 0: as the link allows. Between two steps, on all ranks alike; sums do not
    /// depend on it.
    void divide(std::uint64_t groups);
    /// As it was told.
    [[nodiscard]] std::uint64_t divided() const noexcept { return divided_; }
    [[nodiscard]] std::uint64_t most_groups() const noexcept;

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
    /// Hands in the loss of each own part, this rank's wishes and its pace; waits for all.
    StepConsensus finish(std::span<const float> losses, const StepWishes& wishes,
                         const StepPace& pace);
    /// The sum, after `finish`.
    [[nodiscard]] std::span<float> sum() noexcept { return sum_.span(); }

private:
    [[nodiscard]] StepPace slowest() const;

    std::vector<Array<float>> gradients_;  ///< by own part
    Array<float> sum_;
    std::vector<nn::Bucket> buckets_;
    std::vector<BucketGroup> by_link_;  ///< groups as the link allows
    std::vector<BucketGroup> groups_;   ///< as they are now
    std::uint64_t divided_ = 0;
    comm::SumPrecision precision_;
    std::size_t next_group_ = 0;
    std::vector<std::vector<float>>
        facts_;  ///< by own part: loss, wishes, one flag per part, the pace of each rank, extra
    std::vector<float> fact_sum_;
    std::vector<float> extra_;
    partition::PartShare own_;
    std::size_t first_pace_;  ///< position in the facts
    std::size_t rank_;
    comm::OrderedReducer reducer_;
    std::vector<comm::Request> under_way_;
};

}  // namespace rudder::train
