// Writes a data set folder, array by array, the manifest last.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "core/staging.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/feature_source.hpp"
#include "rudder/graph/provenance.hpp"
#include "rudder/graph/topology_builder.hpp"

#include "vertex_ids.hpp"

namespace rudder::graph {

/// A data set under construction, beside its final place. Whoever makes one calls the writers of
/// the arrays it has, in any order, then `commit`; without that nothing is left behind.
class DatasetWriter {
public:
    DatasetWriter(const std::filesystem::path& output, Existing existing);

    /// The graph's rows with the weights and times of their entries, and what was counted while
    /// building them.
    void topology(const BuiltTopology& built, bool symmetric);
    /// That the graph has several types: their names, ends and numbers of vertices. Comes before
    /// `topology`, which counts their edges.
    void types(GraphTypes types);
    /// Feature rows of edges: entry e of the rows has row `origin[e]` of `rows`; each must be
    /// finite. Comes after `topology`. Rows of int8 are an InternalError: nobody scales them.
    void edge_features(const FeatureView& rows, std::span<const EdgeIndex> origin,
                       const std::string& where, Progress& progress);
    /// Targets and roles of edges by number: entry e of the rows has those of edge `origin[e]`.
    /// Both come after `topology`.
    void edge_targets(const TargetInfo& info, const TargetView& view,
                      std::span<const EdgeIndex> origin);
    void edge_split(std::span<const Role> roles, std::span<const EdgeIndex> origin);
    /// The time of each vertex, `no_time` for those without.
    void vertex_times(std::span<const std::int64_t> times);
    /// Feature rows, converted to `type` if one is given; each must be finite and fit.
    void features(const FeatureSource& source, std::optional<ElementType> type, bool row_normalise,
                  Progress& progress);
    /// Those of one type of several.
    void type_features(std::size_t type, const FeatureSource& source, std::optional<ElementType> as,
                       bool row_normalise, Progress& progress);
    /// Targets of any kind, with their count of labelled vertices.
    void targets(TargetInfo info, const TargetView& view);
    void split(std::span<const Role> roles);
    /// What the user calls the vertices, if anything.
    void ids(const VertexIds& ids);
    /// The same for one type of several.
    void type_ids(std::size_t type, const VertexIds& ids);
    /// A file of text beside the arrays.
    void note(const std::string& file, std::string_view text);
    /// Where it is under construction.
    [[nodiscard]] const std::filesystem::path& folder() const noexcept { return staging_.path(); }

    /// Writes the manifest and moves the folder into place.
    DatasetInfo commit(const Provenance& provenance);

private:
    Staging staging_;
    ArrayFolderWriter arrays_;
    DatasetInfo info_;
    std::optional<IdKind> ids_;
    std::vector<std::optional<IdKind>> type_ids_;
    bool has_split_ = false;
};

}  // namespace rudder::graph
