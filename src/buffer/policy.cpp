#include "rudder/buffer/policy.hpp"

#include <array>
#include <utility>

#include "rudder/core/check.hpp"

#include "policies/policies.hpp"

namespace rudder {

namespace {

const std::array<std::pair<const PolicyInfo*, MakePolicy*>, 12> makers{{
    {&none_info, make_none},
    {&static_degree_info, make_static_degree},
    {&static_random_info, make_static_random},
    {&static_vip_info, make_static_vip},
    {&lru_info, make_lru},
    {&lfu_info, make_lfu},
    {&clock_info, make_clock},
    {&periodic_info, make_periodic},
    {&scored_faithful_info, make_scored_faithful},
    {&scored_info, make_scored},
    {&window_info, make_window},
    {&optimal_info, make_optimal},
}};

}  // namespace

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
    for (const auto& [info, make] : makers) {
        if (info == &spec.info()) return make(spec, facts, residents);
    }
    RUDDER_CHECK(false);
    return nullptr;
}

}  // namespace rudder
