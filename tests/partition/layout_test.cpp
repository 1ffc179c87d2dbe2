#include <fstream>
#include <map>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "core/interrupt.hpp"
#include "partition/assignment.hpp"
#include "partition/original_order.hpp"
#include "partition/part_sizes.hpp"
#include "partition/partition.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

#include "fixture.hpp"
#include "support/random_graph.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using test::random_dataset;
using test::random_shape;
using test::rows_of;
using test::TempDir;

partition::PartitionOptions options_for(std::uint64_t seed, const graph::Dataset& data) {
    partition::PartitionOptions options;
    options.method = partition::partitioner_names()[seed % partition::partitioner_names().size()];
    options.parts = static_cast<PartId>(1 + seed % std::min<VertexId>(6, data.info().vertices));
    options.seed = seed;
    options.cluster_size = 1 + seed % 10;
    return options;
}

/// What is said of the parts against the parts: whose each vertex of a halo is.
void expect_sizes(const partition::PartitionedDataset& divided) {
    const auto sizes = partition::part_sizes(divided);
    ASSERT_TRUE(sizes);
    for (PartId p = 0; p < divided.parts(); ++p) {
        const partition::Part part = divided.part(p);
        EXPECT_EQ(sizes->vertices[p], part.own());
        EXPECT_EQ(sizes->train[p], part.info().split.train);
        EXPECT_EQ(sizes->edges[p], part.neighbours().size());
        std::vector<VertexId> from(divided.parts());
        for (const VertexId v : part.halo())
            ++from[divided.book().owner(v)];
        EXPECT_EQ(sizes->halo_from[p], from);
    }
}

/// Every array of every part against the data set, entry by entry.
void expect_same(const graph::Dataset& data, const partition::PartitionedDataset& divided) {
    const auto rows = rows_of(data.topology());
    std::vector<VertexId> original(data.info().vertices);
    std::map<VertexId, VertexId> renumbered;
    for (PartId p = 0; p < divided.parts(); ++p) {
        const partition::Part part = divided.part(p);
        for (LocalId i = 0; i < part.own(); ++i) {
            original[part.range().begin + i] = part.original_ids()[i];
            renumbered[part.original_ids()[i]] = part.range().begin + i;
            EXPECT_EQ(divided.book().owner(part.range().begin + i), p);
        }
    }
    ASSERT_EQ(renumbered.size(), rows.size());
    std::uint64_t crossing = 0;
    for (PartId p = 0; p < divided.parts(); ++p) {
        const partition::Part part = divided.part(p);
        for (LocalId i = 0; i < part.own(); ++i) {
            const VertexId v = part.original_ids()[i];
            std::vector<VertexId> expected;
            for (const VertexId u : rows[v])
                expected.push_back(renumbered[u]);
            std::ranges::sort(expected);
            std::vector<VertexId> found;
            for (const LocalId u : part.row(i)) {
                found.push_back(part.global(u));
                EXPECT_EQ(part.local(found.back()), u);
                crossing += u >= part.own() ? 1U : 0U;
            }
            EXPECT_EQ(found, expected);
            EXPECT_EQ(part.roles()[i], data.roles()[v]);
            EXPECT_TRUE(std::ranges::equal(part.features().row(i), data.features().row(v)));
        }
        EXPECT_EQ(part.halo().size(), divided.summary().halo[p]);
    }
    expect_sizes(divided);
    if (data.info().edges != 0) {
        EXPECT_DOUBLE_EQ(divided.summary().cut,
                         static_cast<double>(crossing) / static_cast<double>(data.info().edges));
    }
}

void expect_way_back(const graph::Dataset& data, const partition::OriginalOrder& back) {
    const graph::BuildOptions as_stored{
        .symmetrise = false, .keep_self_loops = true, .keep_duplicates = true};
    const graph::BuiltTopology built = graph::build_topology(back, as_stored, Progress::none());
    EXPECT_EQ(rows_of(built.topology.view()), rows_of(data.topology()));
    const graph::TargetView targets = data.targets();
    const std::uint64_t columns = data.info().targets.count;
    const auto bytes = [](const auto& values) {
        const auto raw = std::as_bytes(values);
        return std::vector<std::byte>(raw.begin(), raw.end());
    };
    const auto rows = rows_of(data.topology());
    std::vector<VertexId> row;
    for (VertexId v = 0; v < data.info().vertices; ++v) {
        back.row(v, row);
        std::ranges::sort(row);
        EXPECT_EQ(row, rows[v]);
        EXPECT_TRUE(std::ranges::equal(back.feature_row(v), data.features().row(v)));
        EXPECT_EQ(back.role(v), data.roles()[v]);
        if (!targets.classes.empty()) {
            EXPECT_EQ(back.label(v), targets.classes[v]);
        }
        if (!targets.multilabel.empty()) {
            EXPECT_EQ(bytes(back.multilabel_row(v)),
                      bytes(targets.multilabel.subspan(v * columns, columns)));
        }
        if (!targets.regression.empty()) {
            EXPECT_EQ(bytes(back.regression_row(v)),
                      bytes(targets.regression.subspan(v * columns, columns)));
        }
    }
    EXPECT_TRUE(std::ranges::equal(back.feature_scale(), data.features().scale));
}

