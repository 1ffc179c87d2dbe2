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

/// Runs the watch beside a policy that looks that far ahead.
steer::ClassRows watch(const buffer::HostTrace& trace, const std::string& policy,
                       buffer::SlotId slots) {
    buffer::TraceWindow steps(trace);
    buffer::IdBuffer real(buffer::PolicySpec::parse(policy), trace.facts(), slots, slots);
    steer::ClassWatch watch(trace.facts(), slots, 0);
    Rows before;
    std::uint64_t published = 0;
    for (std::uint64_t s = 0; s < trace.steps(); ++s) {
        for (; published < trace.steps() && published <= s + real.horizon(); ++published) {
            real.publish(published, steps.step(published));
            watch.publish(published, steps.step(published));
        }
        real.advance();
        watch.taken(real.accounts() - before);
        before = real.accounts();
    }
    return watch.finish();
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
    steer::ClassWatch watch(trace[0]->facts(), 30, 0);
    for (std::uint64_t s = 0; s < 100; ++s)
        watch.publish(s, steps.step(s));
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
