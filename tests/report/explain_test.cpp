// What limits a run: every rule on made-up facts, the order of findings, two runs, and words.
#include <algorithm>
#include <cctype>
#include <fstream>
#include <functional>
#include <map>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "core/step_time.hpp"
#include "rudder/core/error.hpp"

#include "explain/explanation.hpp"
#include "explain/wording.hpp"
#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using report::ExplainedRun;
using report::Finding;
using report::RankWork;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// Steps of 10 ms on four hosts that leave nothing to wish for.
ExplainedRun healthy() {
    ExplainedRun run;
    run.name = "run";
    run.settings = {{"batch", "1000"}, {"eval-every", "auto"}, {"in-flight", "2"}};
    run.auto_evaluation = true;
    run.ranks = run.hosts = run.machine_ranks = 4;
    run.cores = 8;
    run.threads = 2;
    run.batch = 1000;
    run.steps = 200;
    run.epochs = 5;
    run.steps_per_epoch = 40;
    run.evaluations = 2;
    run.policy = "window:16";
    run.agent = "bandit";
    run.buffered = true;
    run.window = 16;
    run.in_flight = 2;
    run.link = "100us,1gbit";
    run.modelled = report::LinkFacts{1e-4, 1e9 / 8};
    run.total = 2.2;
    run.evaluation = 0.1;
    run.step = {.step = 0.010,
                .compute = 0.008,
                .wait_rows = 0.0005,
                .wait_gradients = 0.0006,
                .wait_ranks = 0.0005,
                .rest = 0.0004};
    for (int rank = 0; rank < 4; ++rank)
        run.pace.push_back({"rank " + std::to_string(rank), 0.008, 2000});
    run.remote = 1e6;
    run.fetched = 3e5;
    run.row_bytes = 400;
    run.feature_bytes = 1.2e8;
    run.wire_bytes = 2e8;
    return run;
}

/// The causes that are found, in their order.
std::vector<std::string> causes(const ExplainedRun& run) {
    std::vector<std::string> all;
    for (const Finding& one : report::findings_of(run))
        all.emplace_back(one.cause);
    return all;
}

/// Steps that are longer by what they wait.
void wait_for_rows(ExplainedRun& run, double seconds) {
    run.step.wait_rows += seconds;
    run.step.step += seconds;
    run.total += seconds * run.steps;
}

/// Of such a run: all is made ready in time.
report::ProfileTimes healthy_profile() {
    return {.steps = 40,
            .step = 0.010,
            .stall = 0.0005,
            .sampling = {0.0001, 0.004},
            .policy = {0, 0.001},
            .assembling = {0.0001, 0.002},
            .network = 0.0003,
            .compute_alone = 0.008,
            .compute_beside = 0.009,
            .beside = 0.1};
}

using Plant = std::function<void(ExplainedRun&)>;

