// Every policy against its slow, obvious version, and against the floor.
#include <functional>

#include <gtest/gtest.h>

#include "rudder/buffer/replay.hpp"

#include "naive.hpp"

namespace rudder::test {
namespace {

// Decays of a half and of one are exact in binary, so that both versions have the same ties.
const std::vector<std::string> compared{
    "none",
    "static-degree",
    "static-vip",
    "lru",
    "lfu",
    "clock",
    "periodic",
    "periodic,alpha:0.005,delta:4",
    "scored-faithful",
    "scored-faithful,every:1",
    "scored-faithful,every:4",
    "scored-faithful,listed",
    "scored-faithful,alpha:0.2,period:3,every:2",
    "scored,decay:0.5",
    "scored,decay:1,every:3",
    "window:1,decay:0.5",
    "window:3,decay:0.5,distance:0",
    "window:4,decay:0.5,distance:2",
    "window:16,decay:0.5,distance:4",
    "window:16,decay:1",
    "window:1000,decay:1",
    "optimal",
};

const std::vector<std::uint64_t> capacities{0, 1, 3, 7, 15, 40, 1000};

TEST(Policies, EqualTheirSlowVersions) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        const PlainTrace plain = random_trace(seed);
        const auto trace = plain.host();
        for (const std::string& text : compared) {
            const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
            for (const std::uint64_t capacity : capacities) {
                const Rows slow = naive_replay(plain, spec, capacity);
                const Rows fast = buffer::replay_host(*trace, spec, capacity);
                ASSERT_EQ(fast.demand + fast.ahead, slow.demand)
                    << text << " capacity " << capacity << " seed " << seed;
                ASSERT_EQ(fast.replacement, slow.replacement) << text << " seed " << seed;
                ASSERT_EQ(fast.needed, fast.hit + fast.demand);
                ASSERT_EQ(fast.needed, slow.needed);
                ASSERT_EQ(spec.name() == "window" ? fast.wasted : fast.ahead, 0U) << text;
            }
        }
    }
}

TEST(Policies, NoneFetchesLessThanOptimal) {
    const TraceShape shape{200, 60, 60};
    for (std::uint64_t seed = 100; seed < 120; ++seed) {
        const auto trace = random_trace(seed, shape).host();
        for (const std::uint64_t capacity : {0U, 1U, 10U, 50U, 500U}) {
            const auto floor =
                buffer::replay_host(*trace, buffer::PolicySpec::parse("optimal"), capacity);
            for (const buffer::PolicyInfo* info : buffer::all_policies()) {
                for (const char* extra : {"", ",every:2"}) {
                    if (*extra != 0 && !info->takes_decisions) continue;
                    const buffer::PolicySpec spec =
                        buffer::PolicySpec::parse(std::string(info->name) + extra);
                    const auto rows = buffer::replay_host(*trace, spec, capacity);
                    EXPECT_GE(rows.fetched(), floor.fetched()) << spec.text();
                    EXPECT_EQ(rows.needed, rows.hit + rows.demand);
                    EXPECT_LE(rows.wasted, rows.replacement + rows.ahead);
                }
            }
            const auto all =
                buffer::replay_host(*trace, buffer::PolicySpec::parse("window:60"), capacity);
            EXPECT_EQ(all.fetched(), floor.fetched());
        }
    }
}

/// Every row is used once: all but the first step's come a step early, those of the last as well,
/// beyond which there is nothing to look at.
TEST(Policies, AWindowFetchesAheadUpToTheLastStep) {
    PlainTrace plain;
    plain.vertices = 4;
    plain.halo = {0, 1, 2, 3};
    plain.steps = {{0}, {1}, {2}, {3}};
    const auto trace = plain.host();
    const Rows rows =
        buffer::replay_host(*trace, buffer::PolicySpec::parse("window:2,distance:1"), 4);
    EXPECT_EQ(rows.demand, 1U);
    EXPECT_EQ(rows.ahead, 3U);
    EXPECT_EQ(rows.hit, 3U);
    EXPECT_EQ(rows.wasted, 0U);
}

