#include "graph_types.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"

#include "row_info.hpp"

namespace rudder::graph {

namespace {

constexpr const char* remake_types = "make the data set again";
constexpr std::size_t longest_type_name = 64;
constexpr std::size_t typed_rows_per_chunk = 1 << 13;

template <class Type>
std::optional<std::size_t> find_type(const std::vector<Type>& types,
                                     std::string_view name) noexcept {
    const auto found = std::ranges::find(types, name, &Type::name);
    if (found == types.end()) return std::nullopt;
    return static_cast<std::size_t>(found - types.begin());
}

}  // namespace

std::size_t GraphTypes::of(VertexId v) const noexcept {
    const auto after = std::ranges::upper_bound(vertices, v, {}, &VertexType::first);
    return static_cast<std::size_t>(after - vertices.begin()) - 1;
}

FeatureInfo DatasetInfo::rows() const noexcept {
    FeatureInfo all = features;
    for (const VertexType& type : types.vertices) {
        if (!type.features.present()) continue;
        const bool first = !all.present();
        if (first) all = type.features;
        // Scales are by column of one type.
        if (all.type != type.features.type || all.type == ElementType::i8)
            all.type = ElementType::f32;
        all.width = std::max(all.width, type.features.width);
    }
    return all;
}

std::optional<std::size_t> GraphTypes::vertex_type(std::string_view name) const noexcept {
    return find_type(vertices, name);
}

std::optional<std::size_t> GraphTypes::edge_type(std::string_view name) const noexcept {
    return find_type(edges, name);
}

bool GraphTypes::same_kinds(const GraphTypes& other) const noexcept {
    const auto same_vertices = [](const VertexType& a, const VertexType& b) {
        return a.name == b.name && a.features.width == b.features.width &&
               a.features.type == b.features.type &&
               a.features.row_normalise == b.features.row_normalise;
    };
    const auto same_edges = [](const EdgeType& a, const EdgeType& b) {
        return a.name == b.name && a.from == b.from && a.to == b.to && a.reverse_of == b.reverse_of;
    };
    return std::ranges::equal(vertices, other.vertices, same_vertices) &&
           std::ranges::equal(edges, other.edges, same_edges);
}

std::string type_array(std::string_view name, std::size_t type) {
    return fmt::format("{}_{}", name, type);
}

void check_type_name(std::string_view name, const std::string& where) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    };
    const bool good =
        !name.empty() && name.size() <= longest_type_name && plain(name.front()) &&
        std::ranges::all_of(name, [&](char c) { return plain(c) || c == '-' || c == '.'; });
    if (good) return;
    throw input_error(fmt::format("invalid name of a type: '{}'", name), where,
                      "use 1 to 64 letters, digits, _, - and .");
}

Json vertex_types_json(const GraphTypes& types) {
    Json list = Json::array();
    for (const VertexType& type : types.vertices) {
        list.push_back({{"name", type.name},
                        {"vertices", type.vertices},
                        {"features", feature_json(type.features)},
                        {"labelled", type.labelled}});
    }
    return list;
}

Json edge_types_json(const GraphTypes& types) {
    Json list = Json::array();
    for (const EdgeType& type : types.edges) {
        Json entry = {{"name", type.name},
                      {"from", types.vertices[type.from].name},
                      {"to", types.vertices[type.to].name},
                      {"edges", type.edges}};
        if (type.reverse_of) entry["reverse_of"] = types.edges[*type.reverse_of].name;
        list.push_back(std::move(entry));
    }
    return list;
}

void describe_types(const GraphTypes& types, Json& manifest) {
    if (!types.present()) return;
    manifest["vertex_types"] = vertex_types_json(types);
    manifest["edge_types"] = edge_types_json(types);
}

