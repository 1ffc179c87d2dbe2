#include "gradient_exchange.hpp"

#include <algorithm>
#include <cmath>

#include "core/span.hpp"
#include "rudder/core/check.hpp"

namespace rudder::train {

namespace {

/// Reductions that may be under way, less the one of the facts and one to spare.
constexpr std::size_t most_groups = 6;

/// Positions in the facts.
constexpr std::size_t loss_fact = 0;
constexpr std::size_t stop_fact = 1;
constexpr std::size_t checkpoint_fact = 2;
constexpr std::size_t records_fact = 3;
constexpr std::size_t first_flag = 4;

std::vector<std::uint32_t> indices_of(partition::PartShare own) {
    std::vector<std::uint32_t> indices;
    for (PartId p = own.first; p < own.last; ++p)
        indices.push_back(p);
    return indices;
}

}  // namespace

GradientExchange::GradientExchange(const comm::Communicator& comm, partition::PartShare own,
                                   PartId parts, std::size_t size,
                                   std::span<const nn::Bucket> buckets, std::size_t extra)
    : sum_(Array<float>::zeroed(size)), extra_(extra), own_(own), reducer_(comm, indices_of(own)) {
    for (PartId p = own.first; p < own.last; ++p) {
        gradients_.push_back(Array<float>::zeroed(size));
        facts_.emplace_back(first_flag + parts + extra);
    }
    fact_sum_.resize(first_flag + parts + extra);
    const std::size_t per_group =
        std::max<std::size_t>(1, (buckets.size() + most_groups - 1) / most_groups);
    for (std::size_t b = 0; b < buckets.size(); b += per_group) {
        const std::size_t end = std::min(b + per_group, buckets.size());
        // Backward completes buckets from the end of the flat vector to its start.
        std::size_t low = buckets[b].offset;
        std::size_t high = low + buckets[b].size;
        for (std::size_t i = b; i < end; ++i) {
            low = std::min(low, buckets[i].offset);
            high = std::max(high, buckets[i].offset + buckets[i].size);
        }
        groups_.push_back({low, high - low});
        group_end_.push_back(end - 1);
    }
}

void GradientExchange::bucket_ready(std::size_t b) {
    if (next_group_ == groups_.size() || group_end_[next_group_] != b) return;
    const nn::Bucket group = groups_[next_group_++];
    std::vector<std::span<const float>> parts;
    for (const auto& gradient : gradients_)
        parts.push_back(gradient.span().subspan(group.offset, group.size));
    under_way_.push_back(
        reducer_.reduce(std::move(parts), sum_.span().subspan(group.offset, group.size)));
}

StepConsensus GradientExchange::finish(std::span<const float> losses, const StepWishes& wishes) {
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
    if (!facts_.empty()) std::ranges::copy(extra_, facts_[0].end() - std::ssize(extra_));
    under_way_.push_back(reducer_.reduce(std::move(contributions), fact_sum_));
    {
        const Span span("reducing gradients");
        comm::wait_all(under_way_);
    }
    under_way_.clear();
    next_group_ = 0;
    StepConsensus consensus{fact_sum_[loss_fact], fact_sum_[stop_fact] > 0,
                            fact_sum_[checkpoint_fact] > 0, fact_sum_[records_fact] > 0, -1};
    std::ranges::fill(extra_, 0.0F);
    const auto flags =
        std::span(fact_sum_).subspan(first_flag, fact_sum_.size() - first_flag - extra_.size());
    const auto broken = std::ranges::find_if(flags, [](float flag) { return flag > 0; });
    if (broken != flags.end()) consensus.broken_part = static_cast<int>(broken - flags.begin());
    return consensus;
}

}  // namespace rudder::train
