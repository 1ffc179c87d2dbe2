// What policies are made of: aged counts, the heap of worst rows, signals; and rules that hold for
// every policy.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "buffer/policies/aged_counts.hpp"
#include "buffer/policies/signal.hpp"
#include "buffer/policies/static_policy.hpp"
#include "buffer/policies/worst_first.hpp"
#include "buffer/trace_window.hpp"
#include "rudder/buffer/replay.hpp"

#include "random_trace.hpp"

namespace rudder::test {
namespace {

/// Not inlined: GCC 12 takes the growth of an empty vector of known size for an overrun.
[[gnu::noinline]] buffer::AgedCounts counts_of(buffer::RowKey rows, double decay) {
    buffer::AgedCounts counts(decay);
    counts.know(rows);
    return counts;
}

TEST(AgedCounts, FadeByTheDecayPerStep) {
    buffer::AgedCounts counts = counts_of(3, 0.5);
    counts.use(0);
    counts.step();
    counts.use(1);
    counts.use(1);
    EXPECT_DOUBLE_EQ(counts[1] / counts[0], 4);
    EXPECT_DOUBLE_EQ(counts[0] / counts.weight(), 0.5);
    EXPECT_EQ(counts[2], 0);
    counts.know(2);
    EXPECT_EQ(counts.size(), 3U);
}

TEST(AgedCounts, KeepTheirOrderWhereTheyAreScaled) {
    const RandomStream stream({Purpose::test, 2, 61});
    Draws draws(stream, 0);
    constexpr buffer::RowKey rows = 20;
    for (const double decay : {0.5, 0.9, 1.0}) {
        buffer::AgedCounts counts = counts_of(rows, decay);
        std::vector<double> slow(rows, 0);
        double scaled = 1;
        for (int step = 0; step < 3000; ++step) {
            const double factor = counts.step();
            EXPECT_TRUE(factor == 1 || factor < 1e-100);
            scaled = std::min(scaled, factor);
            for (double& count : slow)
                count *= decay;
            for (int use = 0; use < 3; ++use) {
                const auto row = static_cast<buffer::RowKey>(draws.below(rows));
                counts.use(row);
                slow[row] += 1;
            }
            if (step % 100 != 0) continue;
            for (buffer::RowKey row = 0; row < rows; ++row)
                ASSERT_NEAR(counts[row] / counts.weight(), slow[row], 1e-9 * (1 + slow[row]));
        }
        EXPECT_EQ(scaled < 1, decay < 1) << decay;  // it happened, or need not
    }
}

TEST(AgedCounts, AnotherDecayHoldsFromNowOn) {
    buffer::AgedCounts counts = counts_of(1, 0.5);
    counts.use(0);
    counts.step();
    counts.set_decay(0.25);
    EXPECT_DOUBLE_EQ(counts[0] / counts.weight(), 0.5);
    counts.step();
    EXPECT_DOUBLE_EQ(counts[0] / counts.weight(), 0.125);
    counts.set_decay(1);
    counts.step();
    EXPECT_DOUBLE_EQ(counts[0] / counts.weight(), 0.125);
}

/// Against a map of current scores, with so few near ones that rows come and go between near and
/// far.
TEST(WorstFirst, EqualsTheSlowVersion) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const RandomStream stream({Purpose::test, seed, 62});
        Draws draws(stream, 0);
        constexpr buffer::RowKey rows = 130;
        buffer::WorstFirst<double> ranked(seed % 4);
        ranked.know(rows);
        std::vector<double> score(rows, 0);
        std::map<buffer::RowKey, bool> in;  // and whether it is wanted
        for (int round = 0; round < 800; ++round) {
            const auto row = static_cast<buffer::RowKey>(draws.below(rows));
            score[row] += static_cast<double>(draws.below(4));  // grows, or stays
            if (draws.below(4) != 0) {
                ranked.push(row, score[row]);
                in.emplace(row, true);
            }
            if (draws.below(8) == 0 && !in.empty()) in.begin()->second = false;
            if (draws.below(8) != 0) continue;
            std::vector<buffer::RowKey> worst;
            for (const auto& [r, is] : in) {
                if (is) worst.push_back(r);
            }
            std::ranges::sort(worst, [&](buffer::RowKey a, buffer::RowKey b) {
                return score[a] != score[b] ? score[a] < score[b] : a > b;
            });
            const std::size_t count = draws.below(9);
            worst.resize(std::min(worst.size(), count));
            std::vector<buffer::RowKey> taken;
            ranked.take(
                count, [](buffer::RowKey) {}, [&](buffer::RowKey r) { return in.at(r); },
                [&](buffer::RowKey r) { return score[r]; },
                [&](buffer::RowKey r) { taken.push_back(r); });
            ASSERT_THAT(taken, testing::UnorderedElementsAreArray(worst)) << "seed " << seed;
            for (const buffer::RowKey r : taken)
                in.erase(r);
            // Those that are not wanted may be gone; what is wanted never is.
            std::erase_if(in, [&](const auto& entry) {
                EXPECT_TRUE(!entry.second || ranked.has(entry.first));
                return !ranked.has(entry.first);
            });
            EXPECT_EQ(ranked.size(), in.size());
        }
        ranked.tidy(0, [&](buffer::RowKey r) { return in.at(r); });
        EXPECT_EQ(ranked.size(), static_cast<std::size_t>(std::ranges::count_if(
                                     in, [](const auto& entry) { return entry.second; })));
        ranked.clear();
        EXPECT_EQ(ranked.size(), 0U);
        for (buffer::RowKey row = 0; row < rows; ++row)
            EXPECT_FALSE(ranked.has(row));
    }
}

