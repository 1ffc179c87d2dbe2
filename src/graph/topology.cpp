#include "rudder/graph/topology.hpp"

#include <algorithm>
#include <atomic>

#include "rudder/core/parallel.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t scanned_per_chunk = 1 << 14;

}  // namespace

TopologyCounts count_irregular(const TopologyView& graph) {
    std::atomic<EdgeIndex> loops{0};
    std::atomic<EdgeIndex> duplicates{0};
    graph.neighbours.visit([&](auto neighbours) {
        parallel_chunks(graph.vertices(), scanned_per_chunk, [&](const Chunk& chunk) {
            EdgeIndex own_loops = 0;
            EdgeIndex own_duplicates = 0;
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
                    if (neighbours[e] == v) ++own_loops;
                    if (e > graph.offsets[v] && neighbours[e] == neighbours[e - 1])
                        ++own_duplicates;
                }
            }
            loops += own_loops;
            duplicates += own_duplicates;
        });
    });
    return {loops, duplicates};
}

bool is_symmetric(const TopologyView& graph) {
    std::atomic<bool> symmetric{true};
    graph.neighbours.visit([&](auto neighbours) {
        const auto row = [&](VertexId v) {
            return neighbours.subspan(graph.offsets[v], graph.degree(v));
        };
        parallel_chunks(graph.vertices(), scanned_per_chunk, [&](const Chunk& chunk) {
            if (!symmetric) return;
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                const auto own = row(v);
                for (auto first = own.begin(); first != own.end();) {
                    const auto [run_begin, run_end] = std::equal_range(first, own.end(), *first);
                    const auto back = row(*first);
                    const auto [b, e] = std::equal_range(back.begin(), back.end(), v);
                    if (e - b != run_end - run_begin) symmetric = false;
                    first = run_end;
                }
            }
        });
    });
    return symmetric;
}

}  // namespace rudder::graph
