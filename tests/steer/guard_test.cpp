// The circuit breaker, and how sure a difference of costs is.
#include "steer/helm/guard.hpp"

#include <cmath>
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
    EXPECT_FALSE(costs.worse(0, 0));
    costs.add(11, 10);
    EXPECT_TRUE(std::isinf(costs.error()));
    EXPECT_FALSE(costs.worse(0, 0)) << "one pair proves nothing";
    costs.add(13, 10);
    costs.add(15, 10);
    EXPECT_EQ(costs.count(), 3U);
    EXPECT_DOUBLE_EQ(costs.difference(), 3);
    EXPECT_DOUBLE_EQ(costs.error(), 2 / std::sqrt(3.0));
    EXPECT_DOUBLE_EQ(costs.reference(), 10);
    EXPECT_TRUE(costs.worse(0.2, 2));
    EXPECT_FALSE(costs.worse(0.3, 2)) << "not by more than the share";
    EXPECT_FALSE(costs.worse(0.2, 3)) << "not by more than the noise";
    EXPECT_FALSE(costs.better(0, 0));
    costs.clear();
    EXPECT_EQ(costs.count(), 0U);
}

TEST(PairedCost, EqualCostsAreNeitherBetterNorWorse) {
    steer::PairedCosts costs;
    for (int i = 0; i < 10; ++i)
        costs.add(5, 5);
    EXPECT_FALSE(costs.worse(0, 0));
    EXPECT_FALSE(costs.better(0, 0));
}

TEST(PairedCost, AgreesWithTwoPassesAndHoldsItsErrorRate) {
    int worse = 0;
    int better = 0;
    for (std::uint64_t run = 0; run < 400; ++run) {
        const RandomStream stream({.purpose = Purpose::test, .seed = run});
        Draws draws(stream, 0);
        steer::PairedCosts costs;
        std::vector<double> differences;
        for (int i = 0; i < 100; ++i) {
            // Large and common to both: only a pairwise comparison sees anything.
            const double common = 1e6 + 1e4 * draws.normal();
            const double cost = common + draws.normal();
            costs.add(cost, common);
            differences.push_back(cost - common);
        }
        double mean = 0;
        for (const double d : differences)
            mean += d / 100;
        double squares = 0;
        for (const double d : differences)
            squares += (d - mean) * (d - mean);
        EXPECT_NEAR(costs.difference(), mean, 1e-9);
        EXPECT_NEAR(costs.error(), std::sqrt(squares / 99 / 100), 1e-9);
        worse += costs.worse(0, 2) ? 1 : 0;
        better += costs.better(0, 2) ? 1 : 0;
    }
    // 2.3 % on each side of two standard errors: 9 of 400.
    EXPECT_LE(worse, 22);
    EXPECT_LE(better, 22);
    EXPECT_GE(worse + better, 4);
}

}  // namespace
}  // namespace rudder::test
