// The fused kernels, dropout and losses, each on its own.
#include <cmath>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "nn/paths.hpp"
#include "nn/random_batch.hpp"
#include "nn/reference.hpp"
#include "nn/simd.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/aggregate.hpp"
#include "rudder/nn/dropout.hpp"
#include "rudder/nn/loss.hpp"

namespace rudder {

namespace {

using testing::paths;
using testing::Restore;

using testing::random_batch;
using testing::random_floats;

void expect_near(std::span<const float> a, std::span<const float> b, double tolerance) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(static_cast<double>(a[i]), static_cast<double>(b[i]), tolerance) << i;
}

}  // namespace

TEST(Aggregate, MeanAgreesWithTheReferenceAndOnAllPaths) {
    const Restore restore;
    for (const std::size_t columns : {1U, 3U, 16U, 31U, 100U, 128U, 256U, 300U}) {
        const sample::Batch batch = random_batch({150, {9}, 60, 15, columns});
        const sample::Block& block = batch.blocks[0];
        const auto table = random_floats(block.sources * columns, columns);
        const auto expected = testing::reference_mean(block, table, columns);
        std::vector<float> first;
        for (const nn::VectorPath path : paths) {
            nn::set_vector_path(path);
            std::vector<float> means(block.destinations * columns);
            nn::mean_of_neighbours(block, {table.data(), block.sources, columns, columns}, 0,
                                   block.destinations,
                                   {means.data(), block.destinations, columns, columns});
            expect_near(means, expected, 1e-5);
            if (first.empty()) first = means;
            ASSERT_EQ(std::memcmp(first.data(), means.data(), means.size() * sizeof(float)), 0);
        }
    }
}

TEST(Aggregate, GradientAgreesWithTheReferenceAndOnAllPaths) {
    const Restore restore;
    for (const std::size_t columns : {1U, 7U, 47U, 128U, 256U}) {
        const sample::Batch batch = random_batch({150, {9}, 30, 15, columns});
        const sample::Block& block = batch.blocks[0];
        auto gradient = random_floats(block.destinations * columns, columns);
        const auto expected = testing::reference_mean_backward(block, gradient, columns);
        nn::divide_by_neighbours(block, 0, block.destinations,
                                 {gradient.data(), block.destinations, columns, columns});
        std::vector<std::uint32_t> offsets(block.sources + 1);
        std::vector<LocalId> readers(block.edges());
        const nn::TransposedBlock transposed{offsets, readers};
        nn::transpose(block, transposed);
        std::vector<float> first;
        for (const nn::VectorPath path : paths) {
            nn::set_vector_path(path);
            std::vector<float> out(block.sources * columns);
            const nn::GradientOfSources flow{
                {}, {gradient.data(), block.destinations, columns, columns}};
            nn::gather_gradient(transposed, flow, 0, block.sources,
                                {out.data(), block.sources, columns, columns});
            expect_near(out, expected, 1e-5);
            if (first.empty()) first = out;
            ASSERT_EQ(std::memcmp(first.data(), out.data(), out.size() * sizeof(float)), 0);
        }
    }
}

TEST(Aggregate, TransposedBlockKeepsTheOrderOfEdges) {
    sample::Block block;
    block.destinations = 3;
    block.sources = 4;
    block.offsets = {0, 2, 2, 5};
    block.neighbours = {3, 1, 1, 3, 1};
    std::vector<std::uint32_t> offsets(5);
    std::vector<LocalId> readers(5);
    nn::transpose(block, {offsets, readers});
    EXPECT_EQ(offsets, (std::vector<std::uint32_t>{0, 0, 3, 3, 5}));
    EXPECT_EQ(readers, (std::vector<LocalId>{0, 2, 2, 0, 2}));
}

TEST(Dropout, IsWhatTheKeySays) {
    const Restore restore;
    const nn::Dropout dropout({Purpose::dropout, 3, 1, 2, 1}, 0.3);
    const std::vector<VertexId> vertices{5, 0, (1ULL << 40) + 3};
    for (const std::size_t columns : {1U, 16U, 47U, 128U, 200U, 256U}) {
        const auto in = random_floats(vertices.size() * columns, columns);
        const auto bias = random_floats(columns, 9);
        for (const nn::VectorPath path : paths) {
            nn::set_vector_path(path);
            std::vector<float> out = in;
            nn::bias_rectify_drop({out.data(), vertices.size(), columns, columns}, bias, dropout,
                                  vertices);
            for (std::size_t r = 0; r < vertices.size(); ++r) {
                for (std::size_t c = 0; c < columns; ++c) {
                    const float y = std::max(0.F, in[r * columns + c] + bias[c]) * dropout.scale;
                    ASSERT_EQ(out[r * columns + c], dropout.keeps(vertices[r], c) ? y : 0.F);
                }
            }
        }
    }
}

