// clock: a hand goes round the slots and takes the first row that was not used since it last came.
#include "policies.hpp"

namespace rudder::buffer {

const PolicyInfo clock_info{{"clock",
                             "Admits missed rows; a hand goes round and takes the first row not "
                             "used since its last visit."},
                            "a classic (Corbató 1968)"};

namespace {

class ClockPolicy final : public ClonedPolicy<ClockPolicy> {
public:
    ClockPolicy(const PolicyFacts& facts, Residents& residents)
        : ClonedPolicy(facts, residents), mark_(residents.slots(), Mark::old) {}

    void begin(std::uint64_t step, StepPlan& fill) override { capacity_changed(step, fill); }

    void advance(std::uint64_t /*step*/, std::span<const RowKey> rows, const Decision& /*decision*/,
                 StepPlan& plan) override {
        for (const SlotId slot : plan.slots) {
            if (slot != no_slot) mark_[slot] = Mark::now;
        }
        std::size_t of_step = plan.hits;
        for (std::size_t i = 0; i < rows.size() && of_step < residents_->capacity(); ++i) {
            if (plan.slots[i] != no_slot) continue;
            if (residents_->room() == 0) turn(plan);
            const SlotId slot = residents_->place(rows[i]);
            mark_[slot] = Mark::now;
            ++of_step;
            plan.admit.push_back({static_cast<std::uint32_t>(i), slot});
        }
        for (const SlotId slot : plan.slots) {
            if (slot != no_slot) mark_[slot] = Mark::used;
        }
        for (const Admitted& admitted : plan.admit)
            mark_[admitted.slot] = Mark::used;
    }

    void capacity_changed(std::uint64_t /*step*/, StepPlan& plan) override {
        while (residents_->count() > residents_->capacity())
            turn(plan);
    }

    [[nodiscard]] std::uint64_t bytes() const noexcept override { return mark_.capacity(); }

private:
    /// A row of the step in hand is passed over.
    enum class Mark : std::uint8_t { old, used, now };

    /// Turns the hand to the next row that is to leave; there is one that is not of this step.
    void turn(StepPlan& plan) {
        for (;; hand_ = hand_ + 1 == mark_.size() ? 0 : hand_ + 1) {
            const RowKey row = residents_->row_at(hand_);
            if (row == no_row || mark_[hand_] == Mark::now) continue;
            if (mark_[hand_] == Mark::old) {
                leave(row, plan);
                hand_ = hand_ + 1 == mark_.size() ? 0 : hand_ + 1;
                return;
            }
            mark_[hand_] = Mark::old;
        }
    }

    std::vector<Mark> mark_;  ///< by slot
    SlotId hand_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_clock(const PolicySpec& /*spec*/, const PolicyFacts& facts,
                                   Residents& residents) {
    return std::make_unique<ClockPolicy>(facts, residents);
}

}  // namespace rudder::buffer
