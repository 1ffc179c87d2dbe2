// Kernels one by one on a GPU, against their twins to the bit.
#include "nn/network_case.hpp"
#include "rudder/core/error.hpp"

#include "gpu/body_case.hpp"
#include "gpu/gpu_case.hpp"

namespace rudder {

using namespace testing;

namespace {

using Gpu = OnGpu;

/// Runs a body on both devices: what `run` returns must be the same bits.
template <class Run>
void expect_twin_bits(const Run& run) {
    OnDevice gpu(nn::open_device(0, nn::DeviceProducts::own));
    OnDevice twin(nn::make_twin_device());
    const auto ours = run(gpu);
    const auto theirs = run(twin);
    ASSERT_EQ(ours.size(), theirs.size());
    for (std::size_t i = 0; i < ours.size(); ++i)
        ASSERT_EQ(ours[i], theirs[i]) << "element " << i;
}

}  // namespace

TEST_F(Gpu, SaysWhatItIs) {
    const auto device = nn::open_device(0);
    const nn::DeviceFacts facts = device->facts();
    EXPECT_FALSE(facts.name.empty());
    EXPECT_GT(facts.memory, 0U);
    EXPECT_LE(facts.free, facts.memory);
    RecordProperty("device", facts.name);
    std::printf("device: %s, compute capability %s, %.1f GiB, products: %s\n", facts.name.c_str(),
                facts.capability.c_str(), static_cast<double>(facts.memory) / (1U << 30),
                facts.products.c_str());
}

TEST_F(Gpu, CopiesBothWays) {
    OnDevice on(nn::open_device(0));
    for (const std::size_t count : {1U, 31U, 100000U}) {
        const auto values = random_floats(count, count);
        EXPECT_EQ(on.get(on.put(values), count), values);
    }
    float* const cleared = on.put(random_floats(100, 1));
    on.device().clear(cleared, 100 * sizeof(float));
    EXPECT_EQ(on.get(cleared, 100), std::vector<float>(100, 0.F));
}

TEST_F(Gpu, UploadsAheadAreThereAfterTheirMark) {
    OnDevice on(nn::open_device(0));
    constexpr std::size_t count = 1 << 20;
    std::byte* const pinned = on.device().take_pinned(count * sizeof(float));
    auto* const values = reinterpret_cast<float*>(pinned);
    float* const place = on.room(count);
    float* const copy = on.room(count);
    for (float round = 1; round < 6; ++round) {
        std::fill_n(values, count, round);
        on.device().begin_uploads(3);
        on.device().upload_ahead(place, values, count * sizeof(float));
        on.device().mark_uploads(3);
        on.device().await_uploads(3);
        on.device().run(nn::ScaleElements{place, copy, count, 2.F}, count / nn::warp_lanes);
        const auto got = on.get(copy, count);
        ASSERT_EQ(got.front(), 2 * round);
        ASSERT_EQ(got.back(), 2 * round);
    }
    EXPECT_GT(on.device().take_seconds().upload, 0);
    on.device().give_pinned(pinned);
}

TEST_F(Gpu, ProductsOfOursHaveTheBitsOfTheTwin) {
    for (const ProductShape& shape : product_shapes)
        expect_twin_bits([&](OnDevice& on) { return all_products(on, shape); });
}

TEST_F(Gpu, ProductsOfCublasAreNearAndRepeat) {
    if (!has_cublas()) GTEST_SKIP() << "no cuBLAS on this machine";
    for (const ProductShape& shape : product_shapes) {
        OnDevice gpu(nn::open_device(0, nn::DeviceProducts::cublas));
        OnDevice twin(nn::make_twin_device());
        const auto ours = all_products(gpu, shape);
        expect_near(ours, all_products(twin, shape), 1e-5);
        EXPECT_EQ(all_products(gpu, shape), ours);
    }
}

TEST_F(Gpu, SumsOverBlocks) {
    BatchShape shape;
    shape.seeds = 300;
    shape.fanouts = {9};
    const sample::Batch batch = random_batch(shape);
    const sample::Block& block = batch.blocks[0];
    const Backwards back(block);
    for (const std::uint32_t columns : {1U, 33U, 100U, 256U}) {
        expect_twin_bits([&](OnDevice& on) {
            const auto table = random_floats(block.sources * columns, 1);
            nn::GatherSum sum;
            sum.offsets = on.put(block.offsets);
            sum.ids = on.put(block.neighbours);
            sum.table = on.put(table);
            sum.columns = columns;
            sum.out = on.room(block.destinations * columns);
            float* const roots = on.room(block.sources);
            float* const shares = on.room(block.sources);
            float* const reach = on.room(block.destinations);
            on.device().run(nn::WeighBlock{sum.offsets, on.put(batch.degrees), block.destinations,
                                           block.sources, roots, shares, reach},
                            nn::pieces_of(block.sources, nn::warp_lanes));
            sum.id_weights = roots;
            sum.factors = reach;
            sum.own_rows = sum.table;
            sum.own_factors = shares;
            sum.own_count = block.destinations;
            on.device().run(sum, block.destinations);
            auto all = on.get(sum.out, block.destinations * columns);
            nn::GatherSum undo;
            undo.offsets = on.put(back.starts);
            undo.ids = on.put(back.readers);
            undo.table = sum.out;
            undo.columns = columns;
            undo.out = on.put(table);
            undo.active = undo.out;
            undo.scale = 1.25F;
            on.device().run(undo, block.sources);
            const auto more = on.get(undo.out, table.size());
            all.insert(all.end(), more.begin(), more.end());
            return all;
        });
    }
}

TEST_F(Gpu, NormsAndColumns) {
    for (const std::uint32_t columns : {1U, 40U, 256U}) {
        constexpr std::size_t rows = 3000;
        expect_twin_bits([&](OnDevice& on) {
            const auto x = random_floats(rows * columns, 1);
            const float* const gain = on.put(random_floats(columns, 2));
            const float* const shift = on.put(random_floats(columns, 3));
            float* const values = on.put(x);
            float* const normal = on.room(x.size());
            float* const spreads = on.room(rows);
            on.device().run(nn::NormRows{values, columns, gain, shift, normal, spreads}, rows);
            on.device().run(nn::UndoNormRows{values, columns, gain, normal, spreads}, rows);
            const std::size_t strips = nn::pieces_of(columns, nn::warp_lanes);
            const std::size_t stretches = nn::pieces_of(rows, nn::stretch_rows(rows));
            float* const partial = on.room(stretches * columns);
            float* const sums = on.room(columns);
            on.device().run(
                nn::ColumnSums{nn::ColumnTerm::product, values, normal, rows, columns, 1, partial},
                strips * stretches);
            on.device().run(nn::ColumnFinish{partial, stretches, columns, 0.F, sums, nullptr},
                            strips);
            auto all = on.get(values, x.size());
            const auto more = on.get(sums, columns);
            all.insert(all.end(), more.begin(), more.end());
            return all;
        });
    }
}

TEST_F(Gpu, MoreMemoryThanThereIsEndsWithSizes) {
    const auto device = nn::open_device(0);
    try {
        static_cast<void>(device->take(std::size_t{1} << 50, "a test"));
        FAIL() << "a pebibyte was there";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::failed);
        EXPECT_NE(error.problem().find("out of memory on the GPU"), std::string::npos);
        EXPECT_NE(error.problem().find("free"), std::string::npos);
    }
    // And goes on.
    OnDevice on(device);
    EXPECT_EQ(on.get(on.put(std::vector<float>{4}), 1).front(), 4.F);
}

TEST_F(Gpu, OneThatIsNotThereIsRefused) {
    EXPECT_THROW(static_cast<void>(nn::open_device(4711)), Error);
}

TEST(NoGpu, IsRefusedWithTheReason) {
    if (no_gpu().empty()) GTEST_SKIP() << "there is a GPU";
    try {
        static_cast<void>(nn::open_device(0));
        FAIL() << "it was opened";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_NE(error.problem().find(no_gpu()), std::string::npos);
    }
}

}  // namespace rudder
