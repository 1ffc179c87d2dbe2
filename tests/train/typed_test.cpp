// Training on graphs of several types: the same bits everywhere, exact scores, checkpoints, what
// types are worth, what is refused.
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "train/fixture.hpp"
#include "train/typed_parts.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

class TypedTraining : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_typed_parts(folder.path(), 400);
        return parts;
    }
    static train::TrainOptions options(const std::string& model) {
        train::TrainOptions options = small_options();
        options.model = model;
        options.type_fanout = "rejects:2,0;rev_writes:-1,1";
        options.bases = 3;
        return options;
    }
    static void expect_same(const Trained& a, const Trained& b) {
        EXPECT_EQ(a.result.digest, b.result.digest);
        EXPECT_EQ(a.weights, b.weights);
        ASSERT_EQ(a.result.epochs.size(), b.result.epochs.size());
        for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
            EXPECT_EQ(a.result.epochs[e].scores.valid.correct,
                      b.result.epochs[e].scores.valid.correct);
            EXPECT_EQ(a.result.epochs[e].scores.valid.loss, b.result.epochs[e].scores.valid.loss);
            EXPECT_EQ(a.result.epochs[e].scores.test.correct,
                      b.result.epochs[e].scores.test.correct);
        }
    }
};

class Typed : public TypedTraining, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Typed, testing::Values("sage", "rgcn", "gat"),
                         [](const auto& model) { return std::string(model.param); });

TEST_P(Typed, TheSameEverywhere) {
    const train::TrainOptions asked = options(GetParam());
    const Trained alone = train_alone(data(), asked);
    EXPECT_NE(alone.result.digest, 0U);
    EXPECT_GT(alone.result.steps, 2U);
    expect_closed(alone.result);
    set_thread_count(3);
    expect_same(train_alone(data(), asked), alone);
    set_thread_count(0);
    for (const int ranks : {2, 4}) {
        for (const train::TopologyChoice topology :
             {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
            train::TrainOptions elsewhere = asked;
            elsewhere.topology = topology;
            elsewhere.policy = ranks == 2 ? "window" : "lru";
            const auto all = train_simulated(data(), elsewhere, {.ranks = ranks, .seed = 5});
            for (const Trained& mine : all)
                expect_same(mine, alone);
            expect_closed(all.front().result);
        }
    }
    train::TrainOptions without = asked;
    without.policy = "none";
    const auto all = train_simulated(data(), without, {.ranks = 2, .ranks_per_host = 2, .seed = 1});
    expect_same(all.front(), alone);
}

TEST_P(Typed, ResumedIsTheSame) {
    train::TrainOptions asked = options(GetParam());
    asked.epochs = 3;
    const TempDir whole;
    const auto expected = stretch(data(), asked, whole.path(), 2, 0);
    const TempDir cut;
    static_cast<void>(stretch(data(), asked, cut.path(), 2, expected.front().result.steps / 2));
    const auto resumed = stretch(data(), asked, cut.path(), 4, 0);
    EXPECT_EQ(resumed.front().result.digest, expected.front().result.digest);
    EXPECT_EQ(resumed.front().weights, expected.front().weights);
}

/// Exact evaluation is what sampling all neighbours gives.
TEST_P(Typed, ExactScoresAreThoseOfAllNeighbours) {
    train::TrainOptions exact = options(GetParam());
    exact.fanout = {-1, -1};
    exact.type_fanout.clear();
    train::TrainOptions sampled = exact;
    sampled.eval = "sampled";
    const Trained a = train_alone(data(), exact);
    const Trained b = train_alone(data(), sampled);
    EXPECT_EQ(a.result.digest, b.result.digest);
    for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
        EXPECT_EQ(a.result.epochs[e].scores.valid.correct, b.result.epochs[e].scores.valid.correct);
        EXPECT_EQ(a.result.epochs[e].scores.test.correct, b.result.epochs[e].scores.test.correct);
        EXPECT_GT(a.result.epochs[e].scores.test.answers, 0U);
    }
}

/// Four classes of which features alone tell little.
TEST_P(Typed, LearnsWhatIsPlanted) {
    const TempDir folder;
    const partition::PartitionedDataset larger = make_typed_parts(folder.path(), 2000);
    train::TrainOptions asked = options(GetParam());
    asked.type_fanout.clear();
    asked.fanout = {10, 10};
    asked.hidden = 32;
    asked.epochs = 15;
    const Trained trained = train_alone(larger, asked);
    const train::Score& test = trained.result.epochs.back().scores.test;
    EXPECT_GT(static_cast<double>(test.correct) / static_cast<double>(test.answers), 0.7);
}

TEST_F(TypedTraining, FanOutsOfTypesCount) {
    train::TrainOptions asked = options("sage");
    const Trained with = train_alone(data(), asked);
    asked.type_fanout.clear();
    EXPECT_NE(train_alone(data(), asked).result.digest, with.result.digest);
}

template <class Act>
void expect_error(Act&& act, ErrorKind kind, const std::string& word) {
    try {
        act();
        FAIL() << "not refused: " << word;
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), kind) << error.what();
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
}

void expect_refused(const partition::PartitionedDataset& data, const train::TrainOptions& options,
                    ErrorKind kind, const std::string& word) {
    expect_error([&] { static_cast<void>(train_alone(data, options)); }, kind, word);
}

TEST_F(TypedTraining, WhatIsRefused) {
    expect_refused(data(), options("gcn"), ErrorKind::input, "model 'gcn' does not know types");
    train::TrainOptions asked = options("sage");
    asked.task = train::TaskKind::edge;
    expect_refused(data(), asked, ErrorKind::usage, "--task edge");
    asked = options("sage");
    asked.type_fanout = "writes:3";
    expect_refused(data(), asked, ErrorKind::usage, "1 fan-outs for 2 layers");
    asked.type_fanout = "write:3,3";
    expect_refused(data(), asked, ErrorKind::usage, "unknown type of edges 'write'");
    asked.type_fanout = "writes:3,x";
    expect_refused(data(), asked, ErrorKind::usage, "'x'");
    const TempDir folder;
    const partition::PartitionedDataset plain = make_parts(folder.path(), {});
    expect_refused(plain, options("rgcn"), ErrorKind::input, "several types");
    expect_refused(plain, options("sage"), ErrorKind::usage, "one type of edges");
}

}  // namespace
}  // namespace rudder::test
