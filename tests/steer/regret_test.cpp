// Regret is against one declared class: exactly on a trace, and beside a run on groups of its rows.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "buffer/random_trace.hpp"
#include "buffer/trace_window.hpp"
#include "steer/regret/class_watch.hpp"
#include "steer/regret/rivals.hpp"
#include "steer/steered_replay.hpp"

namespace rudder::test {
namespace {

buffer::Trace one_host(std::uint64_t seed, const TraceShape& shape) {
    buffer::Trace trace;
    trace.push_back(random_trace(seed, shape).host());
    return trace;
}

constexpr TraceShape medium{.vertices = 300, .steps = 150, .largest_step = 60};

TEST(DeclaredClass, IsWhatTheDocumentsSay) {
    std::vector<std::string> names;
    for (const steer::Rival& rival : steer::declared_class())
        names.push_back(rival.name);
    EXPECT_THAT(names, testing::ElementsAre("none", "static-degree", "static-vip", "static-random",
                                            "lru", "lfu", "scored,every:1", "scored,every:2",
                                            "scored,every:4", "scored,every:8", "scored,every:16",
                                            "scored,every:32", "scored + threshold", "window:4",
                                            "window:8", "window:16", "window:32", "window:64"));
    EXPECT_EQ(steer::class_horizon(), 64U);
}

TEST(DeclaredClass, RowsAreThoseOfReplays) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const buffer::Trace trace = one_host(seed, medium);
        const std::uint64_t capacity = 50;
        const steer::RivalRows rows = steer::rival_rows(trace, std::span(&capacity, 1));
        ASSERT_EQ(rows.fetched.size(), steer::declared_class().size());
        std::uint64_t least = ~std::uint64_t{0};
        for (std::size_t i = 0; i < rows.fetched.size(); ++i) {
            const steer::Rival& rival = steer::declared_class()[i];
            ASSERT_TRUE(rows.fetched[i]) << rival.name;
            least = std::min(least, *rows.fetched[i]);
            if (rival.replaces_below > 0) continue;
            EXPECT_EQ(*rows.fetched[i],
                      buffer::replay_host(*trace[0], rival.policy, capacity).fetched())
                << rival.name;
        }
        EXPECT_EQ(rows.best_rows(), least);
        EXPECT_EQ(*rows.fetched[rows.best()], least);
    }
}

/// The rival that replaces below a hit rate does as the agent of that name.
TEST(DeclaredClass, ThresholdIsTheAgents) {
    const auto threshold = std::ranges::find_if(
        steer::declared_class(), [](const steer::Rival& r) { return r.replaces_below > 0; });
    ASSERT_NE(threshold, steer::declared_class().end());
    EXPECT_TRUE(threshold->replaces({.steps = 1, .needed = 10, .hit = 4, .demand = 6}));
    EXPECT_FALSE(threshold->replaces({.steps = 1, .needed = 10, .hit = 5, .demand = 5}));
    EXPECT_FALSE(threshold->replaces({})) << "nothing was needed";
    EXPECT_FALSE(steer::declared_class()[4].replaces({.steps = 1, .needed = 9, .demand = 9}));
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        const buffer::Trace trace = one_host(seed, medium);
        const std::uint64_t capacity = 5 + 5 * seed;
        steer::SteeredOptions options;
        options.guard = 1e9;
        const steer::SteeredResult agent =
            steer::steered_replay(trace,
                                  {threshold->policy,
                                   {.fraction = std::nullopt, .rows = capacity},
                                   steer::AgentSpec::parse("threshold")},
                                  options);
        const steer::RivalRows rows = steer::rival_rows(trace, std::span(&capacity, 1));
        const auto at = static_cast<std::size_t>(threshold - steer::declared_class().begin());
        EXPECT_EQ(*rows.fetched[at], agent.rows.fetched()) << seed;
    }
}

struct Watched {
    steer::ClassRows rows;
    std::uint64_t looked = 0;   ///< by rivals
    std::uint64_t scanned = 0;  ///< to find what they follow
};

