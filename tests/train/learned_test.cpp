// Rows that are learned: gradients, the same bits everywhere, accounts, checkpoints, what they are
// worth, what is refused.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/train/infer.hpp"
#include "train/checkpoints/checkpoint.hpp"
#include "train/learned_bed.hpp"
#include "train/loader.hpp"
#include "train/prediction/inference.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

train::TrainOptions learned_options(const std::string& embeddings = "8") {
    train::TrainOptions options = small_options();
    options.embeddings = embeddings;
    return options;
}

class LearnedRows : public LearnedBed {
protected:
    static void expect_same(const Trained& a, const Trained& b, const std::string& where) {
        EXPECT_EQ(a.result.digest, b.result.digest) << where;
        EXPECT_EQ(a.weights, b.weights) << where;
        ASSERT_EQ(a.result.epochs.size(), b.result.epochs.size());
        for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
            const train::Scores& x = a.result.epochs[e].scores;
            const train::Scores& y = b.result.epochs[e].scores;
            EXPECT_EQ(x.valid.correct, y.valid.correct) << where;
            EXPECT_EQ(x.valid.loss, y.valid.loss) << where;
            EXPECT_EQ(x.test.correct, y.test.correct) << where;
        }
    }
    /// Threads, ranks, hosts, topologies, policies, look-ahead and steps in flight.
    static void expect_same_everywhere(const partition::PartitionedDataset& data,
                                       const train::TrainOptions& asked) {
        const Trained alone = train_alone(data, asked);
        EXPECT_NE(alone.result.digest, 0U);
        expect_closed(alone.result);
        set_thread_count(3);
        expect_same(train_alone(data, asked), alone, "threads");
        set_thread_count(0);
        struct Place {
            int ranks;
            int ranks_per_host;
            const char* policy;
            std::uint64_t in_flight;
        };
        for (const Place& place : {Place{2, 1, "window", 2}, Place{4, 1, "none", 4},
                                   Place{4, 2, "lru", 1}, Place{2, 2, "none", 3}}) {
            train::TrainOptions options = asked;
            options.policy = place.policy;
            options.in_flight = place.in_flight;
            options.floor = true;
            options.topology = place.in_flight % 2 == 0 ? train::TopologyChoice::partitioned
                                                        : train::TopologyChoice::replicated;
            const auto all = train_simulated(
                data, options,
                {.ranks = place.ranks, .ranks_per_host = place.ranks_per_host, .seed = 5});
            const std::string where =
                std::to_string(place.ranks) + " ranks, policy " + place.policy;
            for (const Trained& mine : all)
                expect_same(mine, alone, where);
            const train::TrainResult& result = all.front().result;
            expect_closed(result);
            const bool hosts = place.ranks > place.ranks_per_host;
            EXPECT_EQ(result.learned > 0, hosts) << where;
            EXPECT_LE(result.learned, result.rows.demand);
            EXPECT_GE(result.rows.fetched(), result.floor.value_or(0)) << where;
        }
    }
    static train::LearnedState last_rows(const fs::path& run) {
        return train::read_checkpoint(train::list_checkpoints(run).back()).learned;
    }
};

TEST_F(LearnedRows, TheSameEverywhere) {
    expect_same_everywhere(bare(), learned_options());
}

TEST_F(LearnedRows, TheSameEverywhereBesideFeatures) {
    for (const char* model : {"sage", "rgcn", "gat"}) {
        train::TrainOptions options = learned_options("author=9,venue=3");
        options.model = model;
        expect_same_everywhere(typed(), options);
    }
}

TEST_F(LearnedRows, TheSameOnRanksForAllModelsAndTasks) {
    for (const char* model : {"gcn", "gat", "gatv2"}) {
        train::TrainOptions options = learned_options();
        options.model = model;
        options.input_dropout = 0.1;
        options.residual = true;
        const Trained alone = train_alone(bare(), options);
        expect_same(train_simulated(bare(), options, {.ranks = 4, .seed = 2}).front(), alone,
                    model);
    }
    train::TrainOptions links = learned_options();
    links.task = train::TaskKind::link;
    links.links.eval_negatives = 20;
    const Trained alone = train_alone(bare(), links);
    EXPECT_EQ(train_simulated(bare(), links, {.ranks = 2, .seed = 2}).front().result.digest,
              alone.result.digest);
}

