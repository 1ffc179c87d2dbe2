// Sparse rows: what they are on the wire, the same floats as dense ones, and when they are taken.
#include "store/sparse_format.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "comm/simulated_cluster.hpp"
#include "rudder/core/parallel.hpp"

#include "suite.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

constexpr std::array sparse_types{ElementType::f32, ElementType::f16, ElementType::bf16,
                                  ElementType::i8, ElementType::u8};
constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// Rows one after the other, as a part has them.
struct StoredRows {
    graph::FeatureInfo info;
    std::vector<float> scale;
    std::vector<std::byte> bytes;

    void add(std::span<const std::byte> row) { bytes.insert(bytes.end(), row.begin(), row.end()); }
    [[nodiscard]] graph::FeatureView view() const {
        return {info, bytes.size() / info.row_bytes(), bytes.data(), scale};
    }
};

/// Thin rows of a type, one that is empty and one that is full.
StoredRows stored_rows(ElementType type, std::uint64_t width, bool normalise) {
    StoredRows rows{.info = {.width = width, .type = type, .row_normalise = normalise}};
    rows.scale = random_scale(width, rows.info);
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::vector<std::byte> row = random_row(seed + 100, rows.info);
        if (seed != 3) thin_out(row, rows.info, seed + 2, seed);
        if (seed == 4) std::ranges::fill(row, std::byte{0});
        rows.add(row);
    }
    return rows;
}

std::vector<int> as_numbers(std::span<const std::byte> bytes) {
    std::vector<int> numbers;
    for (const std::byte byte : bytes)
        numbers.push_back(std::to_integer<int>(byte));
    return numbers;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> numbers) {
    std::vector<std::byte> bytes;
    for (const int number : numbers)
        bytes.push_back(static_cast<std::byte>(number));
    return bytes;
}

TEST(SparseFormat, KnownBytes) {
    StoredRows rows{.info = {.width = 5, .type = ElementType::u8}};
    rows.add(bytes_of({0, 3, 0, 0, 7}));
    rows.add(bytes_of({0, 0, 0, 0, 0}));
    rows.add(bytes_of({1, 2, 0, 0, 255}));
    const store::NonZeros counted = store::count_non_zeros(rows.view(), no_limit);
    EXPECT_EQ(counted.rows, 3U);
    EXPECT_EQ(counted.total, 5U);
    EXPECT_EQ(counted.largest, 3U);
    EXPECT_EQ(counted.ones, 1U);
    const store::SparseFormat format(rows.info, {}, counted);
    ASSERT_EQ(format.row_bytes(), 2U + 3 * (2 + 1));
    EXPECT_EQ(format.row_entries(), 4U);
    std::vector<std::byte> wire(format.row_bytes(), std::byte{9});
    format.encode(rows.view().row(0).data(), wire.data());
    EXPECT_THAT(as_numbers(wire), testing::ElementsAre(2, 0, 1, 0, 4, 0, 3, 7, 0, 0, 0));
    EXPECT_EQ(format.used_bytes(wire), 8U);
    format.encode(rows.view().row(1).data(), wire.data());
    EXPECT_THAT(as_numbers(wire), testing::Each(0));
    EXPECT_EQ(format.used_bytes(wire), 2U);
    format.encode(rows.view().row(2).data(), wire.data());
    EXPECT_THAT(as_numbers(wire), testing::ElementsAre(3, 0, 0, 0, 1, 0, 4, 0, 1, 2, 255));
    EXPECT_EQ(format.used_bytes(wire), 11U);
    // Bytes that end too early, and one non-zero more than any row has.
    EXPECT_EQ(format.used_bytes(std::span(wire).first(10)), std::nullopt);
    EXPECT_EQ(format.used_bytes(std::span(wire).first(1)), std::nullopt);
    wire[0] = std::byte{4};
    EXPECT_EQ(format.used_bytes(wire), std::nullopt);
}

TEST(SparseFormat, OnesHaveNoValues) {
    for (const ElementType type : sparse_types) {
        StoredRows rows{.info = {.width = 40, .type = type, .row_normalise = true}};
        rows.scale = random_scale(1, rows.info);
        std::vector<std::byte> row(rows.info.row_bytes());
        const std::uint32_t one = type == ElementType::f32    ? 0x3f800000U
                                  : type == ElementType::f16  ? 0x3c00U
                                  : type == ElementType::bf16 ? 0x3f80U
                                                              : 1U;
        const std::size_t size = element_size(type);
        for (const std::size_t column : {2U, 7U, 39U})
            std::memcpy(row.data() + column * size, &one, size);
        rows.add(row);
        const store::NonZeros counted = store::count_non_zeros(rows.view(), no_limit);
        // Those of int8 are times a scale.
        EXPECT_EQ(counted.all_ones(), type != ElementType::i8);
        const store::SparseFormat format(rows.info, rows.scale, counted);
        EXPECT_EQ(format.row_bytes(), 2U + 3 * (type == ElementType::i8 ? 3 : 2));
        std::vector<std::byte> wire(format.row_bytes());
        format.encode(row.data(), wire.data());
        std::vector<SparseEntry> entries(format.row_entries());
        format.decode(wire.data(), entries.data());
        EXPECT_EQ(entries[0].column, 3U);
        EXPECT_EQ(entries[2].column, 7U);
        if (type != ElementType::i8) {
            EXPECT_EQ(entries[2].value, 1.F / 3.F);
        }
    }
}

