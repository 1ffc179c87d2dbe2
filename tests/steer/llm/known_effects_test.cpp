// What prompts say of replies whose effect is known, and the shadows that tell it.
#include "steer/llm/known_effects.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "steer/llm/reply.hpp"

#include "seen.hpp"

namespace rudder::test {
namespace {

using steer::Action;
using steer::KnobId;
using steer::Reason;
using testing::ElementsAre;

Action set_policy(const std::string& policy) {
    return Action::set({{KnobId::policy, policy}}, Reason::trying);
}

steer::PastDecision tried(const Action& action, double before, double after,
                          const char* status = "applied") {
    steer::PastDecision decision = past(16);
    decision.action = action;
    decision.status = status;
    decision.rows_before = before;
    decision.rows_after = after;
    return decision;
}

/// A shadow of that policy which fetched so many rows in the last 16 steps.
steer::ShadowReading beside(const std::string& policy, std::uint64_t rows, std::uint64_t age) {
    steer::ShadowReading shadow = seen(160).twin;
    shadow.name = policy;
    shadow.setting.policy = buffer::PolicySpec::parse(policy);
    shadow.rows = {.steps = 16, .needed = 3200, .hit = 3200 - rows, .demand = rows};
    shadow.age = age;
    return shadow;
}

/// The lines of the prompt.
std::vector<std::string> told(const steer::Observation& o, bool history = true) {
    std::vector<std::string> lines;
    for (const steer::KnownEffect& one : steer::known_effects(o, history))
        lines.push_back(steer::percent_text(one.rows, one.base) + " " +
                        steer::shortest_reply(one.action));
    return lines;
}

constexpr const char* rule_line =
    R"(+00.0 % {"action":"set","knobs":{"policy":"scored,every:16"}})";

TEST(KnownEffects, PerCentsAlwaysTakeTheSamePlaces) {
    EXPECT_EQ(steer::percent_text(95.2, 100), "-04.8 %");
    EXPECT_EQ(steer::percent_text(131.9, 100), "+31.9 %");
    EXPECT_EQ(steer::percent_text(100, 100), "+00.0 %");
    EXPECT_EQ(steer::percent_text(1000, 10), "+99.9 %");
    EXPECT_EQ(steer::percent_text(0, 10), "-99.9 %");
    EXPECT_EQ(steer::percent_text(3, 0), "+99.9 %");
    EXPECT_EQ(steer::percent_text(0, 0), "+00.0 %");
}

TEST(KnownEffects, SettingsAreComparedWithNowAndReplacementsWithBefore) {
    steer::Observation o = seen(160);  // 60 rows per step
    o.history = {tried(set_policy("lru"), 90, 75),
                 tried(Action::replace(Reason::none, 0.25), 80, 40),
                 tried(Action::set({{KnobId::decay, 0.9}, {KnobId::capacity, 500.0}}, Reason::none),
                       90, 57)};
    EXPECT_THAT(
        told(o),
        ElementsAre(R"(+25.0 % {"action":"set","knobs":{"policy":"lru"}})",
                    R"(-50.0 % {"action":"replace","fraction":0.25})",
                    R"(-05.0 % {"action":"set","knobs":{"decay":0.9,"capacity":500}})", rule_line));
    EXPECT_THAT(told(o, false), ElementsAre(rule_line));
}

TEST(KnownEffects, WhatWasNotDoneOrChangesNothingIsLeftOut) {
    steer::Observation o = seen(160);
    o.history = {tried(set_policy("lru"), 60, 50, "refused"),
                 tried(set_policy("lfu"), 60, 90, "undone"),
                 tried(set_policy("window:16"), 60, 50, "late"),
                 tried(Action::keep(), 60, 50),
                 tried(set_policy("scored"), 60, 50),
                 tried(set_policy("clock"), 60, 50),
                 tried(Action::set({{KnobId::decay, 0.987}}, Reason::none), 60, 50)};
    EXPECT_THAT(told(o), ElementsAre(rule_line)) << "clock and 0.987: no reply may say so";
    o.takes_decisions = false;
    o.history = {tried(Action::replace(Reason::none, 0.25), 80, 40)};
    EXPECT_THAT(told(o), ElementsAre(rule_line));
    o.setting.policy = buffer::PolicySpec::parse("scored,every:16");
    EXPECT_THAT(told(o), ElementsAre());
    EXPECT_EQ(steer::effects_text(o, true), "");
}

TEST(KnownEffects, WhatIsToldLaterHolds) {
    steer::Observation o = seen(160);
    o.history = {tried(set_policy("lru"), 90, 30), tried(set_policy("lfu"), 30, 66),
                 tried(set_policy("lru"), 66, 72)};
    o.shadows = {beside("lfu", 480, 64)};
    EXPECT_THAT(told(o),
                ElementsAre(R"(+20.0 % {"action":"set","knobs":{"policy":"lru"}})",
                            R"(-50.0 % {"action":"set","knobs":{"policy":"lfu"}})", rule_line));
}

TEST(KnownEffects, ShadowsCountWhenTheyHaveSettled) {
    steer::Observation o = seen(160);
    o.shadows = {beside("lru", 1440, 16), beside("lfu", 1440, 32), beside("window:16", 1440, 32)};
    o.shadows.back().setting.capacity = 10;
    EXPECT_THAT(told(o),
                ElementsAre(R"(+50.0 % {"action":"set","knobs":{"policy":"lfu"}})", rule_line));
}

TEST(KnownEffects, EveryLineIsAReply) {
    steer::Observation o = seen(160);
    o.history = {
        tried(set_policy("lru"), 90, 75), tried(Action::replace(Reason::none, 1), 80, 40),
        tried(Action::set({{KnobId::decay, 0.999}, {KnobId::capacity, 1200.0}}, Reason::none), 90,
              57)};
    const Json schema = steer::reply_schema(o, some_facts().built_in);
    const auto effects = steer::known_effects(o, true);
    ASSERT_EQ(effects.size(), 4U);
    for (const steer::KnownEffect& one : effects) {
        const auto reply =
            steer::parse_reply(steer::shortest_reply(one.action), schema, o, "the test");
        EXPECT_EQ(reply.action.kind, one.action.kind);
        EXPECT_EQ(reply.action.knobs, one.action.knobs);
    }
}

TEST(KnownEffects, ShadowsAreAskedForOnceAndFollowTheCapacity) {
    using Kind = steer::ShadowOrder::Kind;
    const auto built_in = some_facts().built_in;
    steer::Observation o = seen(160);
    const auto first = steer::policies_beside(o, built_in, 7);
    std::vector<std::string> names;
    for (const steer::ShadowOrder& order : first) {
        EXPECT_EQ(order.kind, Kind::copy);
        ASSERT_TRUE(order.setting);
        EXPECT_EQ(order.setting->policy.text(), order.name);
        EXPECT_EQ(order.setting->capacity, o.setting.capacity);
        names.push_back(order.name);
        o.shadows.push_back(beside(order.name, 100, 16));
    }
    EXPECT_THAT(names,
                ElementsAre("window:4", "window:16", "window:64", "lru", "lfu", "static-degree"));
    EXPECT_TRUE(steer::policies_beside(o, built_in, 7).empty());
    o.setting.capacity = 700;
    const auto then = steer::policies_beside(o, built_in, 7);
    ASSERT_EQ(then.size(), names.size());
    EXPECT_EQ(then[0].kind, Kind::set);
    EXPECT_EQ(then[0].setting->capacity, 700U);
    EXPECT_EQ(steer::policies_beside(o, built_in, 2).size(), 2U);
    EXPECT_TRUE(steer::policies_beside(o, built_in, 0).empty());
    o.setting.policy = buffer::PolicySpec::parse("lru");
    o.limits.window = 20;
    names.clear();
    for (const steer::ShadowOrder& order : steer::policies_beside(o, built_in, 7))
        names.push_back(order.name);
    EXPECT_THAT(names, ElementsAre("window:4", "window:16", "lfu", "static-degree"))
        << "neither what runs nor what memory does not allow";
}

}  // namespace
}  // namespace rudder::test
