// Feature rows from tables, sparse rows and text, each against rows made the slow way.
#include "graph/io/feature_sources.hpp"

#include <fstream>
#include <limits>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "memory_npy.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using Floats = std::vector<float>;

std::unique_ptr<graph::FeatureSource> dense(const std::string& bytes, const Floats& scale = {}) {
    return graph::dense_features([bytes] { return reader_of(bytes); },
                                 Array<float>::copy_of(scale));
}

template <class Body>
std::string refused_with(Body&& body) {
    const Refusal refusal = refusal_of(std::forward<Body>(body));
    EXPECT_EQ(refusal.kind, ErrorKind::input);
    return refusal.problem + " @ " + refusal.where;
}

/// A table of random numbers from `low` on, its natural type, and what its rows are.
template <class T>
void expect_table(std::uint64_t seed, std::int64_t low, std::int64_t span, ElementType type) {
    std::mt19937_64 random(seed);
    const std::size_t width = 1 + random() % 7;
    std::vector<T> values(width * (random() % 60 + 2));
    Floats want;
    for (T& value : values) {
        const auto drawn =
            low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(span));
        value = static_cast<T>(drawn);
        want.push_back(static_cast<float>(drawn));
    }
    values[0] = static_cast<T>(low);
    want[0] = static_cast<float>(low);
    values.back() = static_cast<T>(low + span - 1);
    want.back() = static_cast<float>(low + span - 1);
    const auto source = dense(npy(values, width));
    ASSERT_TRUE(source);
    EXPECT_EQ(source->info().type, type) << to_string(element_type_of<T>);
    EXPECT_EQ(source->info().width, width);
    EXPECT_EQ(source->rows(), values.size() / width);
    EXPECT_EQ(source->where(), "here");
    EXPECT_EQ(rows_as_floats(*source), want) << to_string(element_type_of<T>);
    EXPECT_EQ(rows_as_floats(*source), want) << "a second walk gives the same";
}

TEST(DenseFeatures, EveryTypeOfNumber) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        expect_table<float>(seed, -1000, 2000, ElementType::f32);
        expect_table<double>(seed, -1000, 2000, ElementType::f32);
        expect_table<std::uint8_t>(seed, 0, 256, ElementType::u8);
        expect_table<std::int8_t>(seed, -128, 256, ElementType::i8);
        expect_table<std::int16_t>(seed, 0, 256, ElementType::u8);
        expect_table<std::int16_t>(seed, -1, 200, ElementType::f32);
        expect_table<std::uint16_t>(seed, 0, 257, ElementType::f32);
        expect_table<std::int32_t>(seed, 0, 256, ElementType::u8);
        expect_table<std::uint32_t>(seed, 5, 100, ElementType::u8);
        expect_table<std::int64_t>(seed, -5, 100, ElementType::f32);
        expect_table<std::uint64_t>(seed, 0, 256, ElementType::u8);
        expect_table<std::uint64_t>(seed, 1000, 5000, ElementType::f32);
    }
}

TEST(DenseFeatures, AColumnIsATableOfWidthOne) {
    const auto source = dense(npy<float>({1, 2, 3}));
    EXPECT_EQ(source->info().width, 1U);
    EXPECT_EQ(source->rows(), 3U);
    EXPECT_EQ(dense(NpyBytes{"<f4", "(3, 0)", ""}.str()), nullptr) << "no columns, no features";
    EXPECT_TRUE(rows_as_floats(*dense(NpyBytes{"<f4", "(0, 4)", ""}.str())).empty());
}

TEST(DenseFeatures, LargeTablesComeInBlocksOfWholeRows) {
    std::vector<double> values(3 * 100000);
    Floats want;
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>(i) / 8;
        want.push_back(static_cast<float>(values[i]));
    }
    const auto source = dense(npy(values, 3));
    std::size_t blocks = 0;
    source->walk([&](std::span<const std::byte>) { ++blocks; });
    EXPECT_GT(blocks, 1U);
    EXPECT_TRUE(rows_as_floats(*source) == want);
}

TEST(DenseFeatures, ScalesAreForInt8) {
    const std::string bytes = npy<std::int8_t>({1, -2, 3, 4, 5, -6}, 3);
    using testing::ElementsAre;
    EXPECT_THAT(rows_as_floats(*dense(bytes, {2, 0.5F, -1})), ElementsAre(2, -1, -3, 8, 2.5F, 6));
    EXPECT_EQ(dense(bytes)->scale().size(), 3U);
    EXPECT_EQ(refused_with([&] {
                  (void)dense(bytes, {1, 2});
              }),
              "there are 2 scales for 3 columns @ here");
    const float inf = std::numeric_limits<float>::infinity();
    EXPECT_EQ(refused_with([&] {
                  (void)dense(bytes, {1, inf, 2});
              }),
              "a scale is NaN or infinite @ here, scale of column 1");
}

