// scored: Rudder's rules, repaired.
#include <algorithm>
#include <array>

#include "aged_counts.hpp"
#include "policies.hpp"
#include "signal.hpp"
#include "worst_first.hpp"

namespace rudder::buffer {

namespace {

constexpr std::array<SpecParameter, 3> scored_parameters{
    {{"every", ParameterKind::whole, 1, 4294967295.0, std::nullopt,
      "steps between two replacements; not given: the agent decides"},
     {"decay", ParameterKind::real, 0, 1, 0.99,
      "factor by which the count of a use decays per step", true},
     {"fraction", ParameterKind::real, 0, 1, 1, "largest share of the buffer replaced at once"}}};

}  // namespace

const PolicyInfo scored_info{{"scored",
                              "Keeps the rows of highest aged frequency: missed ones enter for "
                              "free, others when a replacement is due.",
                              scored_parameters},
                             "Rudder (Sarkar et al., ICS 2026), repaired",
                             true};

namespace {

class ScoredPolicy final : public ClonedPolicy<ScoredPolicy> {
public:
    ScoredPolicy(const PolicySpec& spec, const PolicyFacts& facts, Residents& residents)
        : ClonedPolicy(facts, residents),
          counts_(spec.number("decay")),
          signal_(Signal::of(spec, facts)),
          fraction_(spec.number("fraction")) {}

    void begin(std::uint64_t step, StepPlan& fill) override;
    void advance(std::uint64_t step, std::span<const RowKey> rows, const Decision& decision,
                 StepPlan& plan) override;
    void capacity_changed(std::uint64_t /*step*/, StepPlan& plan) override {
        shrink(residents_->count(), plan);
    }
    bool retune(std::uint64_t /*step*/, const PolicySpec& spec) override {
        counts_.set_decay(spec.number("decay"));
        signal_ = Signal::of(spec, facts_);
        fraction_ = spec.number("fraction");
        return true;
    }
    [[nodiscard]] std::uint64_t replaceable(std::uint64_t /*step*/) const override {
        std::uint64_t rows = 0;
        for (std::size_t row = 0; row < counts_.size(); ++row)
            rows += candidate(static_cast<RowKey>(row)) ? 1U : 0U;
        return std::min<std::uint64_t>(rows, allowed({true, fraction_}, residents_->capacity()));
    }
    [[nodiscard]] std::uint64_t bytes() const noexcept override {
        return counts_.bytes() + ranked_.bytes() + candidates_.capacity() * sizeof(RowKey);
    }

private:
    void know() {
        counts_.know(known());
        ranked_.know(known());
    }
    /// Neither held nor of this step, and used more than just once lately.
    [[nodiscard]] bool candidate(RowKey row) const {
        return counts_[row] > counts_.weight() && !ranked_.has(row);
    }
    void shrink(std::size_t all, StepPlan& plan);
    /// The best `limit` candidates for a fetch enter the competition.
    void choose(std::size_t limit);

    AgedCounts counts_;
    Signal signal_;
    double fraction_;
    WorstFirst<double> ranked_;  ///< the rows that stay
    std::vector<RowKey> candidates_;
};

void ScoredPolicy::begin(std::uint64_t step, StepPlan& fill) {
    know();
    for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
        const RowKey row = residents_->row_at(slot);
        if (row != no_row) ranked_.push(row, 0);
    }
    capacity_changed(step, fill);
}

void ScoredPolicy::shrink(std::size_t all, StepPlan& plan) {
    ranked_.take(
        all - std::min<std::size_t>(all, residents_->capacity()),
        [&](RowKey row) { counts_.ask(row); }, [](RowKey) { return true; },
        [&](RowKey row) { return counts_[row]; },
        [&](RowKey row) {
            if (residents_->holds(row)) leave(row, plan);
        });
}

void ScoredPolicy::advance(std::uint64_t step, std::span<const RowKey> rows,
                           const Decision& decision, StepPlan& plan) {
    know();
    if (const double factor = counts_.step(); factor != 1) ranked_.scale(factor);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i + lead < rows.size()) counts_.ask(rows[i + lead]);
        counts_.use(rows[i]);
        ranked_.push(rows[i], counts_[rows[i]]);
    }
    candidates_.clear();
    if (const Decision now = signal_.at(step, decision, facts_); now.replace) {
        choose(allowed({true, std::min(now.fraction, fraction_)}, residents_->capacity()));
    }
    // Rows of the step and candidates compete with those held; the lowest counts go, or stay out.
    shrink(residents_->count() + rows.size() - plan.hits + candidates_.size(), plan);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (plan.slots[i] != no_slot || !ranked_.has(rows[i])) continue;
        plan.admit.push_back({static_cast<std::uint32_t>(i), residents_->place(rows[i])});
    }
    for (const RowKey row : candidates_) {
        if (ranked_.has(row)) plan.replacement.push_back({row, residents_->place(row)});
    }
}

void ScoredPolicy::choose(std::size_t limit) {
    for (RowKey row = 0; row < known(); ++row) {
        if (candidate(row)) candidates_.push_back(row);
    }
    if (candidates_.size() > limit) {
        std::nth_element(candidates_.begin(),
                         candidates_.begin() + static_cast<std::ptrdiff_t>(limit),
                         candidates_.end(), [&](RowKey a, RowKey b) {
                             return counts_[a] != counts_[b] ? counts_[a] > counts_[b] : a < b;
                         });
        candidates_.resize(limit);
    }
    for (const RowKey row : candidates_)
        ranked_.push(row, counts_[row]);
}

}  // namespace

std::unique_ptr<Policy> make_scored(const PolicySpec& spec, const PolicyFacts& facts,
                                    Residents& residents) {
    return std::make_unique<ScoredPolicy>(spec, facts, residents);
}

}  // namespace rudder::buffer
