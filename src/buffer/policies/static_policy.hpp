// Policies that fill the buffer once, with the first rows of a ranking of the halo.
#pragma once

#include <vector>

#include "rudder/buffer/cloned_policy.hpp"

namespace rudder::buffer {

/// Holds the first `capacity` rows of a ranking; a missed row is never admitted.
class StaticPolicy final : public ClonedPolicy<StaticPolicy> {
public:
    /// `ranking` are halo rows, best first.
    StaticPolicy(const PolicyFacts& facts, Residents& residents, std::vector<RowKey> ranking)
        : ClonedPolicy(facts, residents), ranking_(std::move(ranking)) {}

    void begin(std::uint64_t step, StepPlan& fill) override;
    void advance(std::uint64_t /*step*/, std::span<const RowKey> /*rows*/,
                 const Decision& /*decision*/, StepPlan& /*plan*/) override {}
    void capacity_changed(std::uint64_t step, StepPlan& plan) override { begin(step, plan); }
    [[nodiscard]] std::uint64_t bytes() const noexcept override {
        return ranking_.capacity() * sizeof(RowKey);
    }

private:
    std::vector<RowKey> ranking_;
};

/// Halo rows by descending `weight`, ties by ascending id.
template <class T>
[[nodiscard]] std::vector<RowKey> ranking_of(std::span<const T> weight);

/// Takes what is not among the first `capacity` rows of the ranking out, fetches what is missing.
void fill_with(std::span<const RowKey> ranking, Residents& residents, StepPlan& plan);

}  // namespace rudder::buffer
