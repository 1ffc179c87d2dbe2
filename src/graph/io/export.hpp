// From a data set to an NPZ archive that NumPy, PyG and DGL users can read.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "graph/vertex_ids.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/dataset.hpp"

namespace rudder::graph {

/// An entry of a row with what it carries.
struct ExportedArc {
    VertexId source = 0;
    float weight = 0;
    std::int64_t time = 0;
    std::uint8_t type = 0;
    std::span<const std::byte> features{};
    // The target of the data set's kind of them.
    std::int32_t label = no_label;
    std::span<const std::uint8_t> multilabel{};
    std::span<const float> numbers{};
    Role role = Role::none;
};

/// What is exported, in original vertex ids, whatever order it is stored in. Calls come from one
/// thread at a time, mostly in ascending order of vertex.
class ExportSource {
public:
    virtual ~ExportSource() = default;
    /// Counts, and the kinds of features and targets.
    [[nodiscard]] virtual const DatasetInfo& info() const = 0;
    /// Replaces `out` by the vertices that v reads from, in any order; entries of one vertex in the
    /// order of the data set. Of what they carry, what `info` says there is.
    virtual void row(VertexId v, std::vector<ExportedArc>& out) const = 0;
    /// The stored feature row of v; asked for where `info` says there are features.
    [[nodiscard]] virtual std::span<const std::byte> feature_row(VertexId v) const = 0;
    /// One per column for int8, else empty.
    [[nodiscard]] virtual std::span<const float> feature_scale() const = 0;
    /// The same of one type of several.
    [[nodiscard]] virtual std::span<const float> type_scale(std::size_t /*type*/) const {
        return {};
    }
    /// The targets of v: one number, or a row; the one asked for is that of `info`'s kind.
    [[nodiscard]] virtual std::int32_t class_of(VertexId v) const = 0;
    [[nodiscard]] virtual std::span<const std::uint8_t> multilabel_of(VertexId v) const = 0;
    [[nodiscard]] virtual std::span<const float> regression_of(VertexId v) const = 0;
    [[nodiscard]] virtual Role role(VertexId v) const = 0;
    /// The time of v; asked for where `info` says that vertices have times.
    [[nodiscard]] virtual std::int64_t time_of(VertexId v) const = 0;
    /// What the user calls the vertices; they are exported as `id`, if there are any.
    [[nodiscard]] virtual const VertexIds& ids() const {
        static const VertexIds none;
        return none;
    }
    /// The same of one type of several; id i is that of vertex i of the type.
    [[nodiscard]] virtual const VertexIds& type_ids(std::size_t /*type*/) const { return ids(); }
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
    void row(VertexId v, std::vector<ExportedArc>& out) const override;
    [[nodiscard]] std::span<const std::byte> feature_row(VertexId v) const override;
    [[nodiscard]] std::span<const float> feature_scale() const override;
    [[nodiscard]] std::int32_t class_of(VertexId v) const override;
    [[nodiscard]] std::span<const std::uint8_t> multilabel_of(VertexId v) const override;
    [[nodiscard]] std::span<const float> regression_of(VertexId v) const override;
    [[nodiscard]] Role role(VertexId v) const override;
    [[nodiscard]] std::int64_t time_of(VertexId v) const override;
    [[nodiscard]] const VertexIds& ids() const override { return ids_; }
    [[nodiscard]] std::span<const float> type_scale(std::size_t type) const override;
    [[nodiscard]] const VertexIds& type_ids(std::size_t type) const override {
        return type_ids_[type];
    }

private:
    const Dataset& data_;
    TopologyView topology_;
    EdgeData edge_data_;
    FeatureView features_;
    TargetView targets_;
    std::span<const Role> roles_;
    VertexIds ids_;
    std::vector<VertexIds> type_ids_;
    std::vector<FeatureView> type_rows_;
};

/// Fills what an entry carries from entry `e` of `data`.
void set_carried(const EdgeData& data, EdgeIndex e, ExportedArc& arc);

/// What `export` is asked to do.
struct ExportOptions {
    std::filesystem::path input{};
    std::filesystem::path output{};
    bool force = false;  ///< replace an existing output
};

/// Writes `num_nodes`, `id` (the user's), `src`, `dst` (each edge of a symmetric graph once, src <=
/// dst), `x` (or `x_int8` with `x_scale`), `y` (with `num_classes` and `classes`), `train`, `val`,
/// `test`, `part`, and what edges carry in their order (`edge_weight`, `edge_time`, `edge_attr`,
/// `edge_label` with `num_edge_classes` and `edge_classes`, `edge_split`) and the times of vertices
/// (`node_time`). Of several types also `node_type` and `edge_type`, their names (`node_types`,
/// `edge_types`, each of the latter as "from name to"), and by name of type `x_NAME` and `id_NAME`.
/// Nothing is held in memory but a block of each. The output appears whole or not at all.
void export_npz(const ExportSource& source, const std::filesystem::path& output, bool force,
                Progress& progress = Progress::none());

/// Adds the user's ids to an archive as `id` (or another name), if there are any; they must live
/// until it is finished.
void add_ids(class NpzWriter& writer, const VertexIds& ids, const std::string& name = "id");

/// Whether an entry of row v is exported: each edge of a symmetric graph once, from the smaller id;
/// edges between two types of vertices in the direction of the tables.
[[nodiscard]] bool exported_once(const DatasetInfo& info, const ExportedArc& arc, VertexId v);

/// The same for a data set's folder.
void export_dataset(const ExportOptions& options, Progress& progress = Progress::none());

}  // namespace rudder::graph