/// Encoded and decoded, loaded, and decoded to dense rows: the floats of the dense row, bit for
/// bit.
TEST(SparseFormat, TheSameFloatsAsTheSlowWay) {
    for (const ElementType type : sparse_types) {
        for (const bool normalise : {false, true}) {
            for (const std::uint64_t width : {1U, 7U, 16U, 33U, 301U, 65535U, 65536U, 70001U}) {
                SCOPED_TRACE(fmt::format("{}, width {}", to_string(type), width));
                const StoredRows rows = stored_rows(type, width, normalise);
                const graph::FeatureView view = rows.view();
                const store::SparseUse use{store::count_non_zeros(view, no_limit),
                                           store::AssembledRows::sparse};
                const store::RowFormat sparse(rows.info, rows.scale, store::Precision::bfloat16,
                                              std::nullopt, use);
                const store::RowFormat dense(rows.info, rows.scale, store::Precision::native,
                                             std::nullopt, store::SparseUse{use.counted});
                ASSERT_EQ(sparse.row_bytes(), dense.row_bytes());
                EXPECT_EQ(sparse.precision(), store::Precision::native);
                EXPECT_FALSE(sparse.wire_is_stored());
                const std::size_t index = width < 65536 ? 2 : 4;
                EXPECT_EQ(sparse.row_bytes(),
                          index + use.counted.largest * (index + element_size(type)));
                EXPECT_EQ(sparse.row_floats(), 2 * (use.counted.largest + 1));
                EXPECT_EQ(dense.row_floats(), width);
                std::vector<std::byte> wire(sparse.row_bytes());
                std::vector<float> assembled(std::max<std::size_t>(sparse.row_floats(), width));
                float* place = assembled.data();
                for (VertexId r = 0; r < view.rows; ++r) {
                    const std::vector<float> expected =
                        plain_row(rows.info, view.row(r), rows.scale, store::Precision::native);
                    const auto expect_same = [&](const store::RowFormat& format) {
                        const auto got =
                            dense_row(format, std::span(assembled).first(format.row_floats()));
                        EXPECT_EQ(std::memcmp(got.data(), expected.data(), width * sizeof(float)),
                                  0)
                            << "row " << r;
                    };
                    const std::byte* stored = view.row(r).data();
                    const std::byte* wire_row = wire.data();
                    sparse.encode_rows({&stored, 1}, {&r, 1}, wire.data());
                    for (const store::RowFormat* format : {&sparse, &dense}) {
                        std::ranges::fill(assembled, -1.F);
                        format->decode_rows({&wire_row, 1}, {&r, 1}, &place);
                        expect_same(*format);
                        std::ranges::fill(assembled, -1.F);
                        format->load_rows({&stored, 1}, {&r, 1}, &place);
                        expect_same(*format);
                    }
                }
            }
        }
    }
}

TEST(SparseFormat, CountsOnAnyThreadsAndStopsEarly) {
    StoredRows rows{.info = {.width = 50, .type = ElementType::u8}};
    std::uint64_t total = 0;
    std::uint64_t largest = 0;
    for (std::uint64_t r = 0; r < 3000; ++r) {
        std::vector<std::byte> row(50);
        const std::uint64_t some = r * 7 % 11;
        for (std::uint64_t i = 0; i < some; ++i)
            row[(r + i * 4) % 50] = std::byte{2};
        total += some;
        largest = std::max(largest, some);
        rows.add(row);
    }
    for (const int threads : {1, 2, 4}) {
        set_thread_count(threads);
        const store::NonZeros counted = store::count_non_zeros(rows.view(), no_limit);
        EXPECT_EQ(counted.rows, 3000U);
        EXPECT_EQ(counted.total, total);
        EXPECT_EQ(counted.largest, largest);
        EXPECT_EQ(counted.ones, 0U);
        EXPECT_GT(store::count_non_zeros(rows.view(), 4).largest, 4U);
    }
    set_thread_count(0);
    EXPECT_EQ(store::sample_non_zeros(rows.view()).rows, 64U);
}

