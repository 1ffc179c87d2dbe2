// Writes a data set folder, array by array, the manifest last.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "core/staging.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/feature_source.hpp"
#include "rudder/graph/provenance.hpp"
#include "rudder/graph/topology_builder.hpp"

namespace rudder::graph {

/// A data set under construction, beside its final place. Whoever makes one calls the writers of
/// the arrays it has, in any order, then `commit`; without that nothing is left behind.
class DatasetWriter {
public:
    DatasetWriter(const std::filesystem::path& output, Existing existing);

    /// The graph's rows, with what was counted while building them.
    void topology(const BuiltTopology& built, bool symmetric);
    /// Feature rows, converted to `type` if one is given; each must be finite and fit.
    void features(const FeatureSource& source, std::optional<ElementType> type, bool row_normalise,
                  Progress& progress);
    /// Targets of any kind, with their count of labelled vertices.
    void targets(TargetInfo info, const TargetView& view);
    void split(std::span<const Role> roles);

    /// Writes the manifest and moves the folder into place.
    DatasetInfo commit(const Provenance& provenance);

private:
    Staging staging_;
    ArrayFolderWriter arrays_;
    DatasetInfo info_;
    bool has_split_ = false;
};

}  // namespace rudder::graph
