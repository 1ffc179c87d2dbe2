#include "train/simulate/simulation.hpp"

#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/json_lines_sink.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {

namespace {

using namespace std::chrono_literals;
using train::ClusterModel;
using train::Simulated;
using train::Simulation;
using train::TrainOptions;

ClusterModel four_ranks(int per_host) {
    ClusterModel cluster;
    cluster.ranks = 4;
    cluster.ranks_per_host = per_host;
    cluster.compute = {.edges = 1e7,
                       .gather_bytes = 1e9,
                       .flops = 1e10,
                       .aggregate_bytes = 1e9,
                       .policy_rows = 1e7,
                       .messages = 1e6};
    cluster.network.link = {.delay = 50us, .bytes_per_second = 1e8};
    return cluster;
}

Simulated simulate(const partition::PartitionedDataset& data, const TrainOptions& options,
                   const ClusterModel& cluster, std::uint64_t steps = 0) {
    train::TrainObserver nobody;
    Simulation simulation(data, options, cluster, steps);
    return simulation.run(nobody);
}

/// Runs both, and holds everything that is counted of the one against the other.
void expect_as_trained(const partition::PartitionedDataset& data, TrainOptions options,
                       int per_host) {
    options.eval_every = 0;
    options.topology = train::TopologyChoice::replicated;
    const ClusterModel cluster = four_ranks(per_host);
    const train::TrainResult real =
        train_simulated(data, options,
                        {.ranks = 4, .ranks_per_host = per_host, .link = cluster.network.link})
            .front()
            .result;
    const train::TrainResult made = simulate(data, options, cluster).result;
    EXPECT_EQ(made.rows, real.rows);
    EXPECT_EQ(made.edges, real.edges);
    EXPECT_EQ(made.bytes.features, real.bytes.features);
    EXPECT_EQ(made.bytes.requests, real.bytes.requests);
    EXPECT_EQ(made.bytes.gradients, real.bytes.gradients);
    EXPECT_EQ(made.bytes.topology, real.bytes.topology);
    EXPECT_EQ(made.row_bytes, real.row_bytes);
    EXPECT_EQ(made.steps, real.steps);
    EXPECT_EQ(made.steps_per_epoch, real.steps_per_epoch);
    EXPECT_EQ(made.epochs.size(), real.epochs.size());
    EXPECT_EQ(made.capacity, real.capacity);
    EXPECT_EQ(made.buffer_bytes, real.buffer_bytes);
    EXPECT_EQ(made.policy->text(), real.policy->text());
    if (options.floor) {
        EXPECT_EQ(made.floor, real.floor);
    }
    EXPECT_EQ(made.rows.demand > 0, per_host < 4);
}

/// Policy, ranks of a host, parts, whose buffer.
using Case = std::tuple<const char*, int, PartId, buffer::BufferScope>;

class SimulatedBesideTrained : public testing::TestWithParam<Case> {};

TEST_P(SimulatedBesideTrained, RowsAndBytesAreThoseOfTraining) {
    const auto [policy, per_host, parts, scope] = GetParam();
    const TempDir folder;
    const auto data = make_parts(folder.path(), {.vertices = 600, .parts = parts});
    TrainOptions options = small_options();
    options.policy = policy;
    options.buffer_scope = scope;
    options.floor = options.policy != "none";
    expect_as_trained(data, options, per_host);
}

constexpr auto by_host = buffer::BufferScope::host;
constexpr auto by_rank = buffer::BufferScope::rank;

INSTANTIATE_TEST_SUITE_P(
    Each, SimulatedBesideTrained,
    testing::Values(Case{"none", 1, 4, by_host}, Case{"none", 1, 8, by_host},
                    Case{"none", 2, 4, by_host}, Case{"window:4", 1, 4, by_host},
                    Case{"window:4", 2, 8, by_host}, Case{"window:6", 2, 4, by_rank},
                    Case{"window:4", 4, 4, by_host}, Case{"window:4", 3, 4, by_host},
                    Case{"lru", 2, 4, by_host}, Case{"lfu", 2, 8, by_rank},
                    Case{"scored,every:3", 1, 4, by_host},
                    Case{"scored-faithful,every:2", 2, 8, by_host},
                    Case{"static-degree", 2, 4, by_host}, Case{"static-vip", 1, 4, by_host},
                    Case{"static-vip", 2, 4, by_host}, Case{"periodic,delta:2", 1, 8, by_host},
                    Case{"window:4,distance:2", 1, 4, by_host}));

/// Options that change what travels, one at a time.
using Changed = std::pair<const char*, void (*)(TrainOptions&)>;

class ChangedBesideTrained : public testing::TestWithParam<Changed> {};

TEST_P(ChangedBesideTrained, RowsAndBytesAreThoseOfTraining) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {.vertices = 600, .parts = 4});
    TrainOptions options = small_options();
    options.policy = "window:4";
    GetParam().second(options);
    expect_as_trained(data, options, 2);
}

