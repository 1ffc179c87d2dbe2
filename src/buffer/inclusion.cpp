#include "inclusion.hpp"

#include <algorithm>

#include "rudder/core/check.hpp"

namespace rudder::buffer {

namespace {

/// The probability that a vertex of the batch takes one given edge of its row.
double taken(EdgeIndex degree, std::int32_t fanout) noexcept {
    if (fanout < 0 || degree <= static_cast<EdgeIndex>(fanout)) return 1;
    return static_cast<double>(fanout) / static_cast<double>(degree);
}

/// Multiplies `spared[u]` by the probability that no vertex of `current` reaches u.
void spread(const graph::TopologyView& graph, std::span<const double> current, std::int32_t fanout,
            std::span<double> spared) {
    // Rows say who is read; the product is over who reads, so it is scattered, in order of rows:
    // the same bits for any number of threads.
    graph.neighbours.visit([&](auto neighbours) {
        for (VertexId v = 0; v < graph.vertices(); ++v) {
            if (current[v] == 0) continue;
            const double missed = 1 - taken(graph.degree(v), fanout) * current[v];
            for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e)
                spared[neighbours[e]] *= missed;
        }
    });
}

}  // namespace

std::vector<double> inclusion_probabilities(const graph::TopologyView& graph,
                                            std::span<const double> seed_probability,
                                            std::span<const std::int32_t> fanout) {
    const std::size_t vertices = graph.vertices();
    RUDDER_CHECK(seed_probability.size() == vertices);
    std::vector<double> current(seed_probability.begin(), seed_probability.end());
    std::vector<double> absent(vertices);
    for (std::size_t v = 0; v < vertices; ++v)
        absent[v] = 1 - current[v];
    std::vector<double> spared(vertices);
    // The fan-out of the seeds' own layer is the last of the list.
    for (std::size_t layer = fanout.size(); layer-- > 0;) {
        std::fill(spared.begin(), spared.end(), 1.0);
        spread(graph, current, fanout[layer], spared);
        for (std::size_t v = 0; v < vertices; ++v) {
            absent[v] *= spared[v];
            // Sources of a layer contain its destinations: both are drawn from in the next.
            current[v] = 1 - absent[v];
        }
    }
    return current;
}

std::vector<double> presampled_inclusion(std::span<const std::uint32_t> counts,
                                         std::uint64_t batches) {
    RUDDER_CHECK(batches > 0);
    std::vector<double> shares(counts.size());
    for (std::size_t v = 0; v < counts.size(); ++v)
        shares[v] = static_cast<double>(counts[v]) / static_cast<double>(batches);
    return shares;
}

std::vector<double> halo_inclusion(std::span<const VertexId> halo,
                                   std::span<const std::vector<double>> of_part) {
    std::vector<double> inclusion(halo.size());
    for (std::size_t i = 0; i < halo.size(); ++i) {
        double absent = 1;
        for (const auto& part : of_part)
            absent *= 1 - part[halo[i]];
        inclusion[i] = 1 - absent;
    }
    return inclusion;
}

}  // namespace rudder::buffer
