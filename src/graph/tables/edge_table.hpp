// A table of edges: both ids as vertices, weights, times and features, block by block.
#pragma once

#include <memory>
#include <optional>

#include "rudder/core/progress.hpp"
#include "rudder/graph/feature_source.hpp"
#include "rudder/graph/io/graph_reader.hpp"
#include "rudder/graph/topology_builder.hpp"

#include "id_map.hpp"
#include "schema.hpp"
#include "spill.hpp"
#include "table_source.hpp"

namespace rudder::graph {

/// What becomes of an edge that names a vertex which has no row.
enum class UnknownIds : std::uint8_t { refuse, drop };

/// Edges of a table, in the order of its rows; edge e has weight e, time e, features e, target e
/// and role e.
class TableEdges final : public NumberedEdges {
public:
    TableEdges(VertexId vertices, const std::shared_ptr<SpillRoom>& room)
        : vertices_(vertices), edges_(room), weights_(room), times_(room) {}

    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override { return count_; }
    void walk_numbered(NarrowFrom narrow, WideFrom wide) const override;

    /// Edges that were left out, since a vertex of theirs has no row.
    [[nodiscard]] EdgeIndex dropped() const noexcept { return dropped_; }
    /// What the edges carry, which is taken out.
    [[nodiscard]] RawEdgeData take_data();

private:
    friend class EdgeReader;
    VertexId vertices_;
    EdgeIndex count_ = 0;
    EdgeIndex dropped_ = 0;
    Spill edges_;  ///< pairs of 32 or 64 bits
    bool weighted_ = false;
    bool timed_ = false;
    Spill weights_;  ///< float32
    Spill times_;    ///< int64
    std::optional<Targets> targets_;
    std::optional<Array<Role>> roles_;
    std::unique_ptr<FeatureSource> features_;
};

/// Vertices that one end of edges may be: those of a map, of which the first has this number.
struct EdgeEnd {
    const IdMap& ids;
    VertexId first = 0;
};
/// Both ends, and how many vertices there are in all.
struct EdgeEnds {
    EdgeEnd source;
    EdgeEnd target;
    VertexId vertices = 0;
};

/// Reads a table of edges between such vertices.
[[nodiscard]] std::unique_ptr<TableEdges> read_edge_table(
    const Table& table, const EdgeTable& meaning, const EdgeEnds& ends, UnknownIds unknown,
    MissingValues missing, const std::shared_ptr<SpillRoom>& room, Progress& progress);

}  // namespace rudder::graph
