// Training by the weights of edges and by their times.
#include <set>

#include <gtest/gtest.h>

#include "train/everywhere.hpp"
#include "train/fixture.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

class Carried : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts =
            make_parts(folder.path(), {.carried = true});
        return parts;
    }
    static train::TrainOptions options(bool weighted, sample::Temporal temporal) {
        train::TrainOptions options = small_options();
        options.weighted = weighted;
        options.temporal = temporal;
        options.sampler.reset();
        options.redraw.reset();
        return options;
    }
};

TEST_F(Carried, WeightedTrainingIsTheSameEverywhere) {
    expect_same_everywhere(data(), options(true, sample::Temporal::off));
}

TEST_F(Carried, TheNewestAreTheSameEverywhere) {
    expect_same_everywhere(data(), options(false, sample::Temporal::newest));
}

TEST_F(Carried, UniformDrawsAmongThePastAreTheSameEverywhere) {
    expect_same_everywhere(
        data(), options(false, sample::Temporal::uniform));  // shared, since nobody says plain
}

TEST_F(Carried, WeightedDrawsAmongThePastAreTheSameEverywhere) {
    expect_same_everywhere(data(), options(true, sample::Temporal::uniform));
}

/// Exact evaluation is what sampling all neighbours gives: by shares of the same weights, and of
/// the same past.
TEST_F(Carried, ExactScoresAreThoseOfAllNeighbours) {
    for (const sample::Temporal temporal : {sample::Temporal::off, sample::Temporal::uniform}) {
        train::TrainOptions asked = options(true, temporal);
        expect_scores_of_all_neighbours(data(), asked);
    }
}

TEST_F(Carried, WeightsAndTimesChangeTheTraining) {
    std::set<std::uint64_t> digests;
    digests.insert(train_alone(data(), options(false, sample::Temporal::off)).result.digest);
    digests.insert(train_alone(data(), options(true, sample::Temporal::off)).result.digest);
    digests.insert(train_alone(data(), options(false, sample::Temporal::newest)).result.digest);
    digests.insert(train_alone(data(), options(false, sample::Temporal::uniform)).result.digest);
    digests.insert(train_alone(data(), options(true, sample::Temporal::newest)).result.digest);
    EXPECT_EQ(digests.size(), 5U);
}

TEST_F(Carried, RefusesWhatDoesNotGoTogether) {
    const auto refused = [&](auto change) {
        train::TrainOptions asked = options(false, sample::Temporal::off);
        change(asked);
        const Refusal refusal = refusal_of([&] { check_options(asked); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        return refusal.problem;
    };
    using O = train::TrainOptions;
    EXPECT_EQ(refused([](O& o) { o.weighted = true, o.model = "gat"; }),
              "model 'gat' does not take the weights of edges");
    EXPECT_EQ(refused([](O& o) { o.weighted = true, o.sampler = sample::Sampler::shared; }),
              "shared samples are not drawn by weight");
    EXPECT_EQ(refused([](O& o) { o.temporal = sample::Temporal::uniform, o.model = "gcn"; }),
              "model 'gcn' reads the degrees of the whole graph, future edges included");
    EXPECT_EQ(
        refused([](O& o) { o.temporal = sample::Temporal::newest, o.with_replacement = true; }),
        "the newest edges are not drawn with replacement");
}

TEST_F(Carried, RefusesDataWithoutWhatIsAskedFor) {
    const TempDir folder;
    const partition::PartitionedDataset plain = make_parts(folder.path(), {});
    const auto refused = [&](bool weighted, sample::Temporal temporal) {
        const Refusal refusal =
            refusal_of([&] { static_cast<void>(train_alone(plain, options(weighted, temporal))); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        return refusal.problem;
    };
    EXPECT_EQ(refused(true, sample::Temporal::off), "its edges have no weights");
    EXPECT_EQ(refused(false, sample::Temporal::newest), "its edges have no times");
}

}  // namespace
}  // namespace rudder::test
