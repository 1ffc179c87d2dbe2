// Observations: what they say, and their JSON.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"

#include "hand_made.hpp"
#include "schema_check.hpp"

namespace rudder::test {
namespace {

Rows random_rows(Draws& draws) {
    Rows rows;
    rows.steps = draws.below(20);
    rows.hit = draws.below(1000);
    rows.demand = draws.below(1000);
    rows.needed = rows.hit + rows.demand;
    rows.replacement = draws.below(100);
    rows.ahead = draws.below(100);
    rows.wasted = draws.below(50);
    return rows;
}

steer::ShadowReading random_reading(Draws& draws, std::string name) {
    constexpr std::array<const char*, 3> policies{"scored,every:4,decay:0.7", "window:9", "lru"};
    steer::ShadowReading reading;
    reading.name = std::move(name);
    reading.setting.policy = buffer::PolicySpec::parse(policies[draws.below(3)]);
    reading.setting.capacity = draws.below(1000);
    reading.age = draws.below(100);
    reading.rows = random_rows(draws);
    reading.total = random_rows(draws);
    return reading;
}

steer::Observation random_observation(std::uint64_t seed) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 0);
    steer::Observation o = observed(draws.below(1000));
    o.rows = random_rows(draws);
    o.total = random_rows(draws);
    for (std::uint64_t i = draws.below(4); i > 0; --i)
        o.rows_by_owner.push_back(draws.next32());
    o.row_bytes = 400;
    o.seconds = {.steps = draws.below(9),
                 .step = draws.uniform(),
                 .fetch = draws.uniform(),
                 .stall = draws.uniform(),
                 .compute = draws.uniform()};
    o.cost = draws.below(2) == 0 ? steer::CostKind::rows : steer::CostKind::seconds;
    o.halo = draws.below(100000);
    o.candidates = draws.below(100);
    o.since_change = draws.below(100);
    o.twin = random_reading(draws, "twin");
    o.built_in = random_reading(draws, "built-in");
    for (std::uint64_t i = draws.below(3); i > 0; --i)
        o.shadows.push_back(random_reading(draws, "shadow " + std::to_string(i)));
    for (std::uint64_t i = draws.below(4); i > 0; --i) {
        steer::PastDecision past{.step = draws.below(100),
                                 .action = steer::Action::replace(steer::Reason::chance, 0.3),
                                 .status = "applied"};
        if (i == 2)
            past.action = steer::Action::set({{steer::KnobId::window, 1e9}}, steer::Reason::trying);
        if (i == 3) past.correct = past.tied = true;
        past.rows_after = draws.uniform() * 1000;
        past.hit_rate_before = draws.uniform();
        o.history.push_back(past);
    }
    return o;
}

TEST(Observations, KnownAnswers) {
    steer::Observation o = observed(10, 25);
    EXPECT_DOUBLE_EQ(o.hit_rate(), 0.25);
    EXPECT_DOUBLE_EQ(o.cost_per_step(), 75);
    EXPECT_EQ(o.steps_left(), 990U);
    o.rows += {.steps = 1, .needed = 100, .hit = 100, .replacement = 5, .ahead = 10};
    EXPECT_DOUBLE_EQ(o.hit_rate(), 0.625);
    EXPECT_DOUBLE_EQ(o.cost_per_step(), 45);
    o.cost = steer::CostKind::seconds;
    EXPECT_EQ(o.cost_per_step(), 0) << "no step was timed";
    o.seconds = {.steps = 4, .step = 8, .fetch = 3, .stall = 2, .compute = 1};
    o.seconds += {.steps = 1, .step = 1, .fetch = 1, .stall = 0.5, .compute = 1};
    EXPECT_DOUBLE_EQ(o.cost_per_step(), 0.5);
    EXPECT_DOUBLE_EQ(o.seconds.step, 9);
    o.steps = 0;
    EXPECT_EQ(o.steps_left(), 0U);
    EXPECT_EQ(steer::Observation{}.hit_rate(), 0);
    EXPECT_EQ(steer::Observation{}.cost_per_step(), 0);
}

TEST(Observations, ComeBackFromTheirJson) {
    const Json schema = observation_schema();
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        const Json written = to_json(random_observation(seed));
        // As text, too: numbers must survive to the last bit.
        const Json again = parse_json(written.dump(), "here");
        EXPECT_EQ(to_json(steer::parse_observation(again, "here")).dump(), written.dump());
        EXPECT_TRUE(fits_schema(again, schema)) << written.dump(1);
    }
    EXPECT_TRUE(fits_schema(to_json(steer::Observation{}), schema));
}

TEST(Observations, DamagedJsonIsBadInput) {
    const Json good = to_json(random_observation(3));
    const Json schema = observation_schema();
    for (const auto& [key, value] : good.items()) {
        Json bad = good;
        bad.erase(key);
        if (key == "sizes") continue;  // logs of earlier versions lack them
        EXPECT_FALSE(fits_schema(bad, schema)) << key;
        if (key == "hit_rate" || key == "cost_per_step") continue;  // follow from the others
        try {
            static_cast<void>(steer::parse_observation(bad, "here"));
            FAIL() << key;
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), 3);
            EXPECT_THAT(error.what(), testing::HasSubstr(key));
            EXPECT_THAT(error.what(), testing::HasSubstr("here"));
        }
    }
    Json bad = good;
    bad["knobs"]["policy"] = "lruu";
    try {
        static_cast<void>(steer::parse_observation(bad, "here"));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 3);
    }
}

}  // namespace
}  // namespace rudder::test
