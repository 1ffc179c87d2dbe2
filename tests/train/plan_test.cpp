// What a plan says against what a run then does, and against sums done by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

/// Every record of a run.
class PlanRecords final : public train::TrainObserver {
public:
    void records(std::span<const train::StepRecord> records) override {
        all.insert(all.end(), records.begin(), records.end());
    }
    std::vector<train::StepRecord> all;
};

class Plans : public testing::Test {
protected:
    /// Few enough steps that a plan looks at all of an epoch: its figures are then exact.
    static train::TrainOptions few_steps() {
        train::TrainOptions options = small_options();
        options.batch = 64;
        options.epochs = 1;
        options.policy = "none";
        options.eval_every = 0;
        return options;
    }
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {});
        return parts;
    }
    static train::TrainPlan plan(const train::TrainOptions& options,
                                 const comm::SimulationOptions& cluster) {
        train::TrainPlan result;
        comm::SimulatedCluster machines(cluster);
        machines.run([&](const comm::Communicator& comm) {
            train::Trainer trainer(comm, data(), options);
            const train::TrainPlan own = trainer.plan();
            if (comm.rank() == 0) result = own;
        });
        return result;
    }
};

TEST_F(Plans, RowsAreThoseOfTheEpochThatFollows) {
    for (const int ranks : {1, 2, 4}) {
        SCOPED_TRACE(ranks);
        comm::SimulatedCluster machines({.ranks = ranks, .seed = 3});
        train::TrainPlan planned;
        PlanRecords seen;
        machines.run([&](const comm::Communicator& comm) {
            train::Trainer trainer(comm, data(), few_steps());
            const train::TrainPlan own = trainer.plan();
            PlanRecords others;
            static_cast<void>(trainer.run(comm.rank() == 0 ? seen : others));
            if (comm.rank() == 0) planned = own;
        });
        ASSERT_LE(planned.steps_per_epoch, 4U) << "the plan would be an estimate";
        Rows rows;
        for (const train::StepRecord& record : seen.all)
            rows += record.rows;
        EXPECT_EQ(planned.rows, static_cast<double>(rows.local + rows.demand + rows.saved));
        // Without a buffer each remote row of a part's batch is fetched, or saved in its step by
        // another part of the host.
        EXPECT_GE(planned.remote_rows, static_cast<double>(rows.demand));
        EXPECT_LE(planned.remote_rows, static_cast<double>(rows.demand + rows.saved));
        EXPECT_EQ(planned.remote_rows == 0, ranks == 1);
    }
}

TEST_F(Plans, BytesFollowFromRowsWeightsAndRanks) {
    for (const int ranks : {1, 2, 4}) {
        const train::TrainPlan planned = plan(few_steps(), {.ranks = ranks, .seed = 1});
        EXPECT_EQ(planned.feature_bytes, planned.remote_rows * 12 * 4) << "12 columns of floats";
        const double weights = static_cast<double>(planned.parameters) * 4;
        const double parts = 4.0 / ranks;
        EXPECT_DOUBLE_EQ(planned.gradient_bytes, static_cast<double>(planned.steps_per_epoch) *
                                                     weights * (ranks - 1) * (1 + parts));
    }
}

