// What a step has to do, counted by hand and by slow loops; how long it takes, by known answers.
#include "run/step_work.hpp"

#include <set>

#include <gmock/gmock.h>

#include "graph/generate/generate.hpp"
#include "partition/partition.hpp"
#include "rudder/core/error.hpp"
#include "sample/schedule.hpp"

#include "support/temp_dir.hpp"

namespace rudder::run {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

/// Rates at which times are easy to see.
MachineProfile round_profile() {
    MachineProfile profile;
    profile.machine.cores = 8;
    profile.compute = {{1, 1e6, 1e6, 1e9, 1e9, 1e9, 1e6, 2}, {2, 2e6, 2e6, 2e9, 2e9, 2e9, 2e6, 2}};
    const LinkRates link{.latency_us = 100,
                         .bytes_per_second = 2e8,
                         .messages_per_second = 1e6,
                         .all_bytes_per_second = 1e8};
    profile.network = {.hosts = {"a", "b"}, .ranks = {2, 2}, .between = link};
    return profile;
}

StepWork round_work() {
    StepWork work;
    work.ranks = 4;
    work.hosts = 2;
    work.edges = 2000;
    work.rows = 500;
    work.input_bytes = 3e6;
    work.remote = 4000;
    work.fetched = 1000;
    work.fetched_double = 500;
    work.row_bytes = 397;
    work.gradient_bytes = 1e5;
    work.network = {.flops = 1e6, .mean_bytes = 4e6};
    return work;
}

TEST(StepWork, CountsTheArithmeticOfABatch) {
    sample::Batch batch;
    batch.blocks.resize(2);
    batch.blocks[0].destinations = 3;
    batch.blocks[0].neighbours.resize(4);
    batch.blocks[1].destinations = 1;
    batch.blocks[1].neighbours.resize(2);
    const NetworkWork work = network_work(batch, 10, 8, 5);
    // 3 rows of [own | mean], 20 columns, to 8: forward and to the weights; 1 row of 16 to 5, and
    // back to the rows below as well.
    EXPECT_EQ(work.flops, 2 * (2 * 3 * 20 * 8) + 3 * (2 * 1 * 16 * 5));
    // 4 edges and 3 own rows of 10 floats once; 2 and 1 of 8 floats, forward and back.
    EXPECT_EQ(work.mean_bytes, 4 * 10 * (4 + 3) + 2 * 4 * 8 * (2 + 1));
}

TEST(StepWork, RowsTakeWhatTheirPrecisionSays) {
    const graph::FeatureInfo halves{.width = 101, .type = ElementType::f16};
    EXPECT_EQ(wire_row_bytes(halves, store::Precision::native), 202);
    EXPECT_EQ(wire_row_bytes(halves, store::Precision::float32), 404);
    EXPECT_EQ(wire_row_bytes(halves, store::Precision::bfloat16), 202);
    EXPECT_EQ(wire_row_bytes(halves, store::Precision::int8), 101);
    EXPECT_EQ(wire_row_bytes(halves, store::Precision::int4), 51);
}

TEST(StepEstimate, FollowsItsFormula) {
    const StepEstimate one = estimate_step(round_work(), round_profile(), 1);
    EXPECT_DOUBLE_EQ(one.sampling, 2e-3);
    EXPECT_DOUBLE_EQ(one.gathering, 3e-3);
    EXPECT_DOUBLE_EQ(one.policy, 4e-3);
    EXPECT_DOUBLE_EQ(one.network, 2 * (1e-3 + 4e-3));
    // A question and its answer, and 1,000 rows of 397 bytes with 3 of their ids.
    EXPECT_DOUBLE_EQ(one.rows, 2e-4 + 1000 * 400 / 1e8);
    // Two ways: the delay, three messages, three quarters of the gradient.
    EXPECT_DOUBLE_EQ(one.gradients, 2 * (1e-4 + 3e-6 + 0.75e5 / 1e8));
    EXPECT_DOUBLE_EQ(one.step(), 19e-3 + one.gradients);
    EXPECT_EQ(one.limit(), "network");
    const StepEstimate two = estimate_step(round_work(), round_profile(), 2);
    EXPECT_DOUBLE_EQ(two.processor(), one.processor() / 2);
    EXPECT_EQ(two.rows, one.rows);
}

TEST(StepEstimate, RowsCountOnlyWhereTheyAreLongerThanTheWorkBesideThem) {
    StepWork work = round_work();
    work.fetched = 10'000;
    const StepEstimate slow = estimate_step(work, round_profile(), 1);
    EXPECT_DOUBLE_EQ(slow.step(), slow.rows + slow.gradients);
    EXPECT_EQ(slow.limit(), "rows");
    work.gradient_bytes = 1e8;
    EXPECT_EQ(estimate_step(work, round_profile(), 1).limit(), "gradients");
}

TEST(StepEstimate, NamesTheLongestPart) {
    const auto limit = [](double StepWork::*part, double value) {
        StepWork work = round_work();
        work.*part = value;
        return estimate_step(work, round_profile(), 1).limit();
    };
    EXPECT_EQ(limit(&StepWork::edges, 1e6), "sampling");
    EXPECT_EQ(limit(&StepWork::input_bytes, 1e9), "gathering");
    EXPECT_EQ(limit(&StepWork::remote, 1e6), "policy");
    EXPECT_EQ(limit(&StepWork::gradient_bytes, 1e9), "gradients");
}

TEST(StepEstimate, NothingTravelsOnOneRankOrWithoutANetwork) {
    StepWork alone = round_work();
    alone.ranks = 1;
    alone.hosts = 1;
    EXPECT_EQ(estimate_step(alone, round_profile(), 1).gradients, 0);
    MachineProfile no_network = round_profile();
    no_network.network.reset();
    const StepEstimate estimate = estimate_step(round_work(), no_network, 1);
    EXPECT_EQ(estimate.rows + estimate.gradients, 0);
    StepWork one_host = round_work();
    one_host.hosts = 1;
    EXPECT_EQ(estimate_step(one_host, round_profile(), 1).rows, 0);
}

TEST(StepAdvice, IsWhatTheEstimateGainsByTheBestFirst) {
    StepWork work = round_work();
    work.fetched = 10'000;
    work.fetched_double = 8'000;
    work.row_bytes = 400;
    const graph::FeatureInfo floats{.width = 100, .type = ElementType::f32};
    const PlannedRun run{.ranks_per_host = 2};
    const auto advice = advise(work, run, floats, round_profile(), 1);
    std::vector<std::string> settings;
    for (const Advice& one : advice)
        settings.push_back(one.setting);
    // More threads do not help: the rows take longer than the processor. A shorter gradient gains
    // less than 3 %.
    EXPECT_THAT(settings, testing::ElementsAre("--precision int8", "--preset slow-network",
                                               "--precision bfloat16", "--buffer 0.5"));
    StepWork narrow = work;
    narrow.row_bytes = 100;
    EXPECT_EQ(advice[0].estimate.step(), estimate_step(narrow, round_profile(), 1).step());
    for (std::size_t i = 1; i < advice.size(); ++i)
        EXPECT_LE(advice[i - 1].estimate.step(), advice[i].estimate.step());
}

TEST(StepAdvice, ThreadsAreAdvisedWhereTheProcessorLimits) {
    StepWork work = round_work();
    work.gradient_bytes = 1e4;
    const graph::FeatureInfo bytes{.width = 397, .type = ElementType::u8};
    const PlannedRun run{.ranks_per_host = 2};
    const auto advice = advise(work, run, bytes, round_profile(), 1);
    ASSERT_EQ(advice.size(), 1U);
    EXPECT_EQ(advice[0].setting, "--threads 4") << "a half of the machine's cores";
    EXPECT_TRUE(advise(work, run, bytes, round_profile(), 4).empty());
}

/// A partition in three parts, and all of its rows by global id.
class StepWorkOf : public testing::Test {
protected:
    void SetUp() override {
        graph::GenerateOptions generate;
        generate.kind = "sbm";
        generate.output = folder_ / "data";
        generate.generator.vertices = 600;
        generate.generator.degree = 3;
        graph::generate_dataset(generate, Progress::none());
        partition::PartitionOptions options;
        options.parts = 3;
        options.method = "random";
        partition::partition_dataset(graph::Dataset(generate.output), folder_ / "parts", options,
                                     Existing::refuse);
        data_.emplace(folder_ / "parts");
        for (const partition::Part& part : data_->all_parts()) {
            for (VertexId v = 0; v < part.own(); ++v) {
                auto& row = rows_.emplace_back();
                for (const LocalId u : part.row(static_cast<LocalId>(v)))
                    row.push_back(part.global(u));
            }
        }
    }
    /// Everything within two edges of the training vertices of a part.
    std::set<VertexId> needed(PartId p) const {
        const auto parts = data_->all_parts();
        const sample::Schedule schedule(comm::Communicator::local(), parts, 3, {.batch = 1000});
        std::vector<VertexId> seeds;
        schedule.seeds(p, 0, seeds);
        std::set<VertexId> all(seeds.begin(), seeds.end());
        for (int hop = 0; hop < 2; ++hop) {
            const std::set<VertexId> before = all;
            for (const VertexId v : before)
                all.insert(rows_[v].begin(), rows_[v].end());
        }
        return all;
    }

