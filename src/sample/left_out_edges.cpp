#include "left_out_edges.hpp"

#include <algorithm>

namespace rudder::sample {

namespace {

/// Calls `edge` with the seed whose row has it and the neighbour that it is.
template <class Edge>
void each_edge(const LinkIds& links, std::span<const LocalId> positions, Edge&& edge) {
    for (std::size_t i = 0; i < links.ids.size(); i += links.each) {
        edge(positions[i + 1], links.ids[i]);
        if (links.symmetric) edge(positions[i], links.ids[i + 1]);
    }
}

}  // namespace

/// A counting sort by seed, then each seed's in order.
void LeftOutEdges::find(const LinkIds& links, std::span<const LocalId> positions,
                        std::uint32_t seeds) {
    offsets_.resize(std::size_t{seeds} + 2);
    std::ranges::fill(offsets_, 0U);
    // Counted two places on: filling moves the start of each to where it belongs.
    each_edge(links, positions, [&](LocalId seed, VertexId) { ++offsets_[std::size_t{seed} + 2]; });
    for (std::size_t s = 2; s < offsets_.size(); ++s)
        offsets_[s] += offsets_[s - 1];
    neighbours_.resize(offsets_.back());
    each_edge(links, positions, [&](LocalId seed, VertexId neighbour) {
        neighbours_[offsets_[std::size_t{seed} + 1]++] = neighbour;
    });
    offsets_.resize(std::size_t{seeds} + 1);
    for (std::size_t s = 0; s < seeds; ++s)
        std::sort(neighbours_.begin() + offsets_[s], neighbours_.begin() + offsets_[s + 1]);
}

}  // namespace rudder::sample
