// What a run is explained by: its options, and the same figures by values and by its folder.
#include <fstream>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "core/step_time.hpp"

#include "explain/explanation.hpp"
#include "run_writer.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using report::ExplainedRun;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ExplainedValues, ReadsSettingsAsAPersonWouldWriteThem) {
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

TEST(ExplainedValues, OptionsThatCannotBeReadAreSaidToBeMissing) {
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
                            run.made_slow ? 1.0 : 0.0,
                            run.sample_tasks,
                            run.buffered ? 1.0 : 0.0,
                            of(run.window),
                            of(run.in_flight),
                            run.modelled->delay,
                            run.modelled->rate,
                            run.total,
                            run.evaluation,
                            run.cpu,
                            run.step.step,
                            run.step.stall,
                            run.step.reduce,
                            run.remote,
                            run.fetched,
                            run.row_bytes,
                            run.feature_bytes,
                            run.wire_bytes,
                            of(run.train_balance),
                            of(run.seeds),
                            of(run.excess)};
    for (const StepPart& part : step_parts)
        all.push_back(run.step.*part.seconds);
    return all;
}

/// What `train` closes with is what `explain` finds.
TEST(ExplainedValues, ARunThatHasJustEndedIsExplainedAsItsFolderIs) {
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
    summary.seconds.cpu = 30;
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
    options.slow = "1:2";
    const std::vector<report::RankTotals> none;
    const ExplainedRun ended = report::explained_run(report::EndedRun{.name = "run",
                                                                      .summary = summary,
                                                                      .options = options,
                                                                      .by_rank = none,
                                                                      .ranks_per_host = 2,
                                                                      .cores = 8,
                                                                      .train_balance = 1.25,
                                                                      .seeds = 1125});
    const TempDir folder;
    std::ofstream(folder / "summary.json") << to_json(summary);
    std::ofstream(folder / "run.json")
        << R"({"schema": 1, "cores": 8, "version": "9.8.7", "host": "node-1",
               "partition": {"train": 3600, "train_balance": 1.25, "parts": 4, "method": "ldg", "cut": 0.1234,
                             "vertices": 6000, "edges": 117690}})";
    std::ofstream(folder / "config.toml")
        << "batch = 48\nin-flight = 3\neval-every = 2\nsample-tasks = 5\nslow = "
           "'1:2'\nranks-per-host = 2\n";
    const ExplainedRun read = report::explained_run(report::read_run(folder.path()));
    EXPECT_EQ(figures_of(ended), figures_of(read));
    EXPECT_EQ(ended.policy, read.policy);
    EXPECT_EQ(ended.agent, read.agent);
    EXPECT_EQ(ended.link, read.link);
    EXPECT_EQ(ended.totals, read.totals);
    EXPECT_TRUE(ended.made_slow);
    EXPECT_EQ(read.partition,
              "6,000 vertices and 117,690 edges in 4 parts by ldg, which cut 12.3 %");
    EXPECT_EQ(read.version + " " + read.host, "9.8.7 node-1");
    EXPECT_EQ(ended.fetched, 147) << "and not as nothing";
    EXPECT_EQ(ended.step.step, 0.05);
}

}  // namespace
}  // namespace rudder::test