/// A quarter exactly is enough; and no row that may pay is passed over by the first look.
TEST(SparseFormat, PaysWhereTheLargestRowIsAQuarter) {
    const auto counted = [](std::uint64_t largest, bool ones) {
        return store::NonZeros{
            .rows = 1, .total = largest, .largest = largest, .ones = ones ? largest : 0};
    };
    const graph::FeatureInfo bytes{.width = 800, .type = ElementType::u8};
    EXPECT_TRUE(store::pays_sparse(bytes, counted(66, false)));   // 2 + 66 x 3 = 200 of 800
    EXPECT_FALSE(store::pays_sparse(bytes, counted(67, false)));  // 203
    EXPECT_TRUE(store::pays_sparse(bytes, counted(99, true)));    // 2 + 99 x 2 = 200
    EXPECT_FALSE(store::pays_sparse(bytes, counted(100, true)));
    EXPECT_TRUE(store::pays_sparse(bytes, {}));
    for (const ElementType type : sparse_types) {
        for (const std::uint64_t width : {1U, 5U, 16U, 100U, 8415U, 65535U, 65536U, 70001U}) {
            const graph::FeatureInfo info{.width = width, .type = type};
            const std::uint64_t most = store::most_non_zeros(info);
            EXPECT_FALSE(store::pays_sparse(info, counted(most + 1, true))) << width;
            if (most > 0) {
                EXPECT_TRUE(store::pays_sparse(info, counted(most, true))) << width;
            }
        }
    }
}

// ---- stores ------------------------------------------------------------------------------------

class SparseStores : public ::testing::Test {
protected:
    static PullPlan plan_of(const std::filesystem::path& parts, store::SparseChoice choice,
                            store::AssembledRows assembled) {
        PullPlan plan{.folder = parts, .tasks = 2, .pulls = 3};
        plan.options.sparse = choice;
        plan.options.assembled = assembled;
        return plan;
    }
    static void run(const comm::SimulationOptions& options, const PullPlan& plan) {
        comm::SimulatedCluster cluster(options);
        cluster.run([&](const comm::Communicator& comm) { pull_and_check(comm, plan); });
    }
};

/// The pulls of the suite, which compare every row and close every account.
TEST_F(SparseStores, RowsOfEveryTypeOnAnyRanksAndHosts) {
    for (std::size_t type = 0; type < sparse_types.size(); ++type) {
        const TempDir temp;
        const graph::FeatureInfo info{
            .width = 300, .type = sparse_types[type], .row_normalise = type % 2 == 0};
        static_cast<void>(store_data(temp.path(), info, 200, 4, type, 40));
        for (const auto assembled : {store::AssembledRows::dense, store::AssembledRows::sparse}) {
            for (const int ranks : {1, 2, 4}) {
                for (const int per_host : {1, 2}) {
                    SCOPED_TRACE(fmt::format("{}, {} ranks, {} per host, sparse {}",
                                             to_string(info.type), ranks, per_host,
                                             static_cast<int>(assembled)));
                    const PullPlan plan =
                        plan_of(temp / "parts", store::SparseChoice::choose, assembled);
                    EXPECT_NO_THROW(
                        run({.ranks = ranks, .ranks_per_host = per_host, .seed = type}, plan));
                    PullPlan coded = plan;
                    coded.coding = comm::CodingMode::always;
                    EXPECT_NO_THROW(
                        run({.ranks = ranks, .ranks_per_host = per_host, .seed = type}, coded));
                }
            }
        }
    }
}

/// Rows that are not sparse at all, where someone insists: they stay in their files.
TEST_F(SparseStores, FullRowsWhereSomeoneInsists) {
    const TempDir temp;
    static_cast<void>(store_data(temp.path(), {.width = 9, .type = ElementType::u8}));
    for (const auto assembled : {store::AssembledRows::dense, store::AssembledRows::sparse}) {
        for (const auto shards : {store::Shards::mapped, store::Shards::shared}) {
            PullPlan plan = plan_of(temp / "parts", store::SparseChoice::on, assembled);
            plan.options.shards = shards;
            EXPECT_NO_THROW(run({.ranks = 4, .ranks_per_host = 2, .seed = 1}, plan));
        }
    }
}

/// One rank's rows decide for all: a single full row, wherever it lies, makes all of them dense.
TEST_F(SparseStores, AllRanksDecideAlike) {
    const auto sparse_on = [](const partition::PartitionedDataset& data,
                              store::SparseChoice choice) {
        std::vector<int> sparse(4, -1);
        comm::SimulatedCluster cluster({.ranks = 4, .seed = 2});
        cluster.run([&](const comm::Communicator& comm) {
            store::FeatureStore store(
                comm, data, {.sparse = choice, .assembled = store::AssembledRows::sparse});
            sparse[static_cast<std::size_t>(comm.rank())] = store.format().sparse() != nullptr;
            // Sparse rows are the host's own memory, also without --shards shared.
            EXPECT_EQ(store.bytes() > 0, store.format().sparse() != nullptr);
            store.stop();
        });
        return sparse;
    };
    const TempDir temp;
    const graph::FeatureInfo info{.width = 400, .type = ElementType::u8};
    const auto thin = store_data(temp / "thin", info, 300, 4, 1, 60);
    EXPECT_THAT(sparse_on(thin, store::SparseChoice::choose), testing::Each(1));
    EXPECT_THAT(sparse_on(thin, store::SparseChoice::on), testing::Each(1));
    EXPECT_THAT(sparse_on(thin, store::SparseChoice::off), testing::Each(0));
    const auto full = store_data(temp / "full", info, 300, 4, 1, 3);
    EXPECT_THAT(sparse_on(full, store::SparseChoice::choose), testing::Each(0));
}

}  // namespace
}  // namespace rudder::test
