#include "rudder/buffer/policy.hpp"

#include "buffer/policies/registry.hpp"
#include "rudder/core/check.hpp"

namespace rudder::buffer {

void StepPlan::clear() {
    slots.clear();
    hits = 0;
    leave.clear();
    admit.clear();
    replacement.clear();
    ahead.clear();
}

void Policy::begin(std::uint64_t /*step*/, StepPlan& /*fill*/) {}

void Policy::look_ahead(std::uint64_t /*step*/, std::span<const RowKey> /*rows*/) {}

bool Policy::retune(std::uint64_t /*step*/, const PolicySpec& /*spec*/) {
    return false;
}

std::unique_ptr<Policy> make_policy(const PolicySpec& spec, const PolicyFacts& facts,
                                    Residents& residents) {
    RUDDER_CHECK(facts.rows != nullptr);
    for (const PolicyEntry& entry : policy_entries()) {
        if (entry.info == &spec.info()) return entry.make(spec, facts, residents);
    }
    RUDDER_CHECK(false);
    return nullptr;
}

}  // namespace rudder::buffer
