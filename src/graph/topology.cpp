#include "rudder/graph/topology.hpp"

#include <algorithm>
#include <atomic>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t scanned_per_chunk = 1 << 14;

}  // namespace

TopologyCounts count_irregular(const TopologyView& graph, std::span<const std::uint8_t> types) {
    std::atomic<EdgeIndex> loops{0};
    std::atomic<EdgeIndex> duplicates{0};
    graph.neighbours.visit([&](auto neighbours) {
        parallel_chunks(graph.vertices(), scanned_per_chunk, [&](const Chunk& chunk) {
            EdgeIndex own_loops = 0;
            EdgeIndex own_duplicates = 0;
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
                    if (neighbours[e] == v) ++own_loops;
                    if (e > graph.offsets[v] && neighbours[e] == neighbours[e - 1] &&
                        (types.empty() || types[e] == types[e - 1])) {
                        ++own_duplicates;
                    }
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

namespace {

constexpr std::size_t checked_per_chunk = 1 << 14;

Error bad_array(const std::string& what, const std::string& array, const std::string& where) {
    return input_error(what, fmt::format("{}, array '{}'", where, array),
                       "make the data set again");
}

}  // namespace

void check_topology(const TopologyView& graph, VertexId id_limit, const std::string& where) {
    parallel_chunks(graph.vertices(), checked_per_chunk, [&](const Chunk& chunk) {
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            if (graph.offsets[v] <= graph.offsets[v + 1]) continue;
            throw bad_array(fmt::format("offsets descend at position {}", v + 1), "offsets", where);
        }
    });
    if (graph.offsets.back() != graph.edges()) {
        throw bad_array("the last offset is not the number of edges", "offsets", where);
    }
    graph.neighbours.visit([&](auto neighbours) {
        parallel_chunks(graph.vertices(), checked_per_chunk, [&](const Chunk& chunk) {
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
                    if (neighbours[e] >= id_limit) {
                        throw bad_array(fmt::format("id {} at position {} is out of range 0..{}",
                                                    neighbours[e], e, id_limit - 1),
                                        "neighbours", where);
                    }
                    if (e > graph.offsets[v] && neighbours[e] < neighbours[e - 1]) {
                        throw bad_array(fmt::format("row {} does not ascend at position {}", v, e),
                                        "neighbours", where);
                    }
                }
            }
        });
    });
}

void write_topology(ArrayFolderWriter& writer, const TopologyView& graph) {
    writer.write("offsets", graph.offsets);
    const ElementType type = graph.neighbours.wide() ? ElementType::u64 : ElementType::u32;
    writer.write("neighbours", type, {graph.neighbours.size()}, graph.neighbours.as_bytes());
}

Topology open_topology(const ArrayFolder& folder, const DatasetInfo& info) {
    auto offsets = folder.map<EdgeIndex>(
        "offsets", {checked_add(info.vertices, VertexId{1}, "number of vertices")});
    const bool wide = IdArray::needs_wide(info.vertices);
    IdArray neighbours = wide ? IdArray(folder.map<std::uint64_t>("neighbours", {info.edges}))
                              : IdArray(folder.map<std::uint32_t>("neighbours", {info.edges}));
    if (offsets[0] != 0 || offsets[info.vertices] != info.edges) {
        throw bad_array("the offsets do not run from 0 to the number of edges", "offsets",
                        folder.path().string());
    }
    return {std::move(offsets), std::move(neighbours)};
}

}  // namespace rudder::graph
