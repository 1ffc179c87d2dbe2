#include "original_ids.hpp"

#include <cstring>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::partition {

namespace {

using ChosenType = std::optional<std::size_t>;

/// Calls `f(ids of the part, row in it, original vertex)` for every vertex, or every one of a type,
/// whose first is then 0.
template <class F>
void for_original_ids(const PartitionedDataset& data, ChosenType type, F&& f) {
    for (PartId p = 0; p < data.parts(); ++p) {
        const Part part = data.part(p);
        const graph::GraphTypes& own = part.info().types;
        const graph::VertexIds ids = type ? graph::VertexIds::open(part.folder(), own, *type)
                                          : graph::VertexIds::open(part.folder(), part.own());
        const VertexId skipped = type ? own.vertices[*type].first : 0;
        const VertexId first = type ? data.info().types.vertices[*type].first : 0;
        const VertexId vertices =
            type ? data.info().types.vertices[*type].vertices : data.info().vertices;
        const auto originals =
            part.original_ids().subspan(skipped, type ? own.vertices[*type].vertices : part.own());
        for (VertexId i = 0; i < originals.size(); ++i) {
            if (originals[i] < first || originals[i] - first >= vertices) {
                throw input_error(fmt::format("id {} is out of range", originals[i]),
                                  fmt::format("{}, array 'original_ids', position {}",
                                              part.folder().path().string(), skipped + i),
                                  "make the partition again, or restore it from a copy");
            }
            f(ids, i, originals[i] - first);
        }
    }
}

graph::VertexIds read_ids(const PartitionedDataset& data, graph::IdKind kind, VertexId vertices,
                          ChosenType type) {
    if (kind == graph::IdKind::integer) {
        auto numbers = Array<std::int64_t>::zeroed(vertices);
        for_original_ids(data, type,
                         [&](const graph::VertexIds& ids, VertexId row, VertexId original) {
                             numbers[original] = ids.numbers()[row];
                         });
        return graph::VertexIds(std::move(numbers));
    }
    auto offsets = Array<std::uint64_t>::zeroed(vertices + 1);
    const auto each = [&](auto&& body) { for_original_ids(data, type, body); };
    each([&](const graph::VertexIds& ids, VertexId row, VertexId original) {
        offsets[original + 1] = ids.text(row).size();
    });
    for (VertexId v = 0; v < vertices; ++v)
        offsets[v + 1] += offsets[v];
    auto bytes = Array<std::uint8_t>::uninitialised(offsets[vertices]);
    each([&](const graph::VertexIds& ids, VertexId row, VertexId original) {
        const std::string_view text = ids.text(row);
        if (text.size() != offsets[original + 1] - offsets[original]) {
            throw input_error("two vertices have the same original id",
                              data.folder().path().string(),
                              "make the partition again, or restore it from a copy");
        }
        std::memcpy(bytes.data() + offsets[original], text.data(), text.size());
    });
    return {std::move(offsets), std::move(bytes)};
}

}  // namespace

graph::VertexIds original_vertex_ids(const PartitionedDataset& data) {
    const auto kind = graph::id_kind(data.folder());
    return kind ? read_ids(data, *kind, data.info().vertices, std::nullopt) : graph::VertexIds();
}

graph::VertexIds original_vertex_ids(const PartitionedDataset& data, std::size_t type) {
    const auto kind = graph::id_kind(data.folder(), type);
    if (!kind) return {};
    return read_ids(data, *kind, data.info().types.vertices[type].vertices, type);
}

}  // namespace rudder::partition
