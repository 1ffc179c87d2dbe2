// lfu: the rows used most often.
#include <algorithm>
#include <tuple>

#include "core/huge_vector.hpp"

#include "policies.hpp"
#include "worst_first.hpp"

namespace rudder::buffer {

const PolicyInfo lfu_info{
    {"lfu",
     "Admits every missed row; the least often used of the whole run leave after each step."},
    "a classic"};

namespace {

/// How often and, among equals, how recently a row was used.
struct Uses {
    std::uint64_t count = 0;
    std::uint64_t last = 0;
    friend bool operator<(const Uses& a, const Uses& b) noexcept {
        return std::tie(a.count, a.last) < std::tie(b.count, b.last);
    }
};

class LfuPolicy final : public ClonedPolicy<LfuPolicy> {
public:
    LfuPolicy(const PolicyFacts& facts, Residents& residents) : ClonedPolicy(facts, residents) {}

    void begin(std::uint64_t step, StepPlan& fill) override {
        know();
        for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
            const RowKey row = residents_->row_at(slot);
            if (row == no_row) continue;
            uses_[row].last = ++clock_;
            ranked_.push(row, uses_[row]);
        }
        capacity_changed(step, fill);
    }

    void advance(std::uint64_t /*step*/, std::span<const RowKey> rows, const Decision& /*decision*/,
                 StepPlan& plan) override {
        know();
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (i + lead < rows.size()) __builtin_prefetch(&uses_[rows[i + lead]], 1);
            Uses& uses = uses_[rows[i]];
            uses = {uses.count + 1, ++clock_};
            ranked_.push(rows[i], uses);
        }
        const std::size_t all = residents_->count() + rows.size() - plan.hits;
        shrink(all, plan);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (plan.slots[i] != no_slot || !ranked_.has(rows[i])) continue;
            plan.admit.push_back({static_cast<std::uint32_t>(i), residents_->place(rows[i])});
        }
    }

    void capacity_changed(std::uint64_t /*step*/, StepPlan& plan) override {
        shrink(residents_->count(), plan);
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept override {
        return uses_.capacity() * sizeof(Uses) + ranked_.bytes();
    }

private:
    void know() {
        if (known() > uses_.size()) uses_.resize(known());
        ranked_.know(known());
    }
    /// Of `all` ranked rows the worst leave until the capacity is kept.
    void shrink(std::size_t all, StepPlan& plan) {
        ranked_.take(
            all - std::min<std::size_t>(all, residents_->capacity()),
            [&](RowKey row) { __builtin_prefetch(&uses_[row]); }, [](RowKey) { return true; },
            [&](RowKey row) { return uses_[row]; },
            [&](RowKey row) {
                if (residents_->holds(row)) leave(row, plan);
            });
    }

    HugeVector<Uses> uses_;    ///< by row
    WorstFirst<Uses> ranked_;  ///< the rows that stay
    std::uint64_t clock_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_lfu(const PolicySpec& /*spec*/, const PolicyFacts& facts,
                                 Residents& residents) {
    return std::make_unique<LfuPolicy>(facts, residents);
}

}  // namespace rudder::buffer
