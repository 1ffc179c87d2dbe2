// Breaker, harm watch, guard and the adaptive window against slow and obvious bodies, on random
// histories.
#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <vector>

#include <gtest/gtest.h>

#include "rudder/core/random.hpp"
#include "steer/agents/adaptive_window.hpp"
#include "steer/helm/guard.hpp"

namespace rudder::test {
namespace {

Draws guard_draws(std::uint64_t seed) {
    return Draws(RandomStream({.purpose = Purpose::test, .seed = seed}), 0);
}

/// What the breaker's description says, from its whole history.
struct SlowBreaker {
    std::uint32_t in_a_row = 0;
    std::uint32_t openings = 0;
    std::uint32_t openings_without_success = 0;
    std::uint64_t closes = 0;

    [[nodiscard]] bool closed(std::uint64_t step) const { return step >= closes; }
    void open(std::uint64_t step) {
        if (!closed(step)) return;
        const double pause = 64 * std::pow(2.0, openings_without_success++);
        closes = step + static_cast<std::uint64_t>(std::min(pause, 4096.0));
        in_a_row = 2;
        ++openings;
    }
    bool failed(std::uint64_t step) {
        if (!closed(step)) return false;
        if (++in_a_row < 3) return false;
        open(step);
        return true;
    }
    void succeeded() {
        in_a_row = 0;
        openings_without_success = 0;
    }
};

TEST(BreakerProperties, FollowItsDescriptionOnAnyHistory) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Draws draws = guard_draws(seed);
        steer::Breaker breaker;
        SlowBreaker slow;
        std::uint64_t step = 0;
        // Some agents mostly fail, some mostly answer.
        const std::uint64_t successes = draws.below(6);
        for (int i = 0; i < 300; ++i) {
            step = draws.below(3) == 0 ? std::max(step + 1, slow.closes) : step + draws.below(40);
            ASSERT_EQ(breaker.closed(step), slow.closed(step)) << seed << " at " << step;
            const std::uint64_t what = draws.below(10);
            if (what < successes) {
                breaker.succeeded();
                slow.succeeded();
            } else if (what == 9) {
                breaker.open(step, "told to");
                slow.open(step);
            } else {
                ASSERT_EQ(breaker.failed(step), slow.failed(step)) << seed << " at " << step;
            }
            ASSERT_EQ(breaker.openings(), slow.openings);
            ASSERT_EQ(breaker.open_until(), slow.closes);
        }
        EXPECT_GT(breaker.openings(), 0U);
    }
}

/// The sum of all wagers against numbers that are at least 0 in the mean, one for every beginning:
/// slow and obvious. Numbers are clipped by the mean size of those before them.
struct SlowAlarm {
    double least, most;
    std::vector<double> numbers{};  ///< clipped
    double sizes = 0;

    void add(double x, double off = 0) {
        const double scale =
            numbers.empty() ? most
                            : std::clamp(sizes / static_cast<double>(numbers.size()), least, most);
        numbers.push_back(std::clamp((x + off) / scale, -1.0, 1.0));
        sizes += std::abs(x);
    }
    [[nodiscard]] double capital(std::size_t first) const {
        constexpr std::array<std::array<double, 2>, 8> stakes{{{31.0 / 32, 0.25},
                                                               {7.0 / 8, 0.25},
                                                               {3.0 / 4, 0.2},
                                                               {1.0 / 2, 0.15},
                                                               {1.0 / 4, 0.06},
                                                               {1.0 / 8, 0.03},
                                                               {1.0 / 16, 0.03},
                                                               {1.0 / 32, 0.03}}};
        double all = 0;
        for (const auto& [share, part] : stakes) {
            double left = part;
            for (std::size_t i = first; i < numbers.size(); ++i)
                left *= 1 - share * numbers[i];
            all += left;
        }
        return all;
    }
    [[nodiscard]] double sum() const {
        double all = 0;
        for (std::size_t first = 0; first < numbers.size(); ++first)
            all += capital(first);
        return all;
    }
};

