// The list of agents: one line each, in the order of the design's table; then those registered.
#include <algorithm>
#include <array>

#include "core/json.hpp"
#include "rudder/core/check.hpp"
#include "rudder/steer/agent_registry.hpp"

#include "agents.hpp"

namespace rudder::steer {

namespace {

struct Entry {
    const AgentInfo* info;
    MakeAgent* make;
};

/// Descriptions are kept a second time, by themselves, since that is how most ask for them.
struct Registry {
    // Fixed rules, classifiers, llm, bandit, mixture, replay.
    std::vector<Entry> entries{
        {&never_info, make_never},
        {&always_info, make_always},
        {&every_info, make_every},
        {&threshold_info, make_threshold},
        {&schedule_info, make_schedule},
        {&random_info, make_random},
        {&lr_info, make_classifier_agent},
        {&svm_info, make_classifier_agent},
        {&rf_info, make_classifier_agent},
        {&xgb_info, make_classifier_agent},
        {&mlp_info, make_classifier_agent},
        {&tabnet_info, make_classifier_agent},
        {&llm_info, make_llm},
        {&bandit_info, make_bandit},
        {&mixture_info, make_mixture},
        {&replay_info, make_replay},
    };
    std::vector<const AgentInfo*> infos;

    Registry() {
        for (const Entry& entry : entries)
            infos.push_back(entry.info);
    }
};

Registry& registry() {
    static Registry all;
    return all;
}

std::string_view kind_name(AgentParameter::Kind kind) {
    constexpr std::array<std::string_view, 6> names{"whole", "real",   "word",
                                                    "file",  "agents", "flag"};
    return names[static_cast<std::size_t>(kind)];
}

Json parameter_json(const AgentParameter& p) {
    Json object{{"name", p.name}, {"type", kind_name(p.kind)}};
    if (p.kind == AgentParameter::Kind::whole) {
        object["minimum"] = static_cast<std::uint64_t>(p.minimum);
        object["maximum"] = static_cast<std::uint64_t>(p.maximum);
    } else if (p.kind == AgentParameter::Kind::real) {
        object["minimum"] = p.minimum;
        object["maximum"] = p.maximum;
    }
    if (!p.fallback.empty()) object["default"] = p.fallback;
    object["help"] = p.help;
    return object;
}

}  // namespace

std::span<const AgentInfo* const> all_agents() noexcept {
    return registry().infos;
}

void register_agent(const AgentInfo& info, MakeAgent* make) {
    RUDDER_CHECK(make != nullptr && !info.name.empty());
    RUDDER_CHECK(std::ranges::none_of(
        all_agents(), [&](const AgentInfo* known) { return known->name == info.name; }));
    registry().entries.push_back({&info, make});
    registry().infos.push_back(&info);
}

std::unique_ptr<Agent> make_agent(const AgentSpec& spec, const AgentFacts& facts) {
    for (const Entry& entry : registry().entries) {
        if (entry.info == &spec.info()) return entry.make(spec, facts);
    }
    RUDDER_CHECK(false);
    return nullptr;
}

Json agents_json() {
    Json list = Json::array();
    for (const AgentInfo* info : all_agents()) {
        Json object{{"name", info->name},         {"sentence", info->sentence},
                    {"needs", info->needs},       {"costs", info->costs},
                    {"decides", info->decides},   {"fixed", info->fixed},
                    {"parameters", Json::array()}};
        for (const AgentParameter& p : info->parameters)
            object["parameters"].push_back(parameter_json(p));
        list.push_back(std::move(object));
    }
    return list;
}

}  // namespace rudder::steer
