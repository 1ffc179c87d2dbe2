// Graphs and data sets the partition tests share.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "partition/partitioner.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/topology_builder.hpp"

namespace rudder::test {

/// A graph with roles, ready for a partitioner.
struct TestGraph {
    graph::Topology topology;
    std::vector<graph::Role> roles;
    [[nodiscard]] partition::PartitionInput input() const {
        return {topology.view(), topology.view(), roles};
    }
};

/// The undirected graph of these edges; every `train_every`-th vertex is trained on (0: none).
[[nodiscard]] TestGraph make_graph(VertexId vertices, const std::vector<graph::Edge>& edges,
                                   VertexId train_every = 3);
/// `count` cliques of `size` vertices in a ring, each joined to the next by one edge (two cliques:
/// by one edge in all).
[[nodiscard]] TestGraph cliques(VertexId count, VertexId size);
/// A random graph of about `degree` neighbours per vertex.
[[nodiscard]] TestGraph scattered(std::uint64_t seed, VertexId vertices, VertexId degree);

/// The share of stored arcs between parts, the slow, obvious way.
[[nodiscard]] double naive_cut(const graph::TopologyView& graph, std::span<const PartId> parts);

/// What a random data set has.
struct DatasetShape {
    bool symmetric = true;
    bool keep_irregular = false;  ///< self loops and duplicates
    ElementType feature_type = ElementType::f32;
    std::uint64_t width = 3;  ///< 0: no features
    graph::TargetKind targets = graph::TargetKind::classes;
    bool roles = true;
    bool weights = false;          ///< of edges
    bool times = false;            ///< of edges and vertices
    std::uint64_t edge_width = 0;  ///< of their features
    graph::TargetKind edge_targets = graph::TargetKind::none;
    bool edge_split = false;
};

/// Writes a random data set and opens it.
[[nodiscard]] graph::Dataset random_dataset(const std::filesystem::path& folder, std::uint64_t seed,
                                            const DatasetShape& shape, VertexId max_vertices = 64);

/// Some shape, with everything varied by the seed.
[[nodiscard]] DatasetShape random_shape(std::uint64_t seed);

}  // namespace rudder::test
