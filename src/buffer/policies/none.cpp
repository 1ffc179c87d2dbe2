// none: no buffer at all.
#include "policies.hpp"

namespace rudder::buffer {

const PolicyInfo none_info{{"none", "Keeps nothing: every remote row of every step is fetched."},
                           "DistDGL (Zheng et al., IA3 2020)"};

namespace {

class NonePolicy final : public ClonedPolicy<NonePolicy> {
public:
    NonePolicy(const PolicyFacts& facts, Residents& residents) : ClonedPolicy(facts, residents) {}

    void begin(std::uint64_t /*step*/, StepPlan& fill) override { empty(fill); }
    void advance(std::uint64_t /*step*/, std::span<const RowKey> /*rows*/,
                 const Decision& /*decision*/, StepPlan& /*plan*/) override {}
    void capacity_changed(std::uint64_t /*step*/, StepPlan& plan) override { empty(plan); }
    [[nodiscard]] std::uint64_t bytes() const noexcept override { return 0; }

private:
    void empty(StepPlan& plan) {
        for (SlotId slot = 0; slot < residents_->slots(); ++slot) {
            if (residents_->row_at(slot) != no_row) leave(residents_->row_at(slot), plan);
        }
    }
};

}  // namespace

std::unique_ptr<Policy> make_none(const PolicySpec& /*spec*/, const PolicyFacts& facts,
                                  Residents& residents) {
    return std::make_unique<NonePolicy>(facts, residents);
}

}  // namespace rudder::buffer
