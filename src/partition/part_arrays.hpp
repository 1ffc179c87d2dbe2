// The arrays of a part, gathered from those of the data set.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/vertex_ids.hpp"
#include "rudder/graph/dataset.hpp"

#include "renumber.hpp"

namespace rudder::partition {

/// The targets of vertices or of entries, under the name that they have.
void write_targets(graph::ArrayFolderWriter& writer, const std::string& name,
                   const graph::TargetInfo& info, const graph::TargetView& targets,
                   std::span<const VertexId> ids);
/// What vertices have one of, a byte or a time: row i is row ids[i] of `source`.
void write_rows(graph::ArrayFolderWriter& writer, const std::string& name, ElementType type,
                std::vector<std::uint64_t> shape, const std::byte* source, std::size_t row_bytes,
                std::span<const VertexId> ids);
void write_features(graph::ArrayFolderWriter& writer, const graph::FeatureView& features,
                    std::span<const VertexId> ids, const std::string& name,
                    const std::string& scale);
/// What the entries of a part's rows carry, gathered from the data set's.
void write_edge_data(graph::ArrayFolderWriter& writer, const graph::Dataset& from,
                     std::span<const EdgeIndex> origin);
/// Features and ids of each type of several: a part's vertices of one type lie together.
void write_types(graph::ArrayFolderWriter& writer, const graph::Dataset& data,
                 const Renumbering& order, PartId part);

/// The kinds of ids of each type, as a manifest tells them.
[[nodiscard]] std::vector<std::optional<graph::IdKind>> type_id_kinds(const graph::Dataset& data);
/// How many vertices and edges of each type a part has; `origin` are the data set's entries of its
/// rows.
void count_types(const graph::Dataset& data, const Renumbering& order, PartId part,
                 std::span<const EdgeIndex> origin, graph::GraphTypes& types);

}  // namespace rudder::partition
