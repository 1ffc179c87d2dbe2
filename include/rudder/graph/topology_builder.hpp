// From edges in any order to compressed sparse rows, in parallel, in about twice the result's
// memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "rudder/core/function_ref.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/topology.hpp"

namespace rudder::graph {

/// A directed edge of the input: messages flow from `source` to `target`.
struct Edge {
    VertexId source;
    VertexId target;
    friend bool operator==(const Edge&, const Edge&) = default;
};

/// The same in 32-bit ids.
struct NarrowEdge {
    std::uint32_t source;
    std::uint32_t target;
};

/// Edges that can be walked more than once, in blocks, from several threads. A body gives blocks of
/// one of the two widths; each walk gives the same edges in any order.
class EdgeSource {
public:
    using Narrow = FunctionRef<void(std::span<const NarrowEdge>)>;
    using Wide = FunctionRef<void(std::span<const Edge>)>;

    virtual ~EdgeSource() = default;
    /// Ids are below this.
    [[nodiscard]] virtual VertexId vertices() const = 0;
    /// Edges per walk.
    [[nodiscard]] virtual EdgeIndex edges() const = 0;
    /// Walks all edges; for each block calls one of the two, possibly from several threads at once.
    virtual void walk(Narrow narrow, Wide wide) const = 0;
};

/// Edges that have numbers, 0 to edges() - 1, the same in every walk: what they carry is found by
/// them.
class NumberedEdges : public EdgeSource {
public:
    using NarrowFrom = FunctionRef<void(std::span<const NarrowEdge>, EdgeIndex)>;
    using WideFrom = FunctionRef<void(std::span<const Edge>, EdgeIndex)>;

    /// As `walk`, with the number of each block's first edge.
    virtual void walk_numbered(NarrowFrom narrow, WideFrom wide) const = 0;
    void walk(Narrow narrow, Wide wide) const final;
};

/// Edges in memory, of either width. The memory stays the caller's.
class EdgeSpan final : public NumberedEdges {
public:
    EdgeSpan(VertexId vertices, std::span<const NarrowEdge> edges)
        : vertices_(vertices), narrow_(edges) {}
    EdgeSpan(VertexId vertices, std::span<const Edge> edges) : vertices_(vertices), wide_(edges) {}

    [[nodiscard]] VertexId vertices() const override { return vertices_; }
    [[nodiscard]] EdgeIndex edges() const override { return narrow_.size() + wide_.size(); }
    void walk_numbered(NarrowFrom narrow, WideFrom wide) const override;

private:
    VertexId vertices_;
    std::span<const NarrowEdge> narrow_;
    std::span<const Edge> wide_;
};

/// What to make of the edges; the defaults are those of `import`.
struct BuildOptions {
    bool symmetrise = true;        ///< store each edge both ways (a self loop once)
    bool keep_self_loops = false;  ///< else dropped
    bool keep_duplicates = false;  ///< else one entry each
};

/// Edges of one type: those whose numbers begin with `first`, up to the next type's.
struct EdgesOfType {
    EdgeIndex first = 0;
    std::uint8_t type = 0;       ///< of the entry in the target's row
    std::uint8_t reverse = 0;    ///< of that in the source's, where edges are stored both ways
    VertexId targets_begin = 0;  ///< targets are from here on, up to the next
    VertexId targets_end = 0;
};

/// What edges of the input carry, by their number.
struct EdgePayload {
    std::optional<std::span<const float>> weight{};       ///< finite, not negative
    std::optional<std::span<const std::int64_t>> time{};  ///< larger is later
    bool rows = false;  ///< they carry rows, too: `BuiltTopology::origin` says whose an entry has
    std::span<const EdgesOfType> types{};  ///< of a graph of several types, the first from 0 on
};

/// A graph and what was dropped on the way.
struct BuiltTopology {
    Topology topology;
    std::optional<Array<float>> weight;       ///< by entry, where the payload has weights
    std::optional<Array<std::int64_t>> time;  ///< by entry, where it has times
    std::optional<Array<EdgeIndex>> origin;   ///< the edge of each entry, where it has rows
    std::optional<Array<std::uint8_t>> type;  ///< by entry, where edges have types
    TopologyCounts dropped;  ///< self loops of the input; entries dropped as, or added to, others
    TopologyCounts kept;     ///< self loops and duplicates that are in the result
};

/// Builds the rows in two walks over `source` (count, place), sorts each row, removes duplicates.
/// The result does not depend on the order of edges or the number of threads. Ids must be in range.
[[nodiscard]] BuiltTopology build_topology(const EdgeSource& source, const BuildOptions& options,
                                           Progress& progress = Progress::none());

/// The same for edges that carry something; both entries of a symmetrised edge carry what it does.
/// Entries of a row are in the order of id, then type, time, number. Duplicates that are not kept
/// (of one type) are one entry whose weight is their sum; edges with times or rows are events, and
/// all are kept.
/// Sums that are not finite are an input Error.
[[nodiscard]] BuiltTopology build_topology(const NumberedEdges& source, const EdgePayload& payload,
                                           const BuildOptions& options,
                                           Progress& progress = Progress::none());

/// The graph with every edge stored both ways, without self loops or duplicates (what partitioners
/// take).
[[nodiscard]] Topology symmetrised(const TopologyView& graph);

}  // namespace rudder::graph
