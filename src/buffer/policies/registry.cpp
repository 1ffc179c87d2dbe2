#include "registry.hpp"

#include <algorithm>

#include "rudder/core/check.hpp"

#include "policies.hpp"

namespace rudder::buffer {

namespace {

/// Descriptions are kept a second time, by themselves, since that is how most ask for them.
struct Registry {
    // In the order of the design's table.
    std::vector<PolicyEntry> entries{
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
    std::vector<const PolicyInfo*> infos;

    Registry() {
        for (const PolicyEntry& entry : entries)
            infos.push_back(entry.info);
    }
};

Registry& registry() {
    static Registry all;
    return all;
}

}  // namespace

std::span<const PolicyEntry> policy_entries() {
    return registry().entries;
}

std::span<const PolicyInfo* const> all_policies() noexcept {
    return registry().infos;
}

void register_policy(const PolicyInfo& info, MakePolicy* make) {
    RUDDER_CHECK(make != nullptr && !info.name.empty());
    RUDDER_CHECK(std::ranges::none_of(
        all_policies(), [&](const PolicyInfo* known) { return known->name == info.name; }));
    registry().entries.push_back({&info, make});
    registry().infos.push_back(&info);
}

}  // namespace rudder::buffer
