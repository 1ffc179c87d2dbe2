#include "gradient_exchange.hpp"

#include <algorithm>
#include <cmath>

#include "core/span.hpp"
#include "rudder/core/check.hpp"

#include "step_facts_size.hpp"

namespace rudder::train {

namespace {

/// Reductions that may be under way, less the one of the facts and one to spare.
constexpr std::size_t groups_at_once = 6;

/// Positions in the facts.
constexpr std::size_t loss_fact = 0;
constexpr std::size_t stop_fact = 1;
constexpr std::size_t checkpoint_fact = 2;
constexpr std::size_t records_fact = 3;
constexpr std::size_t first_flag = 4;
/// Floats of a rank's pace.
constexpr std::size_t pace_floats = 3;

/// Takes the next bucket into a group; backward completes buckets from the end of the flat vector
/// to its start.
void take_bucket(BucketGroup& group, std::span<const nn::Bucket> buckets, std::size_t b) {
    const std::size_t low = std::min(group.range.offset, buckets[b].offset);
    const std::size_t high =
        std::max(group.range.offset + group.range.size, buckets[b].offset + buckets[b].size);
    group = {{low, high - low}, b};
}

std::vector<std::uint32_t> indices_of(partition::PartShare own) {
    std::vector<std::uint32_t> indices;
    for (PartId p = own.first; p < own.last; ++p)
        indices.push_back(p);
    return indices;
}

}  // namespace

std::vector<BucketGroup> group_buckets(std::span<const nn::Bucket> buckets, std::size_t bytes_each,
                                       std::size_t least) {
    const std::size_t per_group =
        std::max<std::size_t>(1, (buckets.size() + groups_at_once - 1) / groups_at_once);
    std::vector<BucketGroup> groups;
    std::size_t in_group = 0;
    for (std::size_t b = 0; b < buckets.size(); ++b) {
        const bool full = !groups.empty() && in_group >= per_group &&
                          groups.back().range.size * bytes_each >= least;
        if (groups.empty() || full) {
            groups.push_back({buckets[b], b});
            in_group = 1;
            continue;
        }
        take_bucket(groups.back(), buckets, b);
        ++in_group;
    }
    return groups;
}

std::vector<BucketGroup> divide_buckets(std::span<const nn::Bucket> buckets, std::size_t groups) {
    const std::size_t count = std::min(std::max<std::size_t>(groups, 1), buckets.size());
    std::size_t all = 0;
    for (const nn::Bucket& bucket : buckets)
        all += bucket.size;
    std::vector<BucketGroup> made;
    std::size_t before = 0;  // floats of the buckets so far
    for (std::size_t b = 0; b < buckets.size(); ++b) {
        const std::size_t missing = count - made.size();
        const bool full = missing > 0 && before * count >= all * made.size();
        if (full || missing == buckets.size() - b) {
            made.push_back({buckets[b], b});
        } else {
            take_bucket(made.back(), buckets, b);
        }
        before += buckets[b].size;
    }
    return made;
}

std::size_t fact_floats(PartId parts, int ranks, std::size_t extra) noexcept {
    return first_flag + parts + pace_floats * static_cast<std::size_t>(ranks) + extra;
}

GradientExchange::GradientExchange(const comm::Communicator& comm, partition::PartShare own,
                                   PartId parts, const GradientLayout& layout)
    : sum_(Array<float>::zeroed(layout.size)),
      buckets_(layout.buckets.begin(), layout.buckets.end()),
      by_link_(group_buckets(buckets_, layout.precision == comm::SumPrecision::float32 ? 4 : 2,
                             comm.transport().bytes_under_way())),
      groups_(by_link_),
      precision_(layout.precision),
      extra_(layout.extra),
      own_(own),
      first_pace_(first_flag + parts),
      rank_(static_cast<std::size_t>(comm.rank())),
      reducer_(comm, indices_of(own), layout.coder) {
    fact_sum_.resize(fact_floats(parts, comm.size(), layout.extra));
    for (PartId p = own.first; p < own.last; ++p) {
        gradients_.push_back(Array<float>::zeroed(layout.size));
        facts_.emplace_back(fact_sum_.size());
    }
}

std::uint64_t GradientExchange::most_groups() const noexcept {
    return std::min(groups_at_once, buckets_.size());
}

void GradientExchange::divide(std::uint64_t groups) {
    if (groups == divided_) return;
    RUDDER_CHECK(next_group_ == 0 && groups <= most_groups());
    divided_ = groups;
    groups_ = groups == 0 ? by_link_ : divide_buckets(buckets_, groups);
}

void GradientExchange::bucket_ready(std::size_t b) {
    if (next_group_ == groups_.size() || groups_[next_group_].last != b) return;
    const nn::Bucket group = groups_[next_group_++].range;
    std::vector<std::span<const float>> parts;
    for (const auto& gradient : gradients_)
        parts.push_back(gradient.span().subspan(group.offset, group.size));
    under_way_.push_back(reducer_.reduce(parts, sum_.span().subspan(group.offset, group.size),
                                         comm::Kind::gradients, precision_));
}

void divide_waits(Seconds& seconds, const StepPace& own, const StepPace& slowest) noexcept {
    const double late = std::clamp(slowest.ready - own.ready, 0.0, seconds.reduce);
    const double rows = std::clamp(slowest.rows - own.rows, 0.0, late);
    const double agent = std::clamp(slowest.agent - own.agent, 0.0, late - rows);
    const double own_agent = std::clamp(own.agent, 0.0, seconds.stall);
    seconds.wait_rows = seconds.stall - own_agent + rows;
    seconds.wait_agent = own_agent + agent;
    seconds.wait_ranks = late - rows - agent;
    seconds.wait_gradients = seconds.reduce - late;
}

StepConsensus GradientExchange::finish(std::span<const float> losses, const StepWishes& wishes,
                                       const StepPace& pace) {
    RUDDER_CHECK(next_group_ == groups_.size() && losses.size() == facts_.size());
    std::vector<std::span<const float>> contributions;
    for (std::size_t i = 0; i < facts_.size(); ++i) {
        std::ranges::fill(facts_[i], 0.0F);
        const bool broken = !std::isfinite(losses[i]);
        facts_[i][loss_fact] = losses[i];
        facts_[i][stop_fact] = wishes.stop ? 1.0F : 0.0F;
        facts_[i][checkpoint_fact] = wishes.checkpoint ? 1.0F : 0.0F;
        facts_[i][records_fact] = wishes.records ? 1.0F : 0.0F;
        facts_[i][first_flag + own_.first + i] = broken ? 1.0F : 0.0F;
        contributions.emplace_back(facts_[i]);
    }
    if (!facts_.empty()) {
        float* own = facts_[0].data() + first_pace_ + pace_floats * rank_;
        own[0] = static_cast<float>(pace.rows);
        own[1] = static_cast<float>(pace.agent);
        own[2] = static_cast<float>(pace.ready);
        std::ranges::copy(extra_, facts_[0].end() - std::ssize(extra_));
    }
    under_way_.push_back(reducer_.reduce(contributions, fact_sum_));
    {
        const Span span("reducing gradients");
        comm::wait_all(under_way_);
    }
    under_way_.clear();
    next_group_ = 0;
    StepConsensus consensus{fact_sum_[loss_fact], fact_sum_[stop_fact] > 0,
                            fact_sum_[checkpoint_fact] > 0, fact_sum_[records_fact] > 0, -1};
    std::ranges::fill(extra_, 0.0F);
    const auto flags = std::span(fact_sum_).subspan(first_flag, first_pace_ - first_flag);
    const auto broken = std::ranges::find_if(flags, [](float flag) { return flag > 0; });
    if (broken != flags.end()) consensus.broken_part = static_cast<int>(broken - flags.begin());
    consensus.slowest = slowest();
    return consensus;
}

StepPace GradientExchange::slowest() const {
    StepPace last;
    const std::size_t end = fact_sum_.size() - extra_.size();
    for (std::size_t at = first_pace_; at < end; at += pace_floats) {
        const StepPace pace{static_cast<double>(fact_sum_[at]),
                            static_cast<double>(fact_sum_[at + 1]),
                            static_cast<double>(fact_sum_[at + 2])};
        if (pace.ready > last.ready) last = pace;
    }
    return last;
}

}  // namespace rudder::train
