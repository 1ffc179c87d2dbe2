// The data set of the store's benchmarks: rows of 128 floats, four parts, hardly a graph.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "graph/dataset_writer.hpp"
#include "partition/partition.hpp"
#include "rudder/core/random.hpp"
#include "rudder/graph/topology_builder.hpp"

namespace rudder::bench {

inline constexpr std::uint64_t bench_width = 128;

/// Writes it to folder/parts.
inline void make_store_data(const std::filesystem::path& folder, VertexId vertices) {
    graph::DatasetWriter writer(folder / "data", Existing::replace);
    const std::vector<graph::Edge> edges{{0, 1}};
    writer.topology(
        graph::build_topology(graph::EdgeSpan(vertices, std::span<const graph::Edge>(edges)), {}),
        true);
    writer.features(*graph::random_features(vertices, bench_width, 1), std::nullopt, false,
                    Progress::none());
    writer.split(std::vector<graph::Role>(vertices, graph::Role::train));
    writer.commit({R"({"verb": "bench"})", ""});
    std::vector<PartId> assignment(vertices);
    for (VertexId v = 0; v < vertices; ++v)
        assignment[v] = static_cast<PartId>(v % 4);
    partition::PartitionOptions options;
    options.parts = 4;
    partition::partition_dataset(graph::Dataset(folder / "data"), assignment, folder / "parts",
                                 options, Existing::replace);
    std::filesystem::remove_all(folder / "data");
}

/// Vertices of [begin, end) at random.
inline std::vector<VertexId> random_vertices(std::uint64_t seed, std::size_t count, VertexId begin,
                                             VertexId end) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 3);
    std::vector<VertexId> vertices(count);
    for (VertexId& v : vertices)
        v = begin + draws.below(end - begin);
    return vertices;
}

}  // namespace rudder::bench
