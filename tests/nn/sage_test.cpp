// GraphSAGE against the reference and finite differences, and its bits over threads.
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "nn/network_case.hpp"
#include "nn/simd.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/flat_network.hpp"

namespace rudder {

using namespace testing;

TEST(Sage, AgreesWithTheReferenceOverShapes) {
    std::uint64_t seed = 1;
    for (const nn::Objective objective :
         {nn::Objective::classes, nn::Objective::multilabel, nn::Objective::regression}) {
        for (const std::vector<std::uint32_t>& fanouts :
             std::vector<std::vector<std::uint32_t>>{{5}, {3, 4}, {2, 3, 4}, {2, 2, 2, 3}}) {
            for (const bool drop : {false, true}) {
                nn::NetworkOptions options = small(objective, 9 + seed * 7 % 40, 17 + seed * 5 % 60,
                                                   seed % 4 == 0 ? 1 : 2 + seed % 11);
                options.dropout = drop ? 0.5 : 0;
                options.input_dropout = drop ? 0.2 : 0;
                const BatchShape shape{static_cast<std::uint32_t>(1 + seed * 37 % 90), fanouts, 50,
                                       static_cast<std::uint32_t>(seed % 3 * 20), seed};
                SCOPED_TRACE(seed);
                compare_with_reference(Case(options, shape));
                if (::testing::Test::HasFatalFailure()) return;
                ++seed;
            }
        }
    }
}

TEST(Sage, AgreesWithTheReferenceOverManyChunks) {
    nn::NetworkOptions options = small(nn::Objective::classes, 40, 48, 7);
    compare_with_reference(Case(options, {1500, {3, 5}, 50, 10, 77}));
}

TEST(Sage, EveryoneIsolated) {
    nn::NetworkOptions options = small(nn::Objective::classes, 12, 16, 3);
    compare_with_reference(Case(options, {30, {3, 4}, 50, 100, 5}));
}

TEST(Sage, NoSeedsGiveNoGradient) {
    const Case c(small(nn::Objective::classes, 12, 16, 3), {0, {3, 4}, 50, 10, 5});
    const auto network = nn::make_network(c.options);
    const Outcome outcome = train_once(*network, c, 1);
    for (const float g : outcome.gradient)
        ASSERT_EQ(g, 0.F);
    EXPECT_EQ(outcome.ready, (std::vector<std::size_t>{0, 1}));
    EXPECT_EQ(outcome.result.loss, 0.F);
    std::vector<float> scores;
    network->predict(c.batch, c.rows, scores);
}

namespace {

/// Every gradient is the slope of the loss.
void expect_slopes(nn::Network& network, const Case& c) {
    // Far from the rectifiers' kinks, where there is no slope to compare with.
    for (const nn::Parameter& p : network.parameters()) {
        if (p.decays || p.name.starts_with("layers.2")) continue;
        for (std::size_t i = 0; i < p.size; ++i)
            network.weights()[p.offset + i] = i % 3 == 0 ? -6.F : 3.F;
    }
    const Outcome outcome = train_once(network, c, 0.1F);
    for (std::size_t i = 0; i < outcome.gradient.size(); ++i) {
        const float kept = network.weights()[i];
        const auto loss_at = [&](float w) {
            network.weights()[i] = w;
            return static_cast<double>(train_once(network, c, 0.1F).result.loss);
        };
        constexpr float step = 1e-2F;
        const double slope =
            (loss_at(kept + step) - loss_at(kept - step)) / static_cast<double>(2 * step);
        network.weights()[i] = kept;
        EXPECT_NEAR(slope, static_cast<double>(outcome.gradient[i]),
                    1e-3 * largest(outcome.gradient))
            << i;
    }
}

}  // namespace

TEST(Sage, FiniteDifferences) {
    nn::NetworkOptions options = small(nn::Objective::regression, 5, 6, 3);
    options.dropout = 0.25;
    const Case c(options, {12, {3, 3, 3}, 50, 10, 3});
    const auto network = nn::make_network(c.options);
    expect_slopes(*network, c);
}

namespace {

/// Shares of each destination's neighbours: all the same, or drawn.
void give_shares(sample::Batch& batch, bool equal) {
    for (sample::Block& block : batch.blocks) {
        const std::vector<float> drawn = random_floats(block.edges(), 31);
        block.shares.resize(block.edges());
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            float sum = 0;
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
                block.shares[e] = equal ? 1.F : 1.5F + drawn[e];
                sum += block.shares[e];
            }
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e)
                block.shares[e] /= sum;
        }
    }
}

}  // namespace

TEST(Sage, EqualSharesAreThePlainMean) {
    for (const std::uint64_t inputs : {9U, 40U}) {
        Case c(small(nn::Objective::classes, inputs, 48, 7), {60, {3, 5, 4}, 50, 10, 77});
        const auto network = nn::make_network(c.options);
        const Outcome plain = train_once(*network, c, 0.1F);
        std::vector<float> scores(c.batch.seeds * c.options.outputs);
        network->predict(c.batch, c.rows, scores);
        give_shares(c.batch, true);
        const Outcome shared = train_once(*network, c, 0.1F);
        testing::expect_near(shared.gradient, plain.gradient, 1e-5);
        std::vector<float> again(scores.size());
        network->predict(c.batch, c.rows, again);
        testing::expect_near(again, scores, 1e-5);
        give_shares(c.batch, false);
        EXPECT_GT(std::fabs(train_once(*network, c, 0.1F).result.loss - plain.result.loss), 1e-4F);
    }
}

