// The way back: a partitioned data set in the ids its data set had.
#pragma once

#include <span>
#include <vector>

#include "rudder/graph/topology_builder.hpp"
#include "rudder/partition/partitioned_dataset.hpp"

namespace rudder::partition {

/// All parts of a partitioned data set, looked at by original id.
class OriginalOrder final : public graph::EdgeSource {
public:
    /// Opens every part and inverts their original ids; an input Error if those are no permutation.
    explicit OriginalOrder(const PartitionedDataset& data);

    /// Where a vertex is: its part, and its row there.
    struct Place {
        const Part& part;
        LocalId row;
    };
    [[nodiscard]] Place place(VertexId original) const noexcept;
    /// The original id of a new one.
    [[nodiscard]] VertexId original(VertexId renumbered) const noexcept {
        return original_[renumbered];
    }

    [[nodiscard]] const graph::DatasetInfo& info() const noexcept { return info_; }
    /// The new id of each original one.
    [[nodiscard]] std::span<const VertexId> renumbered() const noexcept {
        return renumbered_.span();
    }
    [[nodiscard]] PartId part(VertexId original) const noexcept {
        return book_.owner(renumbered_[original]);
    }
    /// The stored feature row, class, multi-label row, regression row and role of a vertex; the
    /// row that the data set's kind of target has not is empty.
    [[nodiscard]] std::span<const std::byte> feature_row(VertexId original) const;
    [[nodiscard]] std::int32_t label(VertexId original) const;
    [[nodiscard]] std::span<const std::uint8_t> multilabel_row(VertexId original) const;
    [[nodiscard]] std::span<const float> regression_row(VertexId original) const;
    [[nodiscard]] graph::Role role(VertexId original) const;
    /// The scale of int8 features, one per column; else empty.
    [[nodiscard]] std::span<const float> feature_scale() const;
    /// The same of one type of several.
    [[nodiscard]] std::span<const float> type_scale(std::size_t type) const;
    /// Replaces `out` by the vertices that the row of a vertex names, in original ids.
    void row(VertexId original, std::vector<VertexId>& out) const;

    /// The stored arcs as edges in original ids, in any order (EdgeSource).
    [[nodiscard]] VertexId vertices() const override { return info_.vertices; }
    [[nodiscard]] EdgeIndex edges() const override { return info_.edges; }
    void walk(Narrow narrow, Wide wide) const override;

private:
    graph::DatasetInfo info_;
    PartitionBook book_;
    std::vector<Part> parts_;
    Array<VertexId> original_;    ///< by new id
    Array<VertexId> renumbered_;  ///< by original id
};

}  // namespace rudder::partition
