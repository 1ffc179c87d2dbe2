#include "rudder/steer/agent_spec.hpp"

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::steer {

namespace {

constexpr SpecFamily agent_family{
    "agent",
    [](std::string_view name, const std::string& where) -> const SpecInfo& {
        return agent_info(name, where);
    },
};

}  // namespace

AgentSpec AgentSpec::parse(std::string_view text, const std::string& where) {
    return AgentSpec(Spec::parse(agent_family, text, where));
}

std::vector<AgentSpec> AgentSpec::members() const {
    std::vector<AgentSpec> members;
    for (const Spec& member : members_)
        members.push_back(AgentSpec(member));
    return members;
}

void check_agent(const AgentSpec& agent, const buffer::PolicySpec& policy) {
    if (!agent.decides() || !buffer::has_own_signal(policy)) return;
    throw usage_error(fmt::format("agent '{}' decides when to replace, and so does policy '{}'",
                                  agent.text(), policy.text()),
                      "--agent",
                      "leave out every, delta or listed of the policy, or use --agent never");
}

}  // namespace rudder::steer