TEST(HarmProperties, RowsAreJudgedBlockByBlock) {
    int complaints = 0;
    int calm = 0;
    int later = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Draws draws = guard_draws(seed);
        steer::HarmWatch watch(steer::CostKind::rows);
        const double more = draws.uniform() * 8 - 2;
        std::uint64_t good = 0;
        SlowAlarm alarm{0.01, 0.1};
        double known = 0;  // of the built-in rule, and of how many pairs
        double pairs = 0;
        for (int block = 0; block < 4; ++block) {
            double difference = 0;
            double reference = 0;
            for (std::uint64_t i = 0; i < steer::HarmWatch::block / 2; ++i) {
                double of_pair = 0;
                double built_in_pair = 0;
                for (int j = 0; j < 2; ++j) {
                    EXPECT_FALSE(watch.verdict()) << "before the block's end";
                    const double built_in = 100 + 10 * draws.normal();
                    const double twin = built_in + more + 5 * draws.normal();
                    watch.rows(twin, built_in);
                    of_pair += (twin - built_in) / 2;
                    built_in_pair += built_in / 2;
                }
                if (pairs > 0) alarm.add(-of_pair / (known / pairs));
                known += built_in_pair;
                ++pairs;
                difference += of_pair / 16;
                reference += built_in_pair / 16;
            }
            const bool harm = difference > 0.01 * reference && alarm.sum() >= 1600;
            const auto verdict = watch.verdict();
            ASSERT_EQ(verdict.has_value(), harm) << seed << ": " << difference;
            EXPECT_FALSE(watch.verdict()) << "told once";
            if (harm) {
                later += block > 0 && pairs > 16 ? 1 : 0;
                alarm = {0.01, 0.1};
                known = pairs = 0;
            }
            good += harm ? 0U : 1U;
            EXPECT_EQ(watch.good_blocks(), good);
            (harm ? complaints : calm) += 1;
        }
        watch.changed(128);
        EXPECT_EQ(watch.good_blocks(), 0U);
    }
    EXPECT_GT(complaints, 100);
    EXPECT_GT(calm, 100);
    EXPECT_GT(later, 10) << "what is seen in several blocks adds up";
}

TEST(HarmProperties, TimeIsComparedWithTheLastBlockBeforeTheChange) {
    int complaints = 0;
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Draws draws = guard_draws(1000 + seed);
        steer::HarmWatch watch(steer::CostKind::seconds);
        std::deque<double> before;
        const std::uint64_t change = 8 + draws.below(60);
        std::uint64_t step = 0;
        for (; step < change; ++step) {
            const double seconds = 1 + 0.02 * draws.normal();
            before.push_back(seconds);
            if (before.size() > steer::HarmWatch::block) before.pop_front();
            watch.step_seconds(step, seconds);
        }
        watch.changed(change);
        double then = 0;
        for (const double seconds : before)
            then += seconds / static_cast<double>(before.size());
        const double slower = 0.12 * draws.uniform();
        SlowAlarm wager{0.01, 0.3};
        double now = 0;
        for (std::uint64_t i = 0; i < 2 * steer::HarmWatch::block; ++i, ++step) {
            const double seconds = 1 + slower + 0.02 * draws.normal();
            if (i < steer::HarmWatch::block) {
                EXPECT_FALSE(watch.verdict()) << "before the block's end";
                now += seconds / static_cast<double>(steer::HarmWatch::block);
                wager.add(1 - seconds / then, 0.03);
            }
            watch.step_seconds(step, seconds);
        }
        const bool enough = before.size() >= steer::HarmWatch::block / 2;
        const bool harm = enough && now - then > 0.03 * then && wager.capital(0) >= 100;
        ASSERT_EQ(watch.verdict().has_value(), harm) << seed;
        complaints += harm ? 1 : 0;
        if (slower < 0.02) {
            EXPECT_FALSE(harm) << seed;
        }
    }
    EXPECT_GT(complaints, 60);
    EXPECT_LT(complaints, 280);
}

/// A change that fetches more rows is kept where steps have become shorter, beyond the noise.
TEST(HarmProperties, MoreRowsAreForgivenWhereStepsAreShorter) {
    for (const double seconds : {0.8, 1.0}) {
        Draws draws = guard_draws(77);
        steer::HarmWatch watch(steer::CostKind::seconds);
        std::uint64_t step = 0;
        for (; step < 40; ++step)
            watch.step_seconds(step, 1 + 0.02 * draws.normal());
        watch.changed(step);
        for (std::uint64_t i = 0; i < steer::HarmWatch::block; ++i, ++step) {
            watch.step_seconds(step, seconds + 0.02 * draws.normal());
            watch.rows(110, 100);
        }
        EXPECT_EQ(watch.verdict().has_value(), seconds == 1.0);
    }
}

