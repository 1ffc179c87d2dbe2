// Tests that may be looked at as often as one likes: how often they are wrong.
#include "steer/agents/bandit/wager.hpp"

#include <cmath>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rudder/core/file.hpp"
#include "rudder/core/random.hpp"
#include "rudder/core/text.hpp"
#include "steer/agents/bandit/duel.hpp"
#include "steer/agents/bandit/timed_trial.hpp"

namespace rudder::test {
namespace {

TEST(Wager, GrowsAsItsStakesSay) {
    steer::Wager wager;
    EXPECT_DOUBLE_EQ(wager.capital(), 1);
    wager.add(-7);  // counts for 1
    const double won = 0.25 * 31 / 32 + 0.25 * 7 / 8 + 0.2 * 3 / 4 + 0.15 / 2 + 0.06 / 4 +
                       0.03 * (1.0 / 8 + 1.0 / 16 + 1.0 / 32);
    EXPECT_NEAR(wager.capital(), 1 + won, 1e-12);
    steer::Wager lost;
    for (int i = 0; i < 200; ++i)
        lost.add(0.5);
    EXPECT_LT(lost.capital(), 0.01);
    steer::Wager later({0, 4});
    for (int i = 0; i < 4; ++i)
        later.add(1);
    EXPECT_GT(later.capital(), 0.5) << "the second bet has not begun";
    EXPECT_EQ(later.count(), 4U);
}

/// Numbers of mean 0 whose spread changes, and that depend on those before.
double fair_number(Draws& draws, int i, double before) {
    const double coin = draws.below(2) == 0 ? -1 : 1;
    return coin * (i % 7 == 0 ? 1.0 : 0.3 + 0.5 * std::abs(before));
}

TEST(Wager, AFairGameIsWonNoMoreOftenThanTheLevelSaysHoweverOftenOneLooks) {
    const RandomStream stream({Purpose::test, 41});
    constexpr int runs = 10000;
    for (const double level : {0.1, 0.02}) {
        int won = 0;
        for (int run = 0; run < runs; ++run) {
            Draws draws(stream, static_cast<VertexId>(run));
            steer::Wager wager;
            double x = 0;
            bool ever = false;
            for (int i = 0; i < 200 && !ever; ++i) {
                x = fair_number(draws, i, x);
                wager.add(x);
                ever = wager.capital() >= 1 / level;
            }
            won += ever ? 1 : 0;
        }
        EXPECT_LE(won, level * runs);
        EXPECT_GT(won, 0.1 * level * runs) << "it would never be won";
    }
}

TEST(Alarm, AddsUpWagersThatBeginBeforeEveryNumber) {
    Draws draws(RandomStream({Purpose::test, 43}), 0);
    steer::Alarm alarm;
    EXPECT_EQ(alarm.sum(), 0);
    std::vector<double> numbers;
    for (int i = 0; i < 30; ++i) {
        numbers.push_back(2.4 * draws.uniform() - 1.4);
        alarm.add(numbers.back());
        double slow = 0;
        for (std::size_t first = 0; first < numbers.size(); ++first) {
            steer::Wager wager;
            for (std::size_t k = first; k < numbers.size(); ++k)
                wager.add(numbers[k]);
            slow += wager.capital();
        }
        EXPECT_NEAR(alarm.sum(), slow, 1e-9 * slow) << i;
    }
}

/// As long as there is no reason, the time until it goes off is as long as is said, on average.
TEST(Alarm, GoesOffWithoutReasonNoMoreOftenThanIsSaid) {
    const RandomStream stream({Purpose::test, 44});
    constexpr int runs = 2000;
    for (const double rarely : {20.0, 200.0}) {
        double waited = 0;
        for (int run = 0; run < runs; ++run) {
            Draws draws(stream, static_cast<VertexId>(run));
            steer::Alarm alarm;
            double x = 0;
            int i = 0;
            for (; alarm.sum() < rarely && i < 100'000; ++i) {
                x = fair_number(draws, i, x);
                alarm.add(x);
            }
            waited += static_cast<double>(i) / runs;
        }
        EXPECT_GE(waited, rarely);
        EXPECT_LT(waited, 50 * rarely) << "it would never go off";
    }
}

TEST(Alarm, WhatWasGoodForLongDoesNotHideWhatComes) {
    for (const int good : {0, 10, 10'000}) {
        steer::Alarm alarm;
        for (int i = 0; i < good; ++i)
            alarm.add(0.5);
        int bad = 0;
        for (; alarm.sum() < 1600 && bad < 100; ++bad)
            alarm.add(-1);
        EXPECT_LE(bad, 12) << good;
        for (int i = 0; i < 5000; ++i)
            alarm.add(-1);
        EXPECT_TRUE(std::isfinite(alarm.sum()));
    }
}

TEST(ErrorBudget, IsNeverSpentWhateverTheNumberOfTestsAndPhases) {
    steer::ErrorBudget budget(0.01);
    EXPECT_DOUBLE_EQ(budget.take(), 0.01 / 4);
    double spent = 0.01 / 4;
    for (int phase = 0; phase < 1000; ++phase) {
        for (std::size_t batch = 0; batch < 1000; ++batch) {
            const std::size_t tests = 1 + batch % 8;
            spent += static_cast<double>(tests) * budget.take(tests);
        }
        budget.begin_phase();
    }
    EXPECT_LE(spent, 0.01);
    EXPECT_GT(spent, 0.0099);
}

TEST(Scale, KnowsNothingOfTheNextNumber) {
    steer::Scale scale(2, 0.01, 0.05);
    EXPECT_DOUBLE_EQ(scale.now(), 0.05);
    scale.add(-0.02);
    EXPECT_DOUBLE_EQ(scale.now(), 0.04);
    scale.add(0);
    EXPECT_DOUBLE_EQ(scale.now(), 0.02);
    for (int i = 0; i < 100; ++i)
        scale.add(0);
    EXPECT_DOUBLE_EQ(scale.now(), 0.01);
}

/// Rows that settings fetch in each step of a recorded run (npm_deps, first of four hosts, buffer
/// of 25 %): bench_steer_rows_by_step TRACE 0.25 POLICY... wrote it.
std::map<std::string, std::vector<double>> recorded_rows() {
    const std::string text = read_text(
        std::filesystem::path(RUDDER_SOURCE_DIR) / "tests/data/rows_by_step_npm.csv", 1 << 20);
    const auto lines = split(text, '\n');
    const auto names = split(lines.front(), ';');
    std::map<std::string, std::vector<double>> rows;
    constexpr std::size_t filled = 77;  // steps: the first epoch
    for (std::size_t i = 1 + filled; i < lines.size(); ++i) {
        if (lines[i].empty()) continue;
        const auto words = split(lines[i], ';');
        for (std::size_t c = 0; c < names.size(); ++c)
            rows[std::string(names[c])].push_back(parse_double(words[c]).value());
    }
    return rows;
}

steer::Choice choice_of(const std::string& policy) {
    steer::Choice choice;
    choice.setting.policy = buffer::PolicySpec::parse(policy);
    return choice;
}

constexpr std::size_t epoch = 77;  ///< steps of the recorded run

/// Less the mean of the epoch around it: what is left has neither a trend nor a mean.
std::vector<double> without_trend(const std::vector<double>& values) {
    std::vector<double> left;
    for (std::size_t i = epoch / 2; i + epoch / 2 < values.size(); ++i) {
        double sum = 0;
        for (std::size_t j = i - epoch / 2; j <= i + epoch / 2; ++j)
            sum += values[j];
        left.push_back(values[i] - sum / epoch);
    }
    return left;
}

/// Two settings on recorded steps, of which neither is better: their difference has lost its mean.
/// Stretches of an epoch are drawn from the run and joined, so that steps depend on each other as
/// they do there (differences of steps 32 apart still do).
struct NullDuel {
    std::string challenger;
    std::string champion;
    std::vector<double> apart;
    std::vector<double> reference;

    NullDuel(std::string ours, std::string theirs, const std::vector<double>& rows,
             const std::vector<double>& of_champion)
        : challenger(std::move(ours)), champion(std::move(theirs)) {
        std::vector<double> difference;
        for (std::size_t i = 0; i < rows.size(); ++i)
            difference.push_back(rows[i] - of_champion[i]);
        apart = without_trend(difference);
        reference.assign(of_champion.begin() + epoch / 2, of_champion.end());
    }

    /// `costs`: of the champion's, on average.
    [[nodiscard]] bool won(Draws& draws, double level, double costs) const {
        steer::Duel duel("x", choice_of(challenger), choice_of(champion), level);
        std::uint64_t left = 0;
        std::size_t at = 0;
        for (int step = 0; duel.verdict() == steer::TrialVerdict::open && step < 400; ++step) {
            if (left-- == 0) {
                left = epoch - 1;
                at = draws.below(apart.size() - epoch);
            }
            duel.add(costs * reference[at] + apart[at], reference[at]);
            ++at;
        }
        return duel.verdict() == steer::TrialVerdict::better;
    }
};

std::vector<NullDuel> recorded_duels() {
    const auto rows = recorded_rows();
    std::vector<NullDuel> duels;
    for (const auto& [a, ours] : rows) {
        for (const auto& [b, theirs] : rows) {
            if (a != b) duels.emplace_back(a, b, ours, theirs);
        }
    }
    return duels;
}

/// The promise is made of means given the past; that it holds for what runs really do is seen here.
TEST(Duel, OnRecordedDifferencesOneThatIsNoBetterWinsMoreRarelyThanItsLevelSays) {
    constexpr int runs = 10000;
    const std::vector<NullDuel> duels = recorded_duels();
    const RandomStream stream({Purpose::test, 42});
    // The first of a run, where it begins alone and where it is one of six.
    for (const double level : {0.01 / 4, 0.01 / 4 / 6}) {
        for (const double worse : {1.0, 1.005}) {
            int won = 0;
            for (int run = 0; run < runs; ++run) {
                Draws draws(stream, static_cast<VertexId>(run));
                const NullDuel& duel = duels[static_cast<std::size_t>(run) % duels.size()];
                won += duel.won(draws, level, worse) ? 1 : 0;
            }
            RecordProperty(fmt::format("{}_at_{:.5f}", worse == 1.0 ? "equal" : "worse", level),
                           won);
            EXPECT_LE(won, level * runs) << worse;
        }
    }
}

/// What is better by a tenth wins nearly always: a test that is never wrong must also be right.
TEST(Duel, OnRecordedDifferencesOneThatIsBetterWins) {
    const std::vector<NullDuel> duels = recorded_duels();
    const RandomStream stream({Purpose::test, 43});
    int won = 0;
    for (int run = 0; run < 500; ++run) {
        Draws draws(stream, static_cast<VertexId>(run));
        won += duels[static_cast<std::size_t>(run) % duels.size()].won(draws, 0.0025, 0.9) ? 1 : 0;
    }
    EXPECT_GE(won, 450);
}

/// Steps that get slower and faster by themselves, with spikes: a setting that does nothing.
TEST(TimedTrial, OneThatIsNoFasterWinsMoreRarelyThanItsLevelSays) {
    constexpr double level = 0.02;
    constexpr int runs = 10000;
    const RandomStream stream({Purpose::test, 44});
    int won = 0;
    for (int run = 0; run < runs; ++run) {
        Draws draws(stream, static_cast<VertexId>(run));
        int step = 0;
        const auto sample = [&] {
            const double wave = 1 + 0.2 * std::sin(0.05 * step++ + run);
            const double spike = draws.below(20) == 0 ? 1.5 : 1;
            const double stall = 0.01 * wave * spike * (1 + 0.2 * (draws.uniform() - 0.5));
            return steer::StepTimes{stall, stall + 0.02, stall + 0.03};
        };
        std::deque<steer::StepTimes> before;
        for (int i = 0; i < 4; ++i)
            before.push_back(sample());
        steer::TimedTrial trial(choice_of("window:16,distance:4"), choice_of("window:16"), before,
                                level, static_cast<std::uint64_t>(run));
        while (trial.verdict() == steer::TrialVerdict::open)
            trial.add(sample());
        won += trial.verdict() == steer::TrialVerdict::better ? 1 : 0;
    }
    EXPECT_LE(won, level * runs);
}

/// A stall that is half as long is seen soon, and by the stall alone.
TEST(TimedTrial, AShorterStallIsSeenWhateverOthersMakeTheStepTake) {
    const RandomStream stream({Purpose::test, 45});
    int won = 0;
    std::size_t stretches = 0;
    for (int run = 0; run < 100; ++run) {
        Draws draws(stream, static_cast<VertexId>(run));
        const auto sample = [&](bool other) {
            const double stall = (other ? 0.005 : 0.01) * (1 + 0.2 * (draws.uniform() - 0.5));
            const double others = 0.05 * draws.uniform();  // at the gradients
            return steer::StepTimes{stall, stall + 0.02, stall + 0.02 + others};
        };
        const std::deque<steer::StepTimes> before(4, sample(false));
        steer::TimedTrial trial(choice_of("window:16,distance:4"), choice_of("window:16"), before,
                                0.02, static_cast<std::uint64_t>(run));
        while (trial.verdict() == steer::TrialVerdict::open)
            trial.add(sample(trial.in_other()));
        won += trial.verdict() == steer::TrialVerdict::better ? 1 : 0;
        stretches += trial.stretches();
    }
    EXPECT_GE(won, 95);
    EXPECT_LE(stretches, 100U * 14);
}

/// Gradients that come sooner shorten the step alone; whoever is judged by the stall sees nothing.
TEST(TimedTrial, GroupsOfGradientsAreJudgedByTheWholeStep) {
    const RandomStream stream({Purpose::test, 46});
    const auto won = [&](const steer::Choice& other) {
        int wins = 0;
        for (int run = 0; run < 50; ++run) {
            Draws draws(stream, static_cast<VertexId>(run));
            const auto sample = [&](bool in_other) {
                const double stall = 0.01 * (1 + 0.2 * (draws.uniform() - 0.5));
                return steer::StepTimes{stall, stall + 0.02, stall + (in_other ? 0.03 : 0.04)};
            };
            const std::deque<steer::StepTimes> before(4, sample(false));
            steer::TimedTrial trial(other, choice_of("window:16"), before, 0.02,
                                    static_cast<std::uint64_t>(run));
            while (trial.verdict() == steer::TrialVerdict::open)
                trial.add(sample(trial.in_other()));
            wins += trial.verdict() == steer::TrialVerdict::better ? 1 : 0;
        }
        return wins;
    };
    steer::Choice groups = choice_of("window:16");
    groups.setting.buckets = 2;
    EXPECT_GE(won(groups), 45);
    steer::Choice order = choice_of("window:16");
    order.setting.demand_first = 0;
    EXPECT_LE(won(order), 2);
    steer::Choice places = choice_of("window:16");
    places.setting.in_flight = 4;
    EXPECT_LE(won(places), 2);
}

}  // namespace
}  // namespace rudder::test
