// The bandit in made-up worlds whose best setting is known.
#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "steer/agents/bandit/choice.hpp"
#include "steer/agents/bandit/drift.hpp"
#include "steer/agents/bandit/duel.hpp"

#include "fake_world.hpp"

namespace rudder::test {
namespace {

std::unique_ptr<steer::Agent> bandit(const FakeWorld& world, const char* text = "bandit") {
    return steer::make_agent(steer::AgentSpec::parse(text), world.facts());
}

double window_of(const steer::Setting& s) {
    return s.policy.has("window") ? s.policy.number("window") : 0;
}

/// Look-ahead helps, up to a point.
double by_window(const steer::Setting& s, std::uint64_t /*step*/) {
    const double window = window_of(s);
    if (window == 0) return 1500;
    const double best = window >= 64 ? 800 : window >= 16 ? 900 : window >= 4 ? 1000 : 1200;
    return best * (s.capacity < 1000 ? 1.5 : 1.0);
}

TEST(Drift, NoiseAndShortStepsAreNoChange) {
    const RandomStream stream({Purpose::test, 1});
    Draws draws(stream, 0);
    steer::Drift drift(0.03);
    for (int i = 0; i < 5000; ++i) {
        // The last step of an epoch is short.
        const double cost = (i % 24 == 23 ? 80.0 : 100.0) * (1 + 0.1 * (draws.uniform() - 0.5));
        EXPECT_FALSE(drift.add(cost)) << i;
    }
}

TEST(Drift, AStepUpOrDownIsNoticedSoon) {
    for (const double factor : {1.5, 0.7, 1.2}) {
        const RandomStream stream({Purpose::test, 2});
        Draws draws(stream, 0);
        steer::Drift drift(0.03);
        int noticed = -1;
        for (int i = 0; i < 100 && noticed < 0; ++i) {
            const double level = i < 50 ? 100 : 100 * factor;
            if (drift.add(level * (1 + 0.06 * (draws.uniform() - 0.5)))) noticed = i;
        }
        EXPECT_GE(noticed, 50);
        EXPECT_LE(noticed, 56) << factor;
        EXPECT_NEAR(drift.ratio(), factor, 0.12 * factor);
    }
}

steer::Duel duel(const char* challenger, const char* champion) {
    steer::Choice a;
    steer::Choice b;
    a.setting.policy = buffer::PolicySpec::parse(challenger);
    b.setting.policy = buffer::PolicySpec::parse(champion);
    return {"x", a, b, 0.005};  // the first of a run
}

std::uint64_t steps_until_verdict(steer::Duel& duel, double factor, steer::TrialVerdict& verdict) {
    for (int i = 0; i < 300 && (verdict = duel.verdict()) == steer::TrialVerdict::open; ++i)
        duel.add(1000 * factor, 1000);
    return duel.steps();
}

TEST(Duel, LargeDifferencesNeedFewSteps) {
    steer::TrialVerdict verdict{};
    steer::Duel huge = duel("window:16", "lru");
    EXPECT_LE(steps_until_verdict(huge, 0.7, verdict), 36U);
    EXPECT_EQ(verdict, steer::TrialVerdict::better);
    steer::Duel bad = duel("window:4", "window:16");
    EXPECT_LE(steps_until_verdict(bad, 1.3, verdict), 14U + 8U) << "it knows 16 steps at first";
    EXPECT_EQ(verdict, steer::TrialVerdict::worse);
    steer::Duel small = duel("window:64", "window:16");
    EXPECT_LE(steps_until_verdict(small, 0.985, verdict), 84U);
    EXPECT_EQ(verdict, steer::TrialVerdict::better);
    steer::Duel same = duel("window:64", "window:16");
    EXPECT_LE(steps_until_verdict(same, 1.0, verdict), 72U);
    EXPECT_EQ(verdict, steer::TrialVerdict::no_better);
    // One that counts uses first is given time to.
    steer::Duel cold = duel("lfu", "lru");
    EXPECT_GE(steps_until_verdict(cold, 1.1, verdict), 40U);
    EXPECT_EQ(verdict, steer::TrialVerdict::worse);
}

/// Steps whose rows differ much, and one that fetches them two steps early: nothing is gained or
/// lost, and what is saved beside that is seen as if both fetched at the same time.
TEST(Duel, RowsThatAreFetchedEarlyArePairedWithTheStepTheyAreFor) {
    const RandomStream stream({Purpose::test, 3});
    Draws draws(stream, 0);
    std::vector<double> rows(400);
    for (double& step : rows)
        step = 500 + 1000 * draws.uniform();
    for (const double factor : {1.0, 0.95}) {
        const auto early = [&](std::size_t step) {
            return factor * (step == 0 ? rows[0] + rows[1] + rows[2] : rows[step + 2]);
        };
        steer::Duel ahead = duel("window:16", "lru");
        steer::Duel behind = duel("lru", "window:16");
        std::size_t step = 0;
        for (; step < 300 && ahead.verdict() == steer::TrialVerdict::open; ++step)
            ahead.add(early(step), rows[step]);
        EXPECT_NEAR(ahead.difference(), factor - 1, 1e-9) << step;
        EXPECT_EQ(ahead.verdict(),
                  factor < 1 ? steer::TrialVerdict::better : steer::TrialVerdict::no_better);
        if (factor < 1) {
            EXPECT_LE(step, 64U);
        }
        for (step = 0; step < 60; ++step)
            behind.add(factor * rows[step], early(step) / factor);
        EXPECT_NEAR(behind.difference(), factor - 1, 1e-9);
    }
}

/// Before a buffer is full, all settings fetch the same: that is no reason to leave one.
TEST(Duel, StepsInWhichNothingCanDifferDoNotCount) {
    steer::TrialVerdict verdict{};
    steer::Duel filling = duel("window:16,decay:0.9", "window:16");
    for (int step = 0; step < 300; ++step) {
        filling.add(1000, 1000, /*filling=*/true);
        EXPECT_EQ(filling.verdict(), steer::TrialVerdict::open) << step;
    }
    for (int step = 0; step < 60 && filling.verdict() == steer::TrialVerdict::open; ++step)
        filling.add(900, 1000);
    EXPECT_EQ(filling.verdict(), steer::TrialVerdict::better);
    steer::Duel alike = duel("window:16,decay:0.9", "window:16");
    EXPECT_LE(steps_until_verdict(alike, 1.0, verdict), 4U + 40U);
    EXPECT_EQ(verdict, steer::TrialVerdict::no_better);
}

/// Candidates and what they are compared with begin in the same step, ahead of the run, and nothing
/// else begins before they are decided.
TEST(Bandit, AllCandidatesBeginTogetherAheadOfTheRun) {
    FakeWorld world("window:1");
    world.rows = by_window;
    world.steps = 200;
    const auto agent = bandit(world);
    world.run(*agent);
    using Kind = steer::ShadowOrder::Kind;
    std::set<std::string> running;
    std::size_t batches = 0;
    for (const steer::Answer& answer : world.answers) {
        const bool busy = !running.empty();
        std::set<std::string> begun;
        for (const steer::ShadowOrder& order : answer.shadows) {
            if (order.kind == Kind::close) {
                EXPECT_EQ(running.erase(order.name), 1U) << order.name;
                continue;
            }
            EXPECT_EQ(order.kind, Kind::copy);
            EXPECT_EQ(order.ahead, 64U);
            begun.insert(order.name);
        }
        if (begun.empty()) continue;
        EXPECT_TRUE(running.empty()) << busy;
        EXPECT_EQ(begun.size(), batches == 0 ? 7U : begun.size());
        EXPECT_GE(begun.size(), 2U);
        running = std::move(begun);
        ++batches;
    }
    EXPECT_GE(batches, 2U);
}

/// A buffer that holds whatever comes has nothing to choose; one that fills late is not left with
/// what it began with.
TEST(Bandit, NothingIsTriedOnABufferThatIsNotFullAndSoonAfterThat) {
    for (const std::uint64_t fills : {10'000'000U, 150'000U}) {
        FakeWorld world("window:1");
        world.setting.capacity = world.limits.slots = fills;
        world.steps = 600;
        world.rows = [&](const steer::Setting& s, std::uint64_t step) {
            return static_cast<double>(step) * 1000 < static_cast<double>(fills) ? 1000
                                                                                 : by_window(s, 0);
        };
        const auto agent = bandit(world);
        world.run(*agent);
        const auto began = std::ranges::find_if(world.answers, [&](const steer::Answer& answer) {
            return answer.shadows.size() > 1 &&
                   answer.shadows.front().kind == steer::ShadowOrder::Kind::copy &&
                   &answer != &world.answers.front();
        });
        if (fills > 1'000'000) {
            EXPECT_EQ(began, world.answers.end());
            EXPECT_EQ(window_of(world.setting), 1);
            continue;
        }
        const std::uint64_t full = fills / 1000;
        EXPECT_LE(world.until(0, [](const steer::Setting& s) { return window_of(s) == 64; }), full)
            << world.notes();
    }
}

TEST(Bandit, FindsTheBestSettingFromAnyStart) {
    for (const char* start : {"window:1", "lru", "window:16", "scored", "window:64"}) {
        FakeWorld world(start);
        world.rows = by_window;
        const auto agent = bandit(world);
        world.run(*agent);
        EXPECT_LE(world.until(0, [](const steer::Setting& s) { return window_of(s) == 64; }), 100U)
            << start << '\n'
            << world.notes();
        EXPECT_EQ(window_of(world.setting), 64) << start;
        EXPECT_LE(world.most_shadows, 7U);
        EXPECT_NE(agent->learned().find("ends with window:64"), std::string::npos);
    }
}

TEST(Bandit, GrowsTheBufferAndNeverShrinksIt) {
    FakeWorld world("window:16");
    world.setting.capacity = 100;
    world.rows = by_window;
    const auto agent = bandit(world);
    world.run(*agent);
    EXPECT_LE(world.until(0, [](const steer::Setting& s) { return s.capacity == 1000; }), 44U);
    for (std::size_t i = 1; i < world.history.size(); ++i)
        EXPECT_GE(world.history[i].capacity, world.history[i - 1].capacity);
}

/// Where nothing is better, next to nothing is changed, whatever the noise: of some 700 tries with
/// differences of their own of 1 % per step.
TEST(Bandit, KeepsWhatIsBest) {
    std::ptrdiff_t all = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        FakeWorld world("window:16", seed);
        world.rows_noise = 0.1;
        world.steps = 2000;
        world.rows = [](const steer::Setting& s, std::uint64_t) {
            return window_of(s) == 16 ? 1000.0 : 1002.0;
        };
        const auto agent = bandit(world);
        world.run(*agent);
        const auto sets = std::ranges::count_if(world.answers, [](const steer::Answer& answer) {
            return answer.action.kind == steer::ActionKind::set;
        });
        EXPECT_LE(sets, 1) << seed << '\n' << world.notes();
        all += sets;
    }
    EXPECT_LE(all, 1);
}

TEST(Bandit, NeverAsksForWhatIsSet) {
    FakeWorld world("lru");
    world.rows = by_window;
    const auto agent = bandit(world);
    world.run(*agent);
    ASSERT_EQ(world.history.size(), world.steps);
    for (std::size_t i = 0; i < world.answers.size(); ++i) {
        if (world.answers[i].action.kind != steer::ActionKind::set) continue;
        const std::uint64_t step = world.asked[i];
        const steer::Setting before =
            step == 0 ? world.facts().start : world.history[static_cast<std::size_t>(step - 1)];
        EXPECT_NE(world.history[static_cast<std::size_t>(step)], before);
    }
}

TEST(Bandit, ARunShorterThanLearning) {
    for (const std::uint64_t steps : {1U, 3U, 20U, 60U}) {
        FakeWorld world("window:16");
        world.steps = steps;
        world.rows = by_window;
        const auto agent = bandit(world);
        world.run(*agent);
        double plain = 0;
        for (std::uint64_t step = 0; step < steps; ++step)
            plain += 900;
        EXPECT_LE(world.fetched, 1.05 * plain) << "nothing that does not pay in time";
        EXPECT_FALSE(agent->learned().empty());
    }
}

/// What was taken back is not asked for again at once, and the run's word counts.
TEST(Bandit, SeesThatTheGuardTookAChangeBack) {
    FakeWorld world("window:16");
    world.rows = by_window;
    std::uint64_t undone = 0;
    world.meddle = [&](FakeWorld& w, std::uint64_t) {
        if (window_of(w.setting) != 64) return;
        w.setting.policy = buffer::PolicySpec::parse("window:16");
        ++undone;
    };
    const auto agent = bandit(world, "bandit,policies:window:16+window:64");
    world.run(*agent);
    EXPECT_EQ(undone, 1U) << world.notes();
    EXPECT_NE(world.notes().find("was not kept"), std::string::npos) << world.notes();
    EXPECT_EQ(world.setting.policy.text(), "window:16");
}

TEST(Bandit, FindsTheNewBestWhenRowsChangePhase) {
    FakeWorld world("lru");
    world.steps = 2000;
    world.rows = [](const steer::Setting& s, std::uint64_t step) {
        const bool recent = (step / 500) % 2 == 0;
        return (s.policy.name() == "lru") == recent ? 900.0 : 1200.0;
    };
    const auto agent = bandit(world, "bandit,knobs:policy,policies:lru+lfu");
    world.run(*agent);
    for (const std::uint64_t change : {500U, 1000U, 1500U}) {
        const bool recent = (change / 500) % 2 == 0;
        EXPECT_LE(world.until(change,
                              [&](const steer::Setting& s) {
                                  return (s.policy.name() == "lru") == recent;
                              }),
                  100U)
            << change << '\n'
            << world.notes();
    }
}

/// Fetching early hides the link; too early costs a little. A slower link wants more of it.
double by_distance(const steer::Setting& s, std::uint64_t step, std::uint64_t drop) {
    const double distance = s.policy.number("distance");
    const double fetch = step < drop ? 0.012 : 0.048;
    return 0.02 + std::max(0.0, fetch - 0.006 * distance) + 0.0003 * distance;
}

TEST(Bandit, FindsTheNewBestWhenTheLinkSlowsDown) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
        FakeWorld world("window:64,distance:2", seed);
        world.cost = steer::CostKind::seconds;
        world.steps = 2000;
        world.rows = by_window;
        world.seconds = [](const steer::Setting& s, std::uint64_t step) {
            return by_distance(s, step, 1000);
        };
        const auto agent = bandit(world);
        world.run(*agent);
        const auto distance = [](const steer::Setting& s) { return s.policy.number("distance"); };
        EXPECT_EQ(distance(world.history[990]), 2) << world.notes();
        EXPECT_LE(world.until(1000, [&](const steer::Setting& s) { return distance(s) == 8; }),
                  200U)
            << seed << '\n'
            << world.notes();
        // Trials of the real run stay within the budget.
        std::uint64_t in_trial = 0;
        for (std::size_t i = 0; i < 1000; ++i)
            in_trial += distance(world.history[i]) != 2 || window_of(world.history[i]) != 64;
        EXPECT_LE(in_trial, 200U);
    }
}

