#include "rudder/buffer/policy.hpp"

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

}  // namespace rudder::buffer
