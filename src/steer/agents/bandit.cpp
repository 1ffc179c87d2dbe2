// bandit: learns online among settings, from shadows and timed stretches.
#include <array>

#include "steer/agents/bandit/learner.hpp"

#include "agents.hpp"

namespace rudder::steer {

namespace {

using Kind = AgentParameter::Kind;

constexpr std::array<AgentParameter, 4> bandit_parameters{
    {{"knobs", Kind::word, 0, 0, "all",
      "what it may set, joined by + (or / in a mixture); decide: it says when to replace"},
     {"policies", Kind::word, 0, 0, "window:16+window:64+window:4+scored+lfu+lru",
      "the policies it may choose, joined by + (or / in a mixture)"},
     {"shadows", Kind::whole, 1, 8, "2", "settings it tries at once"},
     {"budget", Kind::real, 0, 1, "0.1", "share of the steps that may be in a timed trial"}}};

}  // namespace

const AgentInfo bandit_info{
    .name = "bandit",
    .sentence = "Learns online among settings, from shadow buffers and timed stretches.",
    .needs = "nothing",
    .costs = "about 10 us, and its shadows 1 to 2 % of a step's CPU time",
    .parameters = bandit_parameters,
};

std::unique_ptr<Agent> make_bandit(const AgentSpec& spec, const AgentFacts& facts) {
    return std::make_unique<Bandit>(spec, facts);
}

}  // namespace rudder::steer