/// Runs the watch beside a policy that looks that far ahead.
Watched watched(const buffer::HostTrace& trace, const std::string& policy, buffer::SlotId slots) {
    buffer::TraceWindow steps(trace);
    buffer::IdBuffer real(buffer::PolicySpec::parse(policy), trace.facts(), slots, slots);
    buffer::ShadowScan scan;
    steer::ClassWatch watch(trace.facts(), slots, 0, scan);
    Rows before;
    std::uint64_t published = 0;
    for (std::uint64_t s = 0; s < trace.steps(); ++s) {
        for (; published < trace.steps() && published <= s + real.horizon(); ++published) {
            real.publish(published, steps.step(published));
            scan.publish(published, steps.step(published));
            watch.published(published, steps.step(published));
        }
        real.advance();
        watch.taken(real.accounts() - before);
        before = real.accounts();
    }
    Watched all{.rows = watch.finish()};
    all.looked = watch.looked();
    all.scanned = scan.scanned();
    return all;
}

steer::ClassRows watch(const buffer::HostTrace& trace, const std::string& policy,
                       buffer::SlotId slots) {
    return watched(trace, policy, slots).rows;
}

/// A trace whose steps all have about so many rows.
buffer::Trace even_steps(std::uint64_t rows, std::uint64_t steps, std::uint64_t small_first = 0) {
    PlainTrace plain = random_trace(5, {.vertices = 40 * rows, .steps = 0});
    Draws draws(RandomStream({Purpose::test, rows}), 0);
    for (std::uint64_t s = 0; s < steps; ++s) {
        std::vector<VertexId>& step = plain.steps.emplace_back();
        const std::uint64_t stride = 1 + draws.below(39);
        for (std::uint64_t i = 0; i < (s < small_first ? 1 : rows); ++i)
            step.push_back(i * stride);
        plain.listed.push_back(0);
    }
    buffer::Trace trace;
    trace.push_back(plain.host());
    return trace;
}

