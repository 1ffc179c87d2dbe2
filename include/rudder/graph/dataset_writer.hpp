// Writes a data set folder, array by array, the manifest last.
#pragma once

#include <filesystem>
#include <span>

#include "rudder/core/function_ref.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/core/staging.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/topology_builder.hpp"

namespace rudder {

/// A data set under construction, beside its final place. Whoever makes one calls the writers of
/// the arrays it has, in any order, then `commit`; without that nothing is left behind.
class DatasetWriter {
public:
    DatasetWriter(const std::filesystem::path& output, Existing existing);

    /// The graph's rows, with what was counted while building them.
    void topology(const BuiltTopology& built, bool symmetric);
    /// Feature rows made chunk by chunk, on all threads: `rows(first, bytes)` fills whole rows from
    /// row `first` on. Float elements are checked to be finite; `where` names their origin.
    void features(const FeatureInfo& info, std::span<const float> scale,
                  FunctionRef<void(VertexId, std::span<std::byte>)> rows, const std::string& where,
                  Progress& progress);
    /// Targets of any kind, with their count of labelled vertices.
    void targets(TargetInfo info, const TargetView& view);
    void split(std::span<const Role> roles);

    /// Writes the manifest (with `made_by`) and moves the folder into place.
    DatasetInfo commit(const Json& made_by);

    [[nodiscard]] const std::filesystem::path& staged() const noexcept { return staging_.path(); }
    [[nodiscard]] const DatasetInfo& info() const noexcept { return info_; }

private:
    Staging staging_;
    ArrayFolderWriter arrays_;
    DatasetInfo info_;
    bool has_split_ = false;
};

}  // namespace rudder