TEST(WorstFirst, ScalingKeepsTheOrder) {
    buffer::WorstFirst<double> ranked(0);
    ranked.know(9);
    std::vector<double> score{8, 2, 4, 9, 11, 10, 12, 16, 14};
    for (buffer::RowKey row = 0; row < score.size(); ++row)
        ranked.push(row, score[row]);
    for (const buffer::RowKey expected : {1U, 2U, 0U, 3U, 5U, 4U, 6U, 8U, 7U}) {
        ranked.take(
            1, [](buffer::RowKey) {}, [](buffer::RowKey) { return true; },
            [&](buffer::RowKey row) { return score[row]; },
            [&](buffer::RowKey row) { EXPECT_EQ(row, expected); });
        ranked.scale(0.5);
        for (double& s : score)
            s /= 2;
    }
    EXPECT_EQ(ranked.size(), 0U);
    EXPECT_GT(ranked.bytes(), 0U);
}

TEST(Signals, AreThePolicysOwnOrTheAgents) {
    const std::vector<std::uint8_t> listed{0, 1, 0};
    buffer::PolicyFacts facts;
    facts.listed = listed;
    facts.steps = 3;
    const auto at = [&](const char* text, std::uint64_t step, bool agent) {
        return buffer::Signal::of(buffer::PolicySpec::parse(text), facts)
            .at(step, {agent, 0.5}, facts);
    };
    EXPECT_TRUE(at("scored", 0, true).replace);
    EXPECT_EQ(at("scored", 0, true).fraction, 0.5);
    EXPECT_FALSE(at("scored", 0, false).replace);
    EXPECT_FALSE(at("scored,every:3", 1, true).replace);
    EXPECT_TRUE(at("scored,every:3", 2, false).replace);
    EXPECT_EQ(at("scored,every:3", 2, false).fraction, 1);
    EXPECT_TRUE(at("periodic,delta:2", 1, false).replace);
    EXPECT_TRUE(at("scored-faithful,listed", 1, false).replace);
    EXPECT_FALSE(at("scored-faithful,listed", 2, true).replace);
    EXPECT_FALSE(at("scored-faithful,listed", 3, true).replace);  // beyond the list
    facts.listed = {};
    EXPECT_THROW(static_cast<void>(at("scored-faithful,listed", 0, true)), Error);
    EXPECT_EQ(buffer::allowed({true, 0.5}, 9), 4U);
    EXPECT_EQ(buffer::allowed({true, -1}, 9), 0U);
    EXPECT_EQ(buffer::allowed({true, 7}, 9), 9U);
}

TEST(Rankings, AreByWeightThenById) {
    const std::vector<std::uint32_t> weight{3, 5, 3, 9, 0};
    EXPECT_EQ(buffer::ranking_of(std::span<const std::uint32_t>(weight)),
              (std::vector<buffer::RowKey>{3, 1, 0, 2, 4}));
    buffer::Residents residents(4, 2);
    residents.know(5);
    residents.place(4);
    buffer::StepPlan plan;
    buffer::fill_with(std::vector<buffer::RowKey>{3, 1, 0, 2, 4}, residents, plan);
    EXPECT_EQ(plan.leave.size(), 1U);
    EXPECT_EQ(plan.leave[0].row, 4U);
    ASSERT_EQ(plan.replacement.size(), 2U);
    EXPECT_TRUE(residents.holds(3) && residents.holds(1));
}

// ---- rules that hold for all -------------------------------------------------------------------

std::vector<std::string> all_specs() {
    std::vector<std::string> all;
    for (const buffer::PolicyInfo* info : buffer::all_policies()) {
        all.emplace_back(info->name);
        if (info->takes_decisions) all.push_back(std::string(info->name) + ",every:3");
    }
    return all;
}

