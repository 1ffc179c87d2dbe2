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
