// Bodies one by one, on the twin, against the CPU's functions and against plain loops.
#include <cmath>
#include <set>

#include "core/column_draws.hpp"
#include "nn/gpu/device_inputs.hpp"
#include "nn/network_case.hpp"
#include "rudder/core/random.hpp"
#include "rudder/nn/activation.hpp"
#include "rudder/nn/norm.hpp"

#include "gpu/body_case.hpp"

namespace rudder {

using namespace testing;

namespace {

nn::Dropout some_dropout(double rate) {
    return {{.purpose = Purpose::dropout, .seed = 4, .epoch = 1, .step = 9, .layer = 2}, rate};
}

nn::LaneDropout lanes_of(const nn::Dropout& dropout) {
    return {{dropout.key[0], dropout.key[1]}, dropout.threshold, dropout.scale};
}

}  // namespace

TEST(TwinDraws, EveryColumnOnceWithTheBitsOfTheCpu) {
    const nn::Dropout dropout = some_dropout(0.37);
    for (const std::size_t columns : {1U, 16U, 17U, 64U, 65U, 127U, 128U, 129U, 300U}) {
        for (const std::uint64_t vertex : {std::uint64_t{0}, std::uint64_t{123456789012}}) {
            std::vector<int> seen(columns, 0);
            for (std::uint32_t lane = 0; lane < nn::warp_lanes; ++lane) {
                nn::over_drawn_columns(lane, columns, lanes_of(dropout), vertex,
                                       [&](std::size_t c, bool keep) {
                                           ASSERT_LT(c, columns);
                                           ++seen[c];
                                           EXPECT_EQ(keep, dropout.keeps(vertex, c)) << c;
                                       });
            }
            EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<long>(columns));
        }
    }
}

