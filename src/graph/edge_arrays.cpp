// What edges carry, as it lies in a folder: opened, viewed, checked.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "rudder/graph/dataset.hpp"

#include "symmetric_types.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t carried_per_chunk = 1 << 14;
constexpr const char* remake_edges = "make the data set again";
constexpr TargetArrays::Names edge_names{"edge_labels", "edge_split", "edges"};

}  // namespace

void check_weights(std::span<const float> weights, const std::string& where) {
    parallel_chunks(weights.size(), carried_per_chunk, [&](const Chunk& chunk) {
        for (std::size_t e = chunk.begin; e < chunk.end; ++e) {
            if (weights[e] >= 0 && std::isfinite(weights[e])) continue;
            throw input_error(fmt::format("invalid weight: {}", weights[e]),
                              fmt::format("{}, position {}", where, e),
                              "give finite numbers, 0 or more");
        }
    });
}

EdgeArrays EdgeArrays::open(const ArrayFolder& folder, const DatasetInfo& info) {
    EdgeArrays arrays;
    if (info.edge_weight) arrays.weight = folder.map<float>("edge_weight", {info.edges});
    if (info.edge_time) arrays.time = folder.map<std::int64_t>("edge_time", {info.edges});
    if (info.types.present()) arrays.type = folder.map<std::uint8_t>("edge_type", {info.edges});
    if (info.edge_features.present()) {
        const std::array<std::uint64_t, 2> shape{info.edges, info.edge_features.width};
        if (folder.expect("edge_features", shape).type != info.edge_features.type) {
            throw input_error("the features of edges are not of the type the manifest says",
                              folder.manifest_path(), remake_edges);
        }
        arrays.features = folder.map("edge_features");
    }
    arrays.targets.open_targets(folder, info.edge_targets, info.edges, edge_names.labels);
    if (info.edge_split)
        arrays.targets.roles = folder.map<std::uint8_t>("edge_split", {info.edges});
    return arrays;
}

EdgeData EdgeArrays::view(const DatasetInfo& info) const {
    EdgeData data{.weight = weight.span(),
                  .time = time.span(),
                  .type = type.span(),
                  .features = {},
                  .targets = targets.view(),
                  .target_count = info.edge_targets.count,
                  .roles = targets.role_view()};
    if (info.edge_features.present())
        data.features = {info.edge_features, info.edges, features.data(), {}};
    return data;
}

namespace {

/// Of entries that name one neighbour, those of one type, in a graph of several.
void check_time_order(const TopologyView& graph, std::span<const std::int64_t> time,
                      std::span<const std::uint8_t> type, const std::string& where) {
    graph.neighbours.visit([&](auto neighbours) {
        parallel_chunks(graph.vertices(), carried_per_chunk, [&](const Chunk& chunk) {
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                for (EdgeIndex e = graph.offsets[v] + 1; e < graph.offsets[v + 1]; ++e) {
                    if (neighbours[e] != neighbours[e - 1] || time[e] >= time[e - 1]) continue;
                    if (!type.empty() && type[e] != type[e - 1]) continue;
                    throw input_error(fmt::format("times of equal entries of row {} descend", v),
                                      fmt::format("{}, array 'edge_time', position {}", where, e),
                                      remake_edges);
                }
            }
        });
    });
}

}  // namespace

void EdgeArrays::check(const DatasetInfo& info, const TopologyView& graph,
                       const std::string& where) const {
    check_weights(weight.span(), where + ", array 'edge_weight'");
    if (info.edge_time) check_time_order(graph, time.span(), type.span(), where);
    targets.check(info.edge_targets, info.edge_split.value_or(SplitCounts{}), info.edges, where,
                  edge_names);
    if (!info.edge_features.present()) return;
    const FeatureView rows = view(info).features;
    const std::uint64_t bytes = rows.info.row_bytes();
    parallel_chunks(info.edges, carried_per_chunk, [&](const Chunk& chunk) {
        check_finite(rows.info,
                     rows.bytes().subspan(chunk.begin * bytes, (chunk.end - chunk.begin) * bytes),
                     chunk.begin, where + ", array 'edge_features'");
    });
}

