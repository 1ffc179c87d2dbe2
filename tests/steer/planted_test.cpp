// Traces whose best policy changes in the middle, and mixtures of good and bad rules.
#include <algorithm>

#include <gtest/gtest.h>

#include "steer/agents/mixture/shares.hpp"
#include "steer/steered_replay.hpp"

#include "../buffer/random_trace.hpp"
#include "fake_world.hpp"

namespace rudder::test {
namespace {

constexpr std::uint64_t phase = 600;
constexpr std::uint64_t phases = 4;
constexpr std::uint64_t rows_kept = 200;

/// Even phases: rows are used five times within ten steps and never again, so what was used last
/// is worth keeping. Odd ones: 180 rows come back every eight steps or so, between rows that do
/// not, so what was used most is.
PlainTrace changing_trace(std::uint64_t seed) {
    const RandomStream stream({Purpose::test, seed});
    Draws draws(stream, 0);
    PlainTrace trace;
    VertexId next = 180;  // the first are those that come back
    std::vector<std::vector<VertexId>> steps(phase * phases + 16);
    for (std::uint64_t s = 0; s < phase * phases; ++s) {
        if ((s / phase) % 2 == 0) {
            for (int i = 0; i < 16; ++i, ++next) {
                for (std::uint64_t use = 0; use < 5; ++use)
                    steps[s + 2 * use].push_back(next);
            }
        } else {
            for (VertexId v = 0; v < 180; ++v) {
                if (draws.below(8) == 0) steps[s].push_back(v);
            }
            for (int i = 0; i < 30; ++i)
                steps[s].push_back(next++);
        }
    }
    steps.resize(phase * phases);
    trace.vertices = next;
    for (VertexId v = 0; v < next; ++v) {
        trace.halo.push_back(v);
        trace.degree.push_back(1);
        trace.inclusion.push_back(0.5);
    }
    trace.steps = std::move(steps);
    return trace;
}

buffer::Trace one_host(const PlainTrace& plain) {
    buffer::Trace trace;
    trace.push_back(plain.host());
    return trace;
}

steer::SteeredResult steer(const buffer::Trace& trace, const char* policy, const char* agent,
                           buffer::BufferSize size, const steer::SteeredOptions& options) {
    return steer::steered_replay(trace,
                                 {.policy = buffer::PolicySpec::parse(policy),
                                  .size = size,
                                  .agent = steer::AgentSpec::parse(agent)},
                                 options);
}

TEST(Planted, TheBanditGainsOverEveryFixedSetting) {
    const buffer::Trace trace = one_host(changing_trace(1));
    const buffer::BufferSize size{.fraction = {}, .rows = rows_kept};
    steer::SteeredOptions options;
    options.sample = 1;
    std::vector<std::uint64_t> by_step;
    options.watch = [&](std::size_t, std::uint64_t, const Rows& rows) {
        by_step.push_back(rows.fetched());
    };
    const steer::SteeredResult steered =
        steer(trace, "lru", "bandit,knobs:policy+decay,policies:lru+lfu+scored", size, options);
    std::string notes;
    for (const steer::DecisionRecord& record : steered.decisions) {
        if (!record.note.empty()) notes += std::to_string(record.step) + ": " + record.note + '\n';
    }
    std::vector<buffer::ReplayCase> cases;
    for (const char* policy :
         {"lru", "lfu", "clock", "scored,every:16", "scored,every:16,decay:0.9",
          "scored,every:16,decay:0.97", "scored,every:16,decay:0.999"}) {
        cases.push_back({buffer::PolicySpec::parse(policy), size});
    }
    const auto fixed = buffer::replay(trace, cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
        EXPECT_LE(static_cast<double>(steered.rows.fetched()),
                  0.9 * static_cast<double>(fixed[i].rows.fetched()))
            << cases[i].policy.text() << '\n'
            << notes;
    }
    // The last 200 steps of each phase cost about what the best fixed policy's do there.
    for (std::uint64_t p = 0; p < phases; ++p) {
        const std::uint64_t end = (p + 1) * phase;
        const auto late = static_cast<double>(by_step[end - 1] - by_step[end - 201]) / 200;
        EXPECT_LE(late, p % 2 == 0 ? 17 : 34) << p << '\n' << notes;
    }
    EXPECT_EQ(steered.agent.refused, 0U) << notes;
}

TEST(Shares, TheBestMemberGetsTheWeight) {
    steer::Shares shares(3);
    for (int i = 0; i < 64; ++i)
        shares.add(std::vector<double>{120, 100, 110}, 1);
    EXPECT_EQ(shares.best(), 1U);
    EXPECT_GT(shares.weights()[1], 0.95);
    EXPECT_NEAR(shares.weights()[0] + shares.weights()[1] + shares.weights()[2], 1, 1e-12);
    // One that was bad for long comes back within a few steps.
    for (int i = 0; i < 2000; ++i)
        shares.add(std::vector<double>{120, 100, 110}, 1);
    int steps = 0;
    while (shares.best() != 0 && ++steps < 1000)
        shares.add(std::vector<double>{90, 100, 110}, 1);
    EXPECT_LE(steps, 60);
    // Equal costs say nothing.
    steer::Shares equal(2);
    equal.add(std::vector<double>{5, 5}, 4);
    EXPECT_DOUBLE_EQ(equal.weights()[0], 0.5);
}

/// The published scores replace only when told to, so it matters who tells.
TEST(Mixture, IsNearlyAsGoodAsItsBestMember) {
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
        const buffer::Trace trace =
            one_host(random_trace(seed, {.vertices = 1000, .steps = 1000, .largest_step = 60}));
        const buffer::BufferSize size{.fraction = 0.25, .rows = 0};
        steer::SteeredOptions options;
        options.sample = 1;
        std::vector<std::uint64_t> rows;
        std::uint64_t best = ~0ULL;
        for (const char* agent : {"never", "always", "every:32"}) {
            best = std::min(best,
                            steer(trace, "scored-faithful", agent, size, options).rows.fetched());
        }
        const auto mixed =
            steer(trace, "scored-faithful", "mixture:always+never+every:32", size, options);
        EXPECT_LE(static_cast<double>(mixed.rows.fetched()), 1.02 * static_cast<double>(best))
            << mixed.learned.front();
        EXPECT_NE(mixed.learned.front().find("ends with"), std::string::npos);
        EXPECT_EQ(mixed.agent.refused + mixed.agent.invalid, 0U);
    }
}

TEST(Mixture, FollowsABanditThatSteersItsOwnShadow) {
    FakeWorld world("window:1");
    world.rows = [](const steer::Setting& s, std::uint64_t) {
        return s.policy.has("window") ? 1000 - s.policy.number("window") : 1500;
    };
    const auto agent =
        steer::make_agent(steer::AgentSpec::parse("mixture:never+bandit"), world.facts());
    world.run(*agent);
    EXPECT_EQ(world.setting.policy.text(), "window:64") << world.notes();
    EXPECT_LE(world.most_shadows, 2U + 7U);
    EXPECT_NE(agent->learned().find("bandit"), std::string::npos);
}

/// The real buffer has a past that a member's shadow has not: a member may be cheap there alone.
TEST(Mixture, AMemberThatIsCheapInItsShadowAloneIsNotFollowedForLong) {
    steer::AgentFacts facts;
    facts.start.policy = buffer::PolicySpec::parse("scored");
    const auto agent = steer::make_agent(steer::AgentSpec::parse("mixture:never+always"), facts);
    double real = 0;
    std::uint64_t followed = 0;
    std::uint64_t fetched = 100;
    const std::uint64_t steps = 4000;
    for (std::uint64_t step = 0; step < steps; ++step) {
        steer::Observation seen;
        seen.sequence = step + 1;
        seen.step = step;
        seen.steps = steps;
        seen.setting = facts.start;
        seen.takes_decisions = true;
        const auto reading = [&](const char* name, std::uint64_t rows) {
            steer::ShadowReading read;
            read.name = name;
            read.setting = facts.start;
            read.age = step;
            read.rows.steps = step == 0 ? 0 : 1;
            read.rows.needed = read.rows.demand = rows;
            return read;
        };
        // A little noise that is the same for all.
        const std::uint64_t more = step * 7 % 5;
        seen.twin = reading("~twin", fetched + more);
        seen.built_in = seen.twin;
        seen.shadows = {reading("m0", 100 + more), reading("m1", 80 + more)};
        const steer::Answer answer = agent->decide(seen);
        const bool always = answer.action.kind == steer::ActionKind::replace;
        followed += always ? 1 : 0;
        fetched = always ? 300 : 100;
        real += static_cast<double>(fetched);
    }
    EXPECT_GT(followed, 0U) << "its shadow is the cheapest, so it is tried";
    EXPECT_LE(real, 1.02 * 100 * static_cast<double>(steps)) << agent->learned();
}

/// Nothing but the trace and the seed decides.
TEST(Mixture, TheSameSeedGivesTheSameRun) {
    const buffer::Trace trace =
        one_host(random_trace(9, {.vertices = 400, .steps = 300, .largest_step = 60}));
    const buffer::BufferSize size{.fraction = 0.25, .rows = 0};
    const auto a = steer(trace, "scored", "mixture:every:4+never+bandit", size, {});
    const auto b = steer(trace, "scored", "mixture:every:4+never+bandit", size, {});
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(a.learned, b.learned);
}

}  // namespace
}  // namespace rudder::test
