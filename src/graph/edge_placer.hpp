// Two walks over edges in any order: the first counts each row, the second places the entries.
// Both use relaxed atomics on one counter per row: with random edges two threads rarely meet on
// one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <utility>

#include "rudder/core/array.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/graph/topology_builder.hpp"

namespace rudder::graph {

/// Rows whose entries stand in no order yet.
template <class Entry>
struct PlacedEdges {
    Array<EdgeIndex> offsets;
    Array<Entry> entries;
    EdgeIndex loops = 0;  ///< of the input
};

/// An entry that knows which edge it is of.
template <class Id, class Number>
struct NumberedEntry {
    Id id;
    Number number;
};

/// Turns counts at [1..n] into offsets in place (the first stays 0).
inline void accumulate_counts(std::span<EdgeIndex> counts) {
    for (std::size_t i = 1; i < counts.size(); ++i)
        counts[i] += counts[i - 1];
}

/// Calls `f(row, entry)` for each entry the edge gives under the options.
template <class AnyEdge, class F>
inline void for_entries(const AnyEdge& edge, const BuildOptions& options, F&& f) {
    if (edge.source == edge.target) {
        if (options.keep_self_loops) f(edge.target, edge.source);
        return;
    }
    f(edge.target, edge.source);
    if (options.symmetrise) f(edge.source, edge.target);
}

template <class Entry, class Source>
class EdgePlacer {
public:
    EdgePlacer(const Source& source, const BuildOptions& options, Progress& progress)
        : source_(source), options_(options), progress_(progress) {}

    [[nodiscard]] PlacedEdges<Entry> place_all() {
        count();
        place();
        placed_.loops = loops_;
        return std::move(placed_);
    }

private:
    static constexpr std::size_t edges_at_once = 256;
    static constexpr bool numbered = std::is_base_of_v<NumberedEdges, Source>;

    /// Calls `f(edges, number of the first)`; edges without numbers are all said to begin with 0.
    template <class F>
    void walk_blocks(F&& f) {
        if constexpr (numbered) {
            const auto block = [&](auto edges, EdgeIndex first) { f(edges, first); };
            source_.walk_numbered(NumberedEdges::NarrowFrom(block), NumberedEdges::WideFrom(block));
        } else {
            const auto block = [&](auto edges) { f(edges, EdgeIndex{0}); };
            source_.walk(EdgeSource::Narrow(block), EdgeSource::Wide(block));
        }
    }

    void count() {
        placed_.offsets = Array<EdgeIndex>::zeroed(source_.vertices() + 1);
        progress_.phase("counting edges", source_.edges());
        walk_blocks([this](auto edges, EdgeIndex) {
            for (const auto& edge : edges) {
                if (edge.source == edge.target) loops_.fetch_add(1, std::memory_order_relaxed);
                for_entries(edge, options_, [this](auto row, auto) {
                    std::atomic_ref(placed_.offsets[row + 1])
                        .fetch_add(1, std::memory_order_relaxed);
                });
            }
            progress_.advance(edges.size());
        });
        accumulate_counts(placed_.offsets.span());
    }

    void place() {
        Array<EdgeIndex>& offsets = placed_.offsets;
        placed_.entries = Array<Entry>::uninitialised(offsets[source_.vertices()]);
        // offsets[v] serves as the cursor of row v; afterwards it stands at the row's end, which
        // is where row v + 1 begins: shifting by one restores the offsets.
        progress_.phase("placing edges", source_.edges());
        walk_blocks([this](auto edges, EdgeIndex first) {
            for (std::size_t at = 0; at < edges.size(); at += edges_at_once) {
                place_some(edges.subspan(at, std::min(edges_at_once, edges.size() - at)),
                           first + at);
            }
            progress_.advance(edges.size());
        });
        std::copy_backward(offsets.begin(), offsets.end() - 1, offsets.end());
        offsets[0] = 0;
    }

    /// First takes all positions, then writes all entries: an atomic add waits for the writes
    /// before it, so a write that misses the cache between two adds would stall the second.
    template <class AnyEdge>
    void place_some(std::span<const AnyEdge> edges, EdgeIndex first) {
        std::array<EdgeIndex, 2 * edges_at_once> positions;
        std::array<Entry, 2 * edges_at_once> values;
        std::size_t count = 0;
        for (std::size_t i = 0; i < edges.size(); ++i) {
            for_entries(edges[i], options_, [&](auto row, auto id) {
                positions[count] =
                    std::atomic_ref(placed_.offsets[row]).fetch_add(1, std::memory_order_relaxed);
                values[count++] = entry(id, first + i);
            });
        }
        for (std::size_t i = 0; i < count; ++i)
            placed_.entries[positions[i]] = values[i];
    }

    static Entry entry(VertexId id, [[maybe_unused]] EdgeIndex number) noexcept {
        if constexpr (numbered) {
            return {static_cast<decltype(Entry::id)>(id),
                    static_cast<decltype(Entry::number)>(number)};
        } else {
            return static_cast<Entry>(id);
        }
    }

    const Source& source_;
    const BuildOptions& options_;
    Progress& progress_;
    PlacedEdges<Entry> placed_;
    std::atomic<EdgeIndex> loops_{0};
};

/// The rows of a source. Ids must be in range.
template <class Entry, class Source>
[[nodiscard]] PlacedEdges<Entry> place_edges(const Source& source, const BuildOptions& options,
                                             Progress& progress) {
    return EdgePlacer<Entry, Source>(source, options, progress).place_all();
}

}  // namespace rudder::graph