TEST(Dropout, DropsAtItsRate) {
    constexpr std::size_t rows = 2000;
    constexpr std::size_t columns = 256;
    std::vector<VertexId> vertices(rows);
    for (std::size_t r = 0; r < rows; ++r)
        vertices[r] = r;
    const std::vector<float> ones(rows * columns, 1.F);
    for (const double rate : {0.0, 0.1, 0.5, 0.9}) {
        const nn::Dropout dropout({Purpose::dropout, 1, 0, 4, 2}, rate);
        std::vector<float> out(rows * columns);
        nn::drop({ones.data(), rows, columns, columns}, dropout, vertices,
                 {out.data(), rows, columns, columns});
        double sum = 0;
        std::size_t dropped = 0;
        for (const float x : out) {
            sum += static_cast<double>(x);
            dropped += x == 0.F ? 1U : 0U;
        }
        const auto count = static_cast<double>(out.size());
        // Five standard deviations.
        const double spread = 5 * std::sqrt(std::max(rate * (1 - rate), 1e-9) / count);
        EXPECT_NEAR(static_cast<double>(dropped) / count, rate, spread + 1e-5);
        EXPECT_NEAR(sum / count, 1.0, (spread + 1e-5) / (1 - rate));
    }
}

TEST(Dropout, DiffersByStepLayerAndEpoch) {
    const StreamKey key{Purpose::dropout, 3, 1, 2, 1};
    StreamKey others[]{key, key, key, key};
    others[0].seed = 4;
    others[1].epoch = 2;
    others[2].step = 3;
    others[3].layer = 2;
    for (const StreamKey& other : others) {
        std::size_t equal = 0;
        for (std::uint64_t c = 0; c < 1000; ++c)
            equal +=
                nn::Dropout(key, 0.5).keeps(7, c) == nn::Dropout(other, 0.5).keeps(7, c) ? 1U : 0U;
        EXPECT_NEAR(static_cast<double>(equal), 500, 80);
    }
}

TEST(Loss, SeedsWithoutTargetsGiveNothing) {
    std::vector<float> scores{1, 2, 3, -1, 0.5F, 2};
    const nn::Matrix rows{scores.data(), 2, 3, 3};
    const std::vector<std::int32_t> classes{-1, 2};
    nn::SeedTargets targets;
    targets.classes = classes;
    const nn::LossSums sums = nn::loss_and_gradient(nn::Objective::classes, targets, 0.5F, rows);
    EXPECT_EQ(sums.answers, 1U);
    EXPECT_EQ(sums.correct, 1U);
    const double expected = 0.5 * (std::log(std::exp(-1.0) + std::exp(0.5) + std::exp(2.0)) - 2);
    EXPECT_NEAR(sums.loss, expected, 1e-6);
    EXPECT_EQ(scores[0], 0.F);
    EXPECT_EQ(scores[2], 0.F);

    std::vector<float> pairs{0, 0, 1, -1};
    const std::vector<std::uint8_t> labels{255, 255, 1, 0};
    targets = {};
    targets.multilabel = labels;
    const nn::LossSums two =
        nn::loss_and_gradient(nn::Objective::multilabel, targets, 1, {pairs.data(), 2, 2, 2});
    EXPECT_EQ(two.answers, 2U);
    EXPECT_EQ(two.correct, 2U);
    EXPECT_NEAR(two.loss, std::log1p(std::exp(-1.0)), 1e-6);

    std::vector<float> numbers{4, 4, 1, 3};
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<float> wanted{nan, nan, 0, 1};
    targets = {};
    targets.regression = wanted;
    const nn::LossSums three =
        nn::loss_and_gradient(nn::Objective::regression, targets, 2, {numbers.data(), 2, 2, 2});
    EXPECT_EQ(three.answers, 0U);
    EXPECT_NEAR(three.loss, 2 * (1.0 + 4.0) / 2, 1e-6);
    EXPECT_EQ(numbers, (std::vector<float>{0, 0, 2, 4}));
}

}  // namespace rudder
