#include <algorithm>
#include <atomic>
#include <bit>

#include <fmt/format.h>

#include "graph/graph_types.hpp"
#include "graph/vertex_ids.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/partition/part.hpp"
#include "rudder/partition/partitioned_dataset.hpp"

namespace rudder::partition {

namespace {

constexpr std::size_t part_vertices_per_chunk = 1 << 14;
constexpr std::size_t part_edges_per_chunk = 1 << 18;

Error bad_array(const std::string& what, const char* array, const std::string& where) {
    return input_error(what, fmt::format("{}, array '{}'", where, array),
                       "make the partition again, or restore it from a copy");
}

Error id_outside(LocalId id, EdgeIndex at, VertexId limit, const std::string& where) {
    return bad_array(fmt::format("id {} at position {} is out of range 0..{}", id, at, limit - 1),
                     "neighbours", where);
}

}  // namespace

void Part::check_halo(VertexId vertices, const std::string& where) const {
    for (std::size_t i = 0; i < halo_.size(); ++i) {
        if (halo_[i] >= vertices || range_.contains(halo_[i])) {
            throw bad_array(
                fmt::format("id {} at position {} is an own vertex or out of range", halo_[i], i),
                "halo", where);
        }
        if (i > 0 && halo_[i] <= halo_[i - 1]) {
            throw bad_array(fmt::format("the ids do not ascend at position {}", i), "halo", where);
        }
    }
}

/// Checks ids and order of every row and that no halo vertex is there in vain; the arcs that come
/// from the halo.
EdgeIndex Part::check_rows(const std::string& where) const {
    const VertexId limit = own() + halo_.size();
    auto used = Array<std::uint64_t>::zeroed(halo_.size() / 64 + 1);
    std::atomic<EdgeIndex> crossing{0};
    parallel_chunks(own(), part_vertices_per_chunk, [&](const Chunk& chunk) {
        EdgeIndex outside = 0;
        for (VertexId v = chunk.begin; v < chunk.end; ++v) {
            for (EdgeIndex e = offsets_[v]; e < offsets_[v + 1]; ++e) {
                const LocalId u = neighbours_[e];
                if (u >= limit) throw id_outside(u, e, limit, where);
                if (e > offsets_[v] && global(u) < global(neighbours_[e - 1])) {
                    throw bad_array(fmt::format("row {} does not ascend at position {}", v, e),
                                    "neighbours", where);
                }
                if (u < own()) continue;
                ++outside;
                const VertexId h = u - own();
                std::atomic_ref(used[h / 64])
                    .fetch_or(std::uint64_t{1} << (h % 64), std::memory_order_relaxed);
            }
        }
        crossing += outside;
    });
    VertexId count = 0;
    for (const std::uint64_t word : used)
        count += static_cast<VertexId>(std::popcount(word));
    if (count != halo_.size()) {
        throw bad_array(
            fmt::format("{} of {} vertices are in no row", halo_.size() - count, halo_.size()),
            "halo", where);
    }
    return crossing;
}

/// Whether each neighbour is an own or a halo vertex, whatever the order.
void Part::check_ids(const std::string& where) const {
    const VertexId limit = own() + halo_.size();
    parallel_chunks(neighbours_.size(), part_edges_per_chunk, [&](const Chunk& chunk) {
        LocalId largest = 0;
        for (EdgeIndex e = chunk.begin; e < chunk.end; ++e)
            largest = std::max(largest, neighbours_[e]);
        if (largest < limit) return;
        const auto ids = neighbours().subspan(chunk.begin, chunk.end - chunk.begin);
        const auto at = std::ranges::find(ids, largest) - ids.begin();
        throw id_outside(largest, chunk.begin + static_cast<EdgeIndex>(at), limit, where);
    });
}

/// Whether every edge is of a type that leads to vertices of its row's type: training goes by both.
void Part::check_types(const std::string& where) const {
    const graph::GraphTypes& types = info_.types;
    const auto of = edge_data().type;
    for (VertexId v = 0; types.present() && v < own(); ++v) {
        const std::size_t to = types.of(v);
        for (EdgeIndex e = offsets_[v]; e < offsets_[v + 1]; ++e) {
            if (of[e] < types.edges.size() && types.edges[of[e]].to == to) continue;
            throw bad_array(fmt::format("type {} at position {} is not one of edges to '{}'", of[e],
                                        e, types.vertices[to].name),
                            "edge_type", where);
        }
    }
}

void Part::check_order(VertexId vertices, const std::string& where) const {
    for (VertexId v = 0; v < own(); ++v) {
        if (offsets_[v] > offsets_[v + 1]) {
            throw bad_array(fmt::format("offsets descend at position {}", v + 1), "offsets", where);
        }
        if (original_ids_[v] >= vertices) {
            throw bad_array(
                fmt::format("id {} at position {} is out of range", original_ids_[v], v),
                "original_ids", where);
        }
    }
    if (clusters_[0] != 0 || clusters_[clusters_.size() - 1] != own()) {
        throw bad_array("the offsets do not run from 0 to the number of own vertices", "clusters",
                        where);
    }
    for (std::size_t i = 1; i < clusters_.size(); ++i) {
        if (clusters_[i - 1] < clusters_[i]) continue;
        throw bad_array(fmt::format("offsets do not ascend at position {}", i), "clusters", where);
    }
}

PartFigures Part::check(VertexId vertices) const {
    const std::string where = folder_.path().string();
    folder_.verify_checksums();
    check_order(vertices, where);
    check_halo(vertices, where);
    const EdgeIndex crossing = check_rows(where);
    check_types(where);
    arrays_.check(info_, own(), where);
    edge_arrays_.check(info_, {offsets(), neighbours()}, where);
    graph::VertexIds::open(folder_, own()).check(where);
    PartFigures figures{own(), info_.split.train, info_.edges, crossing, halo_.size()};
    for (std::size_t t = 0; t < info_.types.vertices.size(); ++t) {
        graph::VertexIds::open(folder_, info_.types, t).check(where);
        figures.types.push_back(info_.types.vertices[t].vertices);
    }
    return figures;
}

void Part::check_bounds(VertexId vertices) const {
    const std::string where = folder_.path().string();
    check_order(vertices, where);
    check_halo(vertices, where);
    check_ids(where);
    check_types(where);
    arrays_.check_bounds(info_, where);
    edge_arrays_.check_bounds(info_, where);
}

namespace {

constexpr std::size_t checked_per_chunk = 1 << 12;
constexpr const char* remake_partition = "make the partition again, or restore it from a copy";

/// How often global vertex v stands in the row of own vertex `row` of a part.
std::size_t entries_of(const Part& part, LocalId row, VertexId v) {
    const auto entries = part.row(row);
    const auto global = [&](LocalId local) { return part.global(local); };
    const auto first = std::ranges::lower_bound(entries, v, {}, global);
    const auto last = std::ranges::upper_bound(entries, v, {}, global);
    return static_cast<std::size_t>(last - first);
}

}  // namespace

void PartitionedDataset::check_sums(const std::vector<Part>& parts,
                                    const std::vector<PartFigures>& figures) const {
    const std::string where = folder_.manifest_path();
    graph::DatasetInfo sum;
    for (const Part& part : parts) {
        const graph::DatasetInfo& own = part.info();
        const graph::TopologyCounts counts = count_irregular_rows(part);
        if (counts.self_loops != own.self_loops || counts.duplicates != own.duplicates) {
            throw input_error("self loops or duplicates are not as many as the manifest says",
                              part.folder().manifest_path(), remake_partition);
        }
        sum.edges += own.edges;
        sum.self_loops += own.self_loops;
        sum.duplicates += own.duplicates;
        sum.targets.labelled += own.targets.labelled;
        sum.split.train += own.split.train;
        sum.split.valid += own.split.valid;
        sum.split.test += own.split.test;
        sum.types.edges.resize(info_.types.edges.size());
        for (std::size_t t = 0; t < info_.types.edges.size(); ++t)
            sum.types.edges[t].edges += own.types.edges[t].edges;
        sum.types.vertices.resize(info_.types.vertices.size());
        for (std::size_t t = 0; t < info_.types.vertices.size(); ++t)
            sum.types.vertices[t].vertices += own.types.vertices[t].vertices;
    }
    const bool same_types =
        std::ranges::equal(sum.types.edges, info_.types.edges, {}, &graph::EdgeType::edges,
                           &graph::EdgeType::edges) &&
        std::ranges::equal(sum.types.vertices, info_.types.vertices, {},
                           &graph::VertexType::vertices, &graph::VertexType::vertices);
    if (sum.edges != info_.edges || sum.self_loops != info_.self_loops ||
        sum.duplicates != info_.duplicates || sum.targets.labelled != info_.targets.labelled ||
        sum.split != info_.split || !same_types) {
        throw input_error("the parts' counts do not add up to those of the whole", where,
                          remake_partition);
    }
    PartitionSummary found = summary_;
    set_figures(found, figures);
    if (found.cut != summary_.cut || found.balance != summary_.balance ||
        found.train_balance != summary_.train_balance ||
        found.edge_balance != summary_.edge_balance ||
        found.type_balance != summary_.type_balance || found.halo != summary_.halo) {
        throw input_error("the cut, the balance or the halo is not what the manifest says", where,
                          remake_partition);
    }
}

graph::TopologyCounts PartitionedDataset::count_irregular_rows(const Part& part) const {
    std::atomic<EdgeIndex> loops{0};
    std::atomic<EdgeIndex> duplicates{0};
    const auto types = part.edge_data().type;
    parallel_chunks(part.own(), checked_per_chunk, [&](const Chunk& chunk) {
        graph::TopologyCounts own;
        for (std::size_t v = chunk.begin; v < chunk.end; ++v) {
            const auto row = part.row(static_cast<LocalId>(v));
            for (std::size_t i = 0; i < row.size(); ++i) {
                if (row[i] == v) ++own.self_loops;
                if (i == 0 || row[i] != row[i - 1]) continue;
                const EdgeIndex e = part.offsets()[v] + i;
                if (types.empty() || types[e] == types[e - 1]) ++own.duplicates;
            }
        }
        loops += own.self_loops;
        duplicates += own.duplicates;
    });
    return {loops, duplicates};
}

/// Whether vertices of a type have original ids of that type, and edges join the types they should.
void PartitionedDataset::check_types(const std::vector<Part>& parts) const {
    const graph::GraphTypes& types = info_.types;
    if (!types.present()) return;
    for (const Part& part : parts) {
        const std::string where = part.folder().path().string();
        for (std::size_t i = 0; i < part.original_ids().size(); ++i) {
            if (types.of(part.original_ids()[i]) == part.info().types.of(i)) continue;
            throw input_error(
                fmt::format("vertex {} is of another type in the data set", part.original_ids()[i]),
                fmt::format("{}, array 'original_ids', position {}", where, i), remake_partition);
        }
        const auto of_row = [&](VertexId row) { return part.info().types.of(row); };
        const auto of_neighbour = [&](VertexId local) {
            const VertexId v = part.global(static_cast<LocalId>(local));
            return types_.type(book_.owner(v), v);
        };
        graph::check_edge_types({part.offsets(), IdSpan(part.neighbours())}, part.edge_data().type,
                                part.info().types, {of_row, of_neighbour}, where);
    }
}

void PartitionedDataset::check_permutation(const std::vector<Part>& parts) const {
    auto seen = Array<std::uint64_t>::zeroed(info_.vertices / 64 + 1);
    for (const Part& part : parts) {
        for (std::size_t i = 0; i < part.original_ids().size(); ++i) {
            const VertexId v = part.original_ids()[i];
            const std::uint64_t bit = std::uint64_t{1} << (v % 64);
            if ((seen[v / 64] & bit) != 0) {
                throw input_error(fmt::format("vertex {} occurs twice", v),
                                  fmt::format("{}, array 'original_ids', position {}",
                                              part.folder().path().string(), i),
                                  remake_partition);
            }
            seen[v / 64] |= bit;
        }
    }
}

void PartitionedDataset::check_symmetry(const std::vector<Part>& parts) const {
    for (const Part& part : parts) {
        parallel_chunks(part.own(), checked_per_chunk, [&](const Chunk& chunk) {
            for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                const auto row = part.row(static_cast<LocalId>(i));
                const VertexId v = part.range().begin + i;
                for (std::size_t e = 0; e < row.size();) {
                    std::size_t end = e + 1;
                    while (end < row.size() && row[end] == row[e])
                        ++end;
                    const VertexId u = part.global(row[e]);
                    const Part& owner = parts[book_.owner(u)];
                    const auto there = static_cast<LocalId>(u - owner.range().begin);
                    if (entries_of(owner, there, v) != end - e) {
                        throw input_error(
                            fmt::format("the edge {} - {} is not stored both ways, though the "
                                        "manifest says so",
                                        u, v),
                            part.folder().path().string(), remake_partition);
                    }
                    e = end;
                }
            }
        });
    }
}

void PartitionedDataset::check() const {
    const std::vector<Part> parts = all_parts();
    std::vector<PartFigures> figures;
    for (const Part& part : parts)
        figures.push_back(part.check(info_.vertices));
    check_sums(parts, figures);
    check_permutation(parts);
    check_types(parts);
    if (info_.symmetric) check_symmetry(parts);
}

}  // namespace rudder::partition
