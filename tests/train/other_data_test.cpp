// A network on data that it was not trained on: what fits, how classes are matched, what is scored.
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "train/exact_bed.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// What inference on other data came to.
struct OtherScores {
    train::InferenceResult result;
    train::DataMatch match;
};

class OtherData : public testing::Test {
protected:
    /// Today's graph, and tomorrow's: other vertices and edges, the same kinds of things.
    static SmallGraph today() { return {.names = {"red", "green", "blue", "grey"}}; }
    static SmallGraph tomorrow() {
        SmallGraph graph = today();
        graph.vertices = 420;
        graph.seed = 2;
        graph.feature_seed = 1;
        graph.parts = 2;
        return graph;
    }
    partition::PartitionedDataset make(const SmallGraph& graph) {
        const auto place = folder_ / std::to_string(made_++);
        std::filesystem::create_directories(place);
        return make_parts(place, graph);
    }
    static train::SavedNetwork network_for(const partition::PartitionedDataset& data) {
        train::SavedNetwork saved = random_network(data, 2, 8);
        saved.trained_on = train::trained_on(train::TaskKind::vertex, data.info());
        return saved;
    }
    static OtherScores use(const train::SavedNetwork& saved,
                           const partition::PartitionedDataset& data, int ranks = 1) {
        OtherScores found;
        found.match = train::match_data(saved, data);
        comm::SimulatedCluster machines({.ranks = ranks});
        machines.run([&](const comm::Communicator& comm) {
            const auto result = train::run_inference(comm, data, saved, {.match = found.match});
            if (comm.rank() == 0) found.result = result;
        });
        return found;
    }
    static std::string refusal(const train::SavedNetwork& saved,
                               const partition::PartitionedDataset& data) {
        try {
            static_cast<void>(train::match_data(saved, data));
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
            return error.what();
        }
        return "no error";
    }
    static void expect_same(const OtherScores& a, const OtherScores& b) {
        for (const auto score :
             {&train::Scores::train, &train::Scores::valid, &train::Scores::test}) {
            EXPECT_EQ((a.result.scores.*score).correct, (b.result.scores.*score).correct);
            EXPECT_EQ((a.result.scores.*score).loss, (b.result.scores.*score).loss);
        }
        EXPECT_EQ(a.result.scored, b.result.scored);
        EXPECT_EQ(a.result.unknown, b.result.unknown);
    }

    TempDir folder_;
    int made_ = 0;
};

TEST_F(OtherData, IsScoredAboutAsWellAsTheRunsOwn) {
    const auto data = make(today());
    train::TrainOptions options = small_options();
    options.epochs = 12;
    train::SavedNetwork saved = network_for(data);
    saved.options.hidden = options.hidden;
    saved.weights = train_alone(data, options).weights;
    const double own = use(saved, data).result.scores.test.share();
    const OtherScores other = use(saved, make(tomorrow()));
    EXPECT_FALSE(other.match.same);
    EXPECT_EQ(other.match.classes, train::ClassMatch::by_name);
    EXPECT_GT(own, 0.8);
    EXPECT_NEAR(other.result.scores.test.share(), own, 0.1);
    // Features of another kind are what it cannot know.
    SmallGraph strange = tomorrow();
    strange.feature_seed = 77;
    EXPECT_LT(use(saved, make(strange)).result.scores.test.share(), 0.6);
}

TEST_F(OtherData, LabelsFollowNames) {
    const auto data = make(today());
    const train::SavedNetwork saved = network_for(data);
    for (const auto kind : {graph::TargetKind::classes, graph::TargetKind::multilabel}) {
        SmallGraph plain = tomorrow();
        plain.targets = kind;
        train::SavedNetwork used = saved;
        if (kind == graph::TargetKind::multilabel)
            used.options.objective = nn::Objective::multilabel;
        const OtherScores expected = use(used, make(plain));
        EXPECT_TRUE(expected.match.reading.outputs.empty());
        SmallGraph permuted = plain;
        permuted.numbers = {2, 0, 3, 1};
        permuted.names = {"green", "grey", "red", "blue"};
        const auto other = make(permuted);
        const OtherScores found = use(used, other);
        EXPECT_THAT(found.match.reading.outputs, ElementsAre(1, 3, 0, 2));
        expect_same(found, expected);
        expect_same(use(used, other, 2), expected);
        // Without names the numbers count, which are others.
        permuted.names.clear();
        const OtherScores by_number = use(used, make(permuted));
        EXPECT_EQ(by_number.match.classes, train::ClassMatch::by_number);
        EXPECT_NE(by_number.result.scores.test.loss, expected.result.scores.test.loss);
    }
}