void round_trip(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t seed = first; seed < last; ++seed) {
        SCOPED_TRACE(seed);
        const TempDir temp;
        const graph::Dataset data = random_dataset(temp / "data", seed, random_shape(seed));
        const partition::PartitionOptions options = options_for(seed, data);
        const partition::PartitionSummary summary =
            partition::partition_dataset(data, temp / "parts", options, Existing::refuse);
        const partition::PartitionedDataset divided(temp / "parts");
        divided.check();
        EXPECT_EQ(divided.summary().cut, summary.cut);
        EXPECT_EQ(divided.summary().method, options.method);
        EXPECT_EQ(divided.info().edges, data.info().edges);
        EXPECT_EQ(divided.info().targets.names, data.info().targets.names);
        expect_same(data, divided);
        const partition::OriginalOrder back(divided);
        expect_way_back(data, back);
        // What was divided can be divided the same way again.
        auto assignment = Array<PartId>::uninitialised(data.info().vertices);
        for (VertexId v = 0; v < assignment.size(); ++v)
            assignment[v] = back.part(v);
        partition::partition_dataset(data, assignment.span(), temp / "again", options,
                                     Existing::refuse);
        const partition::PartitionedDataset again(temp / "again");
        again.check();
        EXPECT_EQ(again.book(), divided.book());
        EXPECT_EQ(again.summary().cut, summary.cut);
        EXPECT_EQ(again.summary().method, "given");
    }
}

TEST(Layout, RoundTripsRandomDataSets) {
    round_trip(0, 21);
}

TEST(LongLayout, RoundTripsManyRandomDataSets) {
    round_trip(21, 300);
}

TEST(Layout, IsTheSameForAnyNumberOfThreads) {
    const TempDir temp;
    const graph::Dataset data = random_dataset(temp / "data", 8, random_shape(8), 2000);
    for (const char* method : {"metis", "ldg"}) {
        std::vector<std::string> manifests;
        for (const int threads : {1, 2, 5}) {
            set_thread_count(threads);
            partition::PartitionOptions options;
            options.method = method;
            options.parts = 3;
            options.cluster_size = 20;
            partition::partition_dataset(data, temp / "parts", options, Existing::replace);
            manifests.push_back(read_text(temp / "parts/manifest.json", 1 << 20));
        }
        set_thread_count(0);
        EXPECT_EQ(manifests[0], manifests[1]);
        EXPECT_EQ(manifests[0], manifests[2]);
    }
}

TEST(Layout, ClustersHaveAboutTheSizeAsked) {
    const TempDir temp;
    const graph::Dataset data = random_dataset(temp / "data", 3, {}, 5000);
    for (const char* method : {"metis", "ldg"}) {
        partition::PartitionOptions options;
        options.method = method;
        options.parts = 2;
        options.cluster_size = 50;
        partition::partition_dataset(data, temp / "parts", options, Existing::replace);
        const partition::PartitionedDataset divided(temp / "parts");
        for (const partition::Part& part : divided.all_parts()) {
            const auto clusters = part.clusters();
            const double mean =
                static_cast<double>(part.own()) / static_cast<double>(clusters.size() - 1);
            EXPECT_NEAR(mean, 50, 15);
        }
    }
}

TEST(Layout, OneVertexAndNothingElse) {
    const TempDir temp;
    const graph::Dataset data = random_dataset(
        temp / "data", 1, {.width = 0, .targets = graph::TargetKind::none, .roles = false}, 1);
    partition::partition_dataset(data, temp / "parts", {}, Existing::refuse);
    const partition::PartitionedDataset divided(temp / "parts");
    divided.check();
    EXPECT_EQ(divided.info().vertices, 1U);
    EXPECT_EQ(divided.summary().train_balance, 1);
    EXPECT_EQ(divided.summary().cut, 0);
}