TEST(DenseFeatures, OtherShapesAreRefused) {
    const auto refused = [](const std::string& type, const std::string& shape, std::size_t bytes) {
        const NpyBytes array{type, shape, std::string(bytes, '\0')};
        return refused_with([&] { (void)dense(array.str()); });
    };
    EXPECT_EQ(refused("<f4", "()", 4), "features cannot be float32 () @ here");
    EXPECT_EQ(refused("<f4", "(1, 2, 3)", 24), "features cannot be float32 (1, 2, 3) @ here");
    EXPECT_EQ(refused("<U2", "(2,)", 16), "features cannot be text (2) @ here");
    EXPECT_EQ(refused("<f4", "(0, 1048577)", 0),
              "rows of 1048577 columns are more than 1048576 @ here");
}

TEST(DenseFeatures, AnArrayThatChangesBetweenWalksIsRefused) {
    std::string bytes = npy<float>({1, 2, 3, 4}, 2);
    const auto source = graph::dense_features([&bytes] { return reader_of(bytes); });
    EXPECT_EQ(rows_as_floats(*source), (Floats{1, 2, 3, 4}));
    bytes = npy<float>({1, 2, 3, 4}, 1);
    EXPECT_EQ(refused_with([&] { (void)rows_as_floats(*source); }),
              "the array changed while it was read @ here");
}

/// Rows to be made sparse, by seed.
graph::SparseRows sparse_rows(const Floats& table, std::uint64_t width, std::mt19937_64& random) {
    graph::SparseRows rows;
    rows.rows = table.size() / width;
    rows.width = width;
    rows.where = "here";
    std::vector<std::int64_t> offsets{0};
    std::vector<std::uint32_t> columns;
    Floats values;
    for (VertexId v = 0; v < rows.rows; ++v) {
        std::vector<std::uint32_t> order(width);
        for (std::uint32_t c = 0; c < width; ++c)
            order[c] = c;
        std::ranges::shuffle(order, random);
        for (const std::uint32_t c : order) {
            const float value = table[v * width + c];
            if (value == 0 && random() % 4 != 0) continue;  // some zeroes are stored
            columns.push_back(c);
            values.push_back(value);
        }
        offsets.push_back(static_cast<std::int64_t>(columns.size()));
    }
    rows.offsets = Array<std::int64_t>::copy_of(offsets);
    rows.columns = IdArray(Array<std::uint32_t>::copy_of(columns));
    rows.values = Array<float>::copy_of(values);
    return rows;
}

TEST(SparseFeatures, RandomRowsMadeDense) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        std::mt19937_64 random(seed);
        const std::uint64_t width = 1 + random() % 30;
        Floats table(width * (1 + random() % 30));
        for (float& value : table)
            if (random() % 3 == 0) value = static_cast<float>(random() % 256);
        table[0] = 255;
        if (seed % 3 == 1) table.back() = 0.5F;
        if (seed % 3 == 2) table.back() = 256;
        const auto source = graph::sparse_features(sparse_rows(table, width, random));
        ASSERT_TRUE(source);
        EXPECT_EQ(source->info().type, seed % 3 == 0 ? ElementType::u8 : ElementType::f32) << seed;
        EXPECT_EQ(rows_as_floats(*source), table) << seed;
    }
}

TEST(SparseFeatures, ManyBlocksOfRows) {
    std::mt19937_64 random(5);
    const std::uint64_t width = 700;
    Floats table(width * 4000);
    for (std::size_t i = 0; i < table.size(); i += 97)
        table[i] = static_cast<float>(1 + i % 255);
    const auto source = graph::sparse_features(sparse_rows(table, width, random));
    EXPECT_TRUE(rows_as_floats(*source) == table);
}

graph::SparseRows sparse_of(VertexId rows, std::vector<std::int64_t> offsets,
                            std::vector<std::uint32_t> columns, Floats values = {}) {
    graph::SparseRows made;
    made.rows = rows;
    made.width = 4;
    made.offsets = Array<std::int64_t>::copy_of(offsets);
    made.columns = IdArray(Array<std::uint32_t>::copy_of(columns));
    made.values = Array<float>::copy_of(values);
    made.where = "here";
    return made;
}

TEST(SparseFeatures, WithoutValuesAllAreOnes) {
    const auto source = graph::sparse_features(sparse_of(2, {0, 2, 3}, {3, 1, 0}));
    EXPECT_EQ(rows_as_floats(*source), (Floats{0, 1, 0, 1, 1, 0, 0, 0}));
    EXPECT_EQ(source->info().type, ElementType::u8);
    graph::SparseRows none = sparse_of(2, {0, 0, 0}, {});
    none.width = 0;
    EXPECT_EQ(graph::sparse_features(std::move(none)), nullptr);
}