TEST_F(OtherData, AnUnknownClassIsNotScoredButCounted) {
    const auto data = make(today());
    const train::SavedNetwork saved = network_for(data);
    const OtherScores all = use(saved, make(tomorrow()));
    SmallGraph graph = tomorrow();
    graph.names = {"red", "purple", "blue", "grey"};
    const auto other = make(graph);
    const OtherScores found = use(saved, other, 2);
    EXPECT_THAT(found.match.unknown, ElementsAre("purple"));
    std::uint64_t purple = 0;
    for (const partition::Part& part : other.all_parts())
        purple += static_cast<std::uint64_t>(std::ranges::count(part.targets().classes, 1));
    EXPECT_GT(purple, 50U);
    EXPECT_EQ(found.result.unknown, purple);
    const auto sum = [](const std::array<std::uint64_t, 3>& each) {
        return each[0] + each[1] + each[2];
    };
    EXPECT_EQ(sum(found.result.scored) + purple, sum(all.result.scored));
    EXPECT_EQ(found.result.scores.test.answers, found.result.scored[2]);
    // Of several labels the others are scored.
    graph.targets = graph::TargetKind::multilabel;
    train::SavedNetwork several = saved;
    several.options.objective = nn::Objective::multilabel;
    const OtherScores some = use(several, make(graph));
    EXPECT_EQ(some.result.unknown, purple);
    EXPECT_EQ(some.result.scored, all.result.scored);
    EXPECT_EQ(some.result.scores.test.answers, 3 * all.result.scored[2]);
}

TEST_F(OtherData, ClassesThatNobodyKnowsAreRefusedForScoresAlone) {
    const train::SavedNetwork saved = network_for(make(today()));
    SmallGraph graph = tomorrow();
    graph.names = {"a", "b", "c", "d"};
    const auto other = make(graph);
    const train::DataMatch match = train::match_data(saved, other);
    try {
        train::check_labels(saved, match, "there");
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_THAT(error.what(), HasSubstr("'red', 'green', 'blue', 'grey' in the run"));
        EXPECT_THAT(error.what(), HasSubstr("'a', 'b', 'c', 'd' here"));
    }
    EXPECT_EQ(use(saved, other).result.scored, (std::array<std::uint64_t, 3>{}));
}

TEST_F(OtherData, WithoutASplitAllLabelsAreForTest) {
    const train::SavedNetwork saved = network_for(make(today()));
    SmallGraph graph = tomorrow();
    graph.split = false;
    const OtherScores found = use(saved, make(graph), 2);
    EXPECT_EQ(found.result.scored, (std::array<std::uint64_t, 3>{0, 0, 420}));
}

TEST_F(OtherData, WithoutTargetsItIsInferredAllTheSame) {
    const train::SavedNetwork saved = network_for(make(today()));
    SmallGraph graph = tomorrow();
    graph.targets = graph::TargetKind::none;
    graph.names.clear();
    const auto other = make(graph);
    const OtherScores found = use(saved, other);
    EXPECT_EQ(found.match.classes, train::ClassMatch::none);
    EXPECT_EQ(found.result.scored, (std::array<std::uint64_t, 3>{}));
    EXPECT_THROW(train::check_labels(saved, found.match, "there"), Error);
}

TEST_F(OtherData, WhatDoesNotFitIsRefusedWithBothSides) {
    const train::SavedNetwork saved = network_for(make(today()));
    SmallGraph wide = tomorrow();
    wide.width = 13;
    EXPECT_THAT(refusal(saved, make(wide)), HasSubstr("feature columns: 12 in the run, 13 here"));
    SmallGraph normalised = tomorrow();
    normalised.row_normalise = true;
    EXPECT_THAT(refusal(saved, make(normalised)),
                HasSubstr("feature rows: not normalised in the run, normalised here"));
    SmallGraph numbers = tomorrow();
    numbers.targets = graph::TargetKind::regression;
    EXPECT_THAT(refusal(saved, make(numbers)),
                HasSubstr("targets: classes in the run, numbers here"));
    SmallGraph more = tomorrow();
    more.classes = 5;
    more.names.clear();
    EXPECT_THAT(refusal(saved, make(more)), HasSubstr("classes: 4 in the run, 5 here"));
    // Fewer are classes that no vertex happens to have.
    more.classes = 3;
    EXPECT_EQ(refusal(saved, make(more)), "no error");
    train::SavedNetwork regression = saved;
    regression.options.objective = nn::Objective::regression;
    numbers.classes = 3;
    numbers.names.clear();
    EXPECT_THAT(refusal(regression, make(numbers)), HasSubstr("outputs: 4 in the run, 3 here"));
}

TEST_F(OtherData, RowsOfAQuantisedRunAreReadAsTheyAreStored) {
    const train::SavedNetwork saved = network_for(make(today()));
    const auto other = make(tomorrow());
    const OtherScores exact = use(saved, other);
    for (const auto precision : {store::Precision::int8, store::Precision::int4}) {
        train::SavedNetwork quantised = saved;
        quantised.train.precision = precision;
        expect_same(use(quantised, other), exact);
        quantised.data_checksum = train::data_checksum(other);  // on its own data as in training
        EXPECT_NE(use(quantised, other).result.scores.test.loss, exact.result.scores.test.loss);
    }
    train::SavedNetwork rounded = saved;
    rounded.train.precision = store::Precision::bfloat16;
    EXPECT_NE(use(rounded, other).result.scores.test.loss, exact.result.scores.test.loss);
}

}  // namespace
}  // namespace rudder::test
