#include "run/simulate/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/simulate/simulated_run.hpp"

namespace rudder::test {

namespace {

using run::Scenario;

constexpr const char* small = R"(title = "Small"
ranks = 4
ranks-per-host = 2

[graph]
source = "like:arxiv"
scale = 0.01

[network]
latency = "20us"
rate = "10gbit"

[train]
policy = "window:8"
batch = 16
fanout = [5, 10]
)";

Scenario parsed(const std::string& text, bool full = false,
                const std::vector<std::string>& set = {}) {
    return Scenario::parse(text, "small.toml", full, set);
}

/// What is wrong with a text, and where.
std::string refused(const std::string& text) {
    try {
        const Scenario scenario = parsed(text);
        static_cast<void>(run::cluster_of(scenario, scenario.jobs().front().job));
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
        EXPECT_FALSE(error.remedy().empty());
        return error.where() + ": " + error.problem() + "; " + error.remedy();
    }
    return "nothing";
}

TEST(Scenario, SaysWhatIsToBeSimulated) {
    const Scenario scenario = parsed(small);
    ASSERT_EQ(scenario.jobs().size(), 1U);
    EXPECT_FALSE(scenario.sweeps());
    const run::SimulatedJob& job = scenario.jobs().front().job;
    EXPECT_EQ(job.ranks, 4U);
    EXPECT_EQ(job.source, "like:arxiv");
    EXPECT_EQ(job.scale, 0.01);
    EXPECT_EQ(job.train.policy, "window:8");
    EXPECT_EQ(job.train.fanout, (std::vector<std::int32_t>{5, 10}));
    EXPECT_EQ(job.train.steer.agent, "never");
    const train::ClusterModel cluster = run::cluster_of(scenario, job);
    EXPECT_EQ(cluster.hosts(), 2);
    EXPECT_EQ(cluster.network.link.delay, std::chrono::microseconds(20));
    EXPECT_EQ(cluster.network.link.bytes_per_second, 1.25e9);
    EXPECT_GT(cluster.compute.flops, 0);
}

TEST(Scenario, SweepsOverAllPairsInTheOrderOfItsKeys) {
    const Scenario scenario = parsed(std::string(small) +
                                     "[sweep]\n\"train.policy\" = ['none', 'scored+every:2']\n"
                                     "\"network.rate\" = ['1gbit', '10gbit', '25gbit']\n"
                                     "\"train.fanout\" = [[5, 10], [2, 2]]\n");
    ASSERT_EQ(scenario.jobs().size(), 12U);
    EXPECT_EQ(scenario.swept(),
              (std::vector<std::string>{"train.policy", "network.rate", "train.fanout"}));
    EXPECT_EQ(scenario.jobs()[0].name(), "policy none, rate 1gbit, fanout 5,10");
    EXPECT_EQ(scenario.jobs()[1].job.train.fanout, (std::vector<std::int32_t>{2, 2}));
    const run::SimulatedJob& last = scenario.jobs()[11].job;
    EXPECT_EQ(last.rate, "25gbit");
    EXPECT_EQ(last.train.policy, "scored");
    EXPECT_EQ(last.train.steer.agent, "every:2");
}

TEST(Scenario, FullTakesThePlaceOfTheRest) {
    const std::string text = std::string(small) +
                             "[full]\nranks = 16\n[full.graph]\nscale = 0.1\n[full.sweep]\n"
                             "\"train.policy\" = ['none', 'lru']\n";
    EXPECT_EQ(parsed(text).jobs().size(), 1U);
    EXPECT_EQ(parsed(text).jobs().front().job.ranks, 4U);
    const Scenario full = parsed(text, true);
    ASSERT_EQ(full.jobs().size(), 2U);
    EXPECT_EQ(full.jobs()[1].job.ranks, 16U);
    EXPECT_EQ(full.jobs()[1].job.scale, 0.1);
    EXPECT_EQ(full.jobs()[1].job.train.policy, "lru");
}

TEST(Scenario, WhatIsSetTakesThePlaceOfTheFile) {
    const std::string text = std::string(small) + "[sweep]\nranks = [2, 4]\n";
    const Scenario scenario = parsed(text, false, {"ranks=8", "train.batch=4"});
    ASSERT_EQ(scenario.jobs().size(), 1U);
    EXPECT_EQ(scenario.jobs().front().job.ranks, 8U);
    EXPECT_EQ(scenario.jobs().front().job.train.batch, 4U);
    EXPECT_THROW(static_cast<void>(parsed(text, false, {"ranks"})), Error);
}

/// The text with a line in the place of another.
std::string with(std::string text, const std::string& line, const std::string& other) {
    const std::size_t at = text.find(line);
    EXPECT_NE(at, std::string::npos);
    return text.replace(at, line.size(), other);
}

TEST(Scenario, RefusesByLine) {
    using testing::AllOf;
    using testing::HasSubstr;
    EXPECT_THAT(refused(with(small, "rate = \"10gbit\"", "rate = \"-1gbit\"")),
                AllOf(HasSubstr("small.toml, line 11: "), HasSubstr("network.rate")));
    EXPECT_THAT(refused(with(small, "latency = \"20us\"", "latency = \"-20us\"")),
                AllOf(HasSubstr("line 10: "), HasSubstr("network.latency")));
    EXPECT_THAT(refused(with(small, "ranks = 4", "rank = 4")),
                AllOf(HasSubstr("line 2: unknown key 'rank'"), HasSubstr("'ranks'")));
    EXPECT_THAT(refused(with(small, "batch = 16", "bach = 16")),
                AllOf(HasSubstr("line 15: unknown key 'train.bach'"), HasSubstr("train.batch")));
    EXPECT_THAT(refused(with(small, "batch = 16", "batch = -16")), HasSubstr("line 15: invalid"));
    EXPECT_THAT(refused(with(small, "ranks = 4", "ranks = 5000")), HasSubstr("line 2: invalid"));
    EXPECT_THAT(refused(with(small, "scale = 0.01", "scale = -1")), HasSubstr("line 7: invalid"));
    EXPECT_THAT(refused(with(small, "window:8", "windov:8")),
                AllOf(HasSubstr("small.toml"), HasSubstr("windov")));
    EXPECT_THAT(refused(with(small, "batch = 16", "batch = 16\nembeddings = \"8\"")),
                HasSubstr("learning rows cannot be simulated"));
    EXPECT_THAT(refused(with(small, "batch = 16", "batch = 16\ndevice = \"cuda\"")),
                HasSubstr("a GPU cannot be simulated"));
    EXPECT_THAT(refused(with(small, "title = \"Small\"", "profile = \"built-in:tin-cans\"")),
                AllOf(HasSubstr("line 1: "), HasSubstr("tin-cans")));
    EXPECT_THAT(refused(std::string(small) + "[sweep]\n\"train.batch\" = 5\n"),
                AllOf(HasSubstr("line 18: "), HasSubstr("no list")));
    EXPECT_THAT(refused(std::string(small) + "[network]\n"), HasSubstr("not valid TOML"));
    EXPECT_THAT(refused(with(small, "source = \"like:arxiv\"", "")), HasSubstr("no graph"));
}

TEST(Scenario, RefusesSweepsByTheirLine) {
    using testing::AllOf;
    using testing::HasSubstr;
    const std::string sweep = std::string(small) + "[sweep]\n";
    EXPECT_THAT(refused(sweep + "\"train.bach\" = [1]\n"),
                AllOf(HasSubstr("line 18: unknown key 'train.bach'"), HasSubstr("train.batch")));
    EXPECT_THAT(refused(sweep + "ranks = [2, -4]\n"), HasSubstr("line 18: invalid"));
    EXPECT_THAT(refused(sweep + "ranks = []\n"), HasSubstr("line 18: "));
    EXPECT_THAT(refused(sweep + "\"network.sums\" = ['owner', 'both']\n"),
                AllOf(HasSubstr("line 18: "), HasSubstr("two-level")));
    std::string seeds = "0";
    for (int i = 1; i <= 100; ++i)
        seeds += ", " + std::to_string(i);
    EXPECT_THAT(
        refused(sweep + "\"train.seed\" = [" + seeds + "]\n\"graph.seed\" = [" + seeds + "]\n"),
        AllOf(HasSubstr("line 19: "), HasSubstr("10,201 runs")));
    EXPECT_THAT(refused(with(small, "batch = 16", "batch = 2026-11-19")),
                HasSubstr("line 15: invalid value of key 'train.batch'"));
    EXPECT_THAT(refused(with(small, "ranks = 4\n", "")), HasSubstr("ranks is not given"));
    EXPECT_THAT(refused(with(small, "fanout = [5, 10]", "fanout = [5, 10]\nlayers = 3")),
                HasSubstr("line 16: 2 fan-outs for 3 layers"));
}

TEST(Scenario, RefusesWhatItHasNoModelOf) {
    using testing::HasSubstr;
    for (const char* line :
         {"topology = 'partitioned'", "coding = 'auto'", "task = 'link'", "temporal = 'newest'"}) {
        EXPECT_THAT(refused(with(small, "batch = 16", line)),
                    testing::AllOf(HasSubstr("line 15: "), HasSubstr("cannot be simulated")))
            << line;
    }
}

TEST(Scenario, WhatIsRefusedOutsideOfTheFileNamesNoLine) {
    try {
        static_cast<void>(parsed(small, false, {"train.batch=-1"}));
        FAIL() << "it was taken";
    } catch (const Error& error) {
        EXPECT_EQ(error.where(), "small.toml");
        EXPECT_THAT(error.problem(), testing::HasSubstr("batch"));
    }
}

/// A job reads its own scenario back, to the last option.
TEST(Scenario, AJobsScenarioIsTheJob) {
    for (const std::vector<std::string>& set : {
             std::vector<std::string>{},
             {"train.policy=scored,every:4", "train.agent=bandit", "train.buffer-rows=77"},
             {"network.sums=two-level", "network.incast=0.125", "network.oversubscription=4"},
             {"title=a 'b' \"c\" # d", "graph.source=a folder/with 'quotes'"},
             {"train.model=gat", "train.lr=0.0001", "train.dropout=0", "train.layers=3",
              "train.fanout=1,2,3"},
             {"threads=16", "steps=7", "graph.method=fennel", "graph.seed=5", "graph.scale=1e-3"},
             {"train.weighted=true", "train.precision=int8", "train.buffer-scope=rank"},
         }) {
        const Scenario first = parsed(small, false, set);
        const std::string text = run::job_scenario(first.jobs().front().job);
        const Scenario again = parsed(text);
        ASSERT_EQ(again.jobs().size(), 1U);
        const run::SimulatedJob& job = again.jobs().front().job;
        EXPECT_EQ(run::job_scenario(job), text);
        EXPECT_EQ(run::job_config(job), run::job_config(first.jobs().front().job));
        EXPECT_EQ(job.source, first.jobs().front().job.source);
        EXPECT_EQ(job.title, first.jobs().front().job.title);
        EXPECT_EQ(job.scale, first.jobs().front().job.scale);
        EXPECT_EQ(job.rate, "10gbit");
    }
}

TEST(Scenario, TheConfigurationHasWhatTrainTakes) {
    const std::string text = run::job_config(parsed(small).jobs().front().job);
    for (const char* line : {"policy = 'window:8'\n", "batch = 16\n", "fanout = [5,10]\n",
                             "layers = 2\n", "ranks-per-host = 2\n"})
        EXPECT_THAT(text, testing::HasSubstr(line));
    for (const char* key : {"profile = ", "steps = ", "graph", "network", "\nranks = "})
        EXPECT_THAT(text, testing::Not(testing::HasSubstr(key)));
}

TEST(Scenario, MoreWorkTakesLonger) {
    run::SimulatedJob job;
    job.ranks = 16;
    job.batch_given = true;
    job.train.batch = 100;
    job.train.fanout = {10, 25};
    job.train.epochs = 2;
    const double once = run::job_seconds(job, 1e5);
    EXPECT_GT(once, 0);
    job.train.epochs = 4;
    EXPECT_NEAR(run::job_seconds(job, 1e5), 2 * once, 1e-9);
    job.train.fanout = {20, 25};
    EXPECT_GT(run::job_seconds(job, 1e5), 2 * once);
    job.train.policy = "scored";
    job.train.steer.agent = "bandit";
    EXPECT_GT(run::job_seconds(job, 1e5), 8 * once);
    job.steps = 1;
    EXPECT_LT(run::job_seconds(job, 1e5), once);
}

TEST(Scenario, LongSweepsAreSeenBefore) {
    run::SimulatedJob job;
    job.ranks = 1024;
    job.batch_given = true;
    job.train.batch = 2000;
    job.train.fanout = {10, 25};
    job.train.epochs = 100;
    EXPECT_GT(run::job_seconds(job, 2e6), 300);
    job.steps = 20;
    job.train.batch = 8;
    EXPECT_LT(run::job_seconds(job, 2e6), 600);
}

}  // namespace

}  // namespace rudder::test
