// The graphs, parts and clusters of jobs, and what agents are in simulated runs.
#include "run/simulate/simulated_run.hpp"

#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "train/fixture.hpp"
#include "train/simulate/simulation.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {

namespace {

namespace fs = std::filesystem;
using run::Scenario;
using testing::HasSubstr;

constexpr const char* tiny =
    "ranks = 4\nranks-per-host = 2\n[graph]\nsource = 'like:arxiv'\nscale = 0.002\n"
    "method = 'ldg'\n[train]\nbatch = 8\n";

Scenario with(const std::vector<std::string>& set) {
    return Scenario::parse(tiny, "tiny.toml", false, set);
}

class SimulatedJobTest : public testing::Test {
protected:
    fs::path parts_of(const std::vector<std::string>& set) {
        const Scenario scenario = with(set);
        return run::simulated_parts(scenario, scenario.jobs().front().job, folder_ / "cache",
                                    Progress::none());
    }
    /// What the parts of a job are refused for.
    std::string refused(const std::vector<std::string>& set) {
        try {
            static_cast<void>(parts_of(set));
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input) << error.what();
            EXPECT_THAT(error.where(), testing::StartsWith("tiny.toml"));
            EXPECT_FALSE(error.remedy().empty());
            return error.problem();
        }
        return "nothing";
    }
    TempDir folder_;
};

TEST_F(SimulatedJobTest, GraphsAndPartsAreMadeOnceAndFoundAgain) {
    const fs::path parts = parts_of({});
    const partition::PartitionedDataset data(parts);
    EXPECT_EQ(data.parts(), 4U);
    EXPECT_EQ(data.info().vertices, 339U);  // two thousandths of the published
    const auto written = fs::last_write_time(parts / "manifest.json");
    EXPECT_EQ(parts_of({}), parts);
    EXPECT_EQ(fs::last_write_time(parts / "manifest.json"), written);
    // What they are made of tells them apart.
    for (const char* const other :
         {"ranks=2", "graph.seed=1", "graph.method=fennel", "graph.scale=0.003"})
        EXPECT_NE(parts_of({other}), parts) << other;
    EXPECT_EQ(parts_of({"train.batch=4", "title=x", "network.rate=1gbit"}), parts);
}

TEST_F(SimulatedJobTest, AGraphThatWasMadeAnewIsDividedAnew) {
    const auto graph = [&](std::uint64_t seed) {
        static_cast<void>(make_parts(folder_.path(), {.vertices = 200, .seed = seed}));
    };
    graph(1);
    const std::string source = "graph.source=" + (folder_ / "graph").string();
    const fs::path first = parts_of({source});
    EXPECT_EQ(parts_of({source}), first);
    graph(2);
    EXPECT_NE(parts_of({source}), first);
}

TEST_F(SimulatedJobTest, RefusesGraphsThatDoNotFit) {
    EXPECT_THAT(refused({"graph.scale=0.00002"}), HasSubstr("4 ranks for 3 vertices"));
    EXPECT_THAT(refused({"graph.source=like:products-of-mine"}), HasSubstr("products-of-mine"));
    EXPECT_THAT(refused({"graph.method=best"}), HasSubstr("best"));
    static_cast<void>(make_parts(folder_.path(), {.vertices = 200, .parts = 4}));
    const std::string parts = "graph.source=" + (folder_ / "parts").string();
    EXPECT_EQ(parts_of({parts, "ranks=2"}), folder_ / "parts");
    EXPECT_THAT(refused({parts, "ranks=3"}), HasSubstr("3"));
    EXPECT_THAT(refused({parts, "ranks=8"}), HasSubstr("8"));
    EXPECT_FALSE(fs::exists(folder_ / "cache"));
}

TEST_F(SimulatedJobTest, TheCacheLiesBesideTheOutput) {
    EXPECT_EQ(run::simulate_cache("/a/b/run"), fs::path("/a/b/simulate-cache"));
    EXPECT_EQ(run::simulate_cache("/a/b/../run"), fs::path("/a/simulate-cache"));
    EXPECT_EQ(run::simulate_cache("run"), fs::current_path() / "simulate-cache");
}

train::ClusterModel cluster_with(const std::vector<std::string>& set) {
    const Scenario scenario = with(set);
    return run::cluster_of(scenario, scenario.jobs().front().job);
}

