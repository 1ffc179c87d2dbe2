// The scores of Rudder and MassiveGNN, exactly as published.
#pragma once

#include <vector>

#include "rudder/buffer/cloned_policy.hpp"

#include "signal.hpp"

namespace rudder::buffer {

/// How the published rules are set.
struct PublishedRules {
    double alpha = 0.05;
    std::uint64_t period = 1;     ///< exponent of the threshold
    bool fill_by_degree = false;  ///< else it starts empty
};

/// Halo rows only. A row in the buffer has the score s0 (1 - alpha)^idle, where idle counts the
/// steps since it came in which it was not used; one outside has the number of its misses, or what
/// was left of its score when it went. On a signal, rows below the threshold, lowest id first, make
/// room for the most missed ones, which are fetched even if the step has just fetched them.
class PublishedScores final : public ClonedPolicy<PublishedScores> {
public:
    PublishedScores(const PolicyFacts& facts, Residents& residents, const PublishedRules& rules,
                    const Signal& signal);

    void begin(std::uint64_t step, StepPlan& fill) override;
    void advance(std::uint64_t step, std::span<const RowKey> rows, const Decision& decision,
                 StepPlan& plan) override;
    void capacity_changed(std::uint64_t step, StepPlan& plan) override;
    bool retune(std::uint64_t step, const PolicySpec& spec) override;
    [[nodiscard]] std::uint64_t replaceable(std::uint64_t step) const override;
    [[nodiscard]] std::uint64_t bytes() const noexcept override;

private:
    struct Inside {
        double first = 1;         ///< score when it came
        std::uint64_t since = 0;  ///< the step in which it came
        std::uint64_t hits = 0;
    };
    [[nodiscard]] double score(SlotId slot, std::uint64_t step) const;
    [[nodiscard]] double faded(double first, std::uint64_t idle) const;
    /// Replaces; how many rows were.
    std::size_t replace(std::uint64_t step, std::size_t limit, StepPlan& plan);
    void victims(std::uint64_t step);
    void candidates();

    PublishedRules rules_;
    Signal signal_;
    double threshold_;
    std::uint64_t start_ = 0;     ///< since when free slots count as idle
    std::vector<Inside> inside_;  ///< by slot
    std::vector<double> missed_;  ///< by halo row; 0 while in the buffer
    std::vector<RowKey> out_;
    std::vector<RowKey> in_;
    mutable std::vector<double> powers_;  ///< (1 - alpha)^n
};

}  // namespace rudder::buffer
