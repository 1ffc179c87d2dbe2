#include "original_order.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"

namespace rudder::partition {

namespace {

constexpr std::size_t vertices_per_chunk = 1 << 13;

}  // namespace

OriginalOrder::OriginalOrder(const PartitionedDataset& data)
    : info_(data.info()),
      book_(data.book()),
      parts_(data.all_parts()),
      original_(Array<VertexId>::uninitialised(info_.vertices)),
      renumbered_(Array<VertexId>::uninitialised(info_.vertices)) {
    constexpr VertexId none = std::numeric_limits<VertexId>::max();
    std::ranges::fill(renumbered_.span(), none);
    for (const Part& part : parts_) {
        const auto ids = part.original_ids();
        for (VertexId i = 0; i < ids.size(); ++i) {
            if (ids[i] >= info_.vertices || renumbered_[ids[i]] != none) {
                throw input_error(fmt::format("id {} is out of range or occurs twice", ids[i]),
                                  fmt::format("{}, array 'original_ids', position {}",
                                              part.folder().path().string(), i),
                                  "make the partition again, or restore it from a copy");
            }
            const VertexId v = part.range().begin + i;
            renumbered_[ids[i]] = v;
            original_[v] = ids[i];
        }
    }
}

OriginalOrder::Place OriginalOrder::place(VertexId original) const noexcept {
    const VertexId v = renumbered_[original];
    const Part& part = parts_[book_.owner(v)];
    return {part, static_cast<LocalId>(v - part.range().begin)};
}

std::span<const std::byte> OriginalOrder::feature_row(VertexId original) const {
    const Place at = place(original);
    if (!info_.types.present()) return at.part.features().row(at.row);
    const graph::GraphTypes& types = at.part.info().types;
    const std::size_t type = types.of(at.row);
    return at.part.features(type).row(at.row - types.vertices[type].first);
}

std::int32_t OriginalOrder::label(VertexId original) const {
    const Place at = place(original);
    const auto classes = at.part.targets().classes;
    return classes.empty() ? graph::no_label : classes[at.row];
}

std::span<const std::uint8_t> OriginalOrder::multilabel_row(VertexId original) const {
    const Place at = place(original);
    const auto rows = at.part.targets().multilabel;
    if (rows.empty()) return {};
    return rows.subspan(at.row * info_.targets.count, info_.targets.count);
}

std::span<const float> OriginalOrder::regression_row(VertexId original) const {
    const Place at = place(original);
    const auto rows = at.part.targets().regression;
    if (rows.empty()) return {};
    return rows.subspan(at.row * info_.targets.count, info_.targets.count);
}

graph::Role OriginalOrder::role(VertexId original) const {
    const Place at = place(original);
    return at.part.roles()[at.row];
}

void OriginalOrder::row(VertexId original, std::vector<VertexId>& out) const {
    const Place at = place(original);
    out.clear();
    for (const LocalId u : at.part.row(at.row))
        out.push_back(original_[at.part.global(u)]);
}

std::span<const float> OriginalOrder::feature_scale() const {
    return parts_.front().features().scale;
}

std::span<const float> OriginalOrder::type_scale(std::size_t type) const {
    return parts_.front().features(type).scale;
}

void OriginalOrder::walk(Narrow /*narrow*/, Wide wide) const {
    for (const Part& part : parts_) {
        parallel_chunks(part.own(), vertices_per_chunk, [&](const Chunk& chunk) {
            std::vector<graph::Edge> block;
            block.reserve(part.offsets()[chunk.end] - part.offsets()[chunk.begin]);
            for (std::size_t i = chunk.begin; i < chunk.end; ++i) {
                for (const LocalId u : part.row(static_cast<LocalId>(i)))
                    block.push_back({original_[part.global(u)], part.original_ids()[i]});
            }
            wide(block);
        });
    }
}

}  // namespace rudder::partition
