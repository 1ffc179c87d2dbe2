#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rudder/core/error.hpp"
#include "rudder/graph/dataset.hpp"

#include "edge_blocks.hpp"
#include "feature_sources.hpp"
#include "npz_reader.hpp"
#include "target_builder.hpp"

namespace rudder::graph {

namespace {

/// The arrays one set of edges lies in.
struct EdgeSet {
    enum class Layout { columns, table, rows } layout;
    std::string first;   ///< sources, the table, or the offsets of rows
    std::string second;  ///< targets, or the entries of rows
};

std::vector<EdgeSet> find_sets(const NpzArchive& archive) {
    std::vector<EdgeSet> sets;
    for (const std::string& name : archive.names()) {
        for (const auto& [end, other] : {std::pair{"src", "dst"}, std::pair{"dst", "src"}}) {
            if (name != end && !name.ends_with(std::string("_") + end)) continue;
            const std::string partner = name.substr(0, name.size() - 3) + other;
            if (!archive.has(partner)) {
                throw input_error(fmt::format("array '{}' has no partner '{}'", name, partner),
                                  archive.path().string(), "give both ends of the edges");
            }
            if (end == std::string("src")) {
                sets.push_back({EdgeSet::Layout::columns, name, partner});
            }
        }
    }
    if (archive.has("edge_index")) sets.push_back({EdgeSet::Layout::table, "edge_index", ""});
    for (const std::string prefix : {"adj_", ""}) {
        if (!archive.has(prefix + "indptr") || !archive.has(prefix + "indices")) continue;
        sets.push_back({EdgeSet::Layout::rows, prefix + "indptr", prefix + "indices"});
    }
    if (sets.empty()) {
        throw input_error("the archive has no edges", archive.path().string(),
                          fmt::format("give src and dst, edge_index, or adj_indptr and "
                                      "adj_indices; it has: {}",
                                      fmt::join(archive.names(), ", ")));
    }
    return sets;
}

/// Checks that the arrays of a set agree; the number of edges.
std::uint64_t check_set(const NpzArchive& archive, const EdgeSet& set) {
    const NpyReader first = archive.open(set.first);
    const auto& shape = first.header().shape;
    if (set.layout == EdgeSet::Layout::table) {
        if (shape.size() == 2 && shape[0] == 2) return shape[1];
        throw input_error(
            fmt::format("the array is {} where 2 rows are expected", first.header().describe()),
            first.where(), "save the transposed array, made contiguous");
    }
    const NpyReader second = archive.open(set.second);
    for (const NpyReader* reader : {&first, &second}) {
        if (reader->header().shape.size() == 1) continue;
        throw input_error(fmt::format("the array is {} where one dimension is expected",
                                      reader->header().describe()),
                          reader->where(), "save a.ravel()");
    }
    if (set.layout == EdgeSet::Layout::columns && first.left() != second.left()) {
        throw input_error(fmt::format("the array has {} ids, '{}' has {}", second.left(), set.first,
                                      first.left()),
                          second.where(), "give both ends of every edge");
    }
    return second.left();
}

/// The vertices the ids of a set ask for.
VertexId needed_vertices(const NpzArchive& archive, const EdgeSet& set) {
    if (set.layout == EdgeSet::Layout::rows) {
        NpyReader entries = archive.open(set.second);
        const std::uint64_t offsets = archive.open(set.first).left();
        return std::max(id_bound(entries), offsets == 0 ? 0 : offsets - 1);
    }
    VertexId bound = 0;
    for (const std::string& name : {set.first, set.second}) {
        if (name.empty()) continue;
        NpyReader reader = archive.open(name);
        bound = std::max(bound, id_bound(reader));
    }
    return bound;
}

/// The source of every entry of a matrix in rows.
template <class Id>
Array<Id> expand_rows(const NpyReader& reader, std::span<const std::int64_t> offsets,
                      std::uint64_t entries) {
    const auto bad = [&](const std::string& what, std::uint64_t position) {
        throw input_error(what, fmt::format("{}, position {}", reader.where(), position),
                          "make the matrix again");
    };
    if (offsets.empty() || offsets[0] != 0) bad("the first offset is not 0", 0);
    auto ids = Array<Id>::uninitialised(entries);
    for (std::size_t row = 0; row + 1 < offsets.size(); ++row) {
        if (offsets[row + 1] < offsets[row]) bad("the offsets descend", row + 1);
        if (std::cmp_greater(offsets[row + 1], entries)) {
            bad(fmt::format("offset {} is beyond the {} entries", offsets[row + 1], entries),
                row + 1);
        }
        std::fill(ids.begin() + offsets[row], ids.begin() + offsets[row + 1], static_cast<Id>(row));
    }
    if (std::cmp_not_equal(offsets.back(), entries)) {
        bad(fmt::format("the last offset is {}, there are {} entries", offsets.back(), entries),
            offsets.size() - 1);
    }
    return ids;
}

IdArray row_sources(const NpzArchive& archive, const EdgeSet& set, VertexId vertices,
                    std::uint64_t entries) {
    NpyReader reader = archive.open(set.first);
    const auto offsets = read_integers(reader);
    if (offsets.size() > vertices + 1) {
        throw input_error(
            fmt::format("there are {} offsets for {} vertices", offsets.size(), vertices),
            reader.where(), "correct the number of vertices");
    }
    if (IdArray::needs_wide(vertices)) {
        return IdArray(expand_rows<std::uint64_t>(reader, offsets.span(), entries));
    }
    return IdArray(expand_rows<std::uint32_t>(reader, offsets.span(), entries));
}

}  // namespace

std::unique_ptr<EdgeSource> read_npz_edges(const NpzArchive& archive,
                                           std::optional<VertexId> vertices) {
    const std::vector<EdgeSet> sets = find_sets(archive);
    std::vector<std::uint64_t> sizes;
    for (const EdgeSet& set : sets)
        sizes.push_back(check_set(archive, set));
    if (!vertices) {
        vertices = 0;
        for (const EdgeSet& set : sets)
            vertices = std::max(*vertices, needed_vertices(archive, set));
    }
    auto edges = std::make_unique<EdgeColumns>(*vertices);
    for (std::size_t i = 0; i < sets.size(); ++i) {
        const EdgeSet& set = sets[i];
        if (set.layout == EdgeSet::Layout::rows) {
            IdArray sources = row_sources(archive, set, *vertices, sizes[i]);
            NpyReader entries = archive.open(set.second);
            edges->add(std::move(sources), read_ids(entries, sizes[i], *vertices));
            continue;
        }
        NpyReader first = archive.open(set.first);
        IdArray sources = read_ids(first, sizes[i], *vertices);
        if (set.layout == EdgeSet::Layout::table) {
            edges->add(std::move(sources), read_ids(first, sizes[i], *vertices));
        } else {
            NpyReader second = archive.open(set.second);
            edges->add(std::move(sources), read_ids(second, sizes[i], *vertices));
        }
    }
    return edges;
}

namespace {

/// Opens an array that has `count` elements (or rows, where it may be a table).
NpyReader open_aligned(const NpzArchive& archive, const std::string& name, std::uint64_t count,
                       const char* of, std::size_t most_dimensions) {
    NpyReader reader = archive.open(name);
    const auto& shape = reader.header().shape;
    if (!shape.empty() && shape.size() <= most_dimensions && shape[0] == count) return reader;
    throw input_error(
        fmt::format("the array is {} for {} {}", reader.header().describe(), count, of),
        reader.where(), fmt::format("give one for each of the {}", of));
}

Targets read_edge_targets(const NpzArchive& archive, EdgeIndex edges) {
    NpyReader reader = open_aligned(archive, "edge_label", edges, "edges", 2);
    TargetHints hints;
    if (archive.has("num_edge_classes")) {
        NpyReader classes = archive.open("num_edge_classes");
        hints.classes = read_scalar(classes);
    }
    if (archive.has("edge_classes")) {
        NpyReader names = archive.open("edge_classes");
        hints.names = read_texts(names);
    }
    return read_targets(reader, edges, hints);
}

Array<Role> read_edge_roles(const NpzArchive& archive, EdgeIndex edges) {
    NpyReader reader = open_aligned(archive, "edge_split", edges, "edges", 1);
    const Array<std::int64_t> numbers = read_integers(reader);
    auto roles = Array<Role>::uninitialised(numbers.size());
    for (std::size_t e = 0; e < numbers.size(); ++e) {
        if (numbers[e] < 0 || numbers[e] > static_cast<std::int64_t>(Role::test)) {
            throw input_error(fmt::format("invalid role: {}", numbers[e]),
                              fmt::format("{}, position {}", reader.where(), e),
                              "give 0 (none), 1 (train), 2 (valid) or 3 (test)");
        }
        roles[e] = static_cast<Role>(numbers[e]);
    }
    return roles;
}

}  // namespace

RawEdgeData read_npz_edge_data(const SharedArchive& archive, EdgeIndex edges) {
    RawEdgeData data;
    const std::string rows = archive->first_of({"edge_attr", "edge_feat"});
    const std::string any =
        rows.empty() ? archive->first_of({"edge_weight", "edge_time", "edge_label", "edge_split"})
                     : rows;
    if (any.empty()) return data;
    if (find_sets(*archive).size() > 1) {
        throw input_error("the archive has several sets of edges, and this belongs to one",
                          archive->where(any), "put all edges into src and dst");
    }
    if (archive->has("edge_weight")) {
        NpyReader reader = open_aligned(*archive, "edge_weight", edges, "edges", 1);
        data.weight = read_floats(reader);
        check_weights(data.weight->span(), reader.where());
    }
    if (archive->has("edge_time")) {
        NpyReader reader = open_aligned(*archive, "edge_time", edges, "edges", 1);
        data.time = read_integers(reader);
    }
    if (!rows.empty()) {
        (void)open_aligned(*archive, rows, edges, "edges", 2);
        data.features = dense_features([archive, rows] { return archive->open(rows); });
    }
    if (archive->has("edge_label")) data.targets = read_edge_targets(*archive, edges);
    if (archive->has("edge_split")) data.roles = read_edge_roles(*archive, edges);
    return data;
}

std::optional<Array<std::int64_t>> read_npz_times(const NpzArchive& archive, VertexId vertices) {
    if (archive.has("node_time")) {
        NpyReader reader = open_aligned(archive, "node_time", vertices, "vertices", 1);
        return read_integers(reader);
    }
    // A common name: only what can be meant is taken.
    if (!archive.has("time")) return std::nullopt;
    NpyReader reader = archive.open("time");
    const NpyHeader& header = reader.header();
    if (!header.integer() || header.shape != std::vector<std::uint64_t>{vertices})
        return std::nullopt;
    return read_integers(reader);
}

}  // namespace rudder::graph
