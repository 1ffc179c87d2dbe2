// Rows of 8 and 4 bits per column: known answers, a slow version beside, no bias.
#include "store/quantise.hpp"

#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "rudder/core/random.hpp"
#include "store/instruction_sets.hpp"

#include "suite.hpp"

namespace rudder::test {
namespace {

using store::QuantiseKernels;

/// The same zero and step for every column.
store::ColumnSteps even_steps(std::size_t width, unsigned levels, float zero, float step) {
    const auto values = std::make_shared<std::vector<float>>(2 * width, zero);
    std::fill(values->begin() + static_cast<std::ptrdiff_t>(width), values->end(), step);
    return {.width = width, .levels = levels, .values = *values, .memory = values};
}

std::vector<unsigned> wire_of(const QuantiseKernels& kernels, const store::ColumnSteps& steps,
                              VertexId v, const std::vector<float>& row) {
    std::vector<std::byte> wire(store::quantised_bytes(row.size(), steps.levels));
    kernels.quantise(steps, {&v, 1}, row.data(), wire.data());
    std::vector<unsigned> bytes;
    for (const std::byte b : wire)
        bytes.push_back(std::to_integer<unsigned>(b));
    return bytes;
}

class Quantised : public ::testing::TestWithParam<std::string_view> {
protected:
    [[nodiscard]] static const QuantiseKernels& kernels() {
        return store::quantise_kernels(GetParam());
    }
};
INSTANTIATE_TEST_SUITE_P(InstructionSets, Quantised,
                         ::testing::ValuesIn(store::row_instruction_sets()));

TEST_P(Quantised, NibblesOfBothHalvesOfARow) {
    const std::vector<float> row{1, 2, 3, 4, 5};
    const auto steps = even_steps(5, 15, 0, 1);
    EXPECT_EQ(wire_of(kernels(), steps, 9, row), (std::vector<unsigned>{0x41, 0x52, 0x03}));
    EXPECT_EQ(wire_of(kernels(), even_steps(1, 15, 0, 1), 9, {7}), (std::vector<unsigned>{7}));
    EXPECT_EQ(wire_of(kernels(), even_steps(5, 255, 0, 0.5F), 9, row),
              (std::vector<unsigned>{2, 4, 6, 8, 10}));
}

/// The bits of draws: whoever changes them changes every run.
TEST_P(Quantised, KnownDraws) {
    const std::vector<float> row(12, 100.5F);
    const auto steps = even_steps(12, 255, 0, 1);
    EXPECT_EQ(wire_of(kernels(), steps, 12'345, row),
              (std::vector<unsigned>{101, 101, 100, 100, 101, 101, 100, 101, 101, 100, 101, 101}));
    EXPECT_EQ(wire_of(kernels(), steps, 5'000'000'000, row),
              (std::vector<unsigned>{100, 101, 100, 101, 100, 100, 100, 101, 100, 101, 100, 100}));
}

TEST_P(Quantised, WhatLiesOnALevelStaysAndWhatLiesOutsideIsCut) {
    for (VertexId v = 0; v < 3000; ++v) {
        std::vector<float> row{-3, 0, 99};
        for (int level = 0; level <= 15; ++level)
            row.push_back(static_cast<float>(level) / 15);
        const auto steps = even_steps(row.size(), 15, 0, 1.0F / 15);
        float* place = row.data();
        const std::vector<float> before = row;
        kernels().round(steps, {&v, 1}, &place);
        EXPECT_EQ(row[0], 0);
        EXPECT_EQ(row[1], 0);
        EXPECT_EQ(row[2], 15 * (1.0F / 15));
        for (std::size_t i = 3; i < row.size(); ++i)
            ASSERT_NEAR(row[i], before[i], 1e-6) << v;
    }
}

TEST_P(Quantised, ConstantColumnsStay) {
    for (const unsigned levels : {15U, 255U}) {
        const auto steps = even_steps(33, levels, -2.7F, 0);
        std::vector<float> row(33, -2.7F);
        const VertexId v = 4;
        float* place = row.data();
        kernels().round(steps, {&v, 1}, &place);
        EXPECT_THAT(row, ::testing::Each(-2.7F));
    }
}

TEST_P(Quantised, TheSlowWayForEveryWidth) {
    for (const std::size_t width : {1U, 2U, 15U, 16U, 17U, 31U, 32U, 33U, 127U, 128U, 129U, 301U}) {
        for (const unsigned levels : {15U, 255U}) {
            SCOPED_TRACE(fmt::format("width {}, {} levels", width, levels));
            PlainRows plain(levels, levels == 15 ? 1024 : ~VertexId{0});
            const RandomStream stream({.purpose = Purpose::test, .seed = width});
            std::vector<VertexId> vertices;
            std::vector<float> rows;
            for (std::size_t i = 0; i < 40; ++i) {
                vertices.push_back(i * 113 % 4000);
                Draws draws(stream, i);
                std::vector<float> row(width);
                for (float& x : row)
                    x = static_cast<float>(draws.normal());
                rows.insert(rows.end(), row.begin(), row.end());
                plain.add(vertices.back(), row);
            }
            const store::ColumnSteps steps = plain.steps();
            const std::size_t bytes = store::quantised_bytes(width, levels);
            std::vector<std::byte> wire(vertices.size() * bytes + 1);
            kernels().quantise(steps, vertices, rows.data(), wire.data() + 1);
            std::vector<float> decoded(rows.size());
            std::vector<const std::byte*> from;
            std::vector<float*> to;
            std::vector<float*> in_place;
            for (std::size_t i = 0; i < vertices.size(); ++i) {
                from.push_back(wire.data() + 1 + i * bytes);
                to.push_back(decoded.data() + i * width);
                in_place.push_back(rows.data() + i * width);
            }
            kernels().dequantise(steps, vertices, from.data(), to.data());
            kernels().round(steps, vertices, in_place.data());
            EXPECT_EQ(decoded, rows);
            for (std::size_t i = 0; i < vertices.size(); ++i) {
                const std::vector<float> row(to[i], to[i] + width);
                ASSERT_EQ(row, plain.seen(vertices[i])) << "vertex " << vertices[i];
                const auto first = std::to_integer<unsigned>(from[i][0]);
                EXPECT_EQ(levels == 15 ? first & 0xFU : first, plain.level(vertices[i], 0));
            }
        }
    }
}

/// How often a value is rounded up over many vertices, for each of a few columns.
TEST_P(Quantised, NoBias) {
    constexpr VertexId count = 100'000;
    constexpr std::size_t width = 70;
    std::vector<float> row(width);
    for (std::size_t c = 0; c < width; ++c)
        row[c] = 3 + static_cast<float>(c) / static_cast<float>(width);
    const auto steps = even_steps(width, 15, 0, 1);
    std::vector<double> ups(width);
    std::vector<double> both(width);  // with the column before
    for (VertexId v = 0; v < count; ++v) {
        std::vector<float> seen = row;
        float* place = seen.data();
        kernels().round(steps, {&v, 1}, &place);
        for (std::size_t c = 0; c < width; ++c) {
            ups[c] += static_cast<double>(seen[c]) - 3;
            if (c > 0) both[c] += static_cast<double>((seen[c] - 3) * (seen[c - 1] - 3));
        }
    }
    for (std::size_t c = 0; c < width; ++c) {
        const double share = static_cast<double>(c) / width;
        const double sigma = std::sqrt(share * (1 - share) / count);
        EXPECT_NEAR(ups[c] / count, share, 4 * sigma + 1e-5) << "column " << c;
        if (c == 0) continue;
        const double joint = share * (share - 1.0 / width);
        const double joint_sigma = std::sqrt(joint * (1 - joint) / count);
        EXPECT_NEAR(both[c] / count, joint, 4.5 * joint_sigma + 1e-5) << "column " << c;
    }
}

}  // namespace
}  // namespace rudder::test
