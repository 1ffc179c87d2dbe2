// Explanations of made-up runs: what holds whatever the numbers are.
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "core/step_time.hpp"

#include "explain/explanation.hpp"
#include "explain/wording.hpp"

namespace rudder::test {
namespace {

using report::ExplainedRun;
using report::Finding;
using report::RunDifference;

/// Any run: parts that add up to the step, any link, any ranks.
ExplainedRun some_run(std::mt19937& random) {
    const auto number = [&](double least, double most) {
        return std::uniform_real_distribution<double>(least, most)(random);
    };
    const auto chance = [&](double of) { return number(0, 1) < of; };
    ExplainedRun run;
    run.name = "run";
    run.ranks = std::floor(number(1, 17));
    run.hosts = chance(0.3) ? 1 : run.ranks;
    run.machine_ranks = run.ranks;
    run.cores = std::floor(number(1, 65));
    run.threads = std::floor(number(1, 9));
    run.batch = std::floor(number(1, 2000));
    run.steps_per_epoch = std::floor(number(1, 200));
    run.epochs = std::floor(number(1, 20));
    run.steps = run.steps_per_epoch * run.epochs;
    run.evaluations = std::floor(number(0, run.epochs + 1));
    run.policy = chance(0.2) ? "none" : "window:16";
    run.buffered = run.policy != "none";
    if (run.buffered && chance(0.8)) run.window = std::floor(number(1, 65));
    run.in_flight = std::floor(number(1, 5));
    if (chance(0.5)) run.modelled = report::LinkFacts{number(1e-6, 1e-3), number(1e6, 1e9)};
    for (const StepPart& part : step_parts) {
        run.step.*part.seconds = chance(0.3) ? 0 : number(0, 0.02);
        run.step.step += run.step.*part.seconds;
    }
    run.total = run.step.step * run.steps * number(1, 3);
    run.evaluation = number(0, run.total);
    if (chance(0.5)) run.cpu = number(0, run.total * run.cores);
    run.step.fetch = number(0, 0.02);
    for (int rank = 0; rank < static_cast<int>(run.ranks); ++rank)
        run.pace.push_back({"rank " + std::to_string(rank), number(0.001, 0.02), number(1, 5000)});
    run.remote = number(0, 1e7);
    run.fetched = number(0, 1e7);
    run.row_bytes = 400;
    run.feature_bytes = run.fetched * run.row_bytes;
    run.wire_bytes = run.feature_bytes * number(1, 2);
    if (chance(0.5)) run.train_balance = number(1, 4);
    if (chance(0.5)) run.excess = number(-0.5, 0.5);
    run.agent = chance(0.5) ? "bandit" : "never";
    if (chance(0.5)) {
        run.profile = report::ProfileTimes{.steps = std::floor(number(1, 200)),
                                           .step = number(0.001, 0.03),
                                           .stall = number(0, 0.01),
                                           .sampling = {number(0, 0.01), number(0, 0.03)},
                                           .policy = {number(0, 0.01), number(0, 0.01)},
                                           .assembling = {number(0, 0.01), number(0, 0.01)},
                                           .network = number(0, 0.01),
                                           .compute_alone = number(0.001, 0.01),
                                           .compute_beside = number(0.001, 0.02),
                                           .beside = chance(0.2) ? 0 : number(0, 1)};
    }
    return run;
}

TEST(ExplainAny, FindingsAreOrderedNamedOnceAndSoundInEveryRun) {
    std::mt19937 random(22);
    std::size_t found = 0;
    for (int i = 0; i < 2000; ++i) {
        const ExplainedRun run = some_run(random);
        const std::vector<Finding> findings = report::findings_of(run);
        found += findings.size();
        std::set<std::string_view> causes;
        for (const Finding& one : findings) {
            EXPECT_TRUE(causes.insert(one.cause).second) << one.cause;
            EXPECT_FALSE(one.change.empty()) << one.cause;
            ASSERT_FALSE(one.evidence.empty()) << one.cause;
            for (const report::Evidence& evidence : one.evidence)
                EXPECT_TRUE(std::isfinite(evidence.value)) << one.text;
            if (!one.gain) continue;
            EXPECT_GE(*one.gain, 0) << one.text;
            EXPECT_LE(*one.gain, 1) << one.text;
            EXPECT_FALSE(one.formula.empty()) << one.cause;
            // Its own words hold no number that is not of the evidence.
            EXPECT_EQ(report::foreign_number(one.text, {one}), "");
        }
        const std::string text = report::explanation_text(run, findings);
        EXPECT_EQ(text.find("nan"), std::string::npos) << text;
        EXPECT_EQ(text.find("inf "), std::string::npos) << text;
        EXPECT_EQ(report::explanation_json(run, findings).at("findings").size(), findings.size());
    }
    EXPECT_GT(found, 1000U) << "made-up runs are ill";
}

TEST(ExplainAny, PartsOfADifferenceAddUpAndTheFirstExplainsMost) {
    std::mt19937 random(23);
    for (int i = 0; i < 500; ++i) {
        const ExplainedRun before = some_run(random);
        const ExplainedRun after = some_run(random);
        const RunDifference d = report::difference_of(before, after);
        double sum = 0;
        double most = 0;
        for (const report::TimeChange& part : d.parts) {
            sum += part.difference();
            if ((part.difference() < 0) == (d.step.difference() < 0))
                most = std::max(most, std::abs(part.difference()));
        }
        EXPECT_NEAR(sum, d.step.difference(), 1e-12);
        EXPECT_EQ(std::abs(d.parts.front().difference()), most);
        EXPECT_GE(most + 1e-12, std::abs(d.step.difference()) / static_cast<double>(d.parts.size()))
            << "one of so many parts is at least that much of the whole";
        // Turned round it is the same, the other way.
        const RunDifference back = report::difference_of(after, before);
        EXPECT_EQ(back.step.difference(), -d.step.difference());
        EXPECT_EQ(back.parts.front().key, d.parts.front().key);
        EXPECT_EQ(back.settings.size(), d.settings.size());
        EXPECT_EQ(report::difference_json(d).at("times").size(), 1 + step_parts.size());
    }
}

}  // namespace
}  // namespace rudder::test