TEST(Bandit, NoTimedTrialsWhereTheCostIsRows) {
    FakeWorld world("window:64");
    world.rows = by_window;
    const auto agent = bandit(world);
    world.run(*agent);
    for (const steer::Setting& s : world.history)
        EXPECT_EQ(s.policy.number("distance"), 2);
}

TEST(Bandit, SaysWhenToReplace) {
    FakeWorld world("scored");
    world.steps = 1500;
    world.rows = [](const steer::Setting& s, std::uint64_t) {
        const double every = s.policy.given("every") ? s.policy.number("every") : 1e9;
        return every == 4 ? 900.0 : every == 8 || every == 2 ? 950.0 : 1000.0;
    };
    const auto agent = bandit(world, "bandit,knobs:decide");
    EXPECT_EQ(agent->interval(), 1U);
    world.run(*agent);
    std::uint64_t replaced = 0;
    for (std::size_t step = 1300; step < 1500; ++step) {
        EXPECT_EQ(world.replaced[step], (step + 1) % 4 == 0) << step << '\n' << world.notes();
        replaced += world.replaced[step];
    }
    EXPECT_EQ(replaced, 50U);
    EXPECT_EQ(world.setting.policy.text(), "scored");
}

TEST(Bandit, WithoutDecidingAPolicyThatWaitsGetsTheBuiltInSignal) {
    FakeWorld world("scored");
    const auto agent = bandit(world, "bandit,knobs:capacity");
    world.run(*agent);
    EXPECT_EQ(world.history[0].policy.text(), "scored,every:16");
    EXPECT_EQ(std::ranges::count(world.replaced, true), 0);
}

