// A step of a graph of several types as programs with a loop of their own get it: by type, each of
// which counts its vertices and edges for itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "rudder/core/raw_vector.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/topology.hpp"
#include "rudder/partition/book.hpp"
#include "rudder/sample/batch.hpp"

namespace rudder::train {

/// The vertices of one type in a batch: the seeds, if they are of it, then what each hop added.
struct LoadedVertices {
    RawVector<float> rows;              ///< row by row, as wide as the type's are
    RawVector<std::int64_t> ids;        ///< as TypeNumbers counts them
    std::vector<std::int64_t> per_hop;  ///< vertices, the seeds first
};

/// The edges of one type in a batch, hop after hop.
struct LoadedEdges {
    /// As positions among the vertices of either end's type: all sources, then all destinations.
    RawVector<std::int64_t> ends;
    RawVector<std::int64_t> numbers;  ///< as EdgeTypeNumbers counts them, where they are asked for
    std::vector<std::int64_t> per_hop;  ///< edges

    [[nodiscard]] std::size_t count() const noexcept { return ends.size() / 2; }
};

/// One own part of a step.
struct LoadedTypes {
    std::vector<LoadedVertices> vertices;  ///< by type
    std::vector<LoadedEdges> edges;        ///< by type
    /// Of each vertex of the batch, its position among those of its type.
    RawVector<std::int64_t> places;
    RawVector<std::uint8_t> of;  ///< and its type
};

/// The vertices of a partition by type: those of each are counted from 0, by ascending id.
class TypeNumbers {
public:
    /// What is given must outlive it.
    TypeNumbers(const partition::PartitionBook& book, const partition::TypeBook& types);

    struct Place {
        std::size_t type;
        VertexId number;
    };
    [[nodiscard]] Place of(VertexId v) const noexcept {
        const PartId part = book_->owner(v);
        const std::size_t type = types_->type(part, v);
        const std::size_t at = part * types_->types() + type;
        return {type, v - types_->starts()[at] + before_[at]};
    }
    [[nodiscard]] std::size_t types() const noexcept { return types_->types(); }
    /// Vertices of a type.
    [[nodiscard]] VertexId count(std::size_t type) const noexcept { return counts_[type]; }

private:
    const partition::PartitionBook* book_;
    const partition::TypeBook* types_;
    std::vector<VertexId> before_;  ///< by part and type: vertices of the type in parts before
    std::vector<VertexId> counts_;  ///< by type
};

/// The edges of a whole graph by type: those of each are counted from 0, row after row.
class EdgeTypeNumbers {
public:
    /// `types` are those of the entries, which ascend in each row, as ids do among those of one
    /// type. What is given must outlive it.
    EdgeTypeNumbers(const graph::TopologyView& graph, std::span<const std::uint8_t> types,
                    const TypeNumbers& vertices, std::size_t edge_types);

    /// Writes the numbers of edges of one type that were drawn for v; the place behind them.
    std::int64_t* write(VertexId v, std::size_t type, std::span<const VertexId> vertices,
                        std::span<const LocalId> drawn, std::int64_t* number) const;

private:
    graph::TopologyView graph_;
    std::span<const std::uint8_t> types_;
    const TypeNumbers* vertices_;
    /// By type, then by the number of the destination among those of its type: edges in the rows
    /// before. Empty until a row has one.
    std::vector<std::vector<EdgeIndex>> before_;
};

/// Takes batches apart. Safe from several tasks at once.
class TypeSplit {
public:
    /// The books are those of the partition that batches are of, and must outlive it.
    TypeSplit(const graph::DatasetInfo& info, const partition::PartitionBook& book,
              const partition::TypeBook& types);
    ~TypeSplit() = default;
    TypeSplit(const TypeSplit&) = delete;
    TypeSplit& operator=(const TypeSplit&) = delete;

    /// From now on edges have numbers.
    void number_edges(const graph::TopologyView& graph, std::span<const std::uint8_t> types);
    /// `rows` are those of the batch's vertices, as wide as the widest type's.
    void split(const sample::Batch& batch, std::span<const float> rows, LoadedTypes& out) const;

private:
    void split_vertices(const sample::Batch& batch, std::span<const float> rows,
                        LoadedTypes& out) const;
    void split_edges(const sample::Batch& batch, LoadedTypes& out) const;
    void write_numbers(const sample::Batch& batch, LoadedTypes& out) const;

    std::vector<std::size_t> widths_;  ///< by type of vertices
    std::size_t widest_;
    std::size_t edge_types_;
    TypeNumbers vertices_;
    std::optional<EdgeTypeNumbers> edges_;
};

}  // namespace rudder::train
