// Training on graphs of several types: the same bits everywhere, exact scores, checkpoints, what
// types are worth, what is refused.
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "train/everywhere.hpp"
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
};

class Typed : public TypedTraining, public testing::WithParamInterface<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, Typed, testing::Values("sage", "rgcn", "gat"),
                         [](const auto& model) { return std::string(model.param); });

TEST_P(Typed, TheSameEverywhere) {
    expect_same_everywhere(data(), options(GetParam()), 2);
}

TEST_P(Typed, ResumedIsTheSame) {
    expect_same_resumed(data(), options(GetParam()));
}

TEST_P(Typed, ExactScoresAreThoseOfAllNeighbours) {
    train::TrainOptions asked = options(GetParam());
    asked.type_fanout.clear();
    expect_scores_of_all_neighbours(data(), asked);
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
