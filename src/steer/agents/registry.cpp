// The list of agents: one line each, in the order of the design's table; then those registered.
#include <array>

#include "core/json.hpp"
#include "core/spec_registry.hpp"
#include "rudder/steer/agent_registry.hpp"

#include "agents.hpp"

namespace rudder::steer {

namespace {

// Fixed rules, classifiers, llm, bandit, mixture, replay.
SpecRegistry<AgentInfo, MakeAgent>& agents() {
    static SpecRegistry<AgentInfo, MakeAgent> all{
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
    return all;
}

std::string_view kind_name(ParameterKind kind) {
    constexpr std::array<std::string_view, 6> names{"whole", "real", "flag",
                                                    "word",  "file", "agents"};
    return names[static_cast<std::size_t>(kind)];
}

Json parameter_json(const SpecParameter& p) {
    Json object{{"name", p.name}, {"type", kind_name(p.kind)}};
    if (p.kind == ParameterKind::whole) {
        object["minimum"] = static_cast<std::uint64_t>(p.minimum);
        object["maximum"] = static_cast<std::uint64_t>(p.maximum);
    } else if (p.kind == ParameterKind::real) {
        object["minimum"] = p.minimum;
        object["maximum"] = p.maximum;
    }
    if (const std::string fallback = p.fallback_text(); !fallback.empty())
        object["default"] = fallback;
    object["help"] = p.help;
    return object;
}

}  // namespace

std::span<const AgentInfo* const> all_agents() noexcept {
    return agents().infos();
}

const AgentInfo& agent_info(std::string_view name, const std::string& where) {
    return agents().find("agent", name, where);
}

void register_agent(const AgentInfo& info, MakeAgent* make) {
    agents().add(info, make);
}

std::unique_ptr<Agent> make_agent(const AgentSpec& spec, const AgentFacts& facts) {
    return agents().make_of(spec.info())(spec, facts);
}

Json agents_json() {
    Json list = Json::array();
    for (const AgentInfo* info : all_agents()) {
        Json object{{"name", info->name},         {"sentence", info->sentence},
                    {"needs", info->needs},       {"costs", info->costs},
                    {"decides", info->decides},   {"fixed", info->fixed},
                    {"parameters", Json::array()}};
        for (const SpecParameter& p : info->parameters)
            object["parameters"].push_back(parameter_json(p));
        list.push_back(std::move(object));
    }
    return list;
}

}  // namespace rudder::steer
