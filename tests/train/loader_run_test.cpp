// A loader that is watched: what is told of its steps is what is told of those of training.
#include <gtest/gtest.h>

#include "rudder/train/trainer.hpp"
#include "steer/helm/records.hpp"
#include "train/fixture.hpp"
#include "train/loader.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

/// Keeps what it is told, and what it came to in the end.
struct KeptRun final : train::TrainObserver {
    std::vector<train::StepRecord> steps;
    std::vector<train::EpochRecord> epochs;
    std::vector<steer::DecisionRecord> taken;
    train::TrainResult result;

    void records(std::span<const train::StepRecord> records) override {
        steps.insert(steps.end(), records.begin(), records.end());
    }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        taken.insert(taken.end(), decisions.begin(), decisions.end());
    }
    void epoch_done(const train::EpochRecord& record, std::uint32_t /*epochs*/) override {
        epochs.push_back(record);
    }
};

class WatchedLoader : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {});
        return parts;
    }
    static train::TrainOptions options(const std::string& policy) {
        train::TrainOptions options = small_options();
        options.batch = 5;
        options.policy = policy;
        options.eval_every = 0;
        return options;
    }
    /// Rank 0's side of something that all ranks do.
    template <class Body>
    static std::unique_ptr<KeptRun> on_two_hosts(const Body& body) {
        std::vector<std::unique_ptr<KeptRun>> ranks;
        for (int rank = 0; rank < 2; ++rank)
            ranks.push_back(std::make_unique<KeptRun>());
        comm::SimulatedCluster machines({.ranks = 2, .seed = 5});
        machines.run([&](const comm::Communicator& comm) {
            body(comm, *ranks[static_cast<std::size_t>(comm.rank())]);
        });
        EXPECT_TRUE(ranks[1]->steps.empty()) << "rank 0 alone is told";
        EXPECT_TRUE(ranks[1]->epochs.empty());
        return std::move(ranks[0]);
    }
    static std::unique_ptr<KeptRun> trained(const train::TrainOptions& options) {
        return on_two_hosts([&](const comm::Communicator& comm, KeptRun& kept) {
            train::Trainer trainer(comm, data(), options);
            kept.result = trainer.run(kept);
        });
    }
    /// Each part of rank r has a loss of r + 1 in every step.
    static std::unique_ptr<KeptRun> loaded(const train::TrainOptions& options) {
        return on_two_hosts([&](const comm::Communicator& comm, KeptRun& kept) {
            train::Loader loader(comm, data(), {.train = options, .observer = &kept});
            while (const auto step = loader.next()) {
                for (std::size_t part = 0; part < step->batches.size(); ++part)
                    loader.note_loss(part, static_cast<float>(comm.rank() + 1));
            }
            loader.close();
            kept.result = loader.result();
        });
    }
    static void expect_same_steps(const KeptRun& run, const KeptRun& training) {
        ASSERT_EQ(run.steps.size(), training.steps.size());
        for (std::size_t i = 0; i < run.steps.size(); ++i) {
            const train::StepRecord& ours = run.steps[i];
            const train::StepRecord& theirs = training.steps[i];
            EXPECT_EQ(ours.step, theirs.step);
            EXPECT_EQ(ours.rank, theirs.rank);
            EXPECT_EQ(ours.epoch, theirs.epoch);
            EXPECT_EQ(ours.rows, theirs.rows) << "step " << ours.step << " of rank " << ours.rank;
            EXPECT_EQ(ours.edges, theirs.edges);
            EXPECT_EQ(ours.buffered, theirs.buffered);
            EXPECT_EQ(ours.knobs, theirs.knobs);
        }
        EXPECT_EQ(run.result.rows, training.result.rows);
        EXPECT_EQ(run.result.edges, training.result.edges);
        EXPECT_EQ(run.result.steps, training.result.steps);
        EXPECT_EQ(run.result.steps_per_epoch, training.result.steps_per_epoch);
        EXPECT_EQ(run.result.bytes.features, training.result.bytes.features);
        EXPECT_EQ(run.result.capacity, training.result.capacity);
        EXPECT_EQ(run.result.row_bytes, training.result.row_bytes);
        expect_closed(run.result);
    }
};

TEST_F(WatchedLoader, RecordsAreThoseOfTraining) {
    for (const char* policy : {"window:4", "lru", "none"}) {
        SCOPED_TRACE(policy);
        const auto ours = loaded(options(policy));
        expect_same_steps(*ours, *trained(options(policy)));
        EXPECT_FALSE(ours->result.interrupted);
    }
}

TEST_F(WatchedLoader, DecisionsAreThoseOfTraining) {
    train::TrainOptions asked = options("scored");
    asked.steer.agent = "random:0.5";
    asked.steer.mode = steer::AgentMode::sync;
    const auto ours = loaded(asked);
    const auto theirs = trained(asked);
    expect_same_steps(*ours, *theirs);
    EXPECT_GT(ours->taken.size(), 4U);
    ASSERT_EQ(ours->taken.size(), theirs->taken.size());
    for (std::size_t i = 0; i < ours->taken.size(); ++i) {
        EXPECT_EQ(ours->taken[i].step, theirs->taken[i].step);
        EXPECT_EQ(ours->taken[i].rank, theirs->taken[i].rank);
    }
    EXPECT_EQ(ours->result.agent.totals.decisions, theirs->result.agent.totals.decisions);
    EXPECT_EQ(ours->result.agent.totals.twin_rows, theirs->result.agent.totals.twin_rows);
}

TEST_F(WatchedLoader, LossesAreThoseThatWereTold) {
    const auto run = loaded(options("lru"));
    for (const train::StepRecord& record : run->steps)
        EXPECT_FLOAT_EQ(record.loss, 1.5F) << "the mean over parts of rank 0 and 1";
    ASSERT_GT(run->epochs.size(), 1U);
    for (std::size_t i = 0; i < run->epochs.size(); ++i) {
        EXPECT_EQ(run->epochs[i].epoch, i);
        EXPECT_EQ(run->epochs[i].steps, run->result.steps_per_epoch);
        EXPECT_FLOAT_EQ(static_cast<float>(run->epochs[i].loss), 1.5F);
    }
    EXPECT_FLOAT_EQ(run->result.last_loss, 1.5F);
}

/// Whoever closes first goes on with the others' steps; all of them are told of.
TEST_F(WatchedLoader, RanksMayCloseAtDifferentSteps) {
    const auto run = on_two_hosts([&](const comm::Communicator& comm, KeptRun& kept) {
        train::Loader loader(comm, data(), {.train = options("lru"), .observer = &kept});
        const int steps = comm.rank() == 0 ? 2 : 7;
        for (int i = 0; i < steps; ++i)
            static_cast<void>(loader.next());
        loader.close();
        kept.result = loader.result();
    });
    EXPECT_EQ(run->result.steps, 8U) << "with that in which they learn that nobody goes on";
    EXPECT_EQ(run->steps.size(), 16U);
}

}  // namespace
}  // namespace rudder::test