void EdgeArrays::check_bounds(const DatasetInfo& info, const std::string& where) const {
    targets.check_bounds(info.edge_targets, where, edge_names);
}

namespace {

/// Whether two rows of so many numbers are the same; missing ones are alike.
template <class T>
bool same_rows(std::span<const T> all, std::uint64_t width, EdgeIndex a, EdgeIndex b) {
    return all.empty() ||
           std::memcmp(all.data() + a * width, all.data() + b * width, width * sizeof(T)) == 0;
}

bool carry_the_same(const EdgeData& data, EdgeIndex a, EdgeIndex b) {
    if (!data.weight.empty() && data.weight[a] != data.weight[b]) return false;
    if (!data.time.empty() && data.time[a] != data.time[b]) return false;
    const TargetView& targets = data.targets;
    return same_rows(targets.classes, 1, a, b) &&
           same_rows(targets.multilabel, data.target_count, a, b) &&
           same_rows(targets.regression, data.target_count, a, b) &&
           same_rows(data.roles, 1, a, b) &&
           (!data.features.info.present() ||
            std::ranges::equal(data.features.row(a), data.features.row(b)));
}

}  // namespace

bool carries_symmetric(const TopologyView& graph, const EdgeData& data) {
    std::atomic<bool> symmetric{true};
    graph.neighbours.visit([&](auto neighbours) {
        const auto first_of = [&](VertexId row, VertexId id) {
            const auto entries = neighbours.subspan(graph.offsets[row], graph.degree(row));
            const auto found = std::ranges::lower_bound(entries, id);
            return graph.offsets[row] + static_cast<EdgeIndex>(found - entries.begin());
        };
        parallel_chunks(graph.vertices(), carried_per_chunk, [&](const Chunk& chunk) {
            if (!symmetric) return;
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                EdgeIndex back = 0;
                for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
                    const VertexId u = neighbours[e];
                    if (u >= v) break;  // a loop is its own counterpart
                    const bool again = e > graph.offsets[v] && neighbours[e - 1] == u;
                    back = again ? back + 1 : first_of(u, v);
                    if (!carry_the_same(data, e, back)) symmetric = false;
                }
            }
        });
    });
    return symmetric;
}

bool types_carry_symmetric(const TopologyView& graph, const EdgeData& data,
                           const GraphTypes& types) {
    std::vector<std::size_t> other(types.edges.size());
    std::iota(other.begin(), other.end(), std::size_t{0});
    for (std::size_t t = 0; t < other.size(); ++t) {
        if (!types.edges[t].reverse_of) continue;
        other[t] = *types.edges[t].reverse_of;
        other[other[t]] = t;
    }
    std::atomic<bool> symmetric{true};
    graph.neighbours.visit([&](auto neighbours) {
        const auto first_of = [&](VertexId row, VertexId id, std::size_t type) {
            const auto entries = neighbours.subspan(graph.offsets[row], graph.degree(row));
            const auto found = std::ranges::lower_bound(entries, id);
            EdgeIndex at = graph.offsets[row] + static_cast<EdgeIndex>(found - entries.begin());
            while (at < graph.offsets[row + 1] && neighbours[at] == id && data.type[at] != type)
                ++at;
            return at;
        };
        parallel_chunks(graph.vertices(), carried_per_chunk, [&](const Chunk& chunk) {
            if (!symmetric) return;
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                EdgeIndex back = 0;
                for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
                    const VertexId u = neighbours[e];
                    if (u >= v) break;  // a loop is its own counterpart
                    const bool again = e > graph.offsets[v] && neighbours[e - 1] == u &&
                                       data.type[e - 1] == data.type[e];
                    back = again ? back + 1 : first_of(u, v, other[data.type[e]]);
                    const bool there = back < graph.offsets[u + 1] && neighbours[back] == v &&
                                       data.type[back] == other[data.type[e]];
                    if (!there || !carry_the_same(data, e, back)) symmetric = false;
                }
            }
        });
    });
    return symmetric;
}

}  // namespace rudder::graph
