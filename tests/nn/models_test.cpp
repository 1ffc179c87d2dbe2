// Every model, with every norm and residuals, against the reference, finite differences and
// itself.
#include <cstring>

#include "nn/network_case.hpp"
#include "nn/simd.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/flat_network.hpp"
#include "rudder/nn/optimiser.hpp"

namespace rudder {

using namespace testing;

namespace {

struct Variant {
    const char* model;
    const char* norm;
    bool residual;
};

std::string name_of(const ::testing::TestParamInfo<Variant>& info) {
    return std::string(info.param.model) + "_" + info.param.norm +
           (info.param.residual ? "_residual" : "");
}

class Models : public ::testing::TestWithParam<Variant> {
protected:
    static nn::NetworkOptions options(nn::Objective objective, std::uint64_t inputs,
                                      std::uint64_t hidden, std::uint64_t outputs,
                                      std::uint64_t heads = 4) {
        nn::NetworkOptions made = small(objective, inputs, hidden, outputs);
        made.model = GetParam().model;
        made.norm = GetParam().norm;
        made.residual = GetParam().residual;
        made.heads = heads;
        return made;
    }
    /// Weights of everything differ from their beginnings, which are 0 or 1 for many.
    static void stir(nn::Network& network) {
        const auto noise = random_floats(network.weights().size(), 5, 0.3F);
        for (const nn::Parameter& p : network.parameters()) {
            for (std::size_t i = p.offset; i < p.offset + p.size; ++i) {
                network.weights()[i] += noise[i];
                if (p.name.ends_with("running_var")) network.weights()[i] += 1;
            }
        }
    }
};

TEST_P(Models, AgreesWithTheReferenceOverShapes) {
    std::uint64_t seed = 1;
    for (const nn::Objective objective :
         {nn::Objective::classes, nn::Objective::multilabel, nn::Objective::regression}) {
        for (const std::vector<std::uint32_t>& fanouts :
             std::vector<std::vector<std::uint32_t>>{{5}, {3, 4}, {2, 3, 4}, {2, 2, 2, 3}}) {
            const std::uint64_t heads = 1 + seed % 5;
            // Every other network has layers that take what they put out.
            const std::uint64_t hidden = heads * (5 + seed * 3 % 14);
            nn::NetworkOptions made = options(objective, seed % 2 == 0 ? hidden : 9 + seed * 7 % 40,
                                              hidden, seed % 4 == 0 ? 1 : 2 + seed % 11, heads);
            made.dropout = seed % 3 == 0 ? 0.5 : 0;
            made.input_dropout = seed % 3 == 0 ? 0.2 : 0;
            const BatchShape shape{static_cast<std::uint32_t>(2 + seed * 37 % 90), fanouts, 50,
                                   static_cast<std::uint32_t>(seed % 3 * 20), seed};
            SCOPED_TRACE(seed);
            compare_with_reference(Case(made, shape), stir);
            if (HasFatalFailure()) return;
            ++seed;
        }
    }
}

TEST_P(Models, AgreesWithTheReferenceOverManyChunks) {
    nn::NetworkOptions made = options(nn::Objective::classes, 40, 48, 7);
    compare_with_reference(Case(made, {1500, {3, 5}, 50, 10, 77}), stir);
}

/// How the loss changes with the input rows: over shapes, dropouts, depths and widths.
TEST_P(Models, GradientsOfRowsAreTheReferences) {
    std::uint64_t seed = 1;
    for (const std::vector<std::uint32_t>& fanouts :
         std::vector<std::vector<std::uint32_t>>{{5}, {3, 4}, {2, 3, 4}}) {
        for (const double dropout : {0.0, 0.3}) {
            const std::uint64_t hidden = 4 * (3 + seed);
            nn::NetworkOptions made =
                options(nn::Objective::classes, seed % 2 == 0 ? hidden : 13, hidden, 5);
            made.dropout = dropout;
            made.input_dropout = dropout;
            made.row_gradients = true;
            SCOPED_TRACE(seed);
            compare_with_reference(Case(made, {60, fanouts, 50, 10, seed}), stir);
            if (HasFatalFailure()) return;
            ++seed;
        }
    }
}

/// Asking for them changes no other bit; nor do threads change theirs.
TEST_P(Models, GradientsOfRowsChangeNothingElse) {
    nn::NetworkOptions made = options(nn::Objective::classes, 24, 24, 7);
    made.input_dropout = 0.1;
    const Case plain(made, {700, {5, 6}, 60, 5, 9});
    made.row_gradients = true;
    const Case taught(made, {700, {5, 6}, 60, 5, 9});
    const Outcome without = train_once(*nn::make_network(plain.options), plain, 0.001F);
    set_thread_count(1);
    const Outcome one = train_once(*nn::make_network(taught.options), taught, 0.001F);
    set_thread_count(3);
    const Outcome three = train_once(*nn::make_network(taught.options), taught, 0.001F);
    set_thread_count(0);
    EXPECT_EQ(one.gradient, without.gradient);
    EXPECT_EQ(one.rows, three.rows);
    EXPECT_GT(largest(one.rows), 0.0);
}

TEST_P(Models, EveryoneIsolated) {
    compare_with_reference(
        Case(options(nn::Objective::classes, 12, 16, 3), {30, {3, 4}, 50, 100, 5}), stir);
}

TEST_P(Models, ClassWeights) {
    nn::NetworkOptions made = options(nn::Objective::classes, 12, 16, 3);
    made.class_weights = {0.5F, 0.F, 2.F};  // the second never appeared in training
    compare_with_reference(Case(made, {30, {3, 4}, 50, 10, 5}), stir);
}

TEST_P(Models, NoSeedsGiveNoGradient) {
    const Case c(options(nn::Objective::classes, 12, 16, 3), {0, {3, 4}, 50, 10, 5});
    const auto network = nn::make_network(c.options);
    const Outcome outcome = train_once(*network, c, 1);
    for (const float g : outcome.gradient)
        ASSERT_EQ(g, 0.F);
    EXPECT_EQ(outcome.ready, (std::vector<std::size_t>{0, 1}));
    std::vector<float> scores;
    network->predict(c.batch, c.rows, scores);
}

TEST_P(Models, OneSeedAlone) {
    compare_with_reference(Case(options(nn::Objective::classes, 12, 16, 3), {1, {3}, 50, 100, 5}),
                           stir);
}

/// Layer by layer over blocks of all destinations at once or few at a time.
TEST_P(Models, InferenceByLayerIsPrediction) {
    const Case c(options(nn::Objective::classes, 21, 24, 5), {300, {4, 5, 3}, 50, 10, 8});
    const auto network = nn::make_network(c.options);
    stir(*network);
    std::vector<float> expected(c.batch.seeds * c.options.outputs);
    network->predict(c.batch, c.rows, expected);
    std::vector<float> rows = c.rows;
    for (std::size_t l = 0; l < network->layers(); ++l) {
        const sample::Block& block = c.batch.blocks[l];
        std::vector<float> out(block.destinations * network->layer_outputs(l));
        std::vector<std::uint32_t> degrees;
        if (network->wants_degrees())
            degrees.assign(c.batch.degrees.begin(), c.batch.degrees.begin() + block.sources);
        network->infer_layer(l, block, degrees, rows, out);
        rows = out;
    }
    EXPECT_EQ(rows, expected);
}

TEST_P(Models, SameBitsOnAnyThreadsPathsAndAlignment) {
    nn::NetworkOptions made = options(nn::Objective::classes, 50, 64, 11);
    made.input_dropout = 0.1;
    const Case c(made, {700, {5, 6}, 60, 5, 9});
    std::vector<Outcome> outcomes;
    std::vector<float> shifted(c.rows.size() + 1);
    std::copy(c.rows.begin(), c.rows.end(), shifted.begin() + 1);
    for (const auto& [threads, path] : {std::pair{1, nn::VectorPath::avx512},
                                        {2, nn::VectorPath::portable},
                                        {4, nn::VectorPath::avx2},
                                        {2, nn::VectorPath::avx512}}) {
        set_thread_count(threads);
        nn::set_vector_path(path);
        const auto network = nn::make_network(c.options);
        outcomes.push_back(train_once(*network, c, 0.001F));
        Outcome outcome;
        outcome.gradient.resize(network->weights().size());
        outcome.result = network->train(c.batch, std::span(shifted).subspan(1), c.targets(), 0.001F,
                                        outcome.gradient, [](std::size_t) {});
        outcomes.push_back(std::move(outcome));
    }
    set_thread_count(0);
    nn::set_vector_path(nn::best_vector_path());
    for (const Outcome& outcome : outcomes) {
        ASSERT_EQ(std::memcmp(outcome.gradient.data(), outcomes[0].gradient.data(),
                              outcome.gradient.size() * sizeof(float)),
                  0);
        ASSERT_EQ(outcome.result.loss, outcomes[0].result.loss);
    }
}

TEST_P(Models, NotANumberShowsInTheLoss) {
    const Case c(options(nn::Objective::classes, 12, 16, 3), {30, {3, 4}, 50, 0, 5});
    for (const bool weights : {false, true}) {
        const auto network = nn::make_network(c.options);
        if (weights) network->weights()[3] = std::numeric_limits<float>::quiet_NaN();
        Case bad = c;
        if (!weights) std::ranges::fill(bad.rows, std::numeric_limits<float>::quiet_NaN());
        EXPECT_TRUE(std::isnan(train_once(*network, bad, 1).result.loss));
    }
}

TEST_P(Models, SaysWhatMemoryAPassTakes) {
    const Case c(options(nn::Objective::classes, 50, 64, 5), {300, {6, 8}, 60, 5, 9});
    const auto network = nn::make_network(c.options);
    const std::uint64_t said = network->activation_bytes(c.batch);
    train_once(*network, c, 1);
    EXPECT_EQ(said, dynamic_cast<nn::FlatNetwork&>(*network).workspace_bytes());
}

/// Optimisers leave running statistics alone; absorbing moves them by a tenth, and only once.
TEST_P(Models, RunningStatisticsFollowTheBatches) {
    const Case c(options(nn::Objective::classes, 12, 16, 3), {30, {3, 4}, 50, 0, 5});
    const auto network = nn::make_network(c.options);
    const auto optimiser = nn::make_optimiser({.weight_decay = 0.1}, network->parameters());
    const std::vector<float> before(network->weights().begin(), network->weights().end());
    Outcome outcome = train_once(*network, c, 1.F / 30);
    const std::vector<float> statistics = outcome.gradient;
    network->absorb_statistics(outcome.gradient);
    optimiser->step(network->weights(), outcome.gradient, 0.01);
    std::size_t running = 0;
    for (const nn::Parameter& p : network->parameters()) {
        if (p.trained) continue;
        ++running;
        for (std::size_t i = p.offset; i < p.offset + p.size; ++i) {
            EXPECT_NEAR(network->weights()[i], before[i] * 0.9F + statistics[i] * 0.1F, 1e-6F);
            EXPECT_EQ(outcome.gradient[i], 0.F);
        }
    }
    EXPECT_EQ(running, std::string(GetParam().norm) == "batch" ? 2U : 0U);
}

INSTANTIATE_TEST_SUITE_P(
    All, Models,
    ::testing::Values(Variant{"sage", "batch", false}, Variant{"sage", "layer", true},
                      Variant{"sage", "none", true}, Variant{"gcn", "none", false},
                      Variant{"gcn", "none", true}, Variant{"gcn", "layer", false},
                      Variant{"gcn", "batch", true}, Variant{"gat", "none", false},
                      Variant{"gat", "none", true}, Variant{"gat", "batch", false},
                      Variant{"gat", "layer", true}, Variant{"gatv2", "none", false},
                      Variant{"gatv2", "layer", false}, Variant{"gatv2", "batch", true}),
    name_of);

/// Smooth models alone: a rectifier has no slope at its kink.
TEST(ModelsFiniteDifferences, Attention) {
    for (const char* model : {"gat", "gatv2"}) {
        nn::NetworkOptions options = small(nn::Objective::regression, 5, 6, 3);
        options.model = model;
        options.heads = 2;
        options.norm = "layer";
        options.residual = true;
        options.dropout = 0.25;
        const Case c(options, {12, {3, 3}, 50, 10, 3});
        const auto network = nn::make_network(c.options);
        const Outcome outcome = train_once(*network, c, 0.1F);
        for (std::size_t i = 0; i < outcome.gradient.size(); ++i) {
            const float kept = network->weights()[i];
            const auto loss_at = [&](float w) {
                network->weights()[i] = w;
                return static_cast<double>(train_once(*network, c, 0.1F).result.loss);
            };
            constexpr float step = 1e-3F;
            const double slope =
                (loss_at(kept + step) - loss_at(kept - step)) / static_cast<double>(2 * step);
            network->weights()[i] = kept;
            EXPECT_NEAR(slope, static_cast<double>(outcome.gradient[i]),
                        1e-2 * largest(outcome.gradient))
                << model << " " << i;
        }
    }
}

/// With all neighbours there the sampled formula is the exact one, by hand on a path 0 - 1 - 2.
TEST(Gcn, KnownAnswer) {
    nn::NetworkOptions options = small(nn::Objective::regression, 1, 1, 1);
    options.model = "gcn";
    options.layers = 1;
    const auto network = nn::make_network(options);
    network->weights()[0] = 1;
    network->weights()[1] = 0.5F;
    sample::Block block;
    block.destinations = 3;
    block.sources = 3;
    block.offsets = {0, 1, 3, 4};
    block.neighbours = {1, 0, 2, 1};
    const std::vector<std::uint32_t> degrees{1, 2, 1};
    const std::vector<float> rows{1, 2, 4};
    std::vector<float> out(3);
    network->infer_layer(0, block, degrees, rows, out);
    const float cross = 1 / std::sqrt(6.F);
    EXPECT_FLOAT_EQ(out[0], 0.5F + 0.5F + 2 * cross);
    EXPECT_FLOAT_EQ(out[1], 0.5F + 2.F / 3 + 5 * cross);
    EXPECT_FLOAT_EQ(out[2], 0.5F + 2.F + 2 * cross);
    // Half of the neighbours count double.
    sample::Block half = block;
    half.offsets = {0, 1, 2, 3};
    half.neighbours = {1, 2, 1};
    network->infer_layer(0, half, degrees, rows, out);
    EXPECT_FLOAT_EQ(out[1], 0.5F + 2.F / 3 + 2 * 4 * cross);
}

TEST(Attention, LargeScoresDoNotOverflow) {
    for (const char* model : {"gat", "gatv2"}) {
        nn::NetworkOptions options = small(nn::Objective::classes, 12, 16, 3);
        options.model = model;
        const Case c(options, {30, {3, 4}, 50, 10, 5});
        const auto network = nn::make_network(c.options);
        for (float& w : network->weights())
            w *= 300;
        EXPECT_TRUE(std::isfinite(train_once(*network, c, 1).result.loss)) << model;
    }
}

TEST(Network, RefusesWhatDoesNotFit) {
    const auto refused = [](auto change) {
        nn::NetworkOptions options = small(nn::Objective::classes, 3, 8, 2);
        options.model = "gat";
        change(options);
        try {
            static_cast<void>(nn::make_network(options));
            return std::string();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            return error.where() + ": " + error.remedy();
        }
    };
    EXPECT_EQ(refused([](nn::NetworkOptions& o) { o.heads = 3; }),
              "--hidden: give a multiple of --heads");
    EXPECT_EQ(refused([](nn::NetworkOptions& o) { o.heads = 0; }), "--heads: give 1 or more");
    EXPECT_EQ(refused([](nn::NetworkOptions& o) { o.norm = "bath"; }),
              "--norm: known are none, batch, layer");
    EXPECT_NE(refused([](nn::NetworkOptions& o) { o.class_weights = {1}; }), "");
    EXPECT_EQ(refused([](nn::NetworkOptions& o) {
                  o.heads = 3;
                  o.model = "sage";
              }),
              "");
}

}  // namespace
}  // namespace rudder
