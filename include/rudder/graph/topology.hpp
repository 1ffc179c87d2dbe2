// The graph's structure: compressed sparse rows with 64-bit offsets.
#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "rudder/core/array.hpp"
#include "rudder/core/id_array.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/features.hpp"
#include "rudder/graph/split.hpp"
#include "rudder/graph/targets.hpp"

namespace rudder::graph {

/// A view of a graph. Row v lists, in ascending id, the vertices v reads from: an edge u -> v of
/// the input is entry u of row v. In a symmetric graph each edge stands in both rows.
struct TopologyView {
    std::span<const EdgeIndex> offsets;  ///< vertices + 1 numbers, the first 0
    IdSpan neighbours;                   ///< offsets.back() ids

    [[nodiscard]] VertexId vertices() const noexcept {
        return offsets.empty() ? 0 : offsets.size() - 1;
    }
    /// Stored arcs: an undirected edge counts twice.
    [[nodiscard]] EdgeIndex edges() const noexcept { return neighbours.size(); }
    [[nodiscard]] EdgeIndex degree(VertexId v) const noexcept {
        return offsets[v + 1] - offsets[v];
    }
};

/// What the entries of a graph carry beside their id: element (or row) e belongs to neighbours[e].
/// What they do not carry is empty.
struct EdgeData {
    std::span<const float> weight;       ///< finite, not negative
    std::span<const std::int64_t> time;  ///< larger is later
    std::span<const std::uint8_t> type;  ///< numbers of types, in a graph of several
    FeatureView features;                ///< a row per entry
    TargetView targets{};                ///< one per entry
    std::uint64_t target_count = 0;      ///< classes, or numbers, of these
    std::span<const Role> roles{};
};

/// A graph that owns its arrays (or maps them).
class Topology {
public:
    Topology() = default;
    Topology(Array<EdgeIndex> offsets, IdArray neighbours)
        : offsets_(std::move(offsets)), neighbours_(std::move(neighbours)) {}

    [[nodiscard]] TopologyView view() const { return {offsets_.span(), neighbours_.span()}; }
    [[nodiscard]] VertexId vertices() const { return view().vertices(); }
    [[nodiscard]] EdgeIndex edges() const { return neighbours_.size(); }

private:
    Array<EdgeIndex> offsets_;
    IdArray neighbours_;
};

/// Self loops and duplicate entries of a graph's rows.
struct TopologyCounts {
    EdgeIndex self_loops = 0;
    EdgeIndex duplicates = 0;
};
/// Where entries have types, only those of one type repeat each other.
[[nodiscard]] TopologyCounts count_irregular(const TopologyView& graph,
                                             std::span<const std::uint8_t> types = {});

/// Whether every stored edge is also stored the other way round, with the same multiplicity.
[[nodiscard]] bool is_symmetric(const TopologyView& graph);

}  // namespace rudder::graph