TEST_F(Plans, EachQuantityGrowsWithWhatItIsOf) {
    const comm::SimulationOptions cluster{.ranks = 2, .seed = 1};
    train::TrainOptions options = few_steps();
    options.policy = "window:2";
    options.sample_tasks = 1;
    const train::TrainPlan base = plan(options, cluster);
    const auto changed = [&](auto change) {
        train::TrainOptions other = options;
        change(other);
        return plan(other, cluster);
    };
    const auto deeper = changed([](auto& o) { o.in_flight = 6; });
    EXPECT_EQ(deeper.in_flight_bytes, 3 * base.in_flight_bytes);
    EXPECT_EQ(deeper.network_bytes, base.network_bytes);
    const auto wider = changed([](auto& o) { o.hidden = 64; });
    EXPECT_GT(wider.network_bytes, 2 * base.network_bytes);
    EXPECT_GT(wider.parameters, base.parameters);
    EXPECT_EQ(wider.in_flight_bytes, base.in_flight_bytes);
    EXPECT_EQ(wider.rows, base.rows) << "the sample does not depend on the network";
    const auto whole = changed([](auto& o) { o.buffer = 1; });
    const auto half = changed([](auto& o) { o.buffer = 0.5; });
    EXPECT_NEAR(static_cast<double>(whole.buffer_bytes),
                2.0 * static_cast<double>(half.buffer_bytes), 2 * 48);
    const auto none = changed([](auto& o) { o.policy = "none"; });
    EXPECT_EQ(none.buffer_bytes, 0U);
    EXPECT_EQ(none.bookkeeping_bytes, 0U);
    EXPECT_EQ(none.bytes_per_remote_row(), 0);
    // Two hosts with half of the vertices each: the rows of the other half.
    EXPECT_EQ(base.remote_vertices, data().info().vertices / 2);
    EXPECT_GT(base.bytes_per_remote_row(), 32) << "a number, a slot and what the policy knows";
    EXPECT_LT(base.bytes_per_remote_row(), 1000);
    const auto farther = changed([](auto& o) { o.policy = "window:32"; });
    EXPECT_GT(farther.bookkeeping_bytes, base.bookkeeping_bytes) << "more steps are known";
    EXPECT_EQ(farther.edges_ahead, 2 * base.edges_ahead)
        << "16 ahead, or 32 and 2 being drawn; 2 in flight";
    EXPECT_DOUBLE_EQ(farther.bytes_per_edge(), base.bytes_per_edge());
    EXPECT_GT(base.bytes_per_edge(), 4) << "a position, and shares of vertices and offsets";
    EXPECT_EQ(changed([](auto& o) { o.buffer_rows = 10; }).buffer_bytes, 10U * 48);
    const auto all = changed([](auto& o) { o.fanout = {-1, -1}; });
    EXPECT_GT(all.rows, base.rows);
    EXPECT_GT(all.remote_rows, base.remote_rows);
    const auto limited = changed([](auto& o) { o.memory = std::uint64_t{1} << 30U; });
    EXPECT_EQ(limited.memory_bytes, std::uint64_t{1} << 30U);
}

TEST_F(Plans, WhatIsNeededIsTheSumOfItsParts) {
    const train::TrainPlan p = plan(few_steps(), {.ranks = 4, .ranks_per_host = 2, .seed = 1});
    EXPECT_EQ(p.needed_bytes(), p.topology_bytes + p.store_bytes + p.network_bytes +
                                    p.in_flight_bytes + p.buffer_bytes + p.bookkeeping_bytes +
                                    p.queue_bytes + p.evaluation_bytes);
    EXPECT_EQ(p.topology, "replicated");
    for (const std::uint64_t bytes :
         {p.topology_bytes, p.network_bytes, p.in_flight_bytes, p.queue_bytes, p.memory_bytes})
        EXPECT_GT(bytes, 0U);
    const train::TrainPlan alone = plan(few_steps(), {.ranks = 4, .seed = 1});
    EXPECT_EQ(alone.topology_bytes, p.topology_bytes) << "one copy per host";
    train::TrainOptions apart = few_steps();
    apart.topology = train::TopologyChoice::partitioned;
    const train::TrainPlan q = plan(apart, {.ranks = 4, .ranks_per_host = 2, .seed = 1});
    EXPECT_EQ(q.topology, "partitioned");
    EXPECT_LT(q.topology_bytes, p.topology_bytes) << "half of the graph per host";
    EXPECT_EQ(q.rows, p.rows);
    EXPECT_EQ(q.remote_rows, p.remote_rows);
}

}  // namespace
}  // namespace rudder::test
