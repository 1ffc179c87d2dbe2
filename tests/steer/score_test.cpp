// Scores of decision logs: known answers, made by hand, and costs over a trace.
#include "steer/log/score.hpp"

#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "steer/regret/rivals.hpp"
#include "steer/steered_replay.hpp"

#include "../buffer/random_trace.hpp"
#include "hand_made.hpp"

namespace rudder {
namespace {

/// A record whose observation has seen `hits` of 100 rows in all, and missed `missed` in its steps.
steer::DecisionRecord record(std::uint64_t step, std::uint64_t hits, std::uint64_t missed,
                             steer::ActionKind kind = steer::ActionKind::keep) {
    steer::DecisionRecord made;
    made.step = made.effective_step = step;
    made.agent = "somebody";
    made.run = "r";
    made.observation = test::observed(step, hits);
    made.observation.rows.demand = missed;
    made.action.kind = kind;
    return made;
}

TEST(Score, ForecastsAreComparedWithTheNextObservation) {
    std::vector<steer::DecisionRecord> log{record(0, 50, 10), record(1, 60, 8), record(2, 60, 9),
                                           record(3, 55, 9)};
    log[0].forecast = steer::Forecast{1, -1};  // both right
    log[1].forecast = steer::Forecast{1, 1};   // stayed: wrong; rose: right
    log[2].forecast = steer::Forecast{-1, 0};  // both right
    log[3].forecast = steer::Forecast{1, 1};   // nothing follows
    const steer::LogScore score = steer::score_log(log);
    EXPECT_EQ(score.pass.rule, steer::PassRule::forecast);
    EXPECT_EQ(score.pass.hit_rate.right, 2U);
    EXPECT_EQ(score.pass.hit_rate.all, 3U);
    EXPECT_EQ(score.pass.rows.right, 3U);
    EXPECT_EQ(score.pass.rows.all, 3U);
}

TEST(Score, InvalidAndLateAreWrong) {
    std::vector<steer::DecisionRecord> log{record(0, 50, 10), record(1, 60, 8), record(2, 70, 7),
                                           record(3, 80, 7)};
    log[0].forecast = steer::Forecast{1, -1};
    log[1].status = steer::DecisionStatus::invalid;
    log[2].status = steer::DecisionStatus::late;
    const steer::LogScore score = steer::score_log(log);
    EXPECT_EQ(score.pass.hit_rate.right, 1U);
    EXPECT_EQ(score.pass.hit_rate.all, 3U);
    EXPECT_EQ(score.counterfactual.share.right, 0U);
    EXPECT_EQ(score.counterfactual.share.all, 2U);
    EXPECT_EQ(score.invalid, 1U);
    EXPECT_EQ(score.late, 1U);
}

TEST(Score, AClassifiersYesAndNoAreItsForecasts) {
    std::vector<steer::DecisionRecord> log{
        record(0, 50, 9, steer::ActionKind::replace),  // rose: right
        record(1, 60, 9, steer::ActionKind::replace),  // stayed: wrong
        record(2, 60, 9),                              // stayed: right
        record(3, 60, 9),                              // fell: wrong
        record(4, 40, 9)};
    EXPECT_EQ(steer::score_log(log).pass.rule, steer::PassRule::none) << "somebody's are not";
    for (const char* fixed : {"every:4", "bandit", "threshold"}) {
        log[0].agent = fixed;
        EXPECT_EQ(steer::score_log(log).pass.rule, steer::PassRule::none) << fixed;
    }
    log[0].agent = "mlp:model.json";
    const steer::LogScore score = steer::score_log(log);
    EXPECT_EQ(score.pass.rule, steer::PassRule::classifier);
    EXPECT_EQ(score.pass.hit_rate.right, 2U);
    EXPECT_EQ(score.pass.hit_rate.all, 4U);
    EXPECT_EQ(score.pass.rows.all, 0U);
    EXPECT_EQ(score.applied, 2U);
    EXPECT_EQ(score.pass.label.right, 3U) << "the last no was right: nothing was gained";
    EXPECT_EQ(score.pass.label.all, 4U);
}

TEST(Score, AppliedIsWhatWasAppliedAndTiesHadNoEffect) {
    std::vector<steer::DecisionRecord> log{
        record(0, 50, 9, steer::ActionKind::replace), record(1, 60, 9, steer::ActionKind::replace),
        record(2, 60, 9), record(3, 60, 9, steer::ActionKind::replace)};
    log[0].outcome = {.steps = 4, .rows = 7, .alternative = 7};
    log[1].outcome = {.steps = 4, .rows = 7, .alternative = 8};
    log[1].status = steer::DecisionStatus::undone;
    log[3].status = steer::DecisionStatus::refused;
    const steer::LogScore score = steer::score_log(log);
    EXPECT_EQ(score.applied, 2U) << "one of them was taken back later";
    EXPECT_EQ(score.kept, 1U);
    EXPECT_EQ(score.undone, 1U);
    EXPECT_EQ(score.counterfactual.judged, 2U);
    EXPECT_EQ(score.counterfactual.no_effect, 1U);
    EXPECT_EQ(to_json(score).at("kept"), 1);
    const Json told = to_json(score).at("counterfactual");
    EXPECT_EQ(told.at("no_effect"), 1);
    EXPECT_EQ(told.at("right"), 2) << "no worse than the alternative, ties included";
    EXPECT_EQ(told.at("better").at("right"), 1);
    EXPECT_EQ(told.at("better").at("of"), 2) << "of the one that had an effect and the refused one";
    log.resize(1);
    EXPECT_EQ(steer::score_log(log).counterfactual.better().all, 0U);
    EXPECT_TRUE(to_json(steer::score_log(log)).at("counterfactual").at("better").is_null());
    steer::CostScore cost{.rows = 90, .built_in = 100};
    EXPECT_NEAR(cost.excess(), -0.1, 1e-12);
    cost.counted_excess = -0.12;
    EXPECT_EQ(cost.excess(), -0.12);
}

TEST(Score, LabelAccuracyWeighsHitsAgainstFetches) {
    std::vector<steer::DecisionRecord> log{
        record(0, 50, 9, steer::ActionKind::replace),   // 10 points, 4 rows more: right
        record(1, 60, 13, steer::ActionKind::replace),  // 1 point, 7 rows more: wrong
        record(2, 61, 20),                              // 5 rows fewer: wrong
        record(3, 61, 15),                              // 2 points, 2 rows: a tie, right
        record(4, 63, 17, steer::ActionKind::replace),  // gained, but the answer was late: wrong
        record(5, 70, 17)};
    log[4].status = steer::DecisionStatus::late;
    EXPECT_EQ(to_json(steer::score_log(log)).at("label_accuracy"), nullptr) << "somebody's";
    log[0].agent = "lr:lr.model";
    const steer::LogScore score = steer::score_log(log);
    EXPECT_EQ(score.pass.label.right, 2U);
    EXPECT_EQ(score.pass.label.all, 5U);
    EXPECT_EQ(to_json(score).at("label_accuracy").at("right"), 2);
}

TEST(Score, RanksAreScoredApart) {
    std::vector<steer::DecisionRecord> log{record(0, 50, 9), record(0, 90, 9), record(1, 60, 9),
                                           record(1, 80, 9)};
    log[1].rank = log[3].rank = 1;
    log[0].forecast = log[1].forecast = steer::Forecast{1, 0};
    EXPECT_EQ(steer::score_log(log).pass.hit_rate.right, 1U);
    EXPECT_EQ(steer::score_log(log).pass.hit_rate.all, 2U);
}

TEST(Score, TheIntervalIsWilsons) {
    const steer::ShareScore score{.right = 8, .all = 10};
    EXPECT_NEAR(score.low(), 0.4902, 1e-4);
    EXPECT_NEAR(score.high(), 0.9433, 1e-4);
    EXPECT_EQ(to_json(steer::score_log({})).at("counterfactual"), nullptr);
}

TEST(Score, OutcomesCountByTheirKind) {
    std::vector<steer::DecisionRecord> log{record(0, 50, 9, steer::ActionKind::replace),
                                           record(1, 50, 9, steer::ActionKind::set),
                                           record(2, 50, 9)};
    log[0].outcome = steer::Outcome{.steps = 16, .rows = 10, .alternative = 9};
    log[1].outcome = steer::Outcome{.steps = 64, .rows = 9, .alternative = 9};
    const steer::CounterfactualScore score = steer::score_log(log).counterfactual;
    EXPECT_EQ(score.share.right, 1U);
    EXPECT_EQ(score.share.all, 2U);
    EXPECT_EQ(score.horizon, 16U);
    EXPECT_EQ(score.set_horizon, 64U);
}

buffer::Trace trace_of(std::uint64_t seed) {
    buffer::Trace trace;
    trace.push_back(
        test::random_trace(seed, {.vertices = 300, .steps = 120, .largest_step = 50}).host());
    return trace;
}

TEST(Score, CostsAreThoseOfReplays) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const buffer::Trace trace = trace_of(seed);
        steer::SteeredOptions options;
        options.run = steer::run_of(trace);
        const steer::SteeredResult steered =
            steer::steered_replay(trace,
                                  {buffer::PolicySpec::parse("scored"),
                                   {.fraction = std::nullopt, .rows = 60},
                                   steer::AgentSpec::parse("random:0.2")},
                                  options);
        const steer::CostScore cost = steer::score_cost(steered.decisions, trace);
        EXPECT_EQ(cost.rows, steered.rows.fetched());
        EXPECT_LE(cost.floor, cost.best);
        EXPECT_EQ(
            cost.window,
            buffer::replay_host(*trace[0], buffer::PolicySpec::parse("window:16"), 60).fetched());
        EXPECT_EQ(
            cost.floor,
            buffer::replay_host(*trace[0], buffer::PolicySpec::parse("optimal"), 60).fetched());
        const std::uint64_t capacity = 60;
        const std::uint64_t best = steer::rival_rows(trace, std::span(&capacity, 1)).best_rows();
        EXPECT_EQ(cost.best, best) << cost.best_rule;
        EXPECT_EQ(cost.built_in_rule, "scored,every:16");
        EXPECT_EQ(cost.built_in,
                  buffer::replay_host(*trace[0], buffer::PolicySpec::parse(cost.built_in_rule), 60)
                      .fetched());
        EXPECT_NEAR(cost.excess(), steer::rows_beyond(cost.rows, cost.built_in), 1e-12);
    }
}