TEST(Bandit, RefusesUnknownKnobsAndPolicies) {
    const FakeWorld world("lru");
    EXPECT_THROW((void)bandit(world, "bandit,knobs:windw"), Error);
    EXPECT_THROW((void)bandit(world, "bandit,policies:lru+lfo"), Error);
    EXPECT_THROW((void)bandit(world, "bandit,budget:2"), Error);
}

TEST(Bandit, DecidesOnlyIfAskedTo) {
    EXPECT_FALSE(steer::AgentSpec::parse("bandit").decides());
    EXPECT_TRUE(steer::AgentSpec::parse("bandit,knobs:policy+decide").decides());
    EXPECT_NO_THROW(steer::check_agent(steer::AgentSpec::parse("bandit"),
                                       buffer::PolicySpec::parse("scored,every:4")));
    EXPECT_THROW(steer::check_agent(steer::AgentSpec::parse("bandit,knobs:decide"),
                                    buffer::PolicySpec::parse("scored,every:4")),
                 Error);
}

/// What is tried on the clock beside the present choice.
std::set<std::string> tried(const steer::Setting& now, const steer::KnobLimits& limits,
                            const std::string& agent) {
    const steer::Choices choices(steer::AgentSpec::parse(agent));
    steer::Choice present;
    present.setting = now;
    std::set<std::string> texts;
    for (const steer::Choice& choice : choices.on_time(present, limits, false)) {
        EXPECT_NE(choice.key(), present.key());
        texts.insert(steer::difference_text(present, choice));
    }
    return texts;
}

TEST(Bandit, TriesOrderPlacesAndGroupsWhereTheyCanPay) {
    using Texts = std::set<std::string>;
    const std::string agent = "bandit,knobs:demand_first+in_flight+buckets";
    steer::Setting now;
    now.policy = buffer::PolicySpec::parse("window:16");
    steer::KnobLimits limits{.slots = 100};
    // Two steps at a time are the fewest beside which anything is fetched.
    EXPECT_EQ(tried(now, limits, agent), (Texts{"demand_first 0"}));
    limits.in_flight = 4;
    limits.buckets = 3;
    EXPECT_EQ(tried(now, limits, agent),
              (Texts{"demand_first 0", "in_flight 4", "buckets 3", "buckets 1"}));
    now.demand_first = 0;
    now.in_flight = 4;
    now.buckets = 2;
    EXPECT_EQ(tried(now, limits, agent), (Texts{"demand_first 1", "in_flight 2", "buckets 1"}));
    EXPECT_EQ(tried(now, limits, "bandit,knobs:window").count("demand_first 1"), 0U);
}

}  // namespace
}  // namespace rudder::test
