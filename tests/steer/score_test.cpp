// Scores of decision logs: known answers, made by hand, and costs over a trace.
#include "rudder/steer/score.hpp"

#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/json.hpp"
#include "rudder/steer/steered_replay.hpp"

#include "../buffer/random_trace.hpp"
#include "hand_made.hpp"

namespace rudder {
namespace {

/// A record whose observation has seen `hits` of 100 rows in all, and missed `missed` in its steps.
DecisionRecord record(std::uint64_t step, std::uint64_t hits, std::uint64_t missed,
                      ActionKind kind = ActionKind::keep) {
    DecisionRecord made;
    made.step = made.effective_step = step;
    made.agent = "somebody";
    made.run = "r";
    made.observation = test::observed(step, hits);
    made.observation.rows.demand = missed;
    made.action.kind = kind;
    return made;
}

TEST(Score, ForecastsAreComparedWithTheNextObservation) {
    std::vector<DecisionRecord> log{record(0, 50, 10), record(1, 60, 8), record(2, 60, 9),
                                    record(3, 55, 9)};
    log[0].forecast = Forecast{1, -1};  // both right
    log[1].forecast = Forecast{1, 1};   // stayed: wrong; rose: right
    log[2].forecast = Forecast{-1, 0};  // both right
    log[3].forecast = Forecast{1, 1};   // nothing follows
    const LogScore score = score_log(log);
    EXPECT_EQ(score.pass.rule, PassRule::forecast);
    EXPECT_EQ(score.pass.hit_rate.right, 2U);
    EXPECT_EQ(score.pass.hit_rate.all, 3U);
    EXPECT_EQ(score.pass.rows.right, 3U);
    EXPECT_EQ(score.pass.rows.all, 3U);
}

TEST(Score, InvalidAndLateAreWrong) {
    std::vector<DecisionRecord> log{record(0, 50, 10), record(1, 60, 8), record(2, 70, 7),
                                    record(3, 80, 7)};
    log[0].forecast = Forecast{1, -1};
    log[1].status = DecisionStatus::invalid;
    log[2].status = DecisionStatus::late;
    const LogScore score = score_log(log);
    EXPECT_EQ(score.pass.hit_rate.right, 1U);
    EXPECT_EQ(score.pass.hit_rate.all, 3U);
    EXPECT_EQ(score.counterfactual.share.right, 0U);
    EXPECT_EQ(score.counterfactual.share.all, 2U);
    EXPECT_EQ(score.invalid, 1U);
    EXPECT_EQ(score.late, 1U);
}

TEST(Score, WithoutForecastsTheRuleOfClassifiersHolds) {
    const std::vector<DecisionRecord> log{record(0, 50, 9, ActionKind::replace),  // rose: right
                                          record(1, 60, 9, ActionKind::replace),  // stayed: wrong
                                          record(2, 60, 9),                       // stayed: right
                                          record(3, 60, 9),                       // fell: wrong
                                          record(4, 40, 9)};
    const LogScore score = score_log(log);
    EXPECT_EQ(score.pass.rule, PassRule::classifier);
    EXPECT_EQ(score.pass.hit_rate.right, 2U);
    EXPECT_EQ(score.pass.hit_rate.all, 4U);
    EXPECT_EQ(score.pass.rows.all, 0U);
    EXPECT_EQ(score.applied, 2U);
}

TEST(Score, RanksAreScoredApart) {
    std::vector<DecisionRecord> log{record(0, 50, 9), record(0, 90, 9), record(1, 60, 9),
                                    record(1, 80, 9)};
    log[1].rank = log[3].rank = 1;
    log[0].forecast = log[1].forecast = Forecast{1, 0};
    EXPECT_EQ(score_log(log).pass.hit_rate.right, 1U);
    EXPECT_EQ(score_log(log).pass.hit_rate.all, 2U);
}

TEST(Score, TheIntervalIsWilsons) {
    const ShareScore score{.right = 8, .all = 10};
    EXPECT_NEAR(score.low(), 0.4902, 1e-4);
    EXPECT_NEAR(score.high(), 0.9433, 1e-4);
    EXPECT_EQ(to_json(score_log({})).at("counterfactual"), nullptr);
}

TEST(Score, OutcomesCountByTheirKind) {
    std::vector<DecisionRecord> log{record(0, 50, 9, ActionKind::replace),
                                    record(1, 50, 9, ActionKind::set), record(2, 50, 9)};
    log[0].outcome = Outcome{.steps = 16, .rows = 10, .alternative = 9};
    log[1].outcome = Outcome{.steps = 64, .rows = 9, .alternative = 9};
    const CounterfactualScore score = score_log(log).counterfactual;
    EXPECT_EQ(score.share.right, 1U);
    EXPECT_EQ(score.share.all, 2U);
    EXPECT_EQ(score.horizon, 16U);
    EXPECT_EQ(score.set_horizon, 64U);
}

Trace trace_of(std::uint64_t seed) {
    Trace trace;
    trace.push_back(
        test::random_trace(seed, {.vertices = 300, .steps = 120, .largest_step = 50}).host());
    return trace;
}

TEST(Score, CostsAreThoseOfReplays) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const Trace trace = trace_of(seed);
        SteeredOptions options;
        options.run = run_of(trace);
        const SteeredResult steered = steered_replay(trace,
                                                     {PolicySpec::parse("scored"),
                                                      {.fraction = std::nullopt, .rows = 60},
                                                      AgentSpec::parse("random:0.2")},
                                                     options);
        const CostScore cost = score_cost(steered.decisions, trace);
        EXPECT_EQ(cost.rows, steered.rows.fetched());
        EXPECT_LE(cost.floor, cost.best);
        EXPECT_EQ(cost.window,
                  replay_host(*trace[0], PolicySpec::parse("window:16"), 60).fetched());
        EXPECT_EQ(cost.floor, replay_host(*trace[0], PolicySpec::parse("optimal"), 60).fetched());
        std::uint64_t best = ~std::uint64_t{0};
        for (const char* rule : {"scored", "scored,every:1", "scored,every:2", "scored,every:4",
                                 "scored,every:8", "scored,every:16", "scored,every:32"}) {
            best = std::min(best, replay_host(*trace[0], PolicySpec::parse(rule), 60).fetched());
        }
        EXPECT_EQ(cost.best, best) << cost.best_rule;
    }
}

TEST(Score, ATraceOfAnotherRunIsRefused) {
    const Trace trace = trace_of(1);
    const std::vector<DecisionRecord> log{record(0, 50, 9)};
    EXPECT_THROW(static_cast<void>(score_cost(log, trace)), Error);
}

TEST(Orders, TravelAsText) {
    const Order order{Action::set({{KnobId::policy, "window:16"}, {KnobId::capacity, 1200.0}},
                                  Reason::shadow_better),
                      123456789, 5000};
    const std::string text = to_text(order);
    EXPECT_LE(text.size(), Order::most_bytes);
    const Order back = parse_order(text);
    EXPECT_EQ(back.action, order.action);
    EXPECT_EQ(back.effective_step, order.effective_step);
    EXPECT_EQ(back.slots, order.slots);
    EXPECT_THROW(static_cast<void>(parse_order("[1,2]")), Error);
    EXPECT_THROW(static_cast<void>(parse_order("nothing")), Error);
}

}  // namespace
}  // namespace rudder
