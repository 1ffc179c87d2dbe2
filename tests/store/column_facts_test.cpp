// Ranges of columns, the errors of precisions, and what is said of outliers.
#include "store/column_facts.hpp"

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "comm/simulated_cluster.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"

#include "suite.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using store::Precision;

/// Columns as functions of the vertex in the file.
class MadeRows final : public graph::FeatureSource {
public:
    using Column = std::function<float(VertexId)>;
    MadeRows(VertexId rows, std::vector<Column> columns)
        : rows_(rows), columns_(std::move(columns)) {}
    [[nodiscard]] graph::FeatureInfo info() const override { return {.width = columns_.size()}; }
    [[nodiscard]] VertexId rows() const override { return rows_; }
    [[nodiscard]] std::string where() const override { return "test"; }
    void walk(FunctionRef<void(std::span<const std::byte>)> block) const override {
        std::vector<float> row(columns_.size());
        for (VertexId v = 0; v < rows_; ++v) {
            for (std::size_t c = 0; c < row.size(); ++c)
                row[c] = columns_[c](v);
            block(std::as_bytes(std::span(row)));
        }
    }

private:
    VertexId rows_;
    std::vector<Column> columns_;
};

float normal(VertexId v, std::uint64_t column) {
    const RandomStream stream({.purpose = Purpose::test, .seed = column});
    return static_cast<float>(Draws(stream, v).normal());
}

/// Column 0 as it should be, 1 with one outlier, 2 constant, 3 with three ones among zeros.
partition::PartitionedDataset made_data(const std::filesystem::path& folder, float outlier = 500) {
    constexpr VertexId vertices = 20'000;
    const MadeRows rows(
        vertices,
        {[](VertexId v) { return normal(v, 0); },
         [outlier](VertexId v) { return v == 777 ? outlier : normal(v, 1); },
         [](VertexId) { return -7.3F; }, [](VertexId v) { return v % 9000 == 100 ? 1.F : 0.F; }});
    return store_data(folder, &rows, false, vertices);
}

struct Scanned {
    store::ColumnFacts facts;
    std::vector<store::PrecisionErrors> errors;
    std::optional<store::ColumnError> outlier8;
    std::optional<store::ColumnError> outlier4;
};

/// What each rank finds.
std::vector<Scanned> scan(const partition::PartitionedDataset& data, int ranks) {
    std::vector<Scanned> all(static_cast<std::size_t>(ranks));
    comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
    cluster.run([&](const comm::Communicator& comm) {
        const auto parts = data.all_parts();
        const store::AllRows rows{comm, data.book(), parts};
        Scanned& mine = all[static_cast<std::size_t>(comm.rank())];
        mine.facts = store::column_facts(rows, store::VertexBlocks::by_1024);
        mine.errors = store::precision_errors(rows, "here");
        for (const Precision precision : {Precision::int8, Precision::int4}) {
            store::FeatureStore made(comm, data, {.precision = precision});
            (precision == Precision::int8 ? mine.outlier8 : mine.outlier4) = made.outlier();
            made.stop();
        }
    });
    return all;
}

