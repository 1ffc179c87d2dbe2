// lru: the rows used most recently.
#include <algorithm>

#include "policies.hpp"

namespace rudder::buffer {

const PolicyInfo lru_info{
    {"lru", "Admits every missed row; the least recently used leave after each step."},
    "a classic"};

namespace {

/// A doubly linked list over slots, least recently used first; the end is slot number slots().
class LruPolicy final : public ClonedPolicy<LruPolicy> {
public:
    LruPolicy(const PolicyFacts& facts, Residents& residents)
        : ClonedPolicy(facts, residents),
          end_(residents.slots()),
          next_(residents.slots() + std::size_t{1}, end_),
          before_(residents.slots() + std::size_t{1}, end_) {}

    void begin(std::uint64_t step, StepPlan& fill) override {
        for (SlotId slot = 0; slot < end_; ++slot) {
            if (residents_->row_at(slot) != no_row) append(slot);
        }
        capacity_changed(step, fill);
    }

    void advance(std::uint64_t /*step*/, std::span<const RowKey> rows, const Decision& /*decision*/,
                 StepPlan& plan) override {
        for (const SlotId slot : plan.slots) {
            if (slot != no_slot) unlink(slot);
        }
        // Of the rows used before and the step's, in order of last use, the first leave.
        const std::size_t older = residents_->count() - std::size_t{plan.hits};
        std::size_t excess = older + rows.size();
        excess -= std::min<std::size_t>(excess, residents_->capacity());
        const std::size_t old_leave = std::min(excess, older);
        for (std::size_t i = 0; i < old_leave; ++i)
            drop_first(plan);
        const std::size_t passed = excess - old_leave;
        for (std::size_t i = 0; i < passed; ++i) {
            if (plan.slots[i] != no_slot) leave(rows[i], plan);
        }
        for (std::size_t i = passed; i < rows.size(); ++i) {
            SlotId slot = plan.slots[i];
            if (slot == no_slot) {
                slot = residents_->place(rows[i]);
                plan.admit.push_back({static_cast<std::uint32_t>(i), slot});
            }
            append(slot);
        }
    }

    void capacity_changed(std::uint64_t /*step*/, StepPlan& plan) override {
        while (residents_->count() > residents_->capacity())
            drop_first(plan);
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept override {
        return (next_.capacity() + before_.capacity()) * sizeof(SlotId);
    }

private:
    void append(SlotId slot) {
        const SlotId last = before_[end_];
        next_[last] = slot;
        before_[slot] = last;
        next_[slot] = end_;
        before_[end_] = slot;
    }
    void unlink(SlotId slot) {
        next_[before_[slot]] = next_[slot];
        before_[next_[slot]] = before_[slot];
    }
    void drop_first(StepPlan& plan) {
        const SlotId slot = next_[end_];
        unlink(slot);
        leave(residents_->row_at(slot), plan);
    }

    SlotId end_;
    std::vector<SlotId> next_;
    std::vector<SlotId> before_;
};

}  // namespace

std::unique_ptr<Policy> make_lru(const PolicySpec& /*spec*/, const PolicyFacts& facts,
                                 Residents& residents) {
    return std::make_unique<LruPolicy>(facts, residents);
}

}  // namespace rudder::buffer
