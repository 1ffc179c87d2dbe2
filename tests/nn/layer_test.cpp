// The steps of a layer besides its products: activations, norms, lanes, weighted sums.
#include <cmath>

#include "nn/paths.hpp"
#include "nn/random_batch.hpp"
#include "rudder/core/array.hpp"
#include "rudder/nn/activation.hpp"
#include "rudder/nn/linear.hpp"
#include "rudder/nn/norm.hpp"
#include "rudder/nn/workspace.hpp"

namespace rudder {

namespace {

using testing::expect_close;
using testing::on_all_paths;
using testing::random_floats;

using Doubles = std::vector<double>;

std::vector<VertexId> some_vertices(std::size_t count) {
    std::vector<VertexId> all;
    for (std::size_t i = 0; i < count; ++i)
        all.push_back(i * 977 + 5);
    return all;
}

double sum_of(std::span<const float> values) {
    double sum = 0;
    for (const float value : values)
        sum += static_cast<double>(value);
    return sum;
}

}  // namespace

TEST(Activation, ForwardIsItsFormula) {
    const auto vertices = some_vertices(9);
    for (const std::size_t columns : {1U, 15U, 16U, 33U, 100U}) {
        const std::size_t stride =
            nn::aligned_columns(columns);  // rows have room for whole vectors
        const auto in = random_floats(9 * stride, columns, 4);
        for (const double rate : {0.0, 0.4}) {
            const nn::Dropout dropout({Purpose::dropout, 3, 1, 2, 1}, rate);
            for (const nn::Activation kind :
                 {nn::Activation::rectifier, nn::Activation::exponential}) {
                const auto made = on_all_paths([&] {
                    auto rows = Array<float>::copy_of(in);
                    nn::activate({rows.data(), 9, columns, stride}, kind, dropout, vertices);
                    std::vector<float> used;
                    for (std::size_t i = 0; i < rows.size(); ++i)
                        if (i % stride < columns) used.push_back(rows[i]);
                    return used;
                });
                Doubles wanted;
                for (std::size_t i = 0; i < in.size(); ++i) {
                    if (i % stride >= columns) continue;
                    const double x = static_cast<double>(in[i]);
                    const double y =
                        x > 0 ? x : (kind == nn::Activation::rectifier ? 0 : std::expm1(x));
                    wanted.push_back(dropout.keeps(vertices[i / stride], i % stride)
                                         ? y * static_cast<double>(dropout.scale)
                                         : 0);
                }
                expect_close(made, wanted, 3e-6);
            }
        }
    }
}

TEST(Activation, UndoIsItsSlope) {
    constexpr std::size_t columns = 48;
    const auto in = Array<float>::copy_of(random_floats(5 * columns, 1, 3));
    const auto gradient = random_floats(5 * columns, 2);
    for (const nn::Activation kind : {nn::Activation::rectifier, nn::Activation::exponential}) {
        auto active = Array<float>::copy_of(in.span());
        nn::activate({active.data(), 5, columns, columns}, kind, {}, some_vertices(5));
        const auto made = on_all_paths([&] {
            std::vector<float> out(gradient.size());
            nn::undo_activation({gradient.data(), 5, columns, columns}, kind,
                                {active.data(), columns, 1}, {out.data(), 5, columns, columns});
            return out;
        });
        Doubles wanted;
        for (std::size_t i = 0; i < in.size(); ++i) {
            const double x = static_cast<double>(in[i]);
            const double slope = x > 0 ? 1 : (kind == nn::Activation::rectifier ? 0 : std::exp(x));
            wanted.push_back(slope * static_cast<double>(gradient[i]));
        }
        expect_close(made, wanted);
    }
}

TEST(Norm, RowsHaveMeanAndSpreadOfTheirShiftAndGain) {
    constexpr std::size_t rows = 6;
    constexpr std::size_t columns = 37;
    auto x = random_floats(rows * columns, 1, 5);
    const std::vector<float> gain(columns, 2);
    const std::vector<float> shift(columns, 3);
    std::vector<float> normal(rows * columns);
    std::vector<float> spreads(rows);
    nn::normalise_rows({x.data(), rows, columns, columns}, gain, shift,
                       {normal.data(), rows, columns, columns}, spreads.data());
    for (std::size_t r = 0; r < rows; ++r) {
        const auto row = std::span(x).subspan(r * columns, columns);
        EXPECT_NEAR(sum_of(row) / columns, 3, 1e-5);
        double squares = 0;
        for (const float value : row)
            squares += std::pow(static_cast<double>(value) - 3, 2);
        EXPECT_NEAR(squares / columns, 4, 1e-3);
        EXPECT_NEAR(sum_of(std::span(normal).subspan(r * columns, columns)), 0, 1e-4);
        EXPECT_GT(spreads[r], 0.F);
    }
}

TEST(Norm, RowsBackwardIsTheSlope) {
    constexpr std::size_t columns = 9;
    const auto in = random_floats(columns, 1, 2);
    const auto gain = random_floats(columns, 2);
    const auto shift = random_floats(columns, 3);
    const auto given = random_floats(columns, 4);
    const auto loss = [&](const std::vector<float>& at) {
        auto x = at;
        float spread = 0;
        nn::normalise_rows({x.data(), 1, columns, columns}, gain, shift, {}, &spread);
        double sum = 0;
        for (std::size_t c = 0; c < columns; ++c)
            sum += static_cast<double>(x[c]) * static_cast<double>(given[c]);
        return sum;
    };
    auto x = in;
    std::vector<float> normal(columns);
    float spread = 0;
    nn::normalise_rows({x.data(), 1, columns, columns}, gain, shift,
                       {normal.data(), 1, columns, columns}, &spread);
    auto gradient = given;
    nn::undo_normalise_rows({gradient.data(), 1, columns, columns}, gain,
                            {normal.data(), 1, columns, columns}, &spread);
    for (std::size_t c = 0; c < columns; ++c) {
        constexpr float step = 1.F / 256;
        auto moved = in;
        moved[c] = in[c] + step;
        const double above = loss(moved);
        moved[c] = in[c] - step;
        EXPECT_NEAR((above - loss(moved)) / (2 * static_cast<double>(step)),
                    static_cast<double>(gradient[c]), 2e-3);
    }
}

TEST(Norm, ColumnsByTheirFormula) {
    constexpr std::size_t rows = 7;
    constexpr std::size_t columns = 21;
    const auto in = random_floats(rows * columns, 1);
    const auto mean = random_floats(columns, 2);
    auto spread = random_floats(columns, 3);
    for (float& s : spread)
        s = std::abs(s) + 0.5F;
    const auto gain = random_floats(columns, 4);
    const auto shift = random_floats(columns, 5);
    auto x = in;
    std::vector<float> normal(rows * columns);
    nn::normalise_columns({x.data(), rows, columns, columns}, mean.data(), spread.data(), gain,
                          shift, {normal.data(), rows, columns, columns});
    const auto given = random_floats(rows * columns, 6);
    const auto mean_gradient = random_floats(columns, 7);
    const auto mean_product = random_floats(columns, 8);
    auto gradient = given;
    nn::undo_normalise_columns({gradient.data(), rows, columns, columns}, gain,
                               {normal.data(), rows, columns, columns}, spread.data(),
                               mean_gradient.data(), mean_product.data());
    Doubles wanted;
    Doubles wanted_gradient;
    for (std::size_t i = 0; i < in.size(); ++i) {
        const std::size_t c = i % columns;
        const auto d = [](float value) { return static_cast<double>(value); };
        const double n = (d(in[i]) - d(mean[c])) * d(spread[c]);
        wanted.push_back(n * d(gain[c]) + d(shift[c]));
        wanted_gradient.push_back(d(gain[c]) * d(spread[c]) *
                                  (d(given[i]) - d(mean_gradient[c]) - n * d(mean_product[c])));
    }
    expect_close(x, wanted);
    expect_close(gradient, wanted_gradient);
}

TEST(Lanes, CoverAllRowsOnceInFixedStretches) {
    for (const std::size_t rows : {0U, 1U, 127U, 128U, 129U, 5000U, 100000U}) {
        const nn::Lanes lanes(rows);
        EXPECT_EQ(lanes.rows, rows);
        EXPECT_EQ(lanes.size % 64, 0U);
        EXPECT_GE(lanes.count * lanes.size, rows);
        if (rows > 0) {
            EXPECT_LT((lanes.count - 1) * lanes.size, rows);
        }
    }
}

TEST(LaneSums, AddUpWeightsAndBiasesWithoutPadding) {
    constexpr std::size_t rows = 300;
    constexpr std::size_t used = 3;    // of each group of outputs
    constexpr std::size_t padded = 5;  // filled up to this
    constexpr std::size_t outputs = 2 * padded;
    constexpr std::size_t inputs = 19;
    const nn::Lanes lanes(rows);
    const auto gradient = random_floats(rows * outputs, 1);
    const auto in = random_floats(rows * inputs, 2);
    auto memory = Array<float>::uninitialised(nn::LaneSums::floats(lanes, outputs, inputs));
    std::fill(memory.begin(), memory.end(), 99.F);  // the first call of a lane clears it
    const nn::LaneSums sums(memory.data(), lanes, outputs, inputs);
    for (std::size_t lane = 0; lane < lanes.count; ++lane) {
        const std::size_t end = std::min(rows, (lane + 1) * lanes.size);
        for (std::size_t first = lane * lanes.size; first < end; first += 50) {
            const std::size_t count = std::min<std::size_t>(50, end - first);
            sums.add(lane, first == lane * lanes.size,
                     {gradient.data() + first * outputs, count, outputs, outputs},
                     {in.data() + first * inputs, count, inputs, inputs});
        }
    }
    // Two stretches of the inputs' columns, as GraphSAGE has for itself and its neighbours.
    std::vector<float> left((2 * used + 1) * 8, 7.F);  // and a row that is nobody's
    std::vector<float> right(2 * used * 11);
    std::vector<float> bias(2 * used);
    const nn::LaneSums::Stretch stretches[]{{0, 8, left.data()}, {8, 11, right.data()}};
    sums.finish(stretches, bias.data(), {used, padded});
    Doubles wanted_left;
    Doubles wanted_right;
    Doubles wanted_bias;
    for (std::size_t o = 0; o < outputs; ++o) {
        if (o % padded >= used) continue;
        double all = 0;
        for (std::size_t r = 0; r < rows; ++r)
            all += static_cast<double>(gradient[r * outputs + o]);
        wanted_bias.push_back(all);
        for (std::size_t i = 0; i < inputs; ++i) {
            double sum = 0;
            for (std::size_t r = 0; r < rows; ++r)
                sum += static_cast<double>(gradient[r * outputs + o]) *
                       static_cast<double>(in[r * inputs + i]);
            (i < 8 ? wanted_left : wanted_right).push_back(sum);
        }
    }
    wanted_left.insert(wanted_left.end(), 8, 7.0);
    expect_close(left, wanted_left, 1e-4);
    expect_close(right, wanted_right, 1e-4);
    expect_close(bias, wanted_bias, 1e-4);
}

TEST(LaneColumns, AddRowsAndProducts) {
    constexpr std::size_t columns = 20;
    const nn::Lanes lanes(300);
    const auto a = random_floats(10 * columns, 1);
    const auto b = random_floats(10 * columns, 2);
    auto memory = Array<float>::uninitialised(nn::LaneColumns::floats(lanes, columns));
    const nn::LaneColumns sums(memory.data(), lanes, columns);
    for (std::size_t l = 0; l < lanes.count; ++l)
        sums.clear(l);
    sums.add(0, {a.data(), 10, columns, columns});
    sums.add_products(lanes.count - 1, {a.data(), 10, columns, columns},
                      {b.data(), 10, columns, columns});
    std::vector<float> out(columns, 7);
    sums.finish(out.data());
    Doubles wanted(columns, 0.0);
    for (std::size_t i = 0; i < a.size(); ++i)
        wanted[i % columns] += static_cast<double>(a[i]) * (1 + static_cast<double>(b[i]));
    expect_close(out, wanted);
}

TEST(Aggregate, WeightedSumIsItsFormula) {
    const sample::Batch batch = testing::random_batch({60, {7}, 40, 20, 4});
    const sample::Block& block = batch.blocks[0];
    for (const std::size_t columns : {1U, 16U, 45U}) {
        const auto table = random_floats(block.sources * columns, 1);
        const auto weights = random_floats(block.sources, 2);
        const auto factors = random_floats(block.destinations, 3);
        const auto own = random_floats(40 * columns, 4);
        const auto own_factors = random_floats(block.destinations, 5);
        const auto active = random_floats(block.destinations * columns, 6);
        for (const bool rectified : {false, true}) {
            const auto made = on_all_paths([&] {
                std::vector<float> out(block.destinations * columns);
                nn::WeightedRows rows{{table.data(), block.sources, columns, columns},
                                      weights.data(),
                                      factors.data(),
                                      {own.data(), 40, columns, columns},
                                      own_factors.data()};
                if (rectified) rows.active = {active.data(), columns, 2};
                nn::weighted_sum(block.offsets, block.neighbours, rows, 0, block.destinations,
                                 {out.data(), block.destinations, columns, columns});
                return out;
            });
            Doubles wanted;
            for (std::uint32_t d = 0; d < block.destinations; ++d) {
                for (std::size_t c = 0; c < columns; ++c) {
                    double sum = 0;
                    for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e)
                        sum += static_cast<double>(table[block.neighbours[e] * columns + c]) *
                               static_cast<double>(weights[block.neighbours[e]]);
                    sum *= static_cast<double>(factors[d]);
                    if (d < 40)
                        sum += static_cast<double>(own[d * columns + c]) *
                               static_cast<double>(own_factors[d]);
                    if (rectified) sum = active[d * columns + c] > 0 ? 2 * sum : 0;
                    wanted.push_back(sum);
                }
            }
            expect_close(made, wanted);
        }
    }
}

