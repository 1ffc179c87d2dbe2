// Edges are counted and placed by row; then each row is sorted and, unless they are kept, its
// duplicates are squeezed out in place.
#include "rudder/graph/topology_builder.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "rudder/core/parallel.hpp"

#include "edge_placer.hpp"

namespace rudder::graph {

namespace {

constexpr std::size_t built_edges_per_block = 1 << 16;
constexpr std::size_t built_per_chunk = 1 << 13;

template <class Id>
class Builder {
public:
    Builder(const EdgeSource& source, const BuildOptions& options, Progress& progress)
        : source_(source), options_(options), progress_(progress) {}

    BuiltTopology build() {
        PlacedEdges<Id> placed = place_edges<Id>(source_, options_, progress_);
        offsets_ = std::move(placed.offsets);
        entries_ = std::move(placed.entries);
        finish_rows();
        if (!options_.keep_duplicates) compact();
        BuiltTopology built;
        built.dropped = {options_.keep_self_loops ? 0 : placed.loops,
                         options_.keep_duplicates ? 0 : duplicates_.load()};
        built.kept = {kept_loops_.load(), options_.keep_duplicates ? duplicates_.load() : 0};
        built.topology = Topology(std::move(offsets_), IdArray(std::move(entries_)));
        return built;
    }

private:
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
        accumulate_counts(distinct_.span());
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

void NumberedEdges::walk(Narrow narrow, Wide wide) const {
    const auto narrow_block = [&](std::span<const NarrowEdge> edges, EdgeIndex) { narrow(edges); };
    const auto wide_block = [&](std::span<const Edge> edges, EdgeIndex) { wide(edges); };
    walk_numbered(NarrowFrom(narrow_block), WideFrom(wide_block));
}

void EdgeSpan::walk_numbered(NarrowFrom narrow, WideFrom wide) const {
    parallel_chunks(narrow_.size(), built_edges_per_block, [&](const Chunk& chunk) {
        narrow(narrow_.subspan(chunk.begin, chunk.end - chunk.begin), chunk.begin);
    });
    parallel_chunks(wide_.size(), built_edges_per_block, [&](const Chunk& chunk) {
        wide(wide_.subspan(chunk.begin, chunk.end - chunk.begin), chunk.begin);
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
