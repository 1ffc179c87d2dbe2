// The list of agents: one line each, in the order of the design's table.
#include <array>

#include "rudder/core/check.hpp"
#include "rudder/core/json.hpp"

#include "agents.hpp"

namespace rudder {

namespace {

struct Entry {
    const AgentInfo* info;
    MakeAgent* make;
};

// Fixed rules, classifiers, llm, bandit, mixture, replay.
const auto entries = std::to_array<Entry>({
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
});

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
    static const auto infos = [] {
        std::array<const AgentInfo*, entries.size()> all{};
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i] = entries[i].info;
        return all;
    }();
    return infos;
}

std::unique_ptr<Agent> make_agent(const AgentSpec& spec, const AgentFacts& facts) {
    for (const Entry& entry : entries) {
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

}  // namespace rudder
