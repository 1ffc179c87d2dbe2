// Two walks over the edges: the first counts each row, the second places the entries; then each row
// is sorted and, unless they are kept, its duplicates are squeezed out in place. Counting and
// placing use relaxed atomics on one counter per row: with random edges two threads rarely meet on
// one.
#include "rudder/graph/topology_builder.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "rudder/core/parallel.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t built_edges_per_block = 1 << 16;
constexpr std::size_t edges_at_once = 256;
constexpr std::size_t built_per_chunk = 1 << 13;

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

/// Turns counts at [1..n] into offsets in place (the first stays 0).
void accumulate(std::span<EdgeIndex> counts) {
    for (std::size_t i = 1; i < counts.size(); ++i)
        counts[i] += counts[i - 1];
}

template <class F>
void walk_edges(const EdgeSource& source, Progress& progress, F&& per_edge) {
    const auto block = [&](auto edges) {
        for (const auto& edge : edges)
            per_edge(edge);
        progress.advance(edges.size());
    };
    source.walk(EdgeSource::Narrow(block), EdgeSource::Wide(block));
}

template <class Id>
class Builder {
public:
    Builder(const EdgeSource& source, const BuildOptions& options, Progress& progress)
        : source_(source), options_(options), progress_(progress) {}

    BuiltTopology build() {
        count();
        place();
        finish_rows();
        if (!options_.keep_duplicates) compact();
        BuiltTopology built;
        built.dropped = {options_.keep_self_loops ? 0 : loops_.load(),
                         options_.keep_duplicates ? 0 : duplicates_.load()};
        built.kept = {kept_loops_.load(), options_.keep_duplicates ? duplicates_.load() : 0};
        built.topology = Topology(std::move(offsets_), IdArray(std::move(entries_)));
        return built;
    }

private:
    void count() {
        offsets_ = Array<EdgeIndex>::zeroed(source_.vertices() + 1);
        progress_.phase("counting edges", source_.edges());
        walk_edges(source_, progress_, [this](const auto& edge) {
            if (edge.source == edge.target) loops_.fetch_add(1, std::memory_order_relaxed);
            for_entries(edge, options_, [this](auto row, auto) {
                std::atomic_ref(offsets_[row + 1]).fetch_add(1, std::memory_order_relaxed);
            });
        });
        accumulate(offsets_.span());
    }

    void place() {
        entries_ = Array<Id>::uninitialised(offsets_[source_.vertices()]);
        // offsets_[v] serves as the cursor of row v; afterwards it stands at the row's end, which
        // is where row v + 1 begins: shifting by one restores the offsets.
        progress_.phase("placing edges", source_.edges());
        const auto block = [this](auto edges) {
            for (std::size_t at = 0; at < edges.size(); at += edges_at_once) {
                place_some(edges.subspan(at, std::min(edges_at_once, edges.size() - at)));
            }
            progress_.advance(edges.size());
        };
        source_.walk(EdgeSource::Narrow(block), EdgeSource::Wide(block));
        std::copy_backward(offsets_.begin(), offsets_.end() - 1, offsets_.end());
        offsets_[0] = 0;
    }

    /// First takes all positions, then writes all entries: an atomic add waits for the writes
    /// before it, so a write that misses the cache between two adds would stall the second.
    template <class AnyEdge>
    void place_some(std::span<const AnyEdge> edges) {
        std::array<EdgeIndex, 2 * edges_at_once> positions;
        std::array<Id, 2 * edges_at_once> values;
        std::size_t count = 0;
        for (const AnyEdge& edge : edges) {
            for_entries(edge, options_, [&](auto row, auto entry) {
                positions[count] =
                    std::atomic_ref(offsets_[row]).fetch_add(1, std::memory_order_relaxed);
                values[count++] = static_cast<Id>(entry);
            });
        }
        for (std::size_t i = 0; i < count; ++i)
            entries_[positions[i]] = values[i];
    }