TEST(Layout, LocalIdsThatDoNotFitAreRefused) {
    EXPECT_NO_THROW(partition::check_local_ids(0, VertexId{1} << 31, (VertexId{1} << 31) - 1));
    EXPECT_THROW(partition::check_local_ids(0, VertexId{1} << 31, VertexId{1} << 31), Error);
}

TEST(Layout, BookFindsOwners) {
    const partition::PartitionBook book({0, 1, 2, 1000, (VertexId{1} << 33) + 1});
    EXPECT_EQ(book.parts(), 4U);
    EXPECT_EQ(book.owner(0), 0U);
    EXPECT_EQ(book.owner(1), 1U);
    EXPECT_EQ(book.owner(2), 2U);
    EXPECT_EQ(book.owner(999), 2U);
    EXPECT_EQ(book.owner(1000), 3U);
    EXPECT_EQ(book.owner(VertexId{1} << 33), 3U);
    EXPECT_EQ(book.local(3, 1001), 1U);
    EXPECT_EQ(book.global(3, 1), 1001U);
}

TEST(Layout, ExistingOutputIsKept) {
    const TempDir temp;
    const graph::Dataset data = random_dataset(temp / "data", 4, {});
    partition::PartitionOptions options;
    partition::partition_dataset(data, temp / "parts", options, Existing::refuse);
    try {
        partition::partition_dataset(data, temp / "parts", options, Existing::refuse);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
    }
    partition::PartitionedDataset(temp / "parts").check();
}

TEST(Layout, AnInterruptLeavesNothing) {
    const TempDir temp;
    const graph::Dataset data = random_dataset(temp / "data", 4, {});
    for (const std::string_view method : partition::partitioner_names()) {
        partition::PartitionOptions options;
        options.parts = 2;
        options.method = method;
        set_interrupted(true);
        EXPECT_THROW(partition::partition_dataset(data, temp / "parts", options, Existing::refuse),
                     Error);
        set_interrupted(false);
    }
    const std::filesystem::directory_iterator left(temp.path());
    EXPECT_EQ(std::distance(begin(left), end(left)), 1);
}

TEST(Assignment, TextIsReadLineByLine) {
    const TempDir temp;
    const auto read = [&](const std::string& text, VertexId vertices) {
        std::ofstream(temp / "parts.txt") << text;
        const auto parts = partition::read_assignment_text(temp / "parts.txt", vertices, 3);
        return std::vector<PartId>(parts.begin(), parts.end());
    };
    EXPECT_THAT(read("0\n2\n1\n", 3), testing::ElementsAre(0, 2, 1));
    EXPECT_THAT(read(" 0 \r\n2\t\r\n1\n\n", 3), testing::ElementsAre(0, 2, 1));
    const std::vector<std::pair<std::string, std::string>> bad{
        {"0\nx\n1\n", "line 2"}, {"0\n3\n1\n", "line 2"},    {"0\n-1\n1\n", "line 2"},
        {"0\n\n1\n", "line 2"},  {"0\n1\n2\n0\n", "line 4"}, {"0\n1\n", "parts.txt"},
        {"", "parts.txt"},       {"0\n1.5\n2\n", "line 2"},  {"0\n1 1\n2\n", "line 2"},
    };
    for (const auto& [text, place] : bad) {
        try {
            (void)read(text, 3);
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
            EXPECT_THAT(error.where(), testing::HasSubstr(place));
        }
    }
}

TEST(Assignment, IsChecked) {
    const std::vector<PartId> parts{0, 1, 1, 0};
    EXPECT_NO_THROW(partition::check_assignment(parts, 4, 2, "test"));
    EXPECT_THROW(partition::check_assignment(parts, 5, 2, "test"), Error);
    EXPECT_THROW(partition::check_assignment(parts, 4, 3, "test"), Error);
    EXPECT_THROW(partition::check_assignment(parts, 4, 1, "test"), Error);
}

TEST(PartSizes, AreNotKnownWhereAPartIsElsewhere) {
    const TempDir folder;
    const graph::Dataset data = random_dataset(folder / "data", 5, {}, 40);
    partition::PartitionOptions options;
    options.method = "hash";
    options.parts = 3;
    (void)partition::partition_dataset(data, folder / "parts", options, Existing::refuse);
    const partition::PartitionedDataset divided(folder / "parts");
    EXPECT_TRUE(partition::part_sizes(divided));
    std::filesystem::remove_all(folder / "parts" / partition::part_folder(1));
    EXPECT_FALSE(partition::part_sizes(divided));
}

}  // namespace
}  // namespace rudder
