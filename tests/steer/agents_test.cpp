// The fixed rules on observations made by hand.
#include <gtest/gtest.h>

#include "rudder/steer/agent_spec.hpp"

#include "hand_made.hpp"

namespace rudder::test {
namespace {

std::unique_ptr<Agent> agent(const char* text) {
    AgentFacts facts;
    facts.seed = 7;
    return make_agent(AgentSpec::parse(text), facts);
}

TEST(FixedRules, NeverAndAlways) {
    const auto never = agent("never");
    const auto always = agent("always");
    for (std::uint64_t step = 0; step < 5; ++step) {
        EXPECT_EQ(never->decide(observed(step)).action, Action::keep(Reason::rule));
        EXPECT_EQ(always->decide(observed(step)).action, Action::replace(Reason::rule));
    }
    EXPECT_GT(never->interval(), 1000000U) << "nobody need ask";
    EXPECT_EQ(always->interval(), 1U);
}

TEST(FixedRules, EveryCountsFromOne) {
    const auto every = agent("every:3");
    for (std::uint64_t step = 0; step < 12; ++step) {
        const bool now = step == 2 || step == 5 || step == 8 || step == 11;
        EXPECT_EQ(every->decide(observed(step)).action.kind,
                  now ? ActionKind::replace : ActionKind::keep)
            << step;
    }
    EXPECT_EQ(agent("every:1")->decide(observed(0)).action.kind, ActionKind::replace);
}

}  // namespace
}  // namespace rudder::test