TEST_F(LearnedRows, OtherWidthsAndSeedsAreOtherRuns) {
    const std::uint64_t digest = train_alone(bare(), learned_options()).result.digest;
    EXPECT_NE(train_alone(bare(), learned_options("7")).result.digest, digest);
    train::TrainOptions options = learned_options();
    options.seed = 8;
    EXPECT_NE(train_alone(bare(), options).result.digest, digest);
}

/// Of communities whose vertices have nothing but edges.
TEST_F(LearnedRows, LearnWhatEdgesAloneTell) {
    train::TrainOptions options = learned_options("16");
    options.fanout = {8, 8};
    options.epochs = 30;
    options.dropout = 0;
    options.eval_every = 30;
    options.optimiser.learning_rate = 0.03;
    const Trained trained = train_alone(bare(), options);
    const train::Score& test = trained.result.epochs.back().scores.test;
    EXPECT_GT(test.share(), 0.6) << "by chance 0.25";
}

/// The gradient that Adam took of a step, held against differences of that step's loss: the second
/// epoch's only step is done again and again from checkpoints whose rows were changed by hand.
TEST_F(LearnedRows, GradientsAreThoseOfDifferences) {
    train::TrainOptions options = learned_options("3");
    options.model = "gat";  // smooth
    options.dropout = 0;
    options.batch = 1000;
    options.eval_every = 0;
    options.epochs = 1;
    const TempDir folder;
    static_cast<void>(stretch(bare(), options, folder.path() / "first", 2, 0));
    const fs::path first = train::list_checkpoints(folder.path() / "first").back();
    const train::Checkpoint before = train::read_checkpoint(first);
    ASSERT_EQ(before.state.step, 1U);
    ASSERT_EQ(before.learned.values.size(), 300U * 3);
    options.epochs = 2;
    int runs = 0;
    const auto loss_of = [&](const train::Checkpoint& from) {
        const fs::path run = folder.path() / std::to_string(runs++);
        static_cast<void>(train::write_checkpoint(run, from));
        return static_cast<double>(stretch(bare(), options, run, 2, 0).front().result.last_loss);
    };
    static_cast<void>(loss_of(before));
    const train::LearnedState after = last_rows(folder.path() / "0");
    double largest = 0;
    for (std::size_t i = 0; i < 300U * 3; i += 97) {
        const double mean = static_cast<double>(before.learned.mean[i]);
        const bool read = after.taken[i / 3] != before.learned.taken[i / 3];
        const double gradient = read ? (static_cast<double>(after.mean[i]) - 0.9 * mean) / 0.1 : 0;
        constexpr float step = 0.02F;
        train::Checkpoint moved = before;
        moved.learned.values[i] += step;
        const double above = loss_of(moved);
        moved.learned.values[i] = before.learned.values[i] - step;
        const double below = loss_of(moved);
        EXPECT_NEAR(gradient, (above - below) / 2 / static_cast<double>(step), 1e-4) << i;
        largest = std::max(largest, std::fabs(gradient));
    }
    EXPECT_GT(largest, 5e-4) << "nothing was compared";
}

/// What a step read is changed, and nothing else; each row counts its steps.
TEST_F(LearnedRows, ChangeWhereTheyAreRead) {
    train::TrainOptions options = learned_options();
    options.batch = 2;
    options.fanout = {2, 2};
    options.eval_every = 0;
    options.epochs = 1;
    const TempDir folder;
    const Trained drawn = [&] {
        train::TrainOptions still = options;
        still.optimiser.learning_rate = 1e-30;
        return stretch(bare(), still, folder.path() / "still", 1, 0).front();
    }();
    const auto all = stretch(bare(), options, folder.path() / "run", 1, 3);
    const train::LearnedState still = last_rows(folder.path() / "still");
    const train::LearnedState changed = last_rows(folder.path() / "run");
    std::size_t unread = 0;
    double taken = 0;
    float fewest = 100;
    for (std::size_t row = 0; row < 300; ++row) {
        taken += static_cast<double>(changed.taken[row]);
        EXPECT_LE(changed.taken[row], static_cast<float>(all.front().result.steps));
        if (changed.taken[row] > 0) fewest = std::min(fewest, changed.taken[row]);
        bool same = true;
        for (std::size_t c = row * 8; c < row * 8 + 8; ++c)
            same = same && changed.values[c] == still.values[c];
        EXPECT_EQ(same, changed.taken[row] == 0) << row;
        unread += same ? 1 : 0;
    }
    EXPECT_GT(unread, 0U);
    EXPECT_LT(unread, 300U);
    EXPECT_EQ(fewest, 1.F) << "one step counts once";
    // Parts that read the same vertex in a step change it once.
    EXPECT_LE(taken, static_cast<double>(all.front().result.rows.needed));
    EXPECT_GT(taken, 0);
    EXPECT_GT(drawn.result.steps, all.front().result.steps);
}

