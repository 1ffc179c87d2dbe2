// The list of policies: one line each, in the order of the design's table; then those registered.
#include "core/spec_registry.hpp"
#include "rudder/buffer/policy_registry.hpp"

#include "policies.hpp"

namespace rudder::buffer {

namespace {

SpecRegistry<PolicyInfo, MakePolicy>& policies() {
    static SpecRegistry<PolicyInfo, MakePolicy> all{
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
    };
    return all;
}

}  // namespace

std::span<const PolicyInfo* const> all_policies() noexcept {
    return policies().infos();
}

const PolicyInfo& policy_info(std::string_view name, const std::string& where) {
    return policies().find("policy", name, where);
}

void register_policy(const PolicyInfo& info, MakePolicy* make) {
    policies().add(info, make);
}

std::unique_ptr<Policy> make_policy(const PolicySpec& spec, const PolicyFacts& facts,
                                    Residents& residents) {
    RUDDER_CHECK(facts.rows != nullptr);
    return policies().make_of(spec.info())(spec, facts, residents);
}

void check_policy(const PolicySpec& spec, const PolicyFacts& facts) {
    Residents none(0, 0);
    static_cast<void>(make_policy(spec, facts, none));
}

}  // namespace rudder::buffer