TEST(Sage, FiniteDifferencesOfWeightedMeans) {
    nn::NetworkOptions options = small(nn::Objective::regression, 5, 6, 3);
    Case c(options, {12, {3, 3, 3}, 50, 10, 3});
    give_shares(c.batch, false);
    const auto network = nn::make_network(c.options);
    expect_slopes(*network, c);
}

TEST(Sage, SameBitsOnAnyThreadsPathsAndAlignment) {
    nn::NetworkOptions options = small(nn::Objective::classes, 100, 256, 47);
    options.input_dropout = 0.1;
    const Case c(options, {1100, {6, 8}, 60, 5, 9});
    std::vector<Outcome> outcomes;
    std::vector<float> shifted(c.rows.size() + 1);
    for (const int threads : {1, 2, 4, 2}) {
        for (const nn::VectorPath path :
             {nn::VectorPath::portable, nn::VectorPath::avx2, nn::VectorPath::avx512}) {
            set_thread_count(threads);
            nn::set_vector_path(path);
            const auto network = nn::make_network(c.options);
            outcomes.push_back(train_once(*network, c, 0.001F));
            outcomes.push_back(train_once(*network, c, 0.001F));
            std::copy(c.rows.begin(), c.rows.end(), shifted.begin() + 1);
            Outcome outcome;
            outcome.gradient.resize(network->weights().size());
            outcome.result = network->train(c.batch, std::span(shifted).subspan(1), c.targets(),
                                            0.001F, outcome.gradient, [](std::size_t) {});
            outcomes.push_back(std::move(outcome));
        }
    }
    set_thread_count(0);
    nn::set_vector_path(nn::best_vector_path());
    for (const Outcome& outcome : outcomes) {
        ASSERT_EQ(std::memcmp(outcome.gradient.data(), outcomes[0].gradient.data(),
                              outcome.gradient.size() * sizeof(float)),
                  0);
        ASSERT_EQ(outcome.result.loss, outcomes[0].result.loss);
        ASSERT_EQ(outcome.result.correct, outcomes[0].result.correct);
    }
}

TEST(Sage, NotANumberShowsInTheLoss) {
    Case c(small(nn::Objective::classes, 12, 16, 3), {30, {3, 4}, 50, 0, 5});
    for (const bool weights : {false, true}) {
        const auto network = nn::make_network(c.options);
        if (weights) network->weights()[3] = std::numeric_limits<float>::quiet_NaN();
        Case bad = c;
        if (!weights) std::ranges::fill(bad.rows, std::numeric_limits<float>::quiet_NaN());
        EXPECT_TRUE(std::isnan(train_once(*network, bad, 1).result.loss));
    }
}

TEST(Sage, SaysWhatMemoryAPassTakes) {
    const Case c(small(nn::Objective::classes, 100, 64, 5), {300, {6, 8}, 60, 5, 9});
    const auto network = nn::make_network(c.options);
    const std::uint64_t said = network->activation_bytes(c.batch);
    train_once(*network, c, 1);
    EXPECT_EQ(said, dynamic_cast<nn::FlatNetwork&>(*network).workspace_bytes());
    EXPECT_GT(said, c.batch.blocks[0].destinations * (200U + 64U) * sizeof(float));
}

TEST(Sage, WeightsComeFromTheSeed) {
    nn::NetworkOptions options = small(nn::Objective::classes, 30, 16, 3);
    const auto a = nn::make_network(options);
    const auto b = nn::make_network(options);
    options.seed = 1;
    const auto other = nn::make_network(options);
    EXPECT_TRUE(std::ranges::equal(a->weights(), b->weights()));
    EXPECT_FALSE(std::ranges::equal(a->weights(), other->weights()));
    std::size_t covered = 0;
    for (const nn::Parameter& p : a->parameters()) {
        EXPECT_EQ(p.offset, covered);
        covered += p.size;
        const double bound = 1 / std::sqrt(p.name.starts_with("layers.0") ? 30.0 : 16.0);
        double most = 0;
        for (const float w : a->weights().subspan(p.offset, p.size))
            most = std::max(most, std::fabs(static_cast<double>(w)));
        EXPECT_LE(most, bound);
        if (p.size > 100) {
            EXPECT_GT(most, bound * 0.9);
        }
        EXPECT_EQ(p.decays, !p.name.ends_with("bias"));
    }
    EXPECT_EQ(covered, a->weights().size());
    EXPECT_EQ(a->buckets()[0].offset + a->buckets()[0].size, covered);
    EXPECT_EQ(a->buckets()[1].offset, 0U);
}

TEST(Network, UnknownModelListsTheKnown) {
    nn::NetworkOptions options = small(nn::Objective::classes, 3, 4, 2);
    options.model = "sag";
    try {
        static_cast<void>(nn::make_network(options));
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_NE(error.remedy().find("sage"), std::string::npos);
    }
}

}  // namespace rudder
