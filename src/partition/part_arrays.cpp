#include "part_arrays.hpp"

#include <algorithm>
#include <cstring>

#include "graph/graph_types.hpp"
#include "rudder/core/parallel.hpp"

namespace rudder::partition {

namespace {

constexpr std::size_t gather_bytes = std::size_t{32} << 20;

}  // namespace

// Pieces are of bounded size.
void write_rows(graph::ArrayFolderWriter& writer, const std::string& name, ElementType type,
                std::vector<std::uint64_t> shape, const std::byte* source, std::size_t row_bytes,
                std::span<const VertexId> ids) {
    graph::ArrayStream stream = writer.stream(name, type, std::move(shape));
    const std::size_t rows =
        std::max<std::size_t>(1, gather_bytes / std::max<std::size_t>(1, row_bytes));
    auto buffer = Array<std::byte>::uninitialised(std::min(rows, ids.size()) * row_bytes);
    for (std::size_t first = 0; first < ids.size(); first += rows) {
        const auto piece = ids.subspan(first, std::min(rows, ids.size() - first));
        const std::size_t per_chunk =
            std::max<std::size_t>(1, (std::size_t{1} << 18) / std::max<std::size_t>(1, row_bytes));
        parallel_chunks(piece.size(), per_chunk, [&](const Chunk& chunk) {
            for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                std::memcpy(buffer.data() + i * row_bytes, source + piece[i] * row_bytes,
                            row_bytes);
            }
        });
        stream.append(std::span<const std::byte>(buffer.data(), piece.size() * row_bytes));
    }
    stream.finish();
}

void write_targets(graph::ArrayFolderWriter& writer, const std::string& name,
                   const graph::TargetInfo& info, const graph::TargetView& targets,
                   std::span<const VertexId> ids) {
    const auto write = [&](const auto& values, std::vector<std::uint64_t> shape,
                           std::uint64_t columns) {
        using T = std::remove_cvref_t<decltype(values[0])>;
        write_rows(writer, name, element_type_of<T>, std::move(shape), std::as_bytes(values).data(),
                   columns * sizeof(T), ids);
    };
    switch (info.kind) {
        case graph::TargetKind::none:
            break;
        case graph::TargetKind::classes:
            write(targets.classes, {ids.size()}, 1);
            break;
        case graph::TargetKind::multilabel:
            write(targets.multilabel, {ids.size(), info.count}, info.count);
            break;
        case graph::TargetKind::regression:
            write(targets.regression, {ids.size(), info.count}, info.count);
            break;
    }
}

void write_edge_data(graph::ArrayFolderWriter& writer, const graph::Dataset& from,
                     std::span<const EdgeIndex> origin) {
    const graph::EdgeData data = from.edge_data();
    if (from.info().edge_weight) {
        write_rows(writer, "edge_weight", ElementType::f32, {origin.size()},
                   std::as_bytes(data.weight).data(), sizeof(float), origin);
    }
    if (from.info().edge_time) {
        write_rows(writer, "edge_time", ElementType::i64, {origin.size()},
                   std::as_bytes(data.time).data(), sizeof(std::int64_t), origin);
    }
    if (from.info().types.present()) {
        write_rows(writer, "edge_type", ElementType::u8, {origin.size()},
                   std::as_bytes(data.type).data(), 1, origin);
    }
    const graph::FeatureInfo& features = data.features.info;
    if (features.present()) {
        write_rows(writer, "edge_features", features.type, {origin.size(), features.width},
                   data.features.data, features.row_bytes(), origin);
    }
    write_targets(writer, "edge_labels", from.info().edge_targets, data.targets, origin);
    if (from.info().edge_split) {
        write_rows(writer, "edge_split", ElementType::u8, {origin.size()},
                   std::as_bytes(data.roles).data(), 1, origin);
    }
}

void write_features(graph::ArrayFolderWriter& writer, const graph::FeatureView& features,
                    std::span<const VertexId> ids, const std::string& name,
                    const std::string& scale) {
    if (!features.info.present()) return;
    write_rows(writer, name, features.info.type, {ids.size(), features.info.width}, features.data,
               features.info.row_bytes(), ids);
    if (features.info.type == ElementType::i8) writer.write(scale, features.scale);
}

void write_types(graph::ArrayFolderWriter& writer, const graph::Dataset& data,
                 const Renumbering& order, PartId part) {
    const graph::GraphTypes& types = data.info().types;
    for (std::size_t t = 0; t < types.vertices.size(); ++t) {
        const auto range = order.types.range(part, t);
        std::vector<VertexId> rows;
        for (VertexId i = range.begin; i < range.end; ++i)
            rows.push_back(order.original[i] - types.vertices[t].first);
        write_features(writer, data.features(t), rows, graph::type_array("features", t),
                       graph::type_array("feature_scale", t));
        graph::VertexIds::open(data.folder(), types, t).write(writer, rows, t);
    }
}

std::vector<std::optional<graph::IdKind>> type_id_kinds(const graph::Dataset& data) {
    std::vector<std::optional<graph::IdKind>> kinds;
    for (std::size_t t = 0; t < data.info().types.vertices.size(); ++t)
        kinds.push_back(graph::id_kind(data.folder(), t));
    return kinds;
}

void count_types(const graph::Dataset& data, const Renumbering& order, PartId part,
                 std::span<const EdgeIndex> origin, graph::GraphTypes& types) {
    VertexId first = 0;
    for (std::size_t t = 0; t < types.vertices.size(); ++t) {
        types.vertices[t].first = first;
        types.vertices[t].vertices = order.types.range(part, t).size();
        types.vertices[t].labelled = 0;
        const auto range = order.types.range(part, t);
        for (VertexId i = range.begin; i < range.end; ++i) {
            const bool labelled =
                graph::is_labelled(data.info().targets, data.targets(), order.original[i]);
            types.vertices[t].labelled += labelled ? 1U : 0U;
        }
        first += types.vertices[t].vertices;
    }
    const auto of = data.edge_data().type;
    for (graph::EdgeType& type : types.edges)
        type.edges = 0;
    for (std::size_t e = 0; types.present() && e < origin.size(); ++e)
        ++types.edges[of[origin[e]]].edges;
}

}  // namespace rudder::partition
