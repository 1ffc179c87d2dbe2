// lru: the rows used most recently.
#include <algorithm>

#include "policies.hpp"

namespace rudder::buffer {

const PolicyInfo lru_info{
    {"lru", "Admits every missed row; the least recently used leave after each step."},
    "a classic"};

namespace {

/// Uses are written down one after the other; only the last one of a slot counts. The rows that
/// were not used for longest are found by going through them from the first: no list through slots.
class LruPolicy final : public ClonedPolicy<LruPolicy> {
public:
    LruPolicy(const PolicyFacts& facts, Residents& residents)
        : ClonedPolicy(facts, residents), last_use_(residents.slots(), never) {}

    void begin(std::uint64_t step, StepPlan& fill) override {
        for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
            if (residents_->row_at(slot) != no_row) use(slot);
        }
        capacity_changed(step, fill);
    }

    void advance(std::uint64_t /*step*/, std::span<const RowKey> rows, const Decision& /*decision*/,
                 StepPlan& plan) override {
        tidy();
        for (const SlotId slot : plan.slots) {
            if (slot != no_slot) last_use_[slot] = never;
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
            use(slot);
        }
    }

    void capacity_changed(std::uint64_t /*step*/, StepPlan& plan) override {
        while (residents_->count() > residents_->capacity())
            drop_first(plan);
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept override {
        return (uses_.capacity() + last_use_.capacity()) * sizeof(SlotId);
    }

private:
    using Place = std::uint32_t;  ///< of a use, in `uses_`
    static constexpr Place never = 0xffffffffU;

    void use(SlotId slot) {
        last_use_[slot] = static_cast<Place>(uses_.size());
        uses_.push_back(slot);
    }
    void drop_first(StepPlan& plan) {
        while (last_use_[uses_[first_]] != first_)
            ++first_;
        if (first_ + lead < uses_.size()) __builtin_prefetch(&last_use_[uses_[first_ + lead]]);
        leave(residents_->row_at(uses_[first_]), plan);
        last_use_[uses_[first_++]] = never;
    }
    /// Forgets uses that no longer count, once they are most of all.
    void tidy() {
        if (uses_.size() < 2 * last_use_.size() + 4096) return;
        Place left = 0;
        for (Place at = first_; at < uses_.size(); ++at) {
            const SlotId slot = uses_[at];
            if (last_use_[slot] != at) continue;
            last_use_[slot] = left;
            uses_[left++] = slot;
        }
        uses_.resize(left);
        first_ = 0;
    }

    std::vector<SlotId> uses_;     ///< in order
    Place first_ = 0;              ///< those before it do not count
    std::vector<Place> last_use_;  ///< by slot
};

}  // namespace

std::unique_ptr<Policy> make_lru(const PolicySpec& /*spec*/, const PolicyFacts& facts,
                                 Residents& residents) {
    return std::make_unique<LruPolicy>(facts, residents);
}

}  // namespace rudder::buffer