namespace {

/// The list under a key, which must have 1 to so many entries.
const Json& type_list(const Json& manifest, const char* key, const std::string& where) {
    const Json& list = json_field(manifest, key, where);
    if (list.is_array() && !list.empty() && list.size() <= most_types) return list;
    throw input_error(fmt::format("invalid {}: not a list of 1 to {} types", key, most_types),
                      where, remake_types);
}

std::size_t named_type(const std::optional<std::size_t>& found, const std::string& name,
                       const std::string& where) {
    if (found) return *found;
    throw input_error(fmt::format("unknown type '{}'", name), where, remake_types);
}

void refuse_twice(bool twice, const std::string& name, const std::string& where) {
    if (twice) throw input_error(fmt::format("type '{}' occurs twice", name), where, remake_types);
}

}  // namespace

GraphTypes types_of(const Json& manifest, const std::string& where) {
    GraphTypes types;
    if (!manifest.contains("vertex_types")) return types;
    VertexId first = 0;
    for (const Json& entry : type_list(manifest, "vertex_types", where)) {
        VertexType type;
        type.name = json_string(entry, "name", where);
        type.first = first;
        type.vertices = json_u64(entry, "vertices", where);
        type.features = feature_info(entry, where);
        type.labelled = json_u64(entry, "labelled", where);
        check_type_name(type.name, where);
        refuse_twice(types.vertex_type(type.name).has_value(), type.name, where);
        first = checked_add(first, type.vertices, "number of vertices");
        types.vertices.push_back(std::move(type));
    }
    for (const Json& entry : type_list(manifest, "edge_types", where)) {
        EdgeType type;
        type.name = json_string(entry, "name", where);
        const std::string from = json_string(entry, "from", where);
        const std::string to = json_string(entry, "to", where);
        type.from = named_type(types.vertex_type(from), from, where);
        type.to = named_type(types.vertex_type(to), to, where);
        type.edges = json_u64(entry, "edges", where);
        check_type_name(type.name, where);
        if (entry.contains("reverse_of")) {
            const std::string of = json_string(entry, "reverse_of", where);
            type.reverse_of = named_type(types.edge_type(of), of, where);
        }
        refuse_twice(types.edge_type(type.name).has_value(), type.name, where);
        types.edges.push_back(std::move(type));
    }
    return types;
}

void check_edge_types(const TopologyView& graph, std::span<const std::uint8_t> types,
                      const GraphTypes& of, const TypesOfEnds& ends, const std::string& where) {
    const auto bad = [&](std::string what, EdgeIndex e) {
        return input_error(std::move(what),
                           fmt::format("{}, array 'edge_type', position {}", where, e),
                           remake_types);
    };
    std::vector<std::atomic<EdgeIndex>> counts(of.edges.size());
    graph.neighbours.visit([&](auto neighbours) {
        parallel_chunks(graph.vertices(), typed_rows_per_chunk, [&](const Chunk& chunk) {
            std::vector<EdgeIndex> own(of.edges.size(), 0);
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                const std::size_t to = ends.row(v);
                for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e) {
                    const std::uint8_t type = types[e];
                    if (type >= of.edges.size())
                        throw bad(fmt::format("invalid type of an edge: {}", type), e);
                    const EdgeType& known = of.edges[type];
                    if (known.to != to || known.from != ends.neighbour(neighbours[e])) {
                        throw bad(fmt::format("an edge of type '{}' joins vertices of others",
                                              known.name),
                                  e);
                    }
                    if (e > graph.offsets[v] && neighbours[e] == neighbours[e - 1] &&
                        type < types[e - 1]) {
                        throw bad(fmt::format("types of equal entries of row {} descend", v), e);
                    }
                    ++own[type];
                }
            }
            for (std::size_t t = 0; t < own.size(); ++t)
                counts[t] += own[t];
        });
    });
    for (std::size_t t = 0; t < counts.size(); ++t) {
        if (counts[t] == of.edges[t].edges) continue;
        throw input_error(fmt::format("{} edges are of type '{}', of which the manifest says {}",
                                      counts[t].load(), of.edges[t].name, of.edges[t].edges),
                          where, remake_types);
    }
}

}  // namespace rudder::graph