INSTANTIATE_TEST_SUITE_P(
    Each, ChangedBesideTrained,
    testing::Values(
        Changed{"model", [](TrainOptions& o) { o.model = "gcn"; }},
        Changed{"attention", [](TrainOptions& o) { o.model = "gat"; }},
        Changed{"layers",
                [](TrainOptions& o) {
                    o.layers = 3;
                    o.fanout = {2, 2, 3};
                    o.norm = "layer";
                }},
        Changed{"width", [](TrainOptions& o) { o.hidden = 37; }},
        Changed{"sampler", [](TrainOptions& o) { o.sampler = sample::Sampler::plain; }},
        Changed{"replacement", [](TrainOptions& o) { o.with_replacement = true; }},
        Changed{"order", [](TrainOptions& o) { o.seed_order = sample::SeedOrder::clustered; }},
        Changed{"batch", [](TrainOptions& o) { o.batch = 5; }},
        Changed{"gradients", [](TrainOptions& o) { o.gradient_precision = "bfloat16"; }},
        Changed{"precision", [](TrainOptions& o) { o.precision = store::Precision::int8; }},
        Changed{"bulk", [](TrainOptions& o) { o.bulk = 9; }},
        Changed{"rows", [](TrainOptions& o) { o.buffer_rows = 50; }},
        Changed{"bytes", [](TrainOptions& o) { o.buffer_bytes = 2000; }},
        Changed{"nothing", [](TrainOptions& o) { o.buffer = 0; }},
        Changed{"flight", [](TrainOptions& o) { o.in_flight = 4; }},
        Changed{"seed", [](TrainOptions& o) { o.seed = 99; }}),
    [](const auto& each) { return std::string(each.param.first); });

TEST(SimulatedRun, TheWindowThatFitsIsThatOfTraining) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {.vertices = 600, .parts = 4});
    TrainOptions options = small_options();
    options.policy = "window";
    options.eval_every = 0;
    options.epochs = 1;
    ClusterModel cluster = four_ranks(1);
    const auto real = train_simulated(data, options, {.ranks = 4, .ranks_per_host = 1});
    const train::TrainResult made = simulate(data, options, cluster).result;
    EXPECT_EQ(made.policy->text(), real.front().result.policy->text());
}

TEST(SimulatedRun, SparseRowsAreAsWide) {
    const TempDir folder;
    const auto data =
        make_parts(folder.path(), {.vertices = 400, .width = 400, .words = 9, .parts = 4});
    TrainOptions options = small_options();
    options.policy = "lru";
    options.sparse = store::SparseChoice::on;
    const train::TrainResult made = simulate(data, options, four_ranks(1)).result;
    EXPECT_TRUE(made.sparse);
    expect_as_trained(data, options, 1);
}

/// Both ask the agent within the step, so that neither depends on how fast it answers.
TEST(SimulatedRun, AnAgentSteersAsInTraining) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {.vertices = 600, .parts = 4});
    TrainOptions options = small_options();
    options.policy = "scored-faithful";
    options.epochs = 4;
    options.steer.agent = "every:3";
    options.steer.mode = steer::AgentMode::inline_call;
    options.steer.scope = steer::AgentScope::rank;
    expect_as_trained(data, options, 1);
    EXPECT_GT(simulate(data, options, four_ranks(1)).result.rows.replacement, 0U);
}

class SimulationTest : public testing::Test {
protected:
    TempDir folder_;
    partition::PartitionedDataset data_ = make_parts(folder_.path(), {.vertices = 600, .parts = 4});
};

/// What every line of a run's folder says.
std::string lines_of(const partition::PartitionedDataset& data, const TrainOptions& options,
                     const ClusterModel& cluster, int threads) {
    class Lines final : public train::TrainObserver {
    public:
        std::string text;
        void records(std::span<const train::StepRecord> records) override {
            for (const train::StepRecord& record : records)
                lines_.append(text, record);
        }
        void decisions(std::span<const steer::DecisionRecord> decisions) override {
            for (const steer::DecisionRecord& decision : decisions)
                text += steer::log_line(decision) + "\n";
        }
        void epoch_done(const train::EpochRecord& epoch, std::uint32_t /*epochs*/) override {
            text += report::epoch_line(epoch);
        }

    private:
        report::StepLines lines_;
    } lines;
    set_thread_count(threads);
    Simulation simulation(data, options, cluster);
    static_cast<void>(simulation.run(lines));
    set_thread_count(0);
    return lines.text;
}

