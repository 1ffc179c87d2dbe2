// The rule that adapts the window, and the pilot that asks it.
#include <gtest/gtest.h>

#include "rudder/buffer/replay.hpp"
#include "steer/agents/adaptive_window.hpp"
#include "steer/helm/rule_pilot.hpp"

#include "../buffer/random_trace.hpp"

namespace rudder::test {
namespace {

constexpr std::uint64_t limit = 1000;

steer::Observation window_seen(std::uint64_t window, double stall, std::uint64_t queue) {
    steer::Observation o;
    o.setting.policy = buffer::PolicySpec::parse("window:" + std::to_string(window));
    o.seconds = {.steps = 32, .step = 1, .fetch = 0, .stall = stall, .compute = 0};
    o.queue_bytes = queue;
    o.queue_limit = limit;
    return o;
}

/// The window that the rule asks for; 0: it keeps the one there is.
std::uint64_t asked(std::uint64_t window, double stall, std::uint64_t queue) {
    const steer::Action action =
        steer::make_adaptive_window()->decide(window_seen(window, stall, queue)).action;
    if (action.kind == steer::ActionKind::keep) return 0;
    EXPECT_EQ(action.knobs.size(), 1U);
    EXPECT_EQ(action.knobs.front().id, steer::KnobId::window);
    return static_cast<std::uint64_t>(std::get<double>(action.knobs.front().value));
}

TEST(AdaptiveWindow, DoublesWhereStepsWaitAndHalvesWhereMemoryIsFull) {
    EXPECT_EQ(asked(16, 0.06, 0), 32U);
    EXPECT_EQ(asked(16, 0.06, 249), 32U);
    EXPECT_EQ(asked(16, 0.06, 250), 0U) << "the queue has no room";
    EXPECT_EQ(asked(16, 0.05, 0), 0U) << "they hardly wait";
    EXPECT_EQ(asked(16, 0.0, 900), 0U);
    EXPECT_EQ(asked(16, 0.0, 901), 8U);
    EXPECT_EQ(asked(16, 0.5, 901), 8U) << "memory counts first";
    EXPECT_EQ(asked(48, 0.5, 0), 64U);
    EXPECT_EQ(asked(64, 0.5, 0), 0U);
    EXPECT_EQ(asked(5, 0.0, 901), 4U);
    EXPECT_EQ(asked(4, 0.0, 901), 0U);
}

/// What a pilot orders at a step.
std::optional<buffer::PolicySpec> ordered(steer::RulePilot& pilot, const buffer::IdBuffer& buffer) {
    const buffer::PilotOrder order = pilot.before(0, buffer);
    EXPECT_FALSE(order.decision.replace || order.times);
    if (order.changes.empty()) return std::nullopt;
    EXPECT_FALSE(order.changes.front().capacity);
    return order.changes.front().policy;
}

TEST(AdaptiveWindow, IsAskedEvery32StepsAndActsAtTheNextStep) {
    const auto trace = random_trace(1).host();
    const auto start = buffer::PolicySpec::parse("window:16,distance:2");
    buffer::IdBuffer buffer(start, trace->facts(), 5, 5);
    steer::RulePilot pilot(steer::make_adaptive_window(), {.policy = start, .capacity = 5});
    const auto step = [&] {
        pilot.timed({.steps = 1, .step = 1, .fetch = 0, .stall = 0.5, .compute = 0.5}, 0, limit);
    };
    for (int i = 0; i < 31; ++i)
        step();
    EXPECT_FALSE(ordered(pilot, buffer));
    step();
    const auto wanted = buffer::PolicySpec::parse("window:32,distance:2");
    ASSERT_EQ(ordered(pilot, buffer), wanted);
    EXPECT_EQ(pilot.setting().policy, wanted);
    buffer.set_policy(wanted);
    EXPECT_FALSE(ordered(pilot, buffer)) << "it is done";
    for (int i = 0; i < 64; ++i)
        step();
    EXPECT_EQ(pilot.setting().policy.whole("window"), 64U) << "and no longer";
}

TEST(AdaptiveWindow, ChangesNoRowWhereNothingIsTimed) {
    const auto trace = random_trace(4).host();
    const auto start = buffer::PolicySpec::parse("window:16");
    steer::RulePilot pilot(steer::make_adaptive_window(), {.policy = start, .capacity = 9});
    EXPECT_EQ(buffer::replay_host(*trace, start, 9, &pilot), buffer::replay_host(*trace, start, 9));
}

}  // namespace
}  // namespace rudder::test