    test::TempDir folder_;
    std::optional<partition::PartitionedDataset> data_;
    std::vector<std::vector<VertexId>> rows_;
};

TEST_F(StepWorkOf, AllNeighboursIsWhatASlowWalkFinds) {
    // One step per epoch, and fan-outs that take everything.
    const StepWork work = step_work(
        *data_, {.fanout = {500, 500}, .batch = 1000, .hidden = 8, .buffer = 0, .window = 2});
    double rows = 0;
    double remote = 0;
    for (PartId p = 0; p < 3; ++p) {
        for (const VertexId v : needed(p)) {
            rows += 1;
            remote += data_->book().range(p).contains(v) ? 0 : 1;
        }
    }
    EXPECT_EQ(work.ranks, 3U);
    EXPECT_EQ(work.hosts, 3U);
    EXPECT_EQ(work.steps_per_epoch, 1U);
    EXPECT_THAT(work.rows, DoubleNear(rows / 3, 1e-9));
    EXPECT_THAT(work.remote, DoubleNear(remote / 3, 1e-9));
    EXPECT_EQ(work.fetched, work.remote) << "there is no buffer";
    EXPECT_GT(work.remote, 0);
    EXPECT_GT(work.gradient_bytes, 0);
}

TEST_F(StepWorkOf, ABufferForAllRowsFetchesNoneOnceItIsFull) {
    const StepWork work = step_work(
        *data_, {.fanout = {500, 500}, .batch = 1000, .hidden = 8, .buffer = 4, .window = 2});
    EXPECT_GT(work.remote, 0);
    EXPECT_EQ(work.fetched, 0);
}

TEST_F(StepWorkOf, RanksOfOneHostNeedEachOthersRowsNotFromAfar) {
    const PlannedRun apart{.batch = 50, .hidden = 8, .buffer = 0};
    PlannedRun together = apart;
    together.ranks_per_host = 3;
    const StepWork far = step_work(*data_, apart);
    const StepWork near = step_work(*data_, together);
    EXPECT_GT(far.remote, 0);
    EXPECT_EQ(near.remote, 0);
    EXPECT_EQ(near.hosts, 1U);
    EXPECT_EQ(near.rows, far.rows) << "draws do not depend on hosts";
    EXPECT_EQ(near.edges, far.edges);
}

TEST(StepWork, RefusesAPartitionWithoutFeatures) {
    const test::TempDir folder;
    graph::GenerateOptions generate;
    generate.kind = "grid";
    generate.output = folder / "data";
    generate.generator.rows = 5;
    generate.generator.columns = 5;
    graph::generate_dataset(generate, Progress::none());
    partition::PartitionOptions options;
    options.parts = 2;
    options.method = "random";
    partition::partition_dataset(graph::Dataset(generate.output), folder / "parts", options,
                                 Existing::refuse);
    try {
        static_cast<void>(step_work(partition::PartitionedDataset(folder / "parts"), {}));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 3);
        EXPECT_THAT(error.what(), HasSubstr("no features"));
    }
}

}  // namespace
}  // namespace rudder::run