TEST_F(LearnedRows, ResumedIsTheSameOnOtherRanks) {
    for (const bool several : {false, true}) {
        const partition::PartitionedDataset& data = several ? typed() : bare();
        train::TrainOptions options = learned_options(several ? "6" : "8");
        options.epochs = 3;
        options.eval_every = 1;
        options.batch = 5;
        const TempDir folder;
        const auto whole = stretch(data, options, folder.path() / "whole", 2, 0);
        const train::LearnedState rows = last_rows(folder.path() / "whole");
        const std::uint64_t steps = whole.front().result.steps;
        for (const std::uint64_t stop : {std::uint64_t{1}, steps / 2, steps - 2}) {
            const fs::path run = folder.path() / std::to_string(stop);
            const auto cut = stretch(data, options, run, 4, stop);
            ASSERT_TRUE(cut.front().result.interrupted);
            const auto resumed = stretch(data, options, run, 1, 0);
            expect_same(resumed.front(), whole.front(), "cut after " + std::to_string(stop));
            expect_closed(resumed.front().result);
            const train::LearnedState again = last_rows(run);
            EXPECT_EQ(again.values, rows.values);
            EXPECT_EQ(again.mean, rows.mean);
            EXPECT_EQ(again.square, rows.square);
            EXPECT_EQ(again.taken, rows.taken);
        }
    }
}

/// What a checkpoint keeps of the accounts is what came for the steps done: of rows that a buffer
/// fetched, and of learned ones.
TEST_F(LearnedRows, CheckpointsCountWhatCame) {
    for (const char* policy : {"window", "none"}) {
        train::TrainOptions options = learned_options("6");
        options.policy = policy;
        options.batch = 3;
        options.epochs = 3;
        const TempDir folder;
        const train::TrainResult cut =
            stretch(typed(), options, folder.path(), 4, 20).front().result;
        ASSERT_TRUE(cut.interrupted);
        const train::RunCounts kept =
            train::read_checkpoint(train::list_checkpoints(folder.path()).back()).state.counts;
        EXPECT_GT(kept.learned, 0U);
        EXPECT_LE(kept.learned, kept.rows.demand);
        EXPECT_EQ(cut.bytes.features - kept.bytes.features,
                  (cut.rows.fetched() - kept.rows.fetched()) * cut.row_bytes);
        EXPECT_EQ(kept.received_total, kept.bytes.total()) << "counted apart from the kinds";
    }
}

/// Evaluation in training, and later from the checkpoint: the same scores, on any ranks.
TEST_F(LearnedRows, CheckpointsAreEvaluatedAsInTraining) {
    for (const bool several : {false, true}) {
        const partition::PartitionedDataset& data = several ? typed() : bare();
        const TempDir folder;
        train::TrainOptions options = learned_options();
        options.eval_every = 1;
        const Trained trained = stretch(data, options, folder.path(), 2, 0).front();
        train::SavedNetwork saved = train::load_network(folder.path());
        ASSERT_TRUE(trained.result.best_epoch);
        const train::Scores& expected = trained.result.epochs[*trained.result.best_epoch].scores;
        saved.data_checksum = train::data_checksum(data);
        train::check_same_data(saved, data);
        for (const int ranks : {1, 4}) {
            comm::SimulatedCluster machines({.ranks = ranks});
            machines.run([&](const comm::Communicator& comm) {
                const auto result = train::run_inference(comm, data, saved, {});
                EXPECT_EQ(result.scores.valid.correct, expected.valid.correct);
                EXPECT_EQ(result.scores.valid.loss, expected.valid.loss);
                EXPECT_EQ(result.scores.test.correct, expected.test.correct);
            });
        }
        saved.rows.pop_back();
        EXPECT_THROW(
            static_cast<void>(train::run_inference(comm::Communicator::local(), data, saved, {})),
            Error);
        saved.data_checksum = "of another one";
        EXPECT_THROW(static_cast<void>(train::match_data(saved, data)), Error);
        EXPECT_THROW(static_cast<void>(Model::open(folder.path())), Error);
    }
}

