// bandit: learns online among settings, from shadows and timed stretches.
#include <algorithm>
#include <array>

#include "steer/agents/bandit/learner.hpp"

#include "agents.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<SpecParameter, 4> bandit_parameters{
    {{.name = "knobs",
      .kind = ParameterKind::word,
      .help = "knobs that the agent may set, joined by + (or / in a mixture); decide: when to "
              "replace, too",
      .word = "all"},
     {.name = "policies",
      .kind = ParameterKind::word,
      .help = "policies that the agent may choose, joined by + (or / in a mixture)",
      .word = "window:16+window:64+window:4+scored+lfu+lru"},
     {"shadows", ParameterKind::whole, 1, 8, 6, "number of settings tried at once"},
     {"budget", ParameterKind::real, 0, 1, 0.1, "largest share of the steps in timed trials"}}};

/// Only where that is among what it may set.
bool bandit_decides(const AgentSpec& spec) {
    const std::string knobs = spec.text("knobs");
    return std::ranges::count(listed_words(knobs), "decide") != 0;
}

}  // namespace

const AgentInfo bandit_info{
    {"bandit", "Learns online among settings, from shadow buffers and timed stretches.",
     bandit_parameters},
    "nothing",
    "about 10 us, and its shadows 1 to 2 % of a step's CPU time",
    /*decides=*/false,
    /*fixed=*/false,
    bandit_decides};

std::unique_ptr<Agent> make_bandit(const AgentSpec& spec, const AgentFacts& facts) {
    return std::make_unique<Bandit>(spec, facts);
}

}  // namespace rudder::steer
