// Weights of classes: known answers, and a class that never appears in training.
#include "train/steps/class_weights.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

TEST(ClassWeights, AreInverseToTheNumbersOfAllParts) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {.untrained_class = 2});
    std::vector<double> counts(4);
    double all = 0;
    for (const partition::Part& part : data.all_parts()) {
        for (std::size_t v = 0; v < part.roles().size(); ++v) {
            if (part.roles()[v] != graph::Role::train) continue;
            ++counts[static_cast<std::size_t>(part.targets().classes[v])];
            ++all;
        }
    }
    ASSERT_EQ(counts[2], 0);
    const auto parts = data.all_parts();
    const auto expected = train::balanced_class_weights(comm::Communicator::local(), parts);
    ASSERT_EQ(expected.size(), 4U);
    double sum = 0;
    for (std::size_t c = 0; c < 4; ++c) {
        const double wanted = c == 2 ? 0 : all / (3 * counts[c]);
        EXPECT_FLOAT_EQ(expected[c], static_cast<float>(wanted)) << c;
        sum += static_cast<double>(expected[c]) * counts[c];
    }
    EXPECT_NEAR(sum, all, 1e-3);
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([&](const comm::Communicator& comm) {
        const partition::PartShare share =
            partition::share_of(data.parts(), comm.size(), comm.rank());
        std::vector<partition::Part> own;
        for (PartId p = share.first; p < share.last; ++p)
            own.push_back(data.part(p));
        EXPECT_EQ(train::balanced_class_weights(comm, own), expected);
    });
}

TEST(ClassWeights, AClassThatNeverAppearsInTraining) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {.untrained_class = 1});
    for (const char* weights : {"none", "balanced"}) {
        train::TrainOptions options = small_options();
        options.class_weights = weights;
        const Trained alone = train_alone(data, options);
        EXPECT_TRUE(std::isfinite(alone.result.last_loss));
        EXPECT_GT(alone.result.epochs.back().scores.valid.answers, 0U);
        for (const Trained& rank : train_simulated(data, options, {.ranks = 4, .seed = 5}))
            EXPECT_EQ(rank.result.digest, alone.result.digest);
    }
}

TEST(ClassWeights, ChangeTheTraining) {
    const TempDir folder;
    SmallGraph graph;
    // Two parts train on few, so that classes differ in number.
    graph.role = [](PartId, VertexId v) {
        return v % 7 < 3 ? graph::Role::train : graph::Role::valid;
    };
    const partition::PartitionedDataset data = make_parts(folder.path(), graph);
    train::TrainOptions options = small_options();
    const auto without = train_alone(data, options).result.digest;
    options.class_weights = "balanced";
    EXPECT_NE(train_alone(data, options).result.digest, without);
}

TEST(ClassWeights, OfOtherTargetsAreRefused) {
    const TempDir folder;
    const partition::PartitionedDataset data =
        make_parts(folder.path(), {.targets = graph::TargetKind::multilabel});
    train::TrainOptions options = small_options();
    options.class_weights = "balanced";
    EXPECT_THROW(static_cast<void>(train_alone(data, options)), Error);
    options.class_weights = "balance";
    EXPECT_THROW(static_cast<void>(train_alone(data, options)), Error);
}

}  // namespace
}  // namespace rudder::test