/// Each use of a learned row of another host is fetched once: no policy could do with less.
TEST_F(LearnedRows, NoneIsFetchedInVain) {
    for (const char* policy : {"window:8", "lru", "scored,every:2"}) {
        train::TrainOptions options = learned_options();
        options.policy = policy;
        options.floor = true;
        const auto all = train_simulated(bare(), options, {.ranks = 4, .seed = 1});
        const train::TrainResult& result = all.front().result;
        EXPECT_EQ(result.learned, result.rows.demand);
        EXPECT_EQ(result.rows.fetched(), result.rows.demand);
        EXPECT_EQ(result.floor, result.rows.fetched());
        EXPECT_EQ(result.bytes.features, result.learned * 8 * sizeof(float));
    }
    train::TrainOptions beside = learned_options("author=4");
    beside.policy = "window:64";
    beside.floor = true;
    const auto all = train_simulated(typed(), beside, {.ranks = 4, .seed = 1});
    const auto floor = static_cast<double>(all.front().result.floor.value_or(0));
    EXPECT_GE(static_cast<double>(all.front().result.rows.fetched()), floor);
    EXPECT_LE(static_cast<double>(all.front().result.rows.fetched()), 1.02 * floor);
    EXPECT_GT(all.front().result.rows.hit, 0U) << "features are kept as ever";
}

// ---- refusals ----------------------------------------------------------------------------------

template <class Act>
void expect_learning_refused(Act&& act, ErrorKind kind, const std::string& word) {
    try {
        act();
        FAIL() << "not refused: " << word;
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind) << error.what();
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
}

TEST_F(LearnedRows, WhatIsRefused) {
    const auto refused = [](const partition::PartitionedDataset& data,
                            const train::TrainOptions& options, ErrorKind kind,
                            const std::string& word) {
        expect_learning_refused([&] { static_cast<void>(train_alone(data, options)); }, kind, word);
    };
    const TempDir folder;
    const partition::PartitionedDataset full = make_parts(folder.path(), {});
    refused(full, learned_options(), ErrorKind::usage, "the vertices have features");
    refused(bare(), small_options(), ErrorKind::input, "the data set has no features");
    refused(bare(), learned_options("author=8"), ErrorKind::usage, "one type of vertices");
    refused(typed(), learned_options("paper=8"), ErrorKind::usage, "'paper' have features");
    refused(typed(), learned_options("writer=8"), ErrorKind::usage,
            "unknown type of vertices 'writer'");
    for (const char* wrong :
         {"0", "x", "8,8", "author=8,author=9", "author=", "=8", "8,author=9", "70000", "author"}) {
        refused(typed(), learned_options(wrong), ErrorKind::usage, "invalid embeddings");
    }
    for (const auto precision :
         {store::Precision::int8, store::Precision::int4, store::Precision::bfloat16}) {
        train::TrainOptions options = learned_options();
        options.precision = precision;
        refused(bare(), options, ErrorKind::usage, "--precision");
    }
    train::TrainOptions sparse = learned_options();
    sparse.sparse = store::SparseChoice::on;
    refused(bare(), sparse, ErrorKind::usage, "--sparse");
    expect_learning_refused(
        [] { train::Loader(comm::Communicator::local(), bare(), {.train = learned_options()}); },
        ErrorKind::usage, "loaders give the rows of the data set");
}

}  // namespace
}  // namespace rudder::test
