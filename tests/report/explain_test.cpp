// What limits a run: every rule on made-up facts, alone and in pairs, their gains and their order.
#include <algorithm>
#include <cctype>

#include <gmock/gmock.h>

#include "core/json.hpp"

#include "explain/explanation.hpp"
#include "explain_plants.hpp"

namespace rudder::test {
namespace {

using report::ExplainedRun;
using report::Finding;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(Explain, NothingIsFoundInAHealthyRun) {
    EXPECT_THAT(causes(healthy()), IsEmpty());
    ExplainedRun profiled = healthy();
    profiled.profile = healthy_profile();
    EXPECT_THAT(causes(profiled), IsEmpty());
    const std::string text = report::explanation_text(healthy(), {});
    EXPECT_THAT(text,
                StartsWith("Nothing found that limits this run.\n\nA step takes 10.00 ms:\n"));
    EXPECT_THAT(text, HasSubstr("  waiting for rows       0.50 ms   5 %\n"));
}

TEST(Explain, EveryRuleHasAPlantAndEveryPlantIsFoundAlone) {
    for (const report::FindingRule& rule : report::finding_rules())
        EXPECT_TRUE(plants().contains(std::string(rule.cause))) << rule.cause;
    for (const auto& [cause, plant] : plants()) {
        ExplainedRun run = healthy();
        plant(run);
        EXPECT_THAT(causes(run), ElementsAre(cause));
    }
}

/// Two causes that no run can have at once.
struct Apart {
    std::string one;
    std::string other;
    std::string why;
};

const std::vector<Apart>& causes_apart() {
    static const std::vector<Apart> all{
        {"tiny batches", "too few steps per epoch", "an epoch has many steps or few"},
        {"one host", "slow link", "no row travels"},
        {"one host", "no look-ahead", "there is nothing to look ahead for"},
        {"one host", "no buffer", "there is nothing to keep"},
        {"one host", "slow policy", "a policy has no turn where nothing is remote"},
        {"one host", "agent that costs rows", "no row is fetched"},
        {"no buffer", "slow policy", "a policy has no turn without a buffer"},
        {"no buffer", "agent that costs rows", "an agent has nothing to steer"},
    };
    return all;
}

bool are_apart(const std::string& a, const std::string& b) {
    return std::ranges::any_of(causes_apart(), [&](const Apart& pair) {
        return (pair.one == a && pair.other == b) || (pair.one == b && pair.other == a);
    });
}

/// Each is named beside any other, in whichever order they came, where a run can have both.
TEST(Explain, PairsOfCausesAreBothNamed) {
    for (const Apart& pair : causes_apart()) {
        EXPECT_TRUE(plants().contains(pair.one) && plants().contains(pair.other)) << pair.one;
        EXPECT_FALSE(pair.why.empty());
    }
    std::size_t pairs = 0;
    for (const auto& [a, plant_a] : plants()) {
        for (const auto& [b, plant_b] : plants()) {
            if (a == b || are_apart(a, b)) continue;
            ++pairs;
            ExplainedRun run = healthy();
            plant_a(run);
            plant_b(run);
            EXPECT_THAT(causes(run), testing::IsSupersetOf({a, b})) << a << ", then " << b;
        }
    }
    const std::size_t all = plants().size() * (plants().size() - 1);
    EXPECT_EQ(pairs, all - 2 * causes_apart().size());
}

/// Also where the slow host has a small part.
TEST(Explain, ASlowHostAndSkewedPartsAreToldApart) {
    ExplainedRun both = healthy();
    plants().at("skewed parts")(both);
    both.pace[0].compute *= 6;  // a small part on a slow host
    both.step.wait_ranks += 0.02;
    settle(both);
    EXPECT_THAT(causes(both), testing::IsSupersetOf({"one slow host", "skewed parts"}));
}

/// The sentence opens with the cause, and each finding says all that is promised.
TEST(Explain, AFindingOpensWithItsCauseAndHasEvidenceChangeGainAndConfidence) {
    for (const auto& [cause, plant] : plants()) {
        ExplainedRun run = healthy();
        plant(run);
        const auto findings = report::findings_of(run);
        ASSERT_FALSE(findings.empty()) << cause;
        const Finding& found = findings.front();
        std::string opening = found.text.substr(0, cause.size());
        std::ranges::transform(opening, opening.begin(), ::tolower);
        EXPECT_EQ(opening, cause);
        EXPECT_FALSE(found.evidence.empty() || found.change.empty() || found.formula.empty());
        for (const report::Evidence& one : found.evidence)
            EXPECT_FALSE(one.metric.empty() || one.text.empty() || one.file.empty()) << cause;
        EXPECT_TRUE(!found.gain || (*found.gain >= 0 && *found.gain <= 1)) << cause;
        const Json json = report::finding_json(found);
        EXPECT_EQ(json.at("cause"), cause);
        EXPECT_EQ(json.at("evidence").size(), found.evidence.size());
        EXPECT_THAT(report::explanation_text(run, findings), StartsWith("1. " + found.text));
    }
}

/// The larger gain comes first; what costs no time comes last.
TEST(Explain, FindingsAreOrderedByTheirGain) {
    ExplainedRun run = healthy();
    run.steps_per_epoch = 2;
    run.threads = 1;
    plants().at("no look-ahead")(run);
    plants().at("one slow host")(run);
    const auto findings = report::findings_of(run);
    ASSERT_EQ(findings.size(), 4U);
    for (std::size_t i = 1; i + 1 < findings.size(); ++i)
        EXPECT_GE(findings[i - 1].gain.value_or(-1), findings[i].gain.value_or(-1));
    EXPECT_EQ(findings.back().cause, "too few steps per epoch");
}

TEST(Explain, GainsAreByTheirFormula) {
    ExplainedRun run = healthy();
    run.modelled->rate /= 10;
    const double wire = *run.wire();  // 2e8 / 4 / 200 / 12.5e6 = 20 ms
    EXPECT_DOUBLE_EQ(wire, 0.02);
    run.step.wait_rows = 0.0115;
    run.step.step = 0.0216;
    run.total = run.steps * run.step.step;
    const auto findings = report::findings_of(run);
    ASSERT_EQ(findings.size(), 1U);
    // 12.1 ms wait for the network; a tenth of the wire is less than what is left.
    EXPECT_NEAR(findings[0].gain.value_or(0), 0.0121 / 0.0216, 1e-9);
    EXPECT_EQ(findings[0].confidence, report::Confidence::high);
    run.steps = 5;
    run.wire_bytes /= 40;
    run.feature_bytes /= 40;
    EXPECT_EQ(report::findings_of(run)[0].confidence, report::Confidence::low) << "few steps";
}

/// The share of the steps' time in which cores work: evaluation has all threads while it is waited
/// for.
TEST(Explain, CoresAreBusyAsTheRunsCpuTimeSays) {
    ExplainedRun run = healthy();  // 4 ranks of 2 threads on 8 cores
    EXPECT_FALSE(run.busy());
    run.cpu = 8 * (0.1 + 0.5 * (run.total - 0.1));
    ASSERT_TRUE(run.busy());
    EXPECT_NEAR(*run.busy(), 0.5, 1e-12);
    EXPECT_NEAR(run.least_step(), 0.5 * run.step.step, 1e-12);
    run.modelled->rate /= 10;
    EXPECT_NEAR(run.least_step(), 0.02, 1e-12) << "the wire needs longer";
    run.threads = 1;
    EXPECT_NEAR(*run.busy(), 0.5 + 0.05 / (run.total - 0.1), 1e-12);
    run.cpu = 1000;
    EXPECT_EQ(run.busy(), 1);
    run.cores = 0;
    EXPECT_FALSE(run.busy());
}

/// Whatever is mended, the cores have as much to do as before.
TEST(Explain, GainsEndWhereTheCoresHaveNoTimeLeft) {
    for (const char* cause : {"slow link", "one slow host", "skewed parts", "no look-ahead",
                              "no buffer", "one thread"}) {
        ExplainedRun run = healthy();
        plants().at(cause)(run);
        run.evaluation = 0;
        settle(run);
        const double gain = report::findings_of(run).front().gain.value_or(0);
        EXPECT_GT(gain, 0.1) << cause;
        run.cpu = 0.3 * run.cores * run.total;  // all that computing takes, and little more
        ASSERT_THAT(causes(run), ElementsAre(cause));
        EXPECT_EQ(report::findings_of(run).front().gain, gain) << cause << ": idle cores";
        run.cpu = 0.95 * run.cores * run.total;
        const auto findings = report::findings_of(run);
        ASSERT_THAT(causes(run), ElementsAre(cause));
        EXPECT_LE(findings.front().gain.value_or(1), 0.05 + 1e-9) << cause;
        EXPECT_THAT(findings.front().formula, HasSubstr("CPU time of a step / cores")) << cause;
    }
    // A second thread that adds 0.7 of a core's work takes 0.3 of one from the rest.
    ExplainedRun run = healthy();
    run.threads = 1;
    run.evaluation = 0;
    run.total = run.steps * run.step.step;
    run.cpu = 0.8 * run.cores * run.total;
    const double left = 0.8 * 0.010 + 0.008 * (2 / 1.7 - 1) * 4 / 8;
    EXPECT_NEAR(report::findings_of(run).front().gain.value_or(0), 1 - left / 0.010, 1e-9);
}

/// Without a buffer, the rows of one step are asked for while another computes, and not before.
TEST(Explain, LookAheadAloneHidesWhatComputingTakes) {
    ExplainedRun run = healthy();
    plants().at("no buffer")(run);
    plants().at("no look-ahead")(run);
    run.step.fetch = 0.012;
    run.total = run.steps * run.step.step;
    const auto findings = report::findings_of(run);
    const auto found = std::ranges::find(findings, "no look-ahead", &Finding::cause);
    ASSERT_NE(found, findings.end());
    EXPECT_EQ(found->change, "--in-flight 2") << "a buffer is another finding";
    EXPECT_NEAR(found->gain.value_or(0), 1 - 0.012 / run.step.step, 1e-9);
    run.buffered = true;
    const auto kept = report::findings_of(run);
    ASSERT_FALSE(kept.empty());
    EXPECT_THAT(kept.front().change, StartsWith("--policy window"));
    EXPECT_NEAR(kept.front().gain.value_or(0), run.step.wait_rows / run.step.step, 1e-9);
}

/// Steps of 1 ms and 2 us for each row, on ranks of which one has more: the line begins at 1 ms.
TEST(Explain, WhatAnEmptyBatchTakesFollowsFromStepsOfManySizes) {
    const auto computed = [](std::uint64_t spread, std::uint64_t steps, double noise) {
        std::vector<report::RankTotals> ranks(2);
        for (std::uint64_t step = 0; step < steps; ++step) {
            for (std::size_t rank = 0; rank < 2; ++rank) {
                const std::uint64_t rows = 100 + 50 * rank + spread * (step % 11);
                const double seconds =
                    0.001 + 2e-6 * static_cast<double>(rows) + (step % 2 == 0 ? noise : -noise);
                ranks[rank] += report::step_totals({.step = 2 * seconds, .compute = seconds},
                                                   {.needed = rows}, 2 * rows);
            }
        }
        report::RunData run;
        run.metrics.by_rank = ranks;
        return report::explained_run(run).empty_compute;
    };
    EXPECT_NEAR(computed(20, 110, 0).value_or(0), 0.001, 1e-9);
    EXPECT_NEAR(computed(1, 110, 0).value_or(0), 0.001, 1e-6) << "as long as nothing disturbs it";
    EXPECT_NEAR(computed(20, 1100, 2e-4).value_or(0), 0.001, 1e-4);
    EXPECT_FALSE(computed(0, 110, 0)) << "all need as many rows";
    EXPECT_FALSE(computed(1, 110, 2e-4)) << "drowned in noise";
    EXPECT_FALSE(computed(20, 11, 0)) << "few steps";
}

TEST(Explain, TinyBatchesCostWhatAnEmptyOneTakes) {
    ExplainedRun run = healthy();
    plants().at("tiny batches")(run);
    run.total = run.steps * run.step.step;
    const auto without = report::findings_of(run);
    ASSERT_EQ(without.size(), 1U);
    EXPECT_THAT(without[0].formula, StartsWith("at least ("));
    run.empty_compute = 0.0006;
    const auto with = report::findings_of(run);
    ASSERT_EQ(with.size(), 1U);
    // 250 times as many seeds: 0.6 ms more of a step.
    EXPECT_NEAR(*with[0].gain - *without[0].gain, 0.0006 / run.step.step * (1 - 1 / 250.), 1e-9);
    EXPECT_THAT(with[0].formula, StartsWith("(compute without rows + "));
}

}  // namespace
}  // namespace rudder::test