TEST(Score, ATraceOfAnotherRunIsRefused) {
    const buffer::Trace trace = trace_of(1);
    const std::vector<steer::DecisionRecord> log{record(0, 50, 9)};
    EXPECT_THROW(static_cast<void>(steer::score_cost(log, trace)), Error);
}

TEST(Orders, TravelAsRecords) {
    const steer::Order order{steer::Action::set({{steer::KnobId::policy, "window:16"},
                                                 {steer::KnobId::capacity, 1200.0}},
                                                steer::Reason::shadow_better),
                             123456789, 5000};
    const auto same = [](const steer::Order& a, const steer::Order& b) {
        return a.action == b.action && a.effective_step == b.effective_step && a.slots == b.slots;
    };
    EXPECT_TRUE(same(steer::unpack(steer::pack(order)), order));
    const steer::Order replace{steer::Action::replace(steer::Reason::model_choice, 0.125), 7, 3};
    EXPECT_TRUE(same(steer::unpack(steer::pack(replace)), replace));
    EXPECT_TRUE(same(steer::unpack(steer::pack({})), {}));
}

TEST(Orders, ThatCannotBeMeantAreNotSent) {
    using steer::Action;
    const auto refused = [](const Action& action) {
        EXPECT_THROW(static_cast<void>(steer::pack({action, 0, 1})), Error);
    };
    refused(Action::replace(steer::Reason::none, 1.5));
    refused(Action::set({{steer::KnobId::policy, "widow"}}, steer::Reason::none));
    refused(Action::set({{steer::KnobId::policy, std::string("lru") + std::string(300, ' ')}},
                        steer::Reason::none));
    refused(Action::set({{steer::KnobId::capacity, -1.0}}, steer::Reason::none));
    refused(Action::set(std::vector<steer::KnobChange>(20, {steer::KnobId::bulk, 1.0}),
                        steer::Reason::none));
}

TEST(Orders, OfAnotherVersionAreRefused) {
    const steer::PackedOrder good =
        steer::pack({steer::Action::set({{steer::KnobId::bulk, 7.0}}, steer::Reason::none), 1, 1});
    for (const auto damage : std::vector<void (*)(steer::PackedOrder&)>{
             [](steer::PackedOrder& o) { o.kind = 3; },
             [](steer::PackedOrder& o) { o.reason = 200; },
             [](steer::PackedOrder& o) { o.knobs = steer::knob_count + 1; },
             [](steer::PackedOrder& o) { o.ids[0] = steer::knob_count; },
             [](steer::PackedOrder& o) { o.text_size = 255; },
             [](steer::PackedOrder& o) { o.values[0] = -1; },
             [](steer::PackedOrder& o) { o.fraction = 2; }}) {
        steer::PackedOrder bad = good;
        damage(bad);
        EXPECT_THROW(static_cast<void>(steer::unpack(bad)), Error);
    }
}

}  // namespace
}  // namespace rudder