TEST_F(SimulationTest, AreTheSameOnAnyNumberOfThreads) {
    for (const char* agent : {"never", "bandit", "every:3"}) {
        TrainOptions options = small_options();
        options.epochs = 4;
        options.policy = std::string(agent) == "every:3" ? "scored" : "window:4";
        options.steer.agent = agent;
        options.steer.link = true;
        const std::string one = lines_of(data_, options, four_ranks(1), 1);
        EXPECT_FALSE(one.empty());
        EXPECT_EQ(one, lines_of(data_, options, four_ranks(1), 4)) << agent;
    }
}

TEST_F(SimulationTest, AnAgentOfTheWholeJobSteersAllBuffers) {
    TrainOptions options = small_options();
    options.epochs = 6;
    options.policy = "scored-faithful";
    options.steer.agent = "every:2";
    options.steer.scope = steer::AgentScope::job;
    const train::TrainResult steered = simulate(data_, options, four_ranks(1)).result;
    EXPECT_GT(steered.agent.totals.applied, 0U);
    EXPECT_GT(steered.rows.replacement, 0U);
    options.steer.agent = "never";
    EXPECT_EQ(simulate(data_, options, four_ranks(1)).result.rows.replacement, 0U);
}

TEST_F(SimulationTest, NoStepIsShorterThanItsRowsTakeOnTheWire) {
    TrainOptions options = small_options();
    options.policy = "none";
    ClusterModel cluster = four_ranks(1);
    cluster.network.link.bytes_per_second = 1e6;
    const train::TrainResult slow = simulate(data_, options, cluster).result;
    // Four links, none of them faster.
    EXPECT_GE(slow.seconds, static_cast<double>(slow.bytes.features) / 4e6);
    const Seconds& waits = slow.step_seconds;
    EXPECT_GT(waits.wait_rows + waits.wait_gradients + waits.wait_ranks, 0.9 * waits.step);
    EXPECT_GT(waits.wait_rows, 0.1 * waits.step);
    cluster.network.link.bytes_per_second = 1e9;
    const train::TrainResult fast = simulate(data_, options, cluster).result;
    EXPECT_LT(fast.seconds, slow.seconds / 5);
    EXPECT_EQ(fast.rows, slow.rows);
}

TEST_F(SimulationTest, AloneWithRowsAtHandAStepTakesItsComputing) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {.vertices = 300, .parts = 1});
    ClusterModel cluster;
    cluster.compute.flops = 1e8;
    cluster.compute.step_factor = 2;
    const train::TrainResult one = simulate(data, small_options(), cluster).result;
    EXPECT_NEAR(one.step_seconds.step, one.step_seconds.compute,
                1e-6 * static_cast<double>(one.steps));
    cluster.compute.step_factor = 4;
    const train::TrainResult twice = simulate(data, small_options(), cluster).result;
    EXPECT_GT(twice.seconds, 1.8 * one.seconds);
    EXPECT_LT(twice.seconds, 2.0 * one.seconds);
}

TEST_F(SimulationTest, TheWaitsOfAStepAddUp) {
    TrainOptions options = small_options();
    options.policy = "window:4";
    const Seconds s = simulate(data_, options, four_ranks(2)).result.step_seconds;
    EXPECT_NEAR(s.step,
                s.compute + s.wait_rows + s.wait_gradients + s.wait_ranks + s.wait_agent + s.rest,
                1e-6);
    EXPECT_GT(s.wait_rows + s.wait_ranks + s.wait_gradients, 0);
}

TEST_F(SimulationTest, ALongerWindowHidesTheWire) {
    TrainOptions options = small_options();
    options.epochs = 6;
    options.buffer = 0.5;
    ClusterModel cluster = four_ranks(1);
    cluster.network.link.bytes_per_second = 2e6;
    options.policy = "none";
    const double none = simulate(data_, options, cluster).result.seconds;
    options.policy = "window:8";
    EXPECT_LT(simulate(data_, options, cluster).result.seconds, 0.9 * none);
}

TEST_F(SimulationTest, TakesAsManyStepsAsItIsTold) {
    const train::TrainResult few = simulate(data_, small_options(), four_ranks(1), 3).result;
    EXPECT_EQ(few.steps, 3U);
    EXPECT_EQ(few.epochs.size(), 1U);
    EXPECT_EQ(few.epochs.front().steps, 3U);
}

TEST_F(SimulationTest, RefusesWhatItHasNoModelOf) {
    const auto refused = [&](auto&& change) {
        TrainOptions options = small_options();
        change(options);
        try {
            static_cast<void>(simulate(data_, options, four_ranks(1)));
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            return error.problem();
        }
        return std::string("nothing");
    };
    EXPECT_THAT(refused([](auto& o) { o.topology = train::TopologyChoice::partitioned; }),
                testing::HasSubstr("topology"));
    EXPECT_THAT(refused([](auto& o) { o.task = train::TaskKind::link; }),
                testing::HasSubstr("links"));
    EXPECT_THAT(refused([](auto& o) { o.slow = "1:2"; }), testing::HasSubstr("slow"));
}

}  // namespace

}  // namespace rudder::test