TEST(SparseFeatures, RefusedWithThePosition) {
    const auto refused = [](graph::SparseRows rows) {
        return refused_with(
            [&] { (void)rows_as_floats(*graph::sparse_features(std::move(rows))); });
    };
    EXPECT_EQ(refused(sparse_of(2, {0, 1}, {0})),
              "there are 2 offsets for 2 rows @ here: its offsets, position 2");
    EXPECT_EQ(refused(sparse_of(1, {1, 1}, {0})),
              "the first offset is not 0 @ here: its offsets, position 0");
    EXPECT_EQ(refused(sparse_of(3, {0, 2, 1, 2}, {0, 1})),
              "the offsets descend @ here: its offsets, position 2");
    EXPECT_EQ(refused(sparse_of(2, {0, 1, 2}, {0, 1, 2})),
              "the last offset is 2, there are 3 entries @ here: its offsets, position 2");
    EXPECT_EQ(refused(sparse_of(1, {0, 2}, {0, 1}, {1})),
              "there are 1 values for 2 entries @ here: its offsets, position 0");
    EXPECT_EQ(refused(sparse_of(2, {0, 1, 4}, {2, 2, 1, 2})),
              "row 1 has column 2 twice @ here, position 3");
    EXPECT_EQ(refused(sparse_of(1, {0, 2}, {3, 3}, {0.5F, 2})),
              "row 0 has column 3 twice @ here, position 1");
    graph::SparseRows wide = sparse_of(1, {0, 0}, {});
    wide.width = 1048577;
    EXPECT_EQ(refused(std::move(wide)), "rows of 1048577 columns are more than 1048576 @ here");
}

class TextFeaturesOf : public testing::Test {
protected:
    std::unique_ptr<graph::FeatureSource> open(const std::string& text, VertexId rows) {
        std::ofstream(file_, std::ios::binary) << text;
        return graph::text_features(file_, rows);
    }
    /// "problem @ line and column".
    std::string refused(const std::string& text, VertexId rows) {
        const std::string said = refused_with([&] { (void)rows_as_floats(*open(text, rows)); });
        const std::size_t at = said.find(file_.string());
        if (at == std::string::npos) return "not the file: " + said;
        return said.substr(0, at) + said.substr(at + file_.string().size());
    }
    TempDir temp_;
    std::filesystem::path file_ = temp_ / "feat.csv";
};

TEST_F(TextFeaturesOf, RandomTablesComeBack) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        std::mt19937_64 random(seed);
        const std::size_t width = 1 + random() % 9;
        const std::size_t rows = 1 + random() % 50;
        Floats table;
        std::string text;
        for (std::size_t v = 0; v < rows; ++v) {
            if (v != 0 && random() % 5 == 0) text += random() % 2 == 0 ? "\n" : "# a comment\n";
            for (std::size_t c = 0; c < width; ++c) {
                table.push_back(static_cast<float>(random() % 100000) / 64 - 700);
                text += fmt::format("{}{}",
                                    c == 0              ? ""
                                    : random() % 2 == 0 ? ","
                                                        : " ",
                                    table.back());
            }
            text += random() % 3 == 0 ? "\r\n" : "\n";
        }
        const auto source = open(text, rows);
        ASSERT_TRUE(source);
        EXPECT_EQ(source->info().width, width);
        EXPECT_EQ(source->info().type, ElementType::f32);
        EXPECT_EQ(rows_as_floats(*source), table) << text;
    }
    EXPECT_EQ(open("", 0), nullptr);
}

TEST_F(TextFeaturesOf, RefusedWithLineAndColumn) {
    EXPECT_EQ(refused("1,2\n3,4\n", 3), "there are 2 rows of features for 3 vertices @ ");
    EXPECT_EQ(refused("1,2\n3,4\n", 1), "there are 2 rows of features or more for 1 vertices @ ");
    EXPECT_EQ(refused("1,2\n3,inf\n", 2), "a feature is NaN or infinite @ , line 2, column 3");
    EXPECT_EQ(refused("1,2\n3,1e39\n", 2), "a feature is NaN or infinite @ , line 2, column 3");
    EXPECT_EQ(refused("1,2\n3,4,5\n", 2), "the row has more than 2 columns @ , line 2, column 3");
    EXPECT_EQ(refused("1,2\n\n3\n", 2),
              "the line ends where a number is expected @ , line 3, column 2");
    EXPECT_EQ(refused("1,2\n3,x\n", 2), "invalid number: 'x' @ , line 2, column 3");
}

}  // namespace
}  // namespace rudder::test