const std::map<std::string, Plant>& plants() {
    static const std::map<std::string, Plant> all{
        {"slow link",
         [](ExplainedRun& run) {
             run.modelled->rate /= 50;
             // What is not looked ahead for is not hidden behind computing.
             const double hidden = run.window.value_or(0) > 1 ? run.step.step : 0;
             wait_for_rows(run, *run.wire() - hidden);
         }},
        {"one slow host",
         [](ExplainedRun& run) {
             run.pace[2].compute *= 3;
             run.step.compute += 0.004;
             run.step.wait_ranks += 0.012;
             run.step.step += 0.016;
         }},
        {"skewed parts",
         [](ExplainedRun& run) {
             for (const std::size_t i : {0U, 1U, 3U}) {
                 run.pace[i].compute /= 2;
                 run.pace[i].edges /= 2;
             }
             run.step.compute = 0.005;
             run.step.wait_ranks += 0.003;
         }},
        {"no look-ahead",
         [](ExplainedRun& run) {
             run.window = 0;
             wait_for_rows(run, 0.006);
         }},
        {"no buffer",
         [](ExplainedRun& run) {
             run.buffered = false;
             run.policy = "none";
             run.window = 0;
             wait_for_rows(run, 0.004);
         }},
        {"one thread", [](ExplainedRun& run) { run.threads = 1; }},
        {"evaluation each step",
         [](ExplainedRun& run) {
             run.auto_evaluation = false;
             run.evaluations = 200;
             run.evaluation = 4;
             run.total += 4;
         }},
        {"tiny batches",
         [](ExplainedRun& run) {
             run.batch = 4;
             run.steps_per_epoch = 5000;
             run.wire_bytes /= 20;
             run.step = {.step = 0.003, .compute = 0.001, .wait_gradients = 0.0015, .rest = 0.0005};
             for (RankWork& one : run.pace)
                 one.compute = 0.001;
         }},
        {"agent that steps wait for",
         [](ExplainedRun& run) {
             run.step.wait_agent = 0.02;
             run.step.step += 0.02;
         }},
        {"slow sampling",
         [](ExplainedRun& run) {
             run.profile = healthy_profile();
             run.profile->sampling.waited = run.profile->stall = 0.003;
             wait_for_rows(run, 0.003);
         }},
        {"slow assembling",
         [](ExplainedRun& run) {
             run.profile = healthy_profile();
             run.profile->assembling.waited = run.profile->stall = 0.003;
             wait_for_rows(run, 0.003);
         }},
        {"slow policy",
         [](ExplainedRun& run) {
             run.profile = healthy_profile();
             run.profile->policy.waited = run.profile->stall = 0.003;
             wait_for_rows(run, 0.003);
         }},
        {"evaluation during training",
         [](ExplainedRun& run) {
             run.profile = healthy_profile();
             run.profile->beside = 0.5;
             run.profile->compute_beside = 0.02;
             run.evaluations = run.epochs;
         }},
        {"agent that costs rows", [](ExplainedRun& run) { run.excess = 0.3; }},
        {"too few steps per epoch", [](ExplainedRun& run) { run.steps_per_epoch = 2; }},
        {"one host",
         [](ExplainedRun& run) {
             run.hosts = 1;
             run.remote = run.fetched = 0;
             run.link.clear();
             run.modelled.reset();
         }},
    };
    return all;
}

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

/// Each is named beside any other, where both can be.
TEST(Explain, PairsOfCausesAreBothNamed) {
    const std::vector<std::string> apart{
        "slow link",  "one slow host",        "no look-ahead",
        "one thread", "evaluation each step", "agent that costs rows"};
    for (const std::string& a : apart) {
        for (const std::string& b : apart) {
            if (a >= b) continue;
            ExplainedRun run = healthy();
            plants().at(a)(run);
            plants().at(b)(run);
            EXPECT_THAT(causes(run), testing::IsSupersetOf({a, b})) << a << " and " << b;
        }
    }
    ExplainedRun both = healthy();
    plants().at("skewed parts")(both);
    both.pace[0].compute *= 6;  // a small part on a slow host
    both.step.step += 0.02;
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
    // 250 times as many seeds: 0.6 ms more of 3.
    EXPECT_NEAR(*with[0].gain - *without[0].gain, 0.2 * (1 - 1 / 250.), 1e-9);
    EXPECT_THAT(with[0].formula, StartsWith("(compute without rows + "));
}

TEST(Explain, ARunWithoutStepsIsNotJudged) {
    const ExplainedRun nothing;
    EXPECT_THAT(report::findings_of(nothing), IsEmpty());
    EXPECT_THAT(report::explanation_text(nothing, {}), HasSubstr("no steps"));
}

TEST(Explain, ReadsAFolderAndWhatARunWasTold) {
    const TempDir folder;
    write_fake_run(folder.path());
    std::ofstream(folder / "config.toml") << "# The options\nbatch = 32\nlink = '1ms,1gbit'\n";
    const ExplainedRun run = report::explained_run(report::read_run(folder.path()));
    EXPECT_EQ(run.batch, 32);
    EXPECT_EQ(run.setting("link"), "1ms,1gbit");
    EXPECT_EQ(run.setting("nothing"), "");
    EXPECT_EQ(run.steps, 12);
    EXPECT_EQ(run.pace.size(), 3U);
    double sum = 0;
    for (const double Seconds::*part :
         {&Seconds::compute, &Seconds::wait_rows, &Seconds::wait_gradients, &Seconds::wait_ranks,
          &Seconds::wait_agent, &Seconds::rest})
        sum += run.step.*part;
    EXPECT_NEAR(sum, run.step.step, 1e-12);
    EXPECT_NEAR(run.step.step, 10.0 / 36, 1e-12);
    EXPECT_EQ(run.window, 16.0) << "as steps had it";
}

