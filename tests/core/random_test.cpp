// The random stream: published known answers, independence of keys, and the shape of its draws.
#include "rudder/core/random.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace rudder {
namespace {

TEST(Philox, GivesThePublishedKnownAnswers) {
    // Random123's kat_vectors, philox4x32 with 10 rounds.
    EXPECT_EQ(Philox::block({0, 0, 0, 0}, {0, 0}),
              (Philox::Counter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    constexpr std::uint32_t ones = 0xffffffff;
    EXPECT_EQ(Philox::block({ones, ones, ones, ones}, {ones, ones}),
              (Philox::Counter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(
        Philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
        (Philox::Counter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, CanBeComputedByTheCompiler) {
    static_assert(Philox::block({0, 0, 0, 0}, {0, 0})[0] == 0x6627e8d5);
}

TEST(RandomStream, EveryFieldOfTheKeyMatters) {
    constexpr std::uint64_t far = std::uint64_t{1} << 40;
    const std::vector<StreamKey> keys{
        {.purpose = Purpose::sample},
        {.purpose = Purpose::schedule},
        {.purpose = Purpose::sample, .seed = 1},
        {.purpose = Purpose::sample, .seed = far},
        {.purpose = Purpose::sample, .epoch = 1},
        {.purpose = Purpose::sample, .step = 1},
        {.purpose = Purpose::sample, .step = far},
        {.purpose = Purpose::sample, .layer = 1},
    };
    std::set<Philox::Key> derived;
    for (const StreamKey& key : keys) {
        derived.insert(RandomStream(key).key());
    }
    EXPECT_EQ(derived.size(), keys.size());
}

TEST(RandomStream, KeysOfManyStepsDoNotCollide) {
    std::set<Philox::Key> derived;
    for (std::uint64_t step = 0; step < 5000; ++step) {
        for (std::uint32_t layer = 0; layer < 3; ++layer) {
            derived.insert(
                RandomStream({.purpose = Purpose::test, .step = step, .layer = layer}).key());
        }
    }
    EXPECT_EQ(derived.size(), 15000U);
}

TEST(RandomStream, VerticesAndIndicesPast32BitsDiffer) {
    const RandomStream stream({.purpose = Purpose::test});
    constexpr std::uint64_t far = std::uint64_t{1} << 32;
    EXPECT_NE(stream.block(7, 0), stream.block(7 + far, 0));
    EXPECT_NE(stream.block(0, 7), stream.block(0, 7 + far));
    EXPECT_NE(stream.block(1, 0), stream.block(0, 1));
}

TEST(RandomStream, StreamsOfTwoPurposesAreUncorrelated) {
    const RandomStream a({.purpose = Purpose::sample, .seed = 3});
    const RandomStream b({.purpose = Purpose::split, .seed = 3});
    constexpr int count = 20000;
    double sum = 0;
    for (VertexId v = 0; v < count; ++v) {
        sum += (Draws(a, v).uniform() - 0.5) * (Draws(b, v).uniform() - 0.5);
    }
    const double correlation = sum / count * 12;
    EXPECT_LT(std::abs(correlation), 5 / std::sqrt(double{count}));
}

TEST(Draws, AreTheBlocksWordByWord) {
    const RandomStream stream({.purpose = Purpose::test, .seed = 9});
    Draws draws(stream, 42);
    for (std::uint64_t index = 0; index < 3; ++index) {
        for (const std::uint32_t word : stream.block(42, index)) {
            EXPECT_EQ(draws.next32(), word);
        }
    }
}

/// The chi-square statistic of `count` draws below `bound`.
double chi_square(std::uint64_t bound, int count) {
    const RandomStream stream({.purpose = Purpose::test, .seed = bound});
    std::vector<int> seen(bound);
    Draws draws(stream, 0);
    for (int i = 0; i < count; ++i) {
        ++seen.at(draws.below(bound));
    }
    const double expected = static_cast<double>(count) / static_cast<double>(bound);
    double sum = 0;
    for (const int n : seen) {
        sum += (n - expected) * (n - expected) / expected;
    }
    return sum;
}

TEST(Draws, BelowIsUniform) {
    for (const std::uint64_t bound : {2U, 3U, 10U, 100U, 1000U}) {
        const auto freedom = static_cast<double>(bound - 1);
        // Mean k, deviation sqrt(2k): five deviations never happen by chance.
        EXPECT_LT(chi_square(bound, 200000), freedom + 5 * std::sqrt(2 * freedom) + 5) << bound;
    }
}

TEST(Draws, BelowKeepsItsBoundAtTheExtremes) {
    const RandomStream stream({.purpose = Purpose::test});
    Draws draws(stream, 0);
    const std::uint64_t odd = (std::uint64_t{1} << 63) + 1;  // rejects nearly half of all draws
    int upper = 0;
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(draws.below(1), 0U);
        const std::uint64_t value = draws.below(odd);
        EXPECT_LT(value, odd);
        upper += value >= odd / 2 ? 1 : 0;
        EXPECT_LT(draws.below(~std::uint64_t{0}), ~std::uint64_t{0});
    }
    EXPECT_NEAR(upper, 500, 100);
}

TEST(Draws, UniformStaysBelowOneAndHasItsMoments) {
    const RandomStream stream({.purpose = Purpose::test, .seed = 1});
    double sum = 0;
    double squares = 0;
    constexpr int count = 100000;
    Draws draws(stream, 5);
    for (int i = 0; i < count; ++i) {
        const double value = draws.uniform();
        ASSERT_GE(value, 0.0);
        ASSERT_LT(value, 1.0);
        sum += value;
        squares += value * value;
    }
    EXPECT_NEAR(sum / count, 0.5, 0.005);
    EXPECT_NEAR(squares / count, 1.0 / 3, 0.005);
}

TEST(Draws, NormalHasItsMoments) {
    const RandomStream stream({.purpose = Purpose::test, .seed = 2});
    std::array<double, 5> moments{};
    constexpr int count = 200000;
    for (VertexId v = 0; v < count; ++v) {
        const double value = Draws(stream, v).normal();
        ASSERT_TRUE(std::isfinite(value));
        double power = 1;
        for (double& moment : moments) {
            moment += power / count;
            power *= value;
        }
    }
    EXPECT_NEAR(moments[1], 0, 0.01);
    EXPECT_NEAR(moments[2], 1, 0.02);
    EXPECT_NEAR(moments[3], 0, 0.05);
    EXPECT_NEAR(moments[4], 3, 0.15);
}

TEST(Draws, OutliveTheStreamTheyWereMadeFrom) {
    const RandomStream kept({.purpose = Purpose::test, .seed = 5});
    const auto made = [](std::uint64_t seed) {
        return Draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 3);
    };
    Draws draws = made(5);
    Draws others = made(6);
    Draws same(kept, 3);
    int different = 0;
    for (int i = 0; i < 100; ++i) {
        const std::uint64_t drawn = draws.next64();
        EXPECT_EQ(drawn, same.next64());
        different += drawn != others.next64() ? 1 : 0;
    }
    EXPECT_EQ(different, 100);
}

}  // namespace
}  // namespace rudder
