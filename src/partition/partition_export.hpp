// A partitioned data set as something to export: in original ids, with the part of each vertex.
#pragma once

#include <vector>

#include "graph/io/export.hpp"

#include "original_ids.hpp"
#include "original_order.hpp"

namespace rudder::partition {

class PartitionExport final : public graph::ExportSource {
public:
    explicit PartitionExport(const PartitionedDataset& data)
        : order_(data), ids_(original_vertex_ids(data)) {
        for (std::size_t t = 0; t < data.info().types.vertices.size(); ++t)
            type_ids_.push_back(original_vertex_ids(data, t));
    }

    [[nodiscard]] const graph::DatasetInfo& info() const override { return order_.info(); }
    void row(VertexId v, std::vector<graph::ExportedArc>& out) const override {
        const OriginalOrder::Place at = order_.place(v);
        out.clear();
        for (EdgeIndex e = at.part.offsets()[at.row];
             e < at.part.offsets()[at.row + std::size_t{1}]; ++e) {
            out.push_back({.source = order_.original(at.part.global(at.part.neighbours()[e]))});
            graph::set_carried(at.part.edge_data(), e, out.back());
        }
    }
    [[nodiscard]] std::int64_t time_of(VertexId v) const override {
        const OriginalOrder::Place at = order_.place(v);
        return at.part.vertex_times()[at.row];
    }
    [[nodiscard]] std::span<const std::byte> feature_row(VertexId v) const override {
        return order_.feature_row(v);
    }
    [[nodiscard]] std::span<const float> feature_scale() const override {
        return order_.feature_scale();
    }
    [[nodiscard]] std::int32_t class_of(VertexId v) const override { return order_.label(v); }
    [[nodiscard]] std::span<const std::uint8_t> multilabel_of(VertexId v) const override {
        return order_.multilabel_row(v);
    }
    [[nodiscard]] std::span<const float> regression_of(VertexId v) const override {
        return order_.regression_row(v);
    }
    [[nodiscard]] graph::Role role(VertexId v) const override { return order_.role(v); }
    [[nodiscard]] const graph::VertexIds& ids() const override { return ids_; }
    [[nodiscard]] std::span<const float> type_scale(std::size_t type) const override {
        return order_.type_scale(type);
    }
    [[nodiscard]] const graph::VertexIds& type_ids(std::size_t type) const override {
        return type_ids_[type];
    }
    [[nodiscard]] bool partitioned() const override { return true; }
    [[nodiscard]] PartId part(VertexId v) const override { return order_.part(v); }

private:
    OriginalOrder order_;
    graph::VertexIds ids_;
    std::vector<graph::VertexIds> type_ids_;
};

}  // namespace rudder::partition