TEST(Aggregate, GradientPassesOwnRowsAndTheRectifier) {
    const sample::Batch batch = testing::random_batch({50, {4}, 60, 10, 6});
    const sample::Block& block = batch.blocks[0];
    constexpr std::size_t columns = 18;
    const auto own = random_floats(block.destinations * columns, 1);
    const auto readers = random_floats(block.destinations * columns, 2);
    const auto active = random_floats(block.sources * columns, 3);
    std::vector<std::uint32_t> offsets(block.sources + 1);
    std::vector<LocalId> reading(block.edges());
    const nn::TransposedBlock transposed{offsets, reading};
    nn::transpose(block, transposed);
    const auto made = on_all_paths([&] {
        std::vector<float> out(block.sources * columns);
        const nn::GradientOfSources flow{{own.data(), block.destinations, columns, columns},
                                         {readers.data(), block.destinations, columns, columns},
                                         {active.data(), columns, 3}};
        nn::gather_gradient(transposed, flow, 0, block.sources,
                            {out.data(), block.sources, columns, columns});
        return out;
    });
    Doubles wanted(block.sources * columns, 0.0);
    for (std::size_t i = 0; i < own.size(); ++i)
        wanted[i] = static_cast<double>(own[i]);
    for (std::uint32_t d = 0; d < block.destinations; ++d)
        for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e)
            for (std::size_t c = 0; c < columns; ++c)
                wanted[block.neighbours[e] * columns + c] +=
                    static_cast<double>(readers[d * columns + c]);
    for (std::size_t i = 0; i < wanted.size(); ++i)
        wanted[i] *= active[i] > 0 ? 3 : 0;
    expect_close(made, wanted);
}

TEST(Workspace, KeepsWhatItHasAndAligns) {
    nn::WorkspacePlan plan;
    EXPECT_EQ(plan.add<float>(3), 0U);
    EXPECT_EQ(plan.add<double>(1), 64U);
    EXPECT_EQ(plan.add<char>(65), 128U);
    EXPECT_EQ(plan.bytes(), 256U);
    nn::Workspace workspace;
    workspace.fit(plan);
    EXPECT_EQ(workspace.bytes(), 256U + 32U);
    float* first = workspace.at<float>(0);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0U);
    first[0] = 5;
    nn::WorkspacePlan smaller;
    static_cast<void>(smaller.add<float>(1));
    workspace.fit(smaller);
    EXPECT_EQ(workspace.at<float>(0), first);
    EXPECT_EQ(first[0], 5.F);
}

}  // namespace rudder