TEST(Explain, ReadsSettingsAsAPersonWouldWriteThem) {
    const auto settings = report::settings_of(
        "# The options\nbatch = 32\nlr = 0.003\nfanout = [10, 25]\nout = \"a = b # c\"\n"
        "force = true\npolicy = 'window:16'\n");
    ASSERT_TRUE(settings);
    const report::SettingTexts right{{"batch", "32"},     {"lr", "0.003"},
                                     {"fanout", "10,25"}, {"out", "a = b # c"},
                                     {"force", "true"},   {"policy", "window:16"}};
    EXPECT_EQ(*settings, right);
    EXPECT_FALSE(report::settings_of("batch = \n"));
}

TEST(Explain, OptionsThatCannotBeReadAreSaidToBeMissing) {
    const TempDir folder;
    write_fake_run(folder.path());
    std::ofstream(folder / "config.toml") << "batch = 32\nlink = 1ms,1gbit\n";
    const ExplainedRun run = report::explained_run(report::read_run(folder.path()));
    EXPECT_THAT(run.settings, IsEmpty());
    EXPECT_THAT(run.missing, testing::Contains(HasSubstr("config.toml is not valid TOML")));
    EXPECT_EQ(run.steps, 12) << "the rest is known";
}

/// All that rules look at.
std::vector<double> figures_of(const ExplainedRun& run) {
    const auto of = [](const std::optional<double>& value) { return value.value_or(-1); };
    std::vector<double> all{run.ranks,
                            run.hosts,
                            run.machine_ranks,
                            run.cores,
                            run.threads,
                            run.batch,
                            run.steps,
                            run.epochs,
                            run.steps_per_epoch,
                            run.evaluations,
                            run.auto_evaluation ? 1.0 : 0.0,
                            run.sample_tasks,
                            run.buffered ? 1.0 : 0.0,
                            of(run.window),
                            of(run.in_flight),
                            run.modelled->delay,
                            run.modelled->rate,
                            run.total,
                            run.evaluation,
                            run.step.step,
                            run.step.stall,
                            run.step.reduce,
                            run.remote,
                            run.fetched,
                            run.row_bytes,
                            run.feature_bytes,
                            run.wire_bytes,
                            of(run.train_balance),
                            of(run.excess)};
    for (const StepPart& part : step_parts)
        all.push_back(run.step.*part.seconds);
    return all;
}

/// What `train` closes with is what `explain` finds.
TEST(Explain, ARunThatHasJustEndedIsExplainedAsItsFolderIs) {
    train::Summary summary;
    summary.policy = "window:24";
    summary.buffer_rows = 500;
    summary.ranks = 4;
    summary.hosts = 2;
    summary.threads = 3;
    summary.link = "100us,1gbit";
    summary.epochs = 5;
    summary.steps = 200;
    summary.steps_per_epoch = 40;
    summary.evaluations = 6;
    summary.seconds.total = 12;
    summary.seconds.evaluation = 0.75;
    summary.seconds.steps = {.step = 40,
                             .stall = 7,
                             .compute = 25,
                             .reduce = 6,
                             .wait_rows = 6.5,
                             .wait_gradients = 4,
                             .wait_ranks = 2,
                             .wait_agent = 0.5,
                             .rest = 2};
    summary.rows.rows = {.hit = 600, .demand = 50, .replacement = 7, .ahead = 90};
    summary.row_bytes = 400;
    summary.bytes.kinds.features = 58800;
    summary.bytes.kinds.evaluation = 1000;
    summary.bytes.received_total = 90000;
    summary.agent.name = "bandit";
    summary.agent.excess = -0.125;
    train::TrainOptions options;
    options.batch = 48;
    options.in_flight = 3;
    options.eval_every = 2;
    options.sample_tasks = 5;
    const std::vector<report::RankTotals> none;
    const ExplainedRun ended = report::explained_run(report::EndedRun{.name = "run",
                                                                      .summary = summary,
                                                                      .options = options,
                                                                      .by_rank = none,
                                                                      .ranks_per_host = 2,
                                                                      .cores = 8,
                                                                      .train_balance = 1.25});
    const TempDir folder;
    std::ofstream(folder / "summary.json") << to_json(summary);
    std::ofstream(folder / "run.json")
        << R"({"schema": 1, "cores": 8, "partition": {"train_balance": 1.25}})";
    std::ofstream(folder / "config.toml")
        << "batch = 48\nin-flight = 3\neval-every = 2\nsample-tasks = 5\nranks-per-host = 2\n";
    const ExplainedRun read = report::explained_run(report::read_run(folder.path()));
    EXPECT_EQ(figures_of(ended), figures_of(read));
    EXPECT_EQ(ended.policy, read.policy);
    EXPECT_EQ(ended.agent, read.agent);
    EXPECT_EQ(ended.link, read.link);
    EXPECT_EQ(ended.totals, read.totals);
    EXPECT_EQ(ended.fetched, 147) << "and not as nothing";
    EXPECT_EQ(ended.step.step, 0.05);
}