TEST(EveryPolicy, FetchesNoMoreWithinAnUnlimitedBuffer) {
    // With room for all, a row is fetched once, unless a policy never admits what it missed.
    const PlainTrace plain = random_trace(21, {100, 80, 20});
    const auto trace = plain.host();
    std::set<VertexId> distinct;
    for (const auto& step : plain.steps)
        distinct.insert(step.begin(), step.end());
    for (const char* text : {"lru", "lfu", "clock", "scored", "window", "optimal"}) {
        const auto rows = buffer::replay_host(*trace, buffer::PolicySpec::parse(text), 200);
        EXPECT_EQ(rows.fetched(), distinct.size()) << text;
        EXPECT_EQ(rows.wasted, 0U) << text;
    }
}

TEST(EveryPolicy, FetchesAllWithoutABuffer) {
    const auto trace = random_trace(22).host();
    for (const std::string& text : all_specs()) {
        const auto rows = buffer::replay_host(*trace, buffer::PolicySpec::parse(text), 0);
        EXPECT_EQ(rows.demand, trace->needed()) << text;
        EXPECT_EQ(rows.fetched(), rows.demand) << text;
        EXPECT_EQ(rows.hit, 0U) << text;
    }
}

TEST(EveryPolicy, DoesTheSameTwice) {
    const auto trace = random_trace(23).host();
    for (const std::string& text : all_specs()) {
        const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
        EXPECT_EQ(buffer::replay_host(*trace, spec, 9), buffer::replay_host(*trace, spec, 9))
            << text;
    }
}

TEST(EveryPolicy, IsNotDisturbedByTheSameParametersAgain) {
    const auto trace = random_trace(24).host();
    buffer::TraceWindow steps(*trace);
    for (const std::string& text : all_specs()) {
        const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
        // Others are made anew, or plan anew.
        if (!spec.name().starts_with("static") && !spec.has("alpha") && !spec.has("fraction"))
            continue;
        buffer::IdBuffer plain(spec, trace->facts(), 9, 9);
        buffer::IdBuffer told(spec, trace->facts(), 9, 9);
        for (std::uint64_t s = 0; s < trace->steps(); ++s) {
            plain.publish(s, steps.step(s));
            told.publish(s, steps.step(s));
            const buffer::StepPlan& nothing = told.set_policy(spec);
            EXPECT_TRUE(nothing.leave.empty() && nothing.replacement.empty()) << text;
            plain.advance();
            told.advance();
            ASSERT_EQ(told.accounts(), plain.accounts()) << text << " step " << s;
        }
    }
}

TEST(EveryPolicy, BringsInNoMoreThanItSaysItCould) {
    for (std::uint64_t seed = 30; seed < 40; ++seed) {
        const auto trace = random_trace(seed, {80, 40, 20}).host();
        buffer::TraceWindow steps(*trace);
        for (const std::string& text : all_specs()) {
            const buffer::PolicySpec spec = buffer::PolicySpec::parse(text);
            buffer::IdBuffer buffer(spec, trace->facts(), 12, 12);
            if (!spec.info().takes_decisions) {
                EXPECT_EQ(buffer.replaceable(), 0U) << text;
                continue;
            }
            for (std::uint64_t s = 0; s < trace->steps(); ++s) {
                buffer.publish(s, steps.step(s));
                const std::uint64_t most = buffer.replaceable();
                EXPECT_LE(most, buffer.residents().capacity());
                const buffer::StepPlan& plan = buffer.advance({s % 3 == 0, 1});
                // The step's own rows may enter the competition only now.
                EXPECT_LE(plan.replacement.size(), most + steps.step(s).size()) << text;
            }
        }
    }
}

TEST(EveryPolicy, ReplacesAtMostTheFractionAsked) {
    const auto trace = random_trace(41, {200, 60, 50}).host();
    buffer::TraceWindow steps(*trace);
    for (const double fraction : {0.0, 0.1, 0.5, 1.0}) {
        buffer::IdBuffer buffer(buffer::PolicySpec::parse("scored"), trace->facts(), 30, 30);
        for (std::uint64_t s = 0; s < trace->steps(); ++s) {
            buffer.publish(s, steps.step(s));
            EXPECT_LE(buffer.advance({true, fraction}).replacement.size(),
                      static_cast<std::size_t>(fraction * 30));
        }
    }
}

TEST(EveryPolicy, SaysHowFarItLooks) {
    const auto trace = random_trace(1).host();
    for (const auto& [text, horizon] :
         std::map<std::string, std::uint64_t>{{"lru", 0},
                                              {"scored,every:4", 0},
                                              {"window", 16},
                                              {"window:3", 3},
                                              {"optimal", buffer::whole_trace}}) {
        const buffer::IdBuffer buffer(buffer::PolicySpec::parse(text), trace->facts(), 5, 5);
        EXPECT_EQ(buffer.horizon(), horizon) << text;
    }
}

}  // namespace
}  // namespace rudder::test
