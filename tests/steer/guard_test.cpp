// The circuit breaker, and how sure a difference of costs is.
#include "steer/helm/guard.hpp"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

TEST(Breakers, OpenAfterThreeFailuresInARow) {
    steer::Breaker breaker;
    EXPECT_FALSE(breaker.failed(1));
    EXPECT_FALSE(breaker.failed(2));
    breaker.succeeded();
    EXPECT_FALSE(breaker.failed(3));
    EXPECT_FALSE(breaker.failed(4));
    EXPECT_TRUE(breaker.closed(5));
    EXPECT_TRUE(breaker.failed(5));
    EXPECT_EQ(breaker.openings(), 1U);
    EXPECT_FALSE(breaker.closed(5));
    EXPECT_FALSE(breaker.closed(5 + 63));
    EXPECT_TRUE(breaker.closed(5 + 64));
}

TEST(Breakers, PauseTwiceAsLongEachTimeUpToALimit) {
    steer::Breaker breaker;
    static_cast<void>(breaker.failed(0));
    static_cast<void>(breaker.failed(0));
    std::uint64_t step = 0;
    for (const std::uint64_t pause : {64U, 128U, 256U, 512U, 1024U, 2048U, 4096U, 4096U, 4096U}) {
        EXPECT_TRUE(breaker.failed(step));
        EXPECT_FALSE(breaker.failed(step + 1)) << "asked before it opened";
        EXPECT_FALSE(breaker.closed(step + pause - 1));
        EXPECT_TRUE(breaker.closed(step + pause));
        step += pause;
    }
    EXPECT_EQ(breaker.openings(), 9U);
}

TEST(Breakers, StartAnewAfterASuccess) {
    steer::Breaker breaker;
    for (const std::uint64_t step : {0U, 0U, 0U, 64U})
        static_cast<void>(breaker.failed(step));
    EXPECT_TRUE(breaker.closed(64 + 128));
    breaker.succeeded();
    EXPECT_FALSE(breaker.failed(200));
    EXPECT_FALSE(breaker.failed(201));
    EXPECT_TRUE(breaker.failed(202));
    EXPECT_TRUE(breaker.closed(202 + 64));
}

TEST(Breakers, OpenAtOnceForAReason) {
    steer::Breaker breaker;
    breaker.open(10, "worse than the built-in rule");
    EXPECT_EQ(breaker.openings(), 1U);
    EXPECT_EQ(breaker.reason(), "worse than the built-in rule");
    EXPECT_EQ(breaker.open_until(), 74U);
    breaker.open(11, "again");
    EXPECT_EQ(breaker.openings(), 1U) << "it was open";
    EXPECT_TRUE(breaker.failed(74)) << "one failure after the pause is enough";
    EXPECT_EQ(breaker.reason(), "3 failed answers");
    EXPECT_EQ(breaker.open_until(), 74U + 128U);
    EXPECT_EQ(
        steer::suspension_text("bandit", breaker, buffer::PolicySpec::parse("scored,every:16")),
        "agent 'bandit' suspended (3 failed answers); using scored,every:16 until step 202");
}

/// A guard, and costs of steps that it is shown.
struct Guarded {
    steer::Guard guard{steer::CostKind::rows, true};
    steer::Setting start{.policy = buffer::PolicySpec::parse("scored"), .capacity = 100};
    steer::Setting fallback{.policy = buffer::PolicySpec::parse("scored,every:16"),
                            .capacity = 100};
    std::uint64_t step = 0;

    /// A block of steps that costs so much more than the built-in rule.
    std::optional<steer::GuardFinding> block(const steer::Setting& now, double more, bool decides) {
        for (std::uint64_t i = 0; i < steer::HarmWatch::block; ++i, ++step)
            guard.rows(100 + more + static_cast<double>(i % 2), 100);
        return guard.find(step, now, fallback, decides, false);
    }
};

TEST(Guards, TakeAChangeBackThatCostsMore) {
    Guarded g;
    steer::Setting changed = g.start;
    changed.policy = buffer::PolicySpec::parse("lru");
    g.guard.changed(0, g.start);
    const auto finding = g.block(changed, 10, false);
    ASSERT_TRUE(finding && finding->back_to);
    EXPECT_EQ(*finding->back_to, g.start);
    EXPECT_NE(finding->reason.find("more rows than the built-in rule"), std::string::npos);
    EXPECT_TRUE(g.guard.breaker().closed(g.step));
}

TEST(Guards, FallBackWhereTheChangeHadHeld) {
    Guarded g;
    steer::Setting changed = g.start;
    changed.policy = buffer::PolicySpec::parse("lru");
    g.guard.changed(0, g.start);
    EXPECT_FALSE(g.block(changed, -10, false));
    EXPECT_TRUE(g.guard.held());
    const auto finding = g.block(changed, 10, false);
    ASSERT_TRUE(finding && finding->back_to);
    EXPECT_EQ(*finding->back_to, g.fallback);
}

TEST(Guards, SuspendForDecisionsThatCostMoreAndSaySo) {
    Guarded g;
    EXPECT_FALSE(g.block(g.start, 10, true));
    EXPECT_FALSE(g.block(g.start, 10, true));
    const auto finding = g.block(g.start, 10, true);
    ASSERT_TRUE(finding);
    EXPECT_FALSE(finding->back_to);
    EXPECT_TRUE(finding->reason.starts_with("worse than the built-in rule: ")) << finding->reason;
    EXPECT_FALSE(g.guard.breaker().closed(g.step));
    EXPECT_EQ(g.guard.breaker().openings(), 1U);
    EXPECT_FALSE(g.block(g.start, 10, true)) << "the built-in rule holds";
    EXPECT_TRUE(g.guard.recovered());
    EXPECT_FALSE(g.guard.recovered());
}

