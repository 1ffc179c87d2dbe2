// The answer of a run: from its summary, and without one from steps, epochs and decisions.
#include "page/answers.hpp"

#include <gmock/gmock.h>

#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using report::Answers;
using report::answers_of;
using test::FakeRun;

FakeRun short_run() {
    return {.steps = 20, .ranks = 3, .seed = 9};
}

/// What the files of a run say without its summary.
report::RunData without_summary(const FakeRun& run) {
    const test::TempDir folder;
    test::write_fake_run(folder.path(), run);
    std::filesystem::remove(folder / "summary.json");
    return report::read_run(folder.path());
}

/// A number of every line of metrics.jsonl, added up.
double sum_of(const FakeRun& run, const std::string& pointer) {
    double sum = 0;
    for (std::uint64_t step = 0; step < run.steps; ++step) {
        for (std::uint64_t rank = 0; rank < run.ranks; ++rank)
            sum += test::fake_step(run, step, rank).at(Json::json_pointer(pointer)).get<double>();
    }
    return sum;
}

TEST(RunAnswers, AreThoseOfTheSummary) {
    const test::TempDir folder;
    test::write_fake_run(folder.path());
    const Answers a = answers_of(report::read_run(folder.path()));
    EXPECT_EQ(a.test, 0.8875);
    EXPECT_EQ(a.valid, 0.9125);
    EXPECT_EQ(a.best_epoch, 2.0);
    EXPECT_EQ(a.seconds, 12.5);
    EXPECT_EQ(a.compute, 0.6);
    EXPECT_EQ(a.stall, 0.2);
    EXPECT_EQ(a.reduce, 0.1);
    EXPECT_NEAR(a.rest.value_or(-1), 0.1, 1e-12);
    EXPECT_DOUBLE_EQ(a.step_seconds.value_or(-1), 10.0 / (12 * 3));
    EXPECT_EQ(a.fetched, 1650.0);
    EXPECT_EQ(a.remote, 6000.0);
    EXPECT_EQ(a.hit_rate, 0.75);
    EXPECT_DOUBLE_EQ(a.saved.value_or(-1), 1 - 1650.0 / 6000);
    EXPECT_DOUBLE_EQ(a.over_floor.value_or(-1), 1.25);
    EXPECT_EQ(a.agent, "bandit");
    EXPECT_EQ(a.decisions, 3.0);
    EXPECT_EQ(a.right, 0.5);
    EXPECT_EQ(a.excess, -0.125) << "by the name that earlier versions gave it";
    EXPECT_EQ(a.steps_planned, 12.0);
    EXPECT_EQ(a.model, "sage");
}

TEST(RunAnswers, WithoutASummaryComeFromSteps) {
    const FakeRun run = short_run();
    const Answers a = answers_of(without_summary(run));
    const double hit = sum_of(run, "/rows/hit");
    const double demand = sum_of(run, "/rows/demand");
    const double fetched = demand + sum_of(run, "/rows/replacement") + sum_of(run, "/rows/ahead");
    EXPECT_DOUBLE_EQ(a.hit.value_or(-1), hit);
    EXPECT_DOUBLE_EQ(a.fetched.value_or(-1), fetched);
    EXPECT_DOUBLE_EQ(a.hit_rate.value_or(-1), hit / (hit + demand));
    EXPECT_DOUBLE_EQ(a.saved.value_or(-1), 1 - fetched / (hit + demand));
    EXPECT_DOUBLE_EQ(a.feature_bytes.value_or(-1), sum_of(run, "/bytes/features"));
    const double seconds = sum_of(run, "/seconds/step");
    EXPECT_NEAR(a.seconds.value_or(-1), seconds / 3, 1e-9) << "of the clock";
    EXPECT_NEAR(a.step_seconds.value_or(-1), seconds / 60, 1e-9);
    EXPECT_NEAR(a.stall.value_or(-1), sum_of(run, "/seconds/stall") / seconds, 1e-9);
    EXPECT_NEAR(*a.compute + *a.stall + *a.reduce + *a.slower + *a.agent_wait + *a.rest, 1, 1e-9);
    EXPECT_EQ(a.steps, 20.0);
    EXPECT_EQ(a.ranks, 3.0);
    EXPECT_FALSE(a.floor || a.over_floor);
}

