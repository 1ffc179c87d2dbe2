#include "npz_reader.hpp"

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "edge_blocks.hpp"
#include "target_builder.hpp"

namespace rudder::graph {

namespace {

/// How many vertices there are, where an array says so; else how many rows features or labels have.
std::optional<VertexId> known_vertices(const NpzArchive& archive) {
    if (const auto name = archive.first_of({"num_nodes", "num_vertices"}); !name.empty()) {
        NpyReader reader = archive.open(name);
        return read_scalar(reader);
    }
    const std::string name = archive.has("adj_shape")                        ? "adj_shape"
                             : archive.has("indptr") && archive.has("shape") ? "shape"
                                                                             : "";
    if (!name.empty()) {
        NpyReader reader = archive.open(name);
        const auto shape = read_integers(reader);
        if (shape.size() != 2 || shape[0] != shape[1] || shape[0] < 0) {
            throw input_error("the matrix is not square", archive.where(name),
                              "give the adjacency of one graph");
        }
        return static_cast<VertexId>(shape[0]);
    }
    const auto rows = archive.first_of(
        {"x", "feat", "features", "node_feat", "x_int8", "y", "label", "labels", "node_label"});
    if (rows.empty()) return std::nullopt;
    const NpyReader reader = archive.open(rows);
    if (reader.header().shape.empty()) return std::nullopt;
    return reader.header().shape[0];
}

}  // namespace

TargetHints npz_target_hints(const NpzArchive& archive) {
    TargetHints hints;
    if (archive.has("num_classes")) {
        NpyReader reader = archive.open("num_classes");
        hints.classes = read_scalar(reader);
    }
    if (archive.has("classes")) {
        NpyReader reader = archive.open("classes");
        if (reader.header().text_length != 0) hints.names = read_texts(reader);
    }
    return hints;
}

RawGraph read_npz(const ReadOptions& options, Progress& /*progress*/) {
    const auto archive = std::make_shared<const NpzArchive>(options.input);
    std::optional<VertexId> vertices = known_vertices(*archive);
    if (options.vertices) {
        if (vertices && *vertices > *options.vertices) {
            throw usage_error(
                fmt::format("the file has {} vertices, more than {}", *vertices, *options.vertices),
                "--vertices", "leave the option out, or give a larger number");
        }
        vertices = options.vertices;
    } else if (vertices) {
        check_vertex_count(*vertices, std::filesystem::file_size(options.input),
                           options.input.string());
    }
    RawGraph graph;
    graph.edges = read_npz_edges(*archive, vertices);
    graph.vertices = graph.edges->vertices();
    if (!vertices) {
        check_vertex_count(graph.vertices, graph.edges->edges(), options.input.string());
    }
    graph.edge_data = read_npz_edge_data(archive, graph.edges->edges());
    graph.features = read_npz_features(archive, graph.vertices);
    if (const auto name = archive->first_of({"y", "label", "labels", "node_label"});
        !name.empty()) {
        NpyReader reader = archive->open(name);
        graph.targets = read_targets(reader, graph.vertices, npz_target_hints(*archive));
    }
    graph.roles = read_npz_split(*archive, graph.vertices);
    graph.vertex_times = read_npz_times(*archive, graph.vertices);
    return graph;
}

}  // namespace rudder::graph