TEST(TwinDraws, ThePowerOfEIsThatOfTheVectors) {
    std::vector<float> x;
    for (float value = -100; value < 100; value += 0.37F)
        x.push_back(value);
    // Negative ones through the exponential unit: e^x - 1.
    std::vector<float> rows(x);
    rows.resize(nn::aligned_columns(x.size()));
    const nn::Matrix matrix{rows.data(), 1, x.size(), rows.size()};
    nn::activate(matrix, nn::Activation::exponential, {}, {});
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (x[i] >= 0) continue;
        const float ours = nn::lane_exp(x[i]) - 1.F;
        EXPECT_EQ(ours == 0.F ? std::numeric_limits<float>::min() : ours, rows[i]) << x[i];
    }
    EXPECT_TRUE(std::isnan(nn::lane_exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(TwinRows, ActivationAndDropoutAreThoseOfTheCpu) {
    for (const std::size_t columns : {3U, 64U, 150U}) {
        for (const bool exponential : {false, true}) {
            const nn::Dropout dropout = some_dropout(0.3);
            const std::size_t count = 9;
            std::vector<VertexId> vertices;
            for (std::size_t r = 0; r < count; ++r)
                vertices.push_back(r * 1000000007);
            const auto values = random_floats(count * columns, 7);
            const std::size_t stride = nn::aligned_columns(columns);
            std::vector<float> padded(count * stride);
            for (std::size_t r = 0; r < count; ++r)
                std::copy_n(values.data() + r * columns, columns, padded.data() + r * stride);
            nn::activate({padded.data(), count, columns, stride},
                         exponential ? nn::Activation::exponential : nn::Activation::rectifier,
                         dropout, vertices);
            OnDevice on(nn::make_twin_device());
            nn::FinishRows finish{};
            finish.x = on.put(values);
            finish.out = on.room(values.size());
            finish.columns = static_cast<std::uint32_t>(columns);
            finish.activation =
                exponential ? nn::LaneActivation::exponential : nn::LaneActivation::rectifier;
            finish.dropout = lanes_of(dropout);
            finish.vertices = on.put(vertices);
            on.device().run(finish, count);
            const auto ours = on.get(finish.out, values.size());
            for (std::size_t r = 0; r < count; ++r) {
                for (std::size_t c = 0; c < columns; ++c)
                    ASSERT_EQ(ours[r * columns + c], padded[r * stride + c]) << r << " " << c;
            }
        }
    }
}

TEST(TwinBlocks, SumsAreThoseOfTheCpuToTheBit) {
    BatchShape shape;
    shape.seeds = 50;
    shape.fanouts = {7};
    const sample::Batch batch = random_batch(shape);
    const sample::Block& block = batch.blocks[0];
    for (const std::uint32_t columns : {1U, 31U, 32U, 100U}) {
        const auto table = random_floats(block.sources * columns, 5);
        std::vector<float> wanted(block.destinations * columns);
        nn::mean_of_neighbours(block, {table.data(), block.sources, columns, columns}, 0,
                               block.destinations,
                               {wanted.data(), block.destinations, columns, columns});
        OnDevice on(nn::make_twin_device());
        float* const inverse = on.room(block.destinations);
        nn::GatherSum sum;
        sum.offsets = on.put(block.offsets);
        sum.ids = on.put(block.neighbours);
        sum.table = on.put(table);
        sum.columns = columns;
        sum.out = on.room(wanted.size());
        sum.factors = inverse;
        on.device().run(nn::InverseCounts{sum.offsets, block.destinations, inverse},
                        nn::pieces_of(block.destinations, nn::warp_lanes));
        on.device().run(sum, block.destinations);
        EXPECT_EQ(on.get(sum.out, wanted.size()), wanted) << columns;
        // And backwards, with the rectifier undone in place.
        const Backwards back(block);
        auto active = random_floats(block.sources * columns, 6);
        const auto gradient = random_floats(block.destinations * columns, 8);
        const auto own = random_floats(block.destinations * columns, 9);
        std::vector<float> divided = gradient;
        nn::divide_by_neighbours(block, 0, block.destinations,
                                 {divided.data(), block.destinations, columns, columns});
        std::vector<float> through(active.size());
        Backwards same(block);
        nn::gather_gradient({same.starts, same.readers},
                            {{own.data(), block.destinations, columns, columns},
                             {divided.data(), block.destinations, columns, columns},
                             {active.data(), columns, 1.25F}},
                            0, block.sources, {through.data(), block.sources, columns, columns});
        nn::GatherSum undo;
        undo.offsets = on.put(back.starts);
        undo.ids = on.put(back.readers);
        undo.table = on.put(gradient);
        undo.columns = columns;
        undo.out = on.put(active);
        undo.begin_rows = on.put(own);
        undo.begin_count = block.destinations;
        undo.id_weights = inverse;
        undo.active = undo.out;
        undo.scale = 1.25F;
        on.device().run(undo, block.sources);
        EXPECT_EQ(on.get(undo.out, through.size()), through) << columns;
    }
}

TEST(TwinBlocks, EveryEdgeIsThereBackwards) {
    const sample::Batch batch = random_batch({});
    nn::Stretches counted;
    const nn::InputNeeds needs{.vertices = true, .degrees = true, .first_transposed = true};
    static_cast<void>(nn::lay_out(batch, needs, counted));
    std::vector<std::byte> memory(counted.bytes() + 256);
    nn::Stretches placed(memory.data());
    const nn::InputPlaces places = nn::lay_out(batch, needs, placed);
    EXPECT_EQ(placed.bytes(), counted.bytes());
    std::set<const void*> starts{places.vertices, places.degrees};
    for (const nn::BlockPlaces& block : places.blocks) {
        for (const void* place :
             {static_cast<const void*>(block.offsets), static_cast<const void*>(block.neighbours),
              static_cast<const void*>(block.starts), static_cast<const void*>(block.readers),
              static_cast<const void*>(block.places)})
            EXPECT_TRUE(starts.insert(place).second);
    }
    for (const sample::Block& block : batch.blocks) {
        const Backwards back(block);
        for (std::uint32_t s = 0; s < block.sources; ++s) {
            for (std::uint32_t i = back.starts[s]; i < back.starts[s + 1]; ++i) {
                EXPECT_EQ(block.neighbours[back.places[i]], s);
                EXPECT_LE(block.offsets[back.readers[i]], back.places[i]);
                EXPECT_GT(block.offsets[back.readers[i] + 1], back.places[i]);
            }
        }
    }
}

TEST(TwinProducts, AreThoseOfDoubles) {
    for (const ProductShape& shape : product_shapes) {
        const auto a = random_floats(shape.rows * shape.depth, 1);
        const auto b = random_floats(shape.depth * shape.columns, 2);
        const auto c = random_floats(shape.rows * shape.columns, 3);
        OnDevice on(nn::make_twin_device());
        const auto results = all_products(on, shape);
        std::size_t at = 0;
        for (int way = 0; way < 8; ++way) {
            for (std::size_t r = 0; r < shape.rows; ++r) {
                for (std::size_t col = 0; col < shape.columns; ++col) {
                    double sum =
                        (way & 4) != 0 ? static_cast<double>(c[r * shape.columns + col]) : 0.0;
                    for (std::size_t k = 0; k < shape.depth; ++k) {
                        const float x =
                            a[(way & 1) != 0 ? k * shape.rows + r : r * shape.depth + k];
                        const float y =
                            b[(way & 2) != 0 ? col * shape.depth + k : k * shape.columns + col];
                        sum += static_cast<double>(x) * static_cast<double>(y);
                    }
                    ASSERT_NEAR(static_cast<double>(results[at++]), sum,
                                1e-5 * std::sqrt(static_cast<double>(shape.depth)) + 1e-6)
                        << way << " " << r << " " << col;
                }
            }
        }
    }
}

TEST(TwinProducts, StretchesCoverTheDepth) {
    for (const std::size_t depth : {1U, 511U, 512U, 513U, 1024U, 40000U, 1000000U}) {
        const nn::ProductParts cut =
            nn::product_parts({nullptr, true, nullptr, false, nullptr, 4, 4, depth, false});
        EXPECT_GE(cut.stretch * cut.count, depth);
        EXPECT_LT(cut.stretch * (cut.count - 1), depth);
        EXPECT_LE(cut.count, 64U);
        EXPECT_EQ(
            nn::product_parts({nullptr, false, nullptr, false, nullptr, 4, 4, depth, false}).count,
            1U);
    }
}

TEST(TwinColumns, SumsOfEveryTermOverAnyNumberOfRows) {
    for (const std::size_t rows : {1U, 63U, 64U, 65U, 1000U, 9000U}) {
        constexpr std::uint32_t columns = 36;
        constexpr std::uint32_t heads = 4;
        const auto x = random_floats(rows * columns, 1);
        const auto y = random_floats(rows * columns, 2);
        for (const nn::ColumnTerm term : {nn::ColumnTerm::value, nn::ColumnTerm::product,
                                          nn::ColumnTerm::off, nn::ColumnTerm::by_head}) {
            OnDevice on(nn::make_twin_device());
            const std::size_t stretches = nn::pieces_of(rows, nn::stretch_rows(rows));
            EXPECT_LE(stretches, 128U);
            float* const partial = on.room(stretches * columns);
            float* const out = on.room(columns);
            float* const whole = on.room(columns);
            const std::size_t strips = nn::pieces_of(columns, nn::warp_lanes);
            on.device().run(
                nn::ColumnSums{term, on.put(x), on.put(y), rows, columns, heads, partial},
                stretches * strips);
            on.device().run(nn::ColumnFinish{partial, stretches, columns, 2.F, out, whole}, strips);
            const auto halves = on.get(out, columns);
            const auto sums = on.get(whole, columns);
            for (std::size_t c = 0; c < columns; ++c) {
                double sum = 0;
                for (std::size_t r = 0; r < rows; ++r) {
                    const auto value = static_cast<double>(x[r * columns + c]);
                    const double off = value - static_cast<double>(y[c]);
                    const auto head = static_cast<double>(y[r * heads + c / 9]);
                    if (term == nn::ColumnTerm::value) sum += value;
                    if (term == nn::ColumnTerm::product)
                        sum += value * static_cast<double>(y[r * columns + c]);
                    if (term == nn::ColumnTerm::off) sum += off * off;
                    if (term == nn::ColumnTerm::by_head) sum += value * head;
                }
                ASSERT_NEAR(static_cast<double>(sums[c]), sum, 1e-5 * static_cast<double>(rows));
                ASSERT_EQ(halves[c], sums[c] / 2.F);
            }
        }
    }
}

TEST(TwinProducts, NothingToDoIsDone) {
    OnDevice on(nn::make_twin_device());
    expect_nothing_done(on);
}

TEST(TwinMemory, GrowsByAnEighthAndIsKept) {
    const auto device = nn::make_twin_device();
    nn::DeviceMemory memory(device, nn::DeviceMemory::Where::device, "a test");
    std::byte* const first = memory.fit(800);
    EXPECT_EQ(memory.size(), 900U);
    EXPECT_EQ(memory.fit(900), first);
    static_cast<void>(memory.fit(901));
    EXPECT_EQ(memory.size(), 1013U);
}

}  // namespace rudder
