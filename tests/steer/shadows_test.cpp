// Shadows that are ahead of the run: they take the steps that are known, as a replay takes them.
#include "steer/helm/shadows.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "buffer/random_trace.hpp"
#include "buffer/trace_window.hpp"
#include "steer/steered_replay.hpp"

#include "scripted_agent.hpp"

namespace rudder::test {
namespace {

constexpr std::uint64_t steps = 200;
constexpr std::uint64_t capacity = 50;

buffer::Trace trace_of(std::uint64_t seed) {
    buffer::Trace trace;
    trace.push_back(
        random_trace(seed, {.vertices = 400, .steps = steps, .largest_step = 60}).host());
    return trace;
}

steer::Setting setting_of(const std::string& policy) {
    steer::Setting setting;
    setting.policy = buffer::PolicySpec::parse(policy);
    setting.capacity = capacity;
    return setting;
}

/// Rows that a buffer of its own fetches in every step.
std::vector<double> alone(const buffer::HostTrace& trace, const std::string& policy) {
    buffer::IdBuffer ids(buffer::PolicySpec::parse(policy), trace.facts(), capacity, capacity, 0);
    buffer::TraceWindow window(trace);
    std::vector<double> rows;
    std::uint64_t published = 0;
    for (std::uint64_t step = 0; step < trace.steps(); ++step) {
        for (; published < trace.steps() && published - step <= ids.horizon(); ++published)
            ids.publish(published, window.step(published));
        const std::uint64_t before = ids.accounts().fetched();
        ids.advance({});
        rows.push_back(static_cast<double>(ids.accounts().fetched() - before));
    }
    return rows;
}

/// An agent that opens them ahead in the first step, and what it then saw of them by each step.
std::map<std::string, std::vector<double>> seen_ahead(const buffer::Trace& trace,
                                                      const std::vector<std::string>& policies,
                                                      std::vector<std::size_t>* taken = nullptr) {
    std::map<std::string, std::vector<double>> rows;
    steer::SteeredOptions options;
    options.sample = 1;
    const Scripted::Script script = [&](const steer::Observation& seen) {
        steer::Answer given = answer(steer::Action::keep());
        for (const std::string& policy : policies) {
            if (seen.step == 0) {
                given.shadows.push_back({.kind = steer::ShadowOrder::Kind::copy,
                                         .name = policy,
                                         .setting = setting_of(policy),
                                         .ahead = 64});
            }
            const auto found = std::ranges::find(seen.shadows, policy, &steer::ShadowReading::name);
            if (found == seen.shadows.end()) continue;
            EXPECT_EQ(found->by_step.size(), found->rows.steps);
            std::vector<double>& all = rows[policy];
            all.insert(all.end(), found->by_step.begin(), found->by_step.end());
            EXPECT_EQ(found->age, all.size());
            if (policy != policies.front()) {
                EXPECT_EQ(all.size(), rows[policies.front()].size()) << seen.step;
            }
        }
        if (taken != nullptr) taken->push_back(rows[policies.front()].size());
        return given;
    };
    static_cast<void>(
        steer::steered_replay(trace,
                              {.policy = buffer::PolicySpec::parse("lru"),
                               .size = {.fraction = std::nullopt, .rows = capacity},
                               .agent = steer::AgentSpec::parse(scripted("scripted", script))},
                              options));
    return rows;
}

/// Whatever they look ahead for they see, though they are ahead: their rows are a replay's.
TEST(ShadowsAhead, FetchWhatAReplayFetchesStepForStep) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        const buffer::Trace trace = trace_of(seed);
        const std::vector<std::string> policies{"lru", "window:64", "window:8", "lfu"};
        for (const auto& [policy, rows] : seen_ahead(trace, policies)) {
            EXPECT_EQ(rows, alone(*trace.front(), policy)) << policy;
        }
    }
}

