#include "original_ids.hpp"

#include <cstring>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

namespace rudder::partition {

namespace {

/// Calls `f(ids of the part, row in it, original vertex)` for every vertex.
template <class F>
void for_original_ids(const PartitionedDataset& data, F&& f) {
    for (PartId p = 0; p < data.parts(); ++p) {
        const Part part = data.part(p);
        const graph::VertexIds ids = graph::VertexIds::open(part.folder(), part.own());
        const auto originals = part.original_ids();
        for (VertexId i = 0; i < originals.size(); ++i) {
            if (originals[i] >= data.info().vertices) {
                throw input_error(fmt::format("id {} is out of range", originals[i]),
                                  fmt::format("{}, array 'original_ids', position {}",
                                              part.folder().path().string(), i),
                                  "make the partition again, or restore it from a copy");
            }
            f(ids, i, originals[i]);
        }
    }
}

}  // namespace

graph::VertexIds original_vertex_ids(const PartitionedDataset& data) {
    const VertexId vertices = data.info().vertices;
    const auto kind = graph::id_kind(data.folder());
    if (!kind) return {};
    if (*kind == graph::IdKind::integer) {
        auto numbers = Array<std::int64_t>::zeroed(vertices);
        for_original_ids(data, [&](const graph::VertexIds& ids, VertexId row, VertexId original) {
            numbers[original] = ids.numbers()[row];
        });
        return graph::VertexIds(std::move(numbers));
    }
    auto offsets = Array<std::uint64_t>::zeroed(vertices + 1);
    for_original_ids(data, [&](const graph::VertexIds& ids, VertexId row, VertexId original) {
        offsets[original + 1] = ids.text(row).size();
    });
    for (VertexId v = 0; v < vertices; ++v)
        offsets[v + 1] += offsets[v];
    auto bytes = Array<std::uint8_t>::uninitialised(offsets[vertices]);
    for_original_ids(data, [&](const graph::VertexIds& ids, VertexId row, VertexId original) {
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

}  // namespace rudder::partition
