// Training with the features of edges in messages: the same bits everywhere, exact scores,
// checkpoints, what they are worth, what is refused.
#include <set>

#include <gtest/gtest.h>

#include "rudder/train/infer.hpp"
#include "train/everywhere.hpp"
#include "train/exact_bed.hpp"
#include "train/fixture.hpp"
#include "train/loader.hpp"
#include "train/saved_run.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

train::TrainOptions asking(const std::string& model) {
    train::TrainOptions options = small_options();
    options.model = model;
    options.edge_features = true;
    return options;
}

/// What edges of a data set have.
const partition::PartitionedDataset& carrying_data() {
    static const TempDir folder;
    static const partition::PartitionedDataset parts =
        make_parts(folder.path(), {.carried = true, .edge_width = 4});
    return parts;
}

class EdgeMessages : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Models, EdgeMessages, testing::Values("sage", "gat", "gatv2"),
                         [](const auto& model) { return std::string(model.param); });

TEST_P(EdgeMessages, TheSameEverywhere) {
    train::TrainOptions asked = asking(GetParam());
    const Trained with = expect_same_everywhere(carrying_data(), asked);
    asked.edge_features = false;
    EXPECT_NE(train_alone(carrying_data(), asked).result.digest, with.result.digest);
}

TEST_P(EdgeMessages, ResumedIsTheSame) {
    expect_same_resumed(carrying_data(), asking(GetParam()));
}

/// Exact evaluation is what sampling all neighbours gives, and prediction what one pass over the
/// whole graph does, in as little memory as there may be, on any ranks.
TEST_P(EdgeMessages, ExactScoresAreThoseOfAllNeighbours) {
    train::TrainOptions exact = asking(GetParam());
    expect_scores_of_all_neighbours(carrying_data(), exact);
    train::Scores scores;
    const train::SavedNetwork saved = trained_network(carrying_data(), exact, scores);
    EXPECT_EQ(saved.options.edge_inputs, 4U);
    const AllRows all = infer_alone(carrying_data(), saved);
    EXPECT_EQ(all.sums.test.correct, scores.test.correct);
    EXPECT_TRUE(infer_simulated(carrying_data(), saved, {.ranks = 4}) == all);
    EXPECT_TRUE(infer_alone(carrying_data(), saved, std::uint64_t{1} << 19) == all);
    const std::vector<float> at_once = predict_at_once(carrying_data(), saved);
    ASSERT_EQ(at_once.size(), all.scores.size());
    for (std::size_t i = 0; i < at_once.size(); ++i)
        ASSERT_NEAR(at_once[i], all.scores[i], 1e-4) << i;
}

/// Weights, times, pairs with targets and sparse rows go with them.
TEST(EdgeFeatureTraining, GoesWithWhatElseThereIs) {
    std::set<std::uint64_t> digests;
    const auto add = [&](auto change) {
        train::TrainOptions asked = asking("sage");
        asked.sampler.reset();
        asked.redraw.reset();
        change(asked);
        const Trained alone = train_alone(carrying_data(), asked);
        asked.topology = train::TopologyChoice::partitioned;
        asked.coding = "auto";
        asked.force_coding = true;
        expect_same_training(train_simulated(carrying_data(), asked, {.ranks = 2}).front(), alone);
        digests.insert(alone.result.digest);
    };
    using O = train::TrainOptions;
    add([](O&) {});
    add([](O& o) { o.weighted = true; });
    add([](O& o) { o.temporal = sample::Temporal::newest; });
    add([](O& o) { o.temporal = sample::Temporal::uniform, o.weighted = true; });
    add([](O& o) { o.with_replacement = true; });
    add([](O& o) { o.norm = "batch", o.residual = true; });
    EXPECT_EQ(digests.size(), 6U);
    const TempDir folder;
    const auto words = make_parts(
        folder.path(), {.width = 40, .type = ElementType::u8, .words = 4, .edge_width = 2});
    train::TrainOptions asked = asking("sage");
    asked.sparse = store::SparseChoice::on;
    const Trained alone = train_alone(words, asked);
    expect_same_training(train_simulated(words, asked, {.ranks = 4}).front(), alone);
    asked.sparse = store::SparseChoice::off;
    const Trained dense = train_alone(words, asked);
    const double loss = dense.result.epochs.back().scores.valid.loss;
    EXPECT_NEAR(alone.result.epochs.back().scores.valid.loss, loss, 0.01 * loss);
}

/// Vertices know little, edges the classes of their ends.
TEST(EdgeFeatureTraining, LearnsWhatEdgesTell) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {.width = 1, .edge_width = 4, .seed = 3});
    train::TrainOptions asked = asking("sage");
    asked.epochs = 40;
    const double with = train_alone(data, asked).result.epochs.back().scores.test.share();
    asked.edge_features = false;
    const double without = train_alone(data, asked).result.epochs.back().scores.test.share();
    EXPECT_GT(with, 0.9);
    EXPECT_GT(with, without);
}

TEST(EdgeFeatureTraining, IsRefusedWhereNobodyReadsThem) {
    const auto usage = [](auto change) {
        train::TrainOptions asked = asking("sage");
        change(asked);
        const Refusal refusal = refusal_of([&] { check_options(asked); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        return refusal.problem;
    };
    using O = train::TrainOptions;
    EXPECT_EQ(usage([](O& o) { o.model = "gcn"; }),
              "model 'gcn' does not read the features of edges");
    EXPECT_EQ(usage([](O& o) { o.task = train::TaskKind::link; }),
              "task 'link' does not go with --edge-features");
    const TempDir folder;
    const auto plain = make_parts(folder.path(), {});
    const Refusal none = refusal_of([&] { static_cast<void>(train_alone(plain, asking("sage"))); });
    EXPECT_EQ(none.kind, ErrorKind::input);
    EXPECT_EQ(none.problem, "its edges have no features");
    const Refusal loader = refusal_of([&] {
        train::Loader(comm::Communicator::local(), carrying_data(), {.train = asking("sage")});
    });
    EXPECT_EQ(loader.kind, ErrorKind::usage);
    EXPECT_EQ(loader.problem, "loaders do not give the features of edges");
}

/// Another data set must have as many columns; another that has may be used.
TEST(EdgeFeatureTraining, OtherDataMustHaveAsMany) {
    train::Scores scores;
    const train::SavedNetwork saved = trained_network(carrying_data(), asking("gat"), scores);
    const TempDir folder;
    for (const std::uint64_t width : {0U, 3U, 4U}) {
        const auto place = folder.path() / std::to_string(width);
        std::filesystem::create_directories(place);
        const auto other = make_parts(place, {.edge_width = width, .seed = 2});
        if (width == 4) {
            const train::DataMatch match = train::match_data(saved, other);
            const auto result =
                train::run_inference(comm::Communicator::local(), other, saved, {.match = match});
            EXPECT_GT(result.scores.test.answers, 0U);
            continue;
        }
        const Refusal refusal =
            refusal_of([&] { static_cast<void>(train::match_data(saved, other)); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        EXPECT_NE(refusal.problem.find("feature columns of edges: 4 in the run"), std::string::npos)
            << refusal.problem;
    }
}

}  // namespace
}  // namespace rudder::test