TEST(SimulatedCluster, IsTheProfilesButForWhatTheJobSays) {
    const train::ClusterModel plain = cluster_with({});
    EXPECT_EQ(plain.hosts(), 2);
    EXPECT_EQ(plain.network.link.delay, std::chrono::microseconds(30));
    EXPECT_DOUBLE_EQ(plain.network.link.bytes_per_second, 0.9 * 10e9 / 8);
    EXPECT_EQ(plain.memory, std::uint64_t{64} << 30U);
    const train::ClusterModel slow = cluster_with({"network.latency=1ms", "network.rate=2gbit"});
    EXPECT_EQ(slow.network.link.delay, std::chrono::milliseconds(1));
    EXPECT_DOUBLE_EQ(slow.network.link.bytes_per_second, 0.25e9);
    const train::ClusterModel late = cluster_with({"network.latency=1ms"});
    EXPECT_EQ(late.network.link.bytes_per_second, plain.network.link.bytes_per_second);
    const train::ClusterModel shared =
        cluster_with({"network.oversubscription=4", "network.incast=0.5", "network.sums=two-level",
                      "train.memory=1000000000"});
    EXPECT_EQ(shared.network.oversubscription, 4);
    EXPECT_EQ(shared.network.incast, 0.5);
    EXPECT_EQ(shared.network.sums, train::SumRoute::two_level);
    EXPECT_EQ(shared.memory, 1'000'000'000U);
}

TEST(SimulatedCluster, AQuarterOfTheThreadsSample) {
    EXPECT_EQ(cluster_with({"threads=1"}).sample_tasks, 1);
    EXPECT_EQ(cluster_with({"threads=16"}).sample_tasks, 4);
    EXPECT_EQ(cluster_with({"threads=16", "train.sample-tasks=2"}).sample_tasks, 2);
    EXPECT_GT(cluster_with({"threads=16"}).compute.flops,
              5 * cluster_with({"threads=1"}).compute.flops);
}

TEST(SimulatedCluster, HostsHoldNoMoreRanksThanThereAre) {
    const train::ClusterModel one = cluster_with({"ranks-per-host=64"});
    EXPECT_EQ(one.hosts(), 1);
    EXPECT_EQ(one.ranks_per_host, 4);
    const train::ClusterModel uneven = cluster_with({"ranks-per-host=3"});
    EXPECT_EQ(uneven.hosts(), 2);
    EXPECT_EQ(uneven.end_rank(1) - uneven.first_rank(1), 1);
}

// ---- agents ------------------------------------------------------------------------------------

class SimulatedAgents : public testing::Test {
protected:
    struct Told final : train::TrainObserver {
        std::vector<steer::DecisionRecord> all;
        void decisions(std::span<const steer::DecisionRecord> decisions) override {
            all.insert(all.end(), decisions.begin(), decisions.end());
        }
    };
    train::TrainResult run(const train::TrainOptions& options, int per_host) {
        train::ClusterModel cluster;
        cluster.ranks = 4;
        cluster.ranks_per_host = per_host;
        cluster.network.link = {.delay = std::chrono::microseconds(50), .bytes_per_second = 1e8};
        told_.all.clear();
        train::Simulation simulation(data_, options, cluster);
        return simulation.run(told_).result;
    }
    static train::TrainOptions steered() {
        train::TrainOptions options = small_options();
        options.policy = "scored-faithful";
        options.epochs = 4;
        options.steer.agent = "every:3";
        return options;
    }
    TempDir folder_;
    partition::PartitionedDataset data_ = make_parts(folder_.path(), {.vertices = 600, .parts = 4});
    Told told_;
};

TEST_F(SimulatedAgents, DecisionsComeInTheOrderOfTheirStepsPerWrite) {
    const train::TrainResult result = run(steered(), 1);
    EXPECT_EQ(result.agent.totals.decisions, told_.all.size());
    EXPECT_GT(told_.all.size(), 4U);
    std::set<std::uint32_t> ranks;
    for (const steer::DecisionRecord& record : told_.all) {
        ranks.insert(record.rank);
        EXPECT_EQ(record.latency, 0);
        EXPECT_LT(record.step, result.steps);
        EXPECT_EQ(record.observation.steps, result.steps);
    }
    EXPECT_EQ(ranks, (std::set<std::uint32_t>{0, 1, 2, 3}));
    // Nothing of the machine that simulates.
    EXPECT_EQ(result.agent.totals.cpu_seconds, 0);
    EXPECT_EQ(result.agent.totals.waited_seconds, 0);
}

TEST_F(SimulatedAgents, OneOfAHostSteersItsSharedBuffer) {
    static_cast<void>(run(steered(), 2));
    std::set<std::uint32_t> ranks;
    for (const steer::DecisionRecord& record : told_.all)
        ranks.insert(record.rank);
    EXPECT_EQ(ranks, (std::set<std::uint32_t>{0, 2}));
}

TEST_F(SimulatedAgents, OneOfTheJobDecidesForAll) {
    train::TrainOptions options = steered();
    options.steer.scope = steer::AgentScope::job;
    const train::TrainResult result = run(options, 1);
    ASSERT_FALSE(told_.all.empty());
    for (const steer::DecisionRecord& record : told_.all)
        EXPECT_EQ(record.rank, 0U);
    EXPECT_GT(result.rows.replacement, 0U);
}

TEST_F(SimulatedAgents, ScopesThatHaveNoModelAreRefused) {
    train::TrainOptions options = steered();
    options.steer.scope = steer::AgentScope::host;
    options.buffer_scope = buffer::BufferScope::rank;
    EXPECT_THROW(static_cast<void>(run(options, 2)), Error);
    options.steer.scope = steer::AgentScope::rank;
    options.buffer_scope = buffer::BufferScope::host;
    EXPECT_THROW(static_cast<void>(run(options, 2)), Error);
    EXPECT_NO_THROW(static_cast<void>(run(options, 1)));
}

TEST_F(SimulatedAgents, WithoutABufferNobodySteers) {
    train::TrainOptions options = steered();
    options.buffer = 0;
    const train::TrainResult result = run(options, 1);
    EXPECT_TRUE(told_.all.empty());
    EXPECT_EQ(result.agent.totals.decisions, 0U);
    EXPECT_EQ(result.rows.hit, 0U);
}

}  // namespace

}  // namespace rudder::test