/// Four steps at a time until they are 64 ahead, then one by one, up to the end.
TEST(ShadowsAhead, AreAsFarAheadAsTheyMayBe) {
    std::vector<std::size_t> taken;
    static_cast<void>(seen_ahead(trace_of(7), {"window:16", "lru"}, &taken));
    ASSERT_EQ(taken.size(), steps);
    for (std::size_t step = 0; step < steps; ++step)
        EXPECT_EQ(taken[step], std::min({4 * step, step + 64, std::size_t{steps}})) << step;
}

/// Where less is known than one of them looks for, all wait, but never behind the run.
TEST(ShadowsAhead, WaitTogetherForWhatOneOfThemLooksFor) {
    const buffer::Trace trace = trace_of(9);
    const buffer::PolicyFacts facts = trace.front()->facts();
    buffer::TraceWindow window(*trace.front());
    steer::Shadows shadows(facts, 1, capacity, 0);
    constexpr auto agent = steer::ShadowRole::agent;
    const steer::Shadow& twin = shadows.open(steer::ShadowRole::twin, setting_of("lru"));
    const steer::Shadow& near = shadows.open(agent, setting_of("lru"), "near", 64);
    const steer::Shadow& far = shadows.open(agent, setting_of("window:16"), "far", 64);
    std::uint64_t published = 0;
    const auto publish = [&](std::uint64_t until) {
        for (; published < until; ++published)
            shadows.publish(published, window.step(published));
    };
    EXPECT_EQ(shadows.horizon(), 3U + 16U);
    publish(20);
    shadows.advance();  // all it asked for
    EXPECT_EQ(far.next_step(), 4U);
    publish(22);
    shadows.advance();  // steps 4 and 5, but not 6: step 22 is not known
    EXPECT_EQ(far.next_step(), 6U);
    EXPECT_EQ(near.next_step(), 6U);
    for (std::uint64_t step = 2; step < 10; ++step)
        shadows.advance();  // nothing more is known
    EXPECT_EQ(far.next_step(), 10U);
    EXPECT_EQ(near.next_step(), 10U);
    EXPECT_EQ(twin.next_step(), 10U);
    EXPECT_EQ(shadows.horizon(), 3U + 16U);
    EXPECT_EQ(near.by_step.size(), 10U);
    EXPECT_TRUE(twin.by_step.empty());
}

/// What an agent's own ones take is counted apart; what the helm's take is not.
TEST(ShadowsMetered, TheWorkOfAnAgentsOwnIsCounted) {
    const buffer::Trace trace = trace_of(11);
    const buffer::PolicyFacts facts = trace.front()->facts();
    buffer::TraceWindow window(*trace.front());
    steer::Shadows shadows(facts, 1, capacity, 0);
    std::atomic<std::uint64_t> cpu{0};
    shadows.meter(cpu);
    static_cast<void>(shadows.open(steer::ShadowRole::twin, setting_of("window:16")));
    static_cast<void>(shadows.open(steer::ShadowRole::built_in, setting_of("lru")));
    static_cast<void>(shadows.open(steer::ShadowRole::trial, setting_of("lfu")));
    std::uint64_t published = 0;
    const auto advance = [&] {
        for (; published <= shadows.next_step() + shadows.horizon() && published < steps;
             ++published)
            shadows.publish(published, window.step(published));
        shadows.advance();
    };
    for (int i = 0; i < 20; ++i)
        advance();
    EXPECT_EQ(cpu, 0U);
    const steer::Shadow& own =
        shadows.open(steer::ShadowRole::agent, setting_of("scored,every:4"), "own");
    for (int i = 0; i < 20; ++i)
        advance();
    const std::uint64_t taken = cpu;
    EXPECT_GT(taken, 0U);
    shadows.close(own);
    for (int i = 0; i < 20; ++i)
        advance();
    EXPECT_EQ(cpu, taken) << "it is gone";
}

}  // namespace
}  // namespace rudder::test
