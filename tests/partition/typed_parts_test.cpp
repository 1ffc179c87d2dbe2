// Graphs of several types in parts: a part's vertices of one type lie together, rows and ids by
// type come back as they were, and METIS balances each type.
#include <algorithm>
#include <fstream>

#include <gtest/gtest.h>

#include "graph/dataset_writer.hpp"
#include "graph/generate/generate.hpp"
#include "graph/io/export.hpp"
#include "partition/partition.hpp"
#include "partition/partition_export.hpp"
#include "rudder/core/error.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

graph::Dataset typed_dataset(const std::filesystem::path& folder, VertexId vertices,
                             std::uint64_t seed) {
    graph::GenerateOptions options;
    options.kind = "typed";
    options.output = folder;
    options.generator.vertices = vertices;
    options.generator.seed = seed;
    options.generator.classes = 4;
    options.features = "planted:12";
    graph::generate_dataset(options, Progress::none());
    return graph::Dataset(folder);
}

partition::PartitionOptions in_parts(PartId parts, const std::string& method) {
    partition::PartitionOptions options;
    options.parts = parts;
    options.method = method;
    options.cluster_size = 32;
    return options;
}

struct Arc {
    VertexId source;
    int type;
    friend bool operator==(const Arc&, const Arc&) = default;
    friend auto operator<=>(const Arc&, const Arc&) = default;
};

std::vector<Arc> arcs_of(const graph::ExportSource& source, VertexId v) {
    std::vector<graph::ExportedArc> row;
    source.row(v, row);
    std::vector<Arc> arcs;
    for (const graph::ExportedArc& arc : row)
        arcs.push_back({arc.source, arc.type});
    std::ranges::sort(arcs);
    return arcs;
}

class TypedParts : public testing::TestWithParam<const char*> {};

TEST_P(TypedParts, AreTheDataSetAgain) {
    for (const PartId parts : {1U, 2U, 5U}) {
        SCOPED_TRACE(parts);
        const TempDir temp;
        const graph::Dataset data = typed_dataset(temp / "data", 400, parts);
        partition::partition_dataset(data, temp / "parts", in_parts(parts, GetParam()),
                                     Existing::refuse);
        const partition::PartitionedDataset divided(temp / "parts");
        divided.check();
        EXPECT_TRUE(divided.info().types.same_kinds(data.info().types));
        const graph::DatasetExport whole(data);
        const partition::PartitionExport parted(divided);
        for (VertexId v = 0; v < data.info().vertices; ++v) {
            EXPECT_EQ(arcs_of(parted, v), arcs_of(whole, v)) << v;
            EXPECT_TRUE(std::ranges::equal(parted.feature_row(v), whole.feature_row(v))) << v;
            EXPECT_EQ(parted.class_of(v), whole.class_of(v)) << v;
        }
    }
}

TEST_P(TypedParts, HaveTheirTypesOneAfterTheOther) {
    const TempDir temp;
    const graph::Dataset data = typed_dataset(temp / "data", 500, 3);
    partition::partition_dataset(data, temp / "parts", in_parts(3, GetParam()), Existing::refuse);
    const partition::PartitionedDataset divided(temp / "parts");
    const partition::TypeBook& book = divided.types();
    ASSERT_EQ(book.types(), 3U);
    for (PartId p = 0; p < 3; ++p) {
        const partition::Part part = divided.part(p);
        for (VertexId i = 0; i < part.own(); ++i) {
            const VertexId v = part.range().begin + i;
            const std::size_t type = data.info().types.of(part.original_ids()[i]);
            ASSERT_EQ(book.type(p, v), type) << v;
            ASSERT_TRUE(book.range(p, type).contains(v));
        }
        // A cluster has vertices of one type.
        for (std::size_t c = 1; c < part.clusters().size(); ++c) {
            const VertexId begin = part.range().begin + part.clusters()[c - 1];
            const VertexId end = part.range().begin + part.clusters()[c];
            EXPECT_EQ(book.type(p, begin), book.type(p, end - 1));
        }
    }
}

/// Training that skips checksums goes by types of edges: those that cannot be are found all the
/// same.
TEST(TypedBounds, TypesOfEdgesThatCannotBeAreFound) {
    const TempDir temp;
    const graph::Dataset data = typed_dataset(temp / "data", 200, 1);
    partition::partition_dataset(data, temp / "parts", in_parts(1, "random"), Existing::refuse);
    const partition::PartitionedDataset divided(temp / "parts");
    divided.part(0).check_bounds(data.info().vertices);
    const auto file =
        temp / "parts" / "part-00000" / divided.part(0).folder().arrays().at("edge_type").file;
    for (const char type : {char{100}, char{3}}) {
        std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).put(type);
        try {
            divided.part(0).check_bounds(data.info().vertices);
            FAIL() << "type " << int{type} << " was not found";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::input);
            EXPECT_NE(std::string(error.what()).find("edge_type"), std::string::npos);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Methods, TypedParts, testing::Values("metis", "ldg", "random"),
                         [](const auto& method) { return std::string(method.param); });

/// Papers, authors and venues, each within the slack.
TEST(TypedBalance, MetisBalancesEveryType) {
    const TempDir temp;
    const graph::Dataset data = typed_dataset(temp / "data", 4000, 1);
    const partition::PartitionSummary summary =
        partition::partition_dataset(data, temp / "parts", in_parts(4, "metis"), Existing::refuse);
    ASSERT_EQ(summary.type_balance.size(), 3U);
    for (const double balance : summary.type_balance)
        EXPECT_LE(balance, 1.05 + 1e-9);
    const partition::PartitionedDataset divided(temp / "parts");
    EXPECT_EQ(divided.summary().type_balance, summary.type_balance);
}

/// Two rings, each of vertices of one type: who balances vertices alone cuts nothing and gives each
/// part a type.
TEST(TypedBalance, MetisCutsTypesThatNothingElseWouldCut) {
    constexpr VertexId ring = 200;
    const TempDir temp;
    std::vector<graph::NarrowEdge> edges;
    for (const VertexId first : {VertexId{0}, ring}) {
        for (VertexId i = 0; i < ring; ++i) {
            edges.push_back({static_cast<std::uint32_t>(first + i),
                             static_cast<std::uint32_t>(first + (i + 1) % ring)});
        }
    }
    const std::vector<graph::EdgesOfType> of_types{{0, 0, 0, 0, ring},
                                                   {ring, 1, 1, ring, 2 * ring}};
    graph::EdgePayload payload;
    payload.types = of_types;
    graph::DatasetWriter writer(temp / "data", Existing::refuse);
    graph::GraphTypes types;
    for (const char* name : {"a", "b"}) {
        graph::VertexType type;
        type.name = name;
        type.vertices = ring;
        types.vertices.push_back(type);
    }
    types.edges = {{"aa", 0, 0, 0, std::nullopt}, {"bb", 1, 1, 0, std::nullopt}};
    writer.types(types);
    writer.topology(graph::build_topology(graph::EdgeSpan(2 * ring, edges), payload, {}), true);
    writer.commit({});
    const partition::PartitionSummary summary = partition::partition_dataset(
        graph::Dataset(temp / "data"), temp / "parts", in_parts(2, "metis"), Existing::refuse);
    for (const double balance : summary.type_balance)
        EXPECT_LE(balance, 1.05 + 1e-9);
}

}  // namespace
}  // namespace rudder::test