TEST(ExplainTwo, NamesTheOptionThatActsOnWhatChanged) {
    const ExplainedRun before = healthy();
    ExplainedRun after = healthy();
    after.settings["policy"] = "none";
    after.settings["hidden"] = "16";
    after.settings["out"] = "other";
    wait_for_rows(after, 0.006);
    const report::RunDifference d = report::difference_of(before, after);
    EXPECT_EQ(d.parts.front().key, "wait_rows");
    EXPECT_EQ(d.settings.size(), 2U) << "where results go is beside the point";
    EXPECT_EQ(d.explanation,
              "Of the 6.00 ms by which a step is longer, 6.00 ms are waiting for rows, which is "
              "explained by policy (not given, then none).");
    const std::string text = report::difference_text(before, after, d);
    EXPECT_THAT(text,
                HasSubstr("  step                       10.00         16.00         +6.00\n"));
    EXPECT_EQ(report::difference_json(d).at("settings").size(), 2U);
    EXPECT_EQ(report::difference_of(before, before).explanation,
              "Steps take as long in both, within 5 %.");
    ExplainedRun slower = healthy();
    wait_for_rows(slower, 0.006);
    EXPECT_THAT(report::difference_of(before, slower).explanation, HasSubstr("no option differs"));
}

std::vector<Finding> two_findings() {
    ExplainedRun run = healthy();
    run.threads = 1;
    plants().at("no look-ahead")(run);
    return report::findings_of(run);
}

std::string reply_of(const std::string& order, const std::string& one, const std::string& two) {
    return Json{{"order", order}, {"finding_1", one}, {"finding_2", two}}.dump();
}

TEST(ExplainWords, NumbersAreThoseOfTheText) {
    EXPECT_THAT(report::numbers_in("a 12.50 ms, 3 % of 1,234 rows. 7."),
                ElementsAre(12.5, 3, 1234, 7));
    EXPECT_THAT(report::numbers_in("none"), IsEmpty());
}

TEST(ExplainWords, AreUsedWhereAllNumbersAreOfTheEvidence) {
    const auto findings = two_findings();
    ASSERT_EQ(findings.size(), 2U);
    EXPECT_EQ(report::worded(reply_of("2,1", findings[0].text, findings[1].text), findings),
              "1. " + findings[1].text + "\n2. " + findings[0].text + "\n");
}

TEST(ExplainWords, AreRefusedOtherwise) {
    const auto findings = two_findings();
    const auto refused = [&](const std::string& reply) -> std::string {
        try {
            return "taken: " + report::worded(reply, findings);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::failed);
            return error.problem();
        }
    };
    EXPECT_EQ(refused(reply_of("1,2", "It gains 99.5 percent.", "x")),
              "the number 99.5 is not of the evidence");
    // A number of the other finding is not of this one.
    EXPECT_THAT(refused(reply_of("1,2", findings[1].text, findings[0].text)),
                HasSubstr("is not of the evidence"));
    EXPECT_EQ(refused(reply_of("1", "x", "y")), "invalid order of findings: '1'");
    EXPECT_EQ(refused(reply_of("1,1", "x", "y")), "invalid order of findings: '1,1'");
    EXPECT_EQ(refused(reply_of("1,2", "x", "")), "finding 2 has no words");
    EXPECT_EQ(refused(reply_of("2, 1", "x\x1b[2J", "y")),
              "the words of finding 1 hold control characters");
    for (const char* reply : {"{}", "I think it is the link.", "[1,2]"})
        EXPECT_THAT(refused(reply), testing::Not(StartsWith("taken"))) << reply;
}

}  // namespace
}  // namespace rudder::test