TEST(Guards, DoNotSuspendWhereAGoodBlockLiesBetween) {
    Guarded g;
    for (int i = 0; i < 3; ++i) {
        EXPECT_FALSE(g.block(g.start, 10, true));
        EXPECT_FALSE(g.block(g.start, 10, true));
        EXPECT_FALSE(g.block(g.start, -10, true));
    }
}

TEST(Guards, OverruleNoRuleThatWasAskedFor) {
    Guarded g;
    g.guard = steer::Guard(steer::CostKind::rows, false);
    for (int i = 0; i < 9; ++i)
        EXPECT_FALSE(g.block(g.start, 50, true));
    EXPECT_FALSE(g.guard.failed(1) || g.guard.failed(2));
    EXPECT_TRUE(g.guard.failed(3)) << "failing to answer is another matter";
}

TEST(PairedCost, KnownAnswers) {
    steer::PairedCosts costs;
    EXPECT_EQ(costs.reference(), 0);
    EXPECT_FALSE(costs.worse(0, 1));
    costs.add(11, 10);
    EXPECT_FALSE(costs.worse(0, 0.5)) << "one pair proves nothing";
    costs.add(13, 10);
    costs.add(15, 10);
    EXPECT_EQ(costs.count(), 3U);
    EXPECT_DOUBLE_EQ(costs.difference(), 3);
    EXPECT_DOUBLE_EQ(costs.reference(), 10);
    // Both differences that are bet on count for 1: by each, a share s makes 1 + s of what is
    // there.
    double sum = 0;
    const std::vector<std::pair<double, double>> stakes{
        {31.0 / 32, 0.25}, {7.0 / 8, 0.25}, {3.0 / 4, 0.2},   {1.0 / 2, 0.15},
        {1.0 / 4, 0.06},   {1.0 / 8, 0.03}, {1.0 / 16, 0.03}, {1.0 / 32, 0.03}};
    for (const auto& [share, part] : stakes)
        sum += part * (1 + share) * (1 + share) + part * (1 + share);
    EXPECT_TRUE(costs.worse(0.2, sum - 1e-9));
    EXPECT_FALSE(costs.worse(0.2, sum + 1e-9)) << "not sure enough";
    EXPECT_FALSE(costs.worse(0.3, 1)) << "not by more than the share";
    costs.begin_block();
    EXPECT_EQ(costs.count(), 0U);
    costs.add(12, 10);
    EXPECT_TRUE(costs.worse(0.1, sum)) << "what was bet before counts";
    EXPECT_DOUBLE_EQ(costs.difference(), 2) << "means are of the block";
    costs.clear();
    EXPECT_EQ(costs.count(), 0U);
    costs.add(12, 10);
    EXPECT_FALSE(costs.worse(0, 0.5));
}

TEST(PairedCost, EqualCostsAreNotWorse) {
    steer::PairedCosts costs;
    for (int i = 0; i < 10; ++i)
        costs.add(5, 5);
    EXPECT_FALSE(costs.worse(0, 0));
}

TEST(PairedCost, SmallDifferencesOfLargeCostsKeepTheirDigits) {
    Draws draws(RandomStream({.purpose = Purpose::test, .seed = 5}), 0);
    steer::PairedCosts costs;
    double mean = 0;
    for (int i = 0; i < 100; ++i) {
        // Large and common to both: only a pairwise comparison sees anything.
        const double common = 1e6 + 1e4 * draws.normal();
        const double cost = common + draws.normal();
        costs.add(cost, common);
        mean += (cost - common) / 100;
    }
    EXPECT_NEAR(costs.difference(), mean, 1e-9);
    EXPECT_FALSE(costs.worse(0, 1600)) << "a millionth";
}

/// Of pairs that differ by noise alone, whose size changes and which lean to one side for a while,
/// few are called worse; and what is 5 % worse is found within two blocks.
TEST(PairedCost, IsSeldomWrongAndSoonRight) {
    constexpr int runs = 400;
    constexpr int pairs = 200;
    constexpr double rarely = 1600;
    int wrong = 0;
    int found = 0;
    for (std::uint64_t run = 0; run < runs; ++run) {
        Draws draws(RandomStream({.purpose = Purpose::test, .seed = 100 + run}), 0);
        steer::PairedCosts equal;
        steer::PairedCosts worse;
        bool ever = false;
        bool soon = false;
        double before = 0;
        for (int i = 0; i < pairs; ++i) {
            const double noise = draws.normal() * (2 + 0.5 * std::abs(before));
            before = noise;
            equal.add(100 + noise, 100);
            ever = ever || equal.worse(0, rarely);
            worse.add(105 + noise, 100);
            soon = soon || (i < 32 && worse.worse(0.01, rarely));
        }
        wrong += ever ? 1 : 0;
        found += soon ? 1 : 0;
    }
    // Once in 1,600 pairs at most: 50 of 400 runs of 200.
    EXPECT_LE(wrong, runs * pairs / rarely);
    EXPECT_GE(found, runs * 9 / 10);
}

}  // namespace
}  // namespace rudder::test