TEST(RunAnswers, WithoutASummaryTheBestEpochIsThatOfValidation) {
    report::RunData run = without_summary(short_run());
    run.epochs.assign(5, {});
    for (std::size_t e = 0; e < run.epochs.size(); ++e)
        run.epochs[e].epoch = e + 1;
    run.epochs[1].valid = 0.5;
    run.epochs[2].valid = 0.75;
    run.epochs[2].test = 0.625;
    run.epochs[3].valid = 0.75;
    run.epochs[4].test = 0.99;
    const Answers a = answers_of(run);
    EXPECT_EQ(a.best_epoch, 3.0) << "the first of equals";
    EXPECT_EQ(a.test, 0.625);
    EXPECT_FALSE(a.train);
    run.epochs[1].valid = run.epochs[2].valid = run.epochs[3].valid = std::nullopt;
    EXPECT_FALSE(answers_of(run).test) << "none was evaluated";
}

TEST(RunAnswers, WithoutASummaryTheAgentIsJudgedByItsDecisions) {
    report::RunData run = without_summary(short_run());
    Answers a = answers_of(run);
    EXPECT_EQ(a.decisions, 3.0);
    EXPECT_EQ(a.applied, 2.0) << "to keep is not to act";
    EXPECT_EQ(a.judged, 2.0);
    EXPECT_EQ(a.right, 0.5);
    run.decisions.points[1].undone = true;
    run.decisions.points[2].failed = true;
    EXPECT_EQ(answers_of(run).applied, 0.0);
    run.decisions.points.clear();
    EXPECT_FALSE(answers_of(run).right) << "of nothing there is no share";
    run.run.texts["agent"] = "never";
    a = answers_of(run);
    EXPECT_EQ(a.agent, "");
    EXPECT_FALSE(a.decisions);
}

TEST(RunAnswers, AnswersWithoutEffectAreNeitherRightNorWrong) {
    report::RunData run = without_summary(short_run());
    run.decisions.points[1].verdict = report::Judgement::no_effect;
    Answers a = answers_of(run);
    EXPECT_EQ(a.no_effect, 1.0);
    EXPECT_EQ(a.judged, 1.0);
    EXPECT_EQ(a.right, 0.0);
    run.summary.numbers = {{"agent.decisions", 9},   {"agent.judged", 8},
                           {"agent.late", 1},        {"agent.correct", 7. / 9},
                           {"agent.no_effect", 6},   {"agent.better", 1. / 3},
                           {"agent.regret_error", 0}};
    a = answers_of(run);
    EXPECT_EQ(a.right, 1. / 3);
    EXPECT_EQ(a.judged, 3.0) << "one better, one worse, one late";
    run.summary.numbers.erase("agent.no_effect");
    run.summary.numbers.erase("agent.better");
    a = answers_of(run);
    EXPECT_EQ(a.right, 7. / 9) << "as an earlier version counted";
    EXPECT_EQ(a.judged, 9.0);
}

TEST(RunAnswers, TheFloorCountsOnlyWhenItIsKnownOfEveryStep) {
    const FakeRun run = short_run();
    report::RunData part = without_summary(run);
    report::add_floor(part, 0, std::vector<double>(19, 10));
    EXPECT_FALSE(answers_of(part).floor);
    report::RunData whole = without_summary(run);
    report::add_floor(whole, 0, std::vector<double>(20, 10));
    const Answers a = answers_of(whole);
    EXPECT_EQ(a.floor, 200.0);
    EXPECT_DOUBLE_EQ(a.over_floor.value_or(-1), *a.fetched / 200);
}

TEST(RunAnswers, OfNothingAreNone) {
    const Answers a = answers_of({});
    EXPECT_FALSE(a.test || a.seconds || a.steps || a.ranks || a.hit_rate || a.stall || a.floor);
    EXPECT_EQ(a.agent + a.policy + a.model + a.data + a.version, "");
}

}  // namespace
}  // namespace rudder
