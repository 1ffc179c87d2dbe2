// NPZ archives: the layouts of this project's data and those of the field.
#pragma once

#include <memory>
#include <optional>

#include "rudder/graph/io/graph_reader.hpp"

#include "npz.hpp"
#include "target_builder.hpp"

namespace rudder::graph {

/// Edges from `src`/`dst` (and every `*_src`/`*_dst`), `edge_index`, or `adj_indptr`/`adj_indices`;
/// features from `x`, `feat`, `features`, `node_feat`, `x_int8` with `x_scale`, or sparse
/// `feat_*`/`attr_*`; labels from `y`, `label(s)`, `node_label`; splits from `train`, `val`, `test`
/// (also `valid`, with `_idx` or `_mask`); what edges carry from `edge_weight`, `edge_time` and
/// `edge_attr` or `edge_feat`; times of vertices from `node_time` or `time`.
[[nodiscard]] RawGraph read_npz(const ReadOptions& options, Progress& progress);

using SharedArchive = std::shared_ptr<const NpzArchive>;

/// The parts of it, one source file each.
[[nodiscard]] std::unique_ptr<EdgeSource> read_npz_edges(const NpzArchive& archive,
                                                         std::optional<VertexId> vertices);
/// `edges` is how many there are; they must come from one set of arrays.
[[nodiscard]] RawEdgeData read_npz_edge_data(const SharedArchive& archive, EdgeIndex edges);
[[nodiscard]] std::optional<Array<std::int64_t>> read_npz_times(const NpzArchive& archive,
                                                                VertexId vertices);
[[nodiscard]] std::unique_ptr<FeatureSource> read_npz_features(const SharedArchive& archive,
                                                               VertexId vertices);
/// What an archive says of classes: their number and names.
[[nodiscard]] TargetHints npz_target_hints(const NpzArchive& archive);
[[nodiscard]] std::optional<Array<Role>> read_npz_split(const NpzArchive& archive,
                                                        VertexId vertices);

/// Marks a vertex with a role; an input Error naming `where` and `position` if it has another.
void set_role(std::span<Role> roles, VertexId v, Role role, const std::string& where,
              std::uint64_t position);

}  // namespace rudder::graph