    /// Sorts each row; counts its self loops and duplicates and, unless they stay, moves the
    /// distinct entries to its front.
    void finish_rows() {
        const VertexId vertices = source_.vertices();
        if (!options_.keep_duplicates) distinct_ = Array<EdgeIndex>::zeroed(vertices + 1);
        progress_.phase("sorting rows", vertices);
        parallel_chunks(vertices, built_per_chunk, [&](const Chunk& chunk) {
            EdgeIndex loops = 0;
            EdgeIndex duplicates = 0;
            for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                auto row = entries_.span().subspan(offsets_[v], offsets_[v + 1] - offsets_[v]);
                std::ranges::sort(row);
                duplicates += count_duplicates(row);
                if (!options_.keep_duplicates) {
                    const auto end = std::unique(row.begin(), row.end());
                    row = row.first(static_cast<std::size_t>(end - row.begin()));
                    distinct_[v + 1] = row.size();
                }
                const auto [first, last] =
                    std::equal_range(row.begin(), row.end(), static_cast<Id>(v));
                loops += static_cast<EdgeIndex>(last - first);
            }
            kept_loops_.fetch_add(loops, std::memory_order_relaxed);
            duplicates_.fetch_add(duplicates, std::memory_order_relaxed);
            progress_.advance(chunk.end - chunk.begin);
        });
    }

    static EdgeIndex count_duplicates(std::span<const Id> row) {
        EdgeIndex count = 0;
        for (std::size_t i = 1; i < row.size(); ++i) {
            if (row[i] == row[i - 1]) ++count;
        }
        return count;
    }

    /// Closes the gaps the duplicates left. Rows move towards the front, so in order and in place.
    void compact() {
        if (duplicates_ == 0) return;
        progress_.phase("closing gaps", 0);
        accumulate(distinct_.span());
        const VertexId vertices = source_.vertices();
        for (VertexId v = 0; v < vertices; ++v) {
            const EdgeIndex size = distinct_[v + 1] - distinct_[v];
            std::copy_n(entries_.begin() + offsets_[v], size, entries_.begin() + distinct_[v]);
        }
        entries_.shrink(distinct_[vertices]);
        offsets_ = std::move(distinct_);
    }

    const EdgeSource& source_;
    const BuildOptions& options_;
    Progress& progress_;
    Array<EdgeIndex> offsets_;
    Array<EdgeIndex> distinct_;
    Array<Id> entries_;
    std::atomic<EdgeIndex> loops_{0};
    std::atomic<EdgeIndex> kept_loops_{0};
    std::atomic<EdgeIndex> duplicates_{0};
};

/// The stored entries of a graph as edges, row by row.
class RowEdges final : public EdgeSource {
public:
    explicit RowEdges(const TopologyView& graph) : graph_(graph) {}
    [[nodiscard]] VertexId vertices() const override { return graph_.vertices(); }
    [[nodiscard]] EdgeIndex edges() const override { return graph_.edges(); }
    void walk(Narrow /*narrow*/, Wide wide) const override {
        graph_.neighbours.visit([&](auto neighbours) {
            parallel_chunks(graph_.vertices(), built_per_chunk, [&](const Chunk& chunk) {
                std::vector<Edge> block;
                block.reserve(graph_.offsets[chunk.end] - graph_.offsets[chunk.begin]);
                for (VertexId v = chunk.begin; v < chunk.end; ++v) {
                    for (EdgeIndex e = graph_.offsets[v]; e < graph_.offsets[v + 1]; ++e) {
                        block.push_back({neighbours[e], v});
                    }
                }
                wide(block);
            });
        });
    }

private:
    TopologyView graph_;
};

}  // namespace

void EdgeSpan::walk(Narrow narrow, Wide wide) const {
    parallel_chunks(narrow_.size(), built_edges_per_block, [&](const Chunk& chunk) {
        narrow(narrow_.subspan(chunk.begin, chunk.end - chunk.begin));
    });
    parallel_chunks(wide_.size(), built_edges_per_block, [&](const Chunk& chunk) {
        wide(wide_.subspan(chunk.begin, chunk.end - chunk.begin));
    });
}

BuiltTopology build_topology(const EdgeSource& source, const BuildOptions& options,
                             Progress& progress) {
    if (IdArray::needs_wide(source.vertices())) {
        return Builder<std::uint64_t>(source, options, progress).build();
    }
    return Builder<std::uint32_t>(source, options, progress).build();
}

Topology symmetrised(const TopologyView& graph) {
    return build_topology(RowEdges(graph), BuildOptions{}).topology;
}

}  // namespace rudder::graph