/// The cost of following the class, in rows: each row of a step is looked at once to find what is
/// followed, and rivals look at so many as `rival_looks` says, in large runs and in small ones.
TEST(ClassWatch, LooksAtABoundedNumberOfRows) {
    constexpr std::uint64_t steps = 150;
    for (const std::uint64_t rows : {20U, 130U, 400U, 600U, 5'000U, 60'000U}) {
        const buffer::Trace trace = even_steps(rows, steps);
        const auto slots = static_cast<buffer::SlotId>(3 * rows);
        const Watched all = watched(*trace[0], "lru", slots);
        // The first steps are looked at apart, once.
        EXPECT_LE(all.scanned, steps * rows) << rows;
        EXPECT_GE(all.scanned, (steps - 16) * rows) << rows;
        const auto allowed = static_cast<double>(steps * steer::rival_looks(rows));
        const std::uint64_t whole = 17 * rows * steps;
        const auto regret = steer::regret_of(all.rows);
        ASSERT_TRUE(regret) << rows;
        // All rows, or a part: which rows are followed is drawn.
        if (whole <= std::uint64_t{1} << 20) {
            EXPECT_EQ(all.looked, whole) << rows;
            EXPECT_EQ(regret->error, 0) << rows;
        } else {
            EXPECT_LE(static_cast<double>(all.looked), 1.25 * allowed) << rows;
            EXPECT_GE(static_cast<double>(all.looked), 0.3 * allowed)
                << rows << ": much less tells less than it could";
            EXPECT_GT(regret->error, 0) << rows;
        }
    }
    EXPECT_EQ(steer::rival_looks(0), 2048U);
    EXPECT_EQ(steer::rival_looks(32'768), 2048U);
    EXPECT_EQ(steer::rival_looks(90'000), 5625U);
}

/// A first step that is smaller than others does not make rivals follow all rows for good.
TEST(ClassWatch, TheSampleGoesByTheLargestOfTheFirstSteps) {
    const buffer::Trace trace = even_steps(5'000, 120, 15);
    const Watched all = watched(*trace[0], "lru", 15'000);
    EXPECT_LE(static_cast<double>(all.looked),
              1.25 * 120 * static_cast<double>(steer::rival_looks(5'000)));
}

/// The same rows and steps give the same regret, and so do fewer steps than it waits for.
TEST(ClassWatch, IsTheSameEveryTimeAndKnownAfterAFewSteps) {
    for (const std::uint64_t steps : {3U, 15U, 16U, 17U, 90U}) {
        const buffer::Trace trace = even_steps(25'000, steps);
        const auto first = steer::regret_of(watch(*trace[0], "lru", 80'000));
        const auto again = steer::regret_of(watch(*trace[0], "lru", 80'000));
        ASSERT_TRUE(first && again) << steps;
        EXPECT_EQ(first->best, again->best);
        EXPECT_EQ(first->value, again->value);
        EXPECT_EQ(first->error, again->error);
        EXPECT_TRUE(steps < 90 || first->error > 0) << "of a sample";
        EXPECT_EQ(first->steps, steps);
    }
}

TEST(ClassWatch, IsExactBesideASmallBufferThatSeesNothingAhead) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const buffer::Trace trace = one_host(seed, medium);
        const std::uint64_t capacity = 50;
        const auto regret = steer::regret_of(watch(*trace[0], "lru", 50));
        ASSERT_TRUE(regret);
        const steer::RivalRows rows = steer::rival_rows(trace, std::span(&capacity, 1));
        const std::uint64_t own =
            buffer::replay_host(*trace[0], buffer::PolicySpec::parse("lru"), 50).fetched();
        EXPECT_EQ(regret->best, steer::declared_class()[rows.best()].name);
        EXPECT_NEAR(regret->value, steer::rows_beyond(own, rows.best_rows()), 1e-12);
        EXPECT_EQ(regret->error, 0);
        EXPECT_EQ(regret->steps, trace[0]->steps());
        EXPECT_GE(regret->value, 0);
    }
}

/// Beside a large one, groups of rows tell it: within a few of the errors that are stated.
TEST(ClassWatch, StatesItsErrorBesideALargeBuffer) {
    double squares = 0;
    constexpr std::uint64_t seeds = 8;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const buffer::Trace trace =
            one_host(seed, {.vertices = 20'000, .steps = 120, .largest_step = 3000});
        const std::uint64_t capacity = 4096;
        const auto regret = steer::regret_of(watch(*trace[0], "lru", 4096));
        ASSERT_TRUE(regret);
        EXPECT_GT(regret->error, 0);
        EXPECT_LT(regret->error, 0.1);
        const auto at =
            std::ranges::find(steer::declared_class(), regret->best, &steer::Rival::name);
        const std::uint64_t best =
            *steer::rival_rows(trace, std::span(&capacity, 1))
                 .fetched[static_cast<std::size_t>(at - steer::declared_class().begin())];
        const std::uint64_t own =
            buffer::replay_host(*trace[0], buffer::PolicySpec::parse("lru"), 4096).fetched();
        const double off = (regret->value - steer::rows_beyond(own, best)) / regret->error;
        squares += off * off;
    }
    // Of errors of four groups (three degrees of freedom) 3 is expected; many times that is wrong.
    EXPECT_LT(squares / seeds, 20);
}

TEST(ClassWatch, SumsOfBuffersAreThoseOfTheJob) {
    const buffer::Trace a = one_host(1, medium);
    const buffer::Trace b = one_host(2, medium);
    steer::ClassRows both = watch(*a[0], "lru", 40);
    const steer::ClassRows other = watch(*b[0], "lru", 40);
    const double fetched = both.fetched + other.fetched;
    both += other;
    EXPECT_EQ(both.fetched, fetched);
    buffer::Trace trace = one_host(1, medium);
    trace.push_back(random_trace(2, medium).host());
    const std::vector<std::uint64_t> capacity{40, 40};
    const steer::RivalRows rows = steer::rival_rows(trace, capacity);
    const auto regret = steer::regret_of(both);
    ASSERT_TRUE(regret);
    EXPECT_NEAR(regret->value, fetched / static_cast<double>(rows.best_rows()) - 1, 1e-12);
    steer::ClassRows none;
    none += both;
    EXPECT_EQ(steer::regret_of(none)->value, regret->value);
    EXPECT_FALSE(steer::regret_of({}));
}

TEST(ClassWatch, StepsThatWereNotTakenDoNotCount) {
    const buffer::Trace trace = one_host(3, medium);
    buffer::TraceWindow steps(*trace[0]);
    buffer::ShadowScan scan;
    steer::ClassWatch watch(trace[0]->facts(), 30, 0, scan);
    for (std::uint64_t s = 0; s < 100; ++s) {
        scan.publish(s, steps.step(s));
        watch.published(s, steps.step(s));
    }
    std::uint64_t needed = 0;
    for (std::uint64_t s = 0; s < 10; ++s) {
        needed += steps.step(s).size();
        watch.taken({.steps = 1, .needed = steps.step(s).size(), .demand = steps.step(s).size()});
    }
    const steer::ClassRows rows = watch.finish();
    EXPECT_EQ(rows.steps, 10U);
    // The first rival has no buffer.
    EXPECT_NEAR(rows.rivals.front(), static_cast<double>(needed), 1e-6);
}

}  // namespace
}  // namespace rudder::test