TEST(Policies, OptimalIsTheLeastOfAllChoices) {
    const TraceShape shape{7, 8, 5};
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const PlainTrace plain = random_trace(seed, shape);
        const auto trace = plain.host();
        for (const std::uint64_t capacity : {0U, 1U, 2U, 3U, 5U}) {
            const auto rows =
                buffer::replay_host(*trace, buffer::PolicySpec::parse("optimal"), capacity);
            EXPECT_EQ(rows.fetched(), least_rows(plain, capacity)) << seed;
        }
    }
}

TEST(Policies, StaticRandomIsASampleOfTheHaloThatFollowsTheSeed) {
    const auto trace = random_trace(1).host();
    const auto held = [&](const char* text) {
        buffer::IdBuffer buffer(buffer::PolicySpec::parse(text), trace->facts(), 5, 5);
        std::vector<buffer::RowKey> rows;
        for (const buffer::Placed& placed : buffer.fill().replacement)
            rows.push_back(placed.row);
        return rows;
    };
    EXPECT_EQ(held("static-random").size(), 5U);
    EXPECT_EQ(held("static-random"), held("static-random,seed:0"));
    EXPECT_NE(held("static-random"), held("static-random,seed:1"));
    for (const buffer::RowKey row : held("static-random"))
        EXPECT_LT(row, trace->halo());
}

/// A pilot that only decides.
class Decider final : public buffer::BufferPilot {
public:
    explicit Decider(std::function<buffer::Decision(std::uint64_t)> decide)
        : decide_(std::move(decide)) {}
    void start(const buffer::PolicyFacts& /*facts*/, const buffer::IdBuffer& /*buffer*/) override {}
    void published(std::uint64_t /*step*/, std::span<const buffer::RowKey> /*rows*/) override {}
    buffer::PilotOrder before(std::uint64_t step, const buffer::IdBuffer& /*buffer*/) override {
        return {.decision = decide_(step)};
    }
    void after(std::uint64_t /*step*/, const Rows& /*accounts*/) override {}

private:
    std::function<buffer::Decision(std::uint64_t)> decide_;
};

TEST(Policies, AnAgentDecidesWhereThereIsNoOwnSignal) {
    const auto trace = random_trace(3).host();
    const auto rows = [&](const char* text, buffer::BufferPilot* pilot) {
        return buffer::replay_host(*trace, buffer::PolicySpec::parse(text), 8, pilot);
    };
    const auto own = rows("scored-faithful,every:4", nullptr);
    Decider fourth([](std::uint64_t step) { return buffer::Decision{(step + 1) % 4 == 0, 1}; });
    Decider never([](std::uint64_t) { return buffer::Decision{true, 0}; });
    EXPECT_EQ(rows("scored-faithful", &fourth), own);
    EXPECT_EQ(rows("scored-faithful,every:4", &never), own);
    EXPECT_EQ(rows("scored-faithful", &never).replacement, 0U);
}

TEST(Policies, AnEmptyTraceCostsNothing) {
    PlainTrace plain = random_trace(1);
    plain.steps.clear();
    plain.listed.clear();
    const auto trace = plain.host();
    EXPECT_EQ(buffer::replay_host(*trace, buffer::PolicySpec::parse("optimal"), 10), Rows{});
    EXPECT_EQ(buffer::replay_host(*trace, buffer::PolicySpec::parse("window:16"), 10), Rows{});
}

TEST(Policies, WhatIsNotKnownIsRefused) {
    PlainTrace plain = random_trace(1);
    plain.inclusion.clear();
    plain.degree.clear();
    plain.listed.clear();
    const auto trace = plain.host();
    for (const char* text : {"static-vip", "static-degree", "periodic", "scored-faithful,listed",
                             "window,inclusion"}) {
        EXPECT_THROW(
            static_cast<void>(buffer::replay_host(*trace, buffer::PolicySpec::parse(text), 3)),
            Error)
            << text;
    }
}

}  // namespace
}  // namespace rudder::test