TEST(ColumnFacts, TheSameBitsOnAnyRanksAndThreads) {
    const TempDir temp;
    const auto data = made_data(temp.path());
    const store::ColumnFacts alone = scan(data, 1)[0].facts;
    ASSERT_EQ(alone.least.size(), 20U * 4);
    for (const int ranks : {1, 2, 4}) {
        set_thread_count(ranks == 1 ? 3 : 0);
        for (const Scanned& each : scan(data, ranks)) {
            EXPECT_EQ(each.facts.least, alone.least);
            EXPECT_EQ(each.facts.largest, alone.largest);
            EXPECT_EQ(each.facts.spread, alone.spread);
        }
    }
    set_thread_count(0);
    // The slow way, from the parts.
    std::vector<float> least(alone.least.size(), std::numeric_limits<float>::infinity());
    std::vector<float> largest(alone.least.size(), -std::numeric_limits<float>::infinity());
    for (const partition::Part& part : data.all_parts()) {
        for (VertexId i = 0; i < part.own(); ++i) {
            std::array<float, 4> row{};
            std::memcpy(row.data(), part.features().row(i).data(), sizeof(row));
            for (std::size_t c = 0; c < 4; ++c) {
                const std::size_t at = (part.range().begin + i) / 1024 * 4 + c;
                least[at] = std::min(least[at], row[c]);
                largest[at] = std::max(largest[at], row[c]);
            }
        }
    }
    EXPECT_EQ(alone.least, least);
    EXPECT_EQ(alone.largest, largest);
    EXPECT_NEAR(alone.spread[0], 1, 0.1);
    EXPECT_NEAR(alone.spread[1], 1, 0.1) << "whatever the outlier";
    EXPECT_EQ(alone.spread[2], 0);
    EXPECT_NEAR(alone.spread[3], std::sqrt(3.0 / 20'000), 1e-4) << "by the standard deviation";
}

TEST(ColumnFacts, ErrorsOfPrecisions) {
    const TempDir temp;
    const auto data = made_data(temp.path());
    for (const int ranks : {1, 4}) {
        const auto all = scan(data, ranks);
        const auto& errors = all.back().errors;
        ASSERT_EQ(errors.size(), 3U);
        EXPECT_EQ(errors[0].row_bytes, 8U);
        EXPECT_EQ(errors[1].row_bytes, 4U);
        EXPECT_EQ(errors[2].row_bytes, 2U);
        EXPECT_EQ(errors[0].errors.root_mean_square.column, 1U);
        EXPECT_LT(errors[0].errors.root_mean_square.of_spread, 0.02);
        // 504 / 255 is a step of column 1, whose spread is 1: 0.41 steps, at most one.
        EXPECT_EQ(errors[1].errors.root_mean_square.column, 1U);
        EXPECT_NEAR(errors[1].errors.root_mean_square.of_spread, 0.41 * 504 / 255, 0.15);
        EXPECT_NEAR(errors[1].errors.largest.of_spread, 504.0 / 255, 0.3);
        // One block of 20 has the outlier: steps of 34 there.
        EXPECT_EQ(errors[2].errors.largest.column, 1U);
        EXPECT_NEAR(errors[2].errors.largest.of_spread, 33.6, 4);
        EXPECT_NEAR(errors[2].errors.root_mean_square.of_spread, 2.4, 0.4);
        for (const auto& each : errors)
            EXPECT_EQ(each.refused, "");
        EXPECT_EQ(all.front().errors[1].errors.root_mean_square.of_spread,
                  errors[1].errors.root_mean_square.of_spread);
    }
}

TEST(ColumnFacts, OutliersAreNamed) {
    const TempDir temp;
    for (const Scanned& each : scan(made_data(temp.path()), 2)) {
        ASSERT_TRUE(each.outlier8);
        EXPECT_EQ(each.outlier8->column, 1U);
        EXPECT_NEAR(each.outlier8->of_spread, 0.81, 0.15);
        ASSERT_TRUE(each.outlier4);
        EXPECT_EQ(each.outlier4->column, 1U);
    }
    // Far more than the others together: all of them are lost, by more than they lie apart.
    const TempDir far;
    for (const Scanned& each : scan(made_data(far.path(), 1e9F), 2)) {
        ASSERT_TRUE(each.outlier8);
        EXPECT_EQ(each.outlier8->column, 1U);
        EXPECT_GT(each.outlier8->of_spread, 2);
    }
    // Three ones among zeros lie on levels: nothing is lost.
    const TempDir tame;
    for (const Scanned& each : scan(made_data(tame.path(), 0), 2)) {
        EXPECT_FALSE(each.outlier8);
        EXPECT_FALSE(each.outlier4);
    }
}

TEST(ColumnFacts, AColumnTooWideForFloatsIsRefused) {
    const TempDir temp;
    const MadeRows rows(300, {[](VertexId v) { return v == 5 ? 3e38F : -3e38F; }});
    const auto data = store_data(temp.path(), &rows, false, 300);
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([&](const comm::Communicator& comm) {
        try {
            const store::FeatureStore made(comm, data, {.precision = Precision::int8});
            ADD_FAILURE();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
            EXPECT_THAT(error.what(), ::testing::HasSubstr("column 0 of the features spans 6e+38"));
        }
        const auto parts = data.all_parts();
        const auto errors = store::precision_errors({comm, data.book(), parts}, "here");
        EXPECT_EQ(errors[0].refused, "");
        EXPECT_THAT(errors[1].refused, ::testing::HasSubstr("column 0"));
    });
}

/// Blocks and parts begin at different vertices.
TEST(ColumnFacts, PullsOfManyBlocks) {
    const TempDir temp;
    const MadeRows rows(5000, {[](VertexId v) { return normal(v, 5); },
                               [](VertexId v) { return static_cast<float>(v); },
                               [](VertexId v) { return std::exp(3 * normal(v, 6)); }});
    for (const bool normalise : {false, true}) {
        const auto folder = temp / fmt::format("{}", normalise);
        std::filesystem::create_directories(folder);
        static_cast<void>(store_data(folder, &rows, normalise, 5000));
        for (const int ranks : {1, 2, 4}) {
            for (const Precision precision : {Precision::int8, Precision::int4}) {
                for (const auto shards : {store::Shards::mapped, store::Shards::shared}) {
                    SCOPED_TRACE(fmt::format("{} ranks, {}", ranks, to_string(precision)));
                    const PullPlan plan{.folder = folder / "parts",
                                        .options = {precision, shards},
                                        .tasks = 1,
                                        .pulls = 3};
                    comm::SimulatedCluster cluster(
                        {.ranks = ranks, .ranks_per_host = ranks == 4 ? 2 : 1, .seed = 2});
                    EXPECT_NO_THROW(cluster.run(
                        [&](const comm::Communicator& comm) { pull_and_check(comm, plan); }));
                }
            }
        }
    }
}

}  // namespace
}  // namespace rudder::test
