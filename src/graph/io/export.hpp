// From a data set to an NPZ archive that NumPy, PyG and DGL users can read.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "rudder/core/progress.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::graph {

/// What is exported, in original vertex ids, whatever order it is stored in. Calls come from one
/// thread at a time, mostly in ascending order of vertex.
class ExportSource {
public:
    virtual ~ExportSource() = default;
    /// Counts, and the kinds of features and targets.
    [[nodiscard]] virtual const DatasetInfo& info() const = 0;
    /// Replaces `out` by the vertices that v reads from, in any order.
    virtual void row(VertexId v, std::vector<VertexId>& out) const = 0;
    /// The stored feature row of v; asked for where `info` says there are features.
    [[nodiscard]] virtual std::span<const std::byte> feature_row(VertexId v) const = 0;
    /// One per column for int8, else empty.
    [[nodiscard]] virtual std::span<const float> feature_scale() const = 0;
    /// The targets of v: one number, or a row; the one asked for is that of `info`'s kind.
    [[nodiscard]] virtual std::int32_t class_of(VertexId v) const = 0;
    [[nodiscard]] virtual std::span<const std::uint8_t> multilabel_of(VertexId v) const = 0;
    [[nodiscard]] virtual std::span<const float> regression_of(VertexId v) const = 0;
    [[nodiscard]] virtual Role role(VertexId v) const = 0;
    /// Whether vertices have parts, and which; they are exported as `part`.
    [[nodiscard]] virtual bool partitioned() const { return false; }
    [[nodiscard]] virtual PartId part(VertexId /*v*/) const { return 0; }
};

/// A data set as it is: its ids are the original ones.
class DatasetExport final : public ExportSource {
public:
    /// The data set must outlive it.
    explicit DatasetExport(const Dataset& data);
    [[nodiscard]] const DatasetInfo& info() const override { return data_.info(); }
    void row(VertexId v, std::vector<VertexId>& out) const override;
    [[nodiscard]] std::span<const std::byte> feature_row(VertexId v) const override;
    [[nodiscard]] std::span<const float> feature_scale() const override;
    [[nodiscard]] std::int32_t class_of(VertexId v) const override;
    [[nodiscard]] std::span<const std::uint8_t> multilabel_of(VertexId v) const override;
    [[nodiscard]] std::span<const float> regression_of(VertexId v) const override;
    [[nodiscard]] Role role(VertexId v) const override;

private:
    const Dataset& data_;
    TopologyView topology_;
    FeatureView features_;
    TargetView targets_;
    std::span<const Role> roles_;
};

/// What `export` is asked to do.
struct ExportOptions {
    std::filesystem::path input{};
    std::filesystem::path output{};
    bool force = false;  ///< replace an existing output
};

/// Writes `num_nodes`, `src`, `dst` (each edge of a symmetric graph once, src <= dst), `x` (or
/// `x_int8` with `x_scale`), `y` (with `num_classes` and `classes`), `train`, `val`, `test`,
/// `part`. Nothing is held in memory but a block of each. The output appears whole or not at all.
void export_npz(const ExportSource& source, const std::filesystem::path& output, bool force,
                Progress& progress = Progress::none());

/// The same for a data set's folder.
void export_dataset(const ExportOptions& options, Progress& progress = Progress::none());

}  // namespace rudder::graph