// Whatever happens: an agent is never taken back to what it has, nothing is found while the guard
// may not overrule, is busy or has suspended the agent, and only three bad blocks suspend.
TEST(GuardProperties, FindingsAreAlwaysOfUse) {
    int taken_back = 0;
    int suspended = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Draws draws = guard_draws(2000 + seed);
        const bool overrules = draws.below(4) != 0;
        steer::Guard guard(steer::CostKind::rows, overrules);
        const auto setting = [](const char* policy) {
            return steer::Setting{.policy = buffer::PolicySpec::parse(policy), .capacity = 100};
        };
        const steer::Setting fallback = setting("scored,every:16");
        steer::Setting now = setting("scored");
        bool is_suspended = false;
        std::uint64_t step = 0;
        for (int block = 0; block < 40; ++block) {
            if (!is_suspended && draws.below(3) == 0) {
                const steer::Setting next = setting(draws.below(2) == 0 ? "lru" : "scored");
                guard.changed(step, now);
                now = next;
            }
            const double more = draws.below(3) == 0 ? -20 : 20;
            for (std::uint64_t i = 0; i < steer::HarmWatch::block; ++i, ++step)
                guard.rows(100 + more + static_cast<double>(i % 2), 100);
            const bool busy = draws.below(5) == 0;
            const bool decides = now.policy.name() == "scored";
            const auto finding = guard.find(step, now, fallback, decides, busy);
            if (more < 0 || !overrules || busy || is_suspended) {
                ASSERT_FALSE(finding) << seed;
            }
            if (finding && finding->back_to) {
                EXPECT_NE(*finding->back_to, now);
                EXPECT_NE(finding->reason.find("more rows"), std::string::npos);
                now = *finding->back_to;
                guard.changed(step);
                ++taken_back;
            } else if (finding) {
                EXPECT_TRUE(decides);
                EXPECT_FALSE(guard.breaker().closed(step));
                is_suspended = true;
                ++suspended;
            }
            if (is_suspended && draws.below(2) == 0) {
                EXPECT_TRUE(guard.recovered());
                is_suspended = false;
            }
        }
        EXPECT_TRUE(overrules || guard.breaker().openings() == 0);
    }
    EXPECT_GT(taken_back, 100);
    EXPECT_GT(suspended, 20);
}

/// The rule in a table of its own words.
std::uint64_t slow_window(std::uint64_t window, double stall, double step, std::uint64_t queue,
                          std::uint64_t limit) {
    const bool full = queue > limit / 10 * 9;
    const bool room = queue < limit / 4;
    if (full) return window / 2 < 4 ? 4 : window / 2;
    if (room && stall > 0.05 * step) return window * 2 > 64 ? 64 : window * 2;
    return window;
}

TEST(WindowProperties, TheRuleIsItsDescriptionAndStaysInItsRange) {
    Draws draws = guard_draws(7);
    const auto rule = steer::make_adaptive_window();
    EXPECT_EQ(rule->interval(), 32U);
    int longer = 0;
    int shorter = 0;
    for (int i = 0; i < 5000; ++i) {
        steer::Observation seen;
        const std::uint64_t window = 4 + draws.below(61);
        seen.setting.policy = buffer::PolicySpec::parse("window:" + std::to_string(window));
        seen.seconds.step = draws.uniform();
        seen.seconds.stall = seen.seconds.step * draws.uniform() * 0.1;
        seen.queue_limit = 10 * (1 + draws.below(1000));
        seen.queue_bytes = draws.below(seen.queue_limit + 1);
        const std::uint64_t wanted = slow_window(window, seen.seconds.stall, seen.seconds.step,
                                                 seen.queue_bytes, seen.queue_limit);
        const steer::Action action = rule->decide(seen).action;
        if (wanted == window) {
            EXPECT_EQ(action.kind, steer::ActionKind::keep);
            continue;
        }
        ASSERT_EQ(action.knobs.size(), 1U);
        EXPECT_EQ(action.knobs[0].id, steer::KnobId::window);
        EXPECT_EQ(std::get<double>(action.knobs[0].value), static_cast<double>(wanted));
        EXPECT_NO_THROW(steer::check_change(action.knobs[0], "here"));
        EXPECT_TRUE(wanted >= 4 && wanted <= 64);
        (wanted > window ? longer : shorter) += 1;
    }
    EXPECT_GT(longer, 200);
    EXPECT_GT(shorter, 200);
}

// Steps that never wait again leave the window where it is; ones that always do take it to the
// end, and a full queue brings it back: by halves and doubles alone.
TEST(WindowProperties, ReachesItsEndsAndComesBack) {
    const auto rule = steer::make_adaptive_window();
    std::vector<std::uint64_t> seen_windows;
    std::uint64_t window = 16;
    for (int i = 0; i < 20; ++i) {
        steer::Observation seen;
        seen.setting.policy = buffer::PolicySpec::parse("window:" + std::to_string(window));
        seen.seconds = {.steps = 32, .step = 1, .fetch = 0, .stall = 0.5, .compute = 0};
        seen.queue_limit = 1000;
        seen.queue_bytes = i < 10 ? 0 : 1000;
        const steer::Action action = rule->decide(seen).action;
        if (action.kind == steer::ActionKind::set)
            window = static_cast<std::uint64_t>(std::get<double>(action.knobs[0].value));
        if (seen_windows.empty() || seen_windows.back() != window) seen_windows.push_back(window);
    }
    EXPECT_EQ(seen_windows, (std::vector<std::uint64_t>{32, 64, 32, 16, 8, 4}));
}

}  // namespace
}  // namespace rudder::test
