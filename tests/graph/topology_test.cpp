// Rows from edges: against the obvious way, for random graphs, options and numbers of threads.
#include <gtest/gtest.h>

#include "rudder/core/parallel.hpp"
#include "rudder/graph/topology_builder.hpp"

#include "support/random_graph.hpp"

namespace rudder::test {
namespace {

class TopologyBuilder : public testing::TestWithParam<int> {};

TEST_P(TopologyBuilder, AgreesWithTheNaiveWay) {
    const auto seed = static_cast<std::uint64_t>(GetParam());
    const RandomEdges random = random_edges(seed);
    std::vector<graph::NarrowEdge> narrow;
    for (const graph::Edge& edge : random.edges)
        narrow.push_back(
            {static_cast<std::uint32_t>(edge.source), static_cast<std::uint32_t>(edge.target)});
    for (int bits = 0; bits < 8; ++bits) {
        const graph::BuildOptions options{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
        const auto expected = naive_rows(random, options);
        set_thread_count(1 + GetParam() % 4);
        const auto built = graph::build_topology(
            graph::EdgeSpan(random.vertices, std::span<const graph::Edge>(random.edges)), options);
        const auto again = graph::build_topology(
            graph::EdgeSpan(random.vertices, std::span<const graph::NarrowEdge>(narrow)), options);
        set_thread_count(0);
        EXPECT_EQ(rows_of(built.topology.view()), expected);
        EXPECT_EQ(rows_of(again.topology.view()), expected);
        const graph::TopologyCounts counts = graph::count_irregular(built.topology.view());
        EXPECT_EQ(counts.self_loops, built.kept.self_loops);
        EXPECT_EQ(counts.duplicates, built.kept.duplicates);
        if (options.symmetrise) {
            EXPECT_TRUE(graph::is_symmetric(built.topology.view()));
        }
        // Every entry the input gives is in the result or among those dropped.
        EdgeIndex entries = 0;
        EdgeIndex loops = 0;
        for (const graph::Edge& edge : random.edges) {
            const bool loop = edge.source == edge.target;
            loops += loop ? 1 : 0;
            if (!loop) entries += options.symmetrise ? 2 : 1;
            if (loop && options.keep_self_loops) ++entries;
        }
        EXPECT_EQ(built.topology.edges() + built.dropped.duplicates, entries);
        EXPECT_EQ(built.dropped.self_loops, options.keep_self_loops ? 0 : loops);
    }
}

TEST_P(TopologyBuilder, SymmetrisedIsSymmetricAndSimple) {
    const RandomEdges random = random_edges(static_cast<std::uint64_t>(GetParam()));
    const auto directed = graph::build_topology(
        graph::EdgeSpan(random.vertices, std::span<const graph::Edge>(random.edges)),
        {false, true, true});
    const graph::Topology both = graph::symmetrised(directed.topology.view());
    EXPECT_EQ(rows_of(both.view()), naive_rows(random, {}));
    EXPECT_TRUE(graph::is_symmetric(both.view()));
}

INSTANTIATE_TEST_SUITE_P(Seeds, TopologyBuilder, testing::Range(0, 40));

TEST(Topology, NotSymmetric) {
    const std::vector<graph::Edge> edges{{0, 1}, {1, 2}, {2, 1}};
    const auto built = graph::build_topology(
        graph::EdgeSpan(3, std::span<const graph::Edge>(edges)), {false, false, false});
    EXPECT_FALSE(graph::is_symmetric(built.topology.view()));
}

TEST(Topology, NoVerticesAndNoEdges) {
    const auto none = graph::build_topology(graph::EdgeSpan(0, std::span<const graph::Edge>{}), {});
    EXPECT_EQ(none.topology.vertices(), 0U);
    EXPECT_EQ(none.topology.edges(), 0U);
    const auto isolated =
        graph::build_topology(graph::EdgeSpan(7, std::span<const graph::Edge>{}), {});
    EXPECT_EQ(isolated.topology.vertices(), 7U);
}

}  // namespace
}  // namespace rudder::test
