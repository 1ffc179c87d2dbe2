// Small random graphs with everything irregular about them, for property tests.
#pragma once

#include <cstdint>
#include <vector>

#include "rudder/graph/topology_builder.hpp"

namespace rudder::test {

/// Edges drawn at random by `seed`: possibly none, with self loops and duplicates, with isolated
/// vertices, on 1 to `max_vertices` vertices.
struct RandomEdges {
    VertexId vertices = 1;
    std::vector<graph::Edge> edges;
};
[[nodiscard]] RandomEdges random_edges(std::uint64_t seed, VertexId max_vertices = 64);

/// The rows of a graph as plain vectors, for comparing.
[[nodiscard]] std::vector<std::vector<VertexId>> rows_of(const graph::TopologyView& graph);

/// The slow, obvious way to build the rows.
[[nodiscard]] std::vector<std::vector<VertexId>> naive_rows(const RandomEdges& random,
                                                            const graph::BuildOptions& options);

}  // namespace rudder::test
