#include "support/random_graph.hpp"

#include <algorithm>

#include "rudder/core/random.hpp"

namespace rudder::test {

RandomEdges random_edges(std::uint64_t seed, VertexId max_vertices) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 0);
    RandomEdges random;
    random.vertices = 1 + draws.below(max_vertices);
    const std::uint64_t count = draws.below(4 * random.vertices);
    for (std::uint64_t i = 0; i < count; ++i) {
        const VertexId source = draws.below(random.vertices);
        const VertexId target = draws.below(random.vertices);
        random.edges.push_back({source, target});
        if (draws.below(4) == 0) random.edges.push_back({source, target});
        if (draws.below(4) == 0) random.edges.push_back({target, source});
        if (draws.below(8) == 0) random.edges.push_back({source, source});
    }
    return random;
}

std::vector<std::vector<VertexId>> rows_of(const graph::TopologyView& graph) {
    std::vector<std::vector<VertexId>> rows(graph.vertices());
    for (VertexId v = 0; v < graph.vertices(); ++v) {
        for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
            rows[v].push_back(graph.neighbours[e]);
        }
    }
    return rows;
}

std::vector<std::vector<VertexId>> naive_rows(const RandomEdges& random,
                                              const graph::BuildOptions& options) {
    std::vector<std::vector<VertexId>> rows(random.vertices);
    for (const graph::Edge& edge : random.edges) {
        if (edge.source == edge.target && !options.keep_self_loops) continue;
        rows[edge.target].push_back(edge.source);
        if (options.symmetrise && edge.source != edge.target) {
            rows[edge.source].push_back(edge.target);
        }
    }
    for (auto& row : rows) {
        std::ranges::sort(row);
        if (!options.keep_duplicates) row.erase(std::ranges::unique(row).begin(), row.end());
    }
    return rows;
}

}  // namespace rudder::test
