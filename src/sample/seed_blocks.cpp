#include "seed_blocks.hpp"

#include <algorithm>
#include <numeric>

namespace rudder::sample {

std::vector<std::size_t> group_by_cluster(std::span<const LocalId> vertices,
                                          std::span<const VertexId> clusters) {
    std::vector<std::size_t> groups;
    std::size_t at = 0;
    for (std::size_t c = 0; c + 1 < clusters.size() && at < vertices.size(); ++c) {
        if (vertices[at] >= clusters[c + 1]) continue;
        groups.push_back(at);
        while (at < vertices.size() && vertices[at] < clusters[c + 1])
            ++at;
    }
    groups.push_back(at);
    return groups;
}

std::size_t seed_block(std::uint64_t batch) noexcept {
    // Two blocks a batch: larger ones save few rows more and mix less (docs/benchmarks.md).
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(batch / 2, 1, 1000));
}

void shuffle_blocks(std::vector<LocalId>& vertices, std::span<const std::size_t> groups,
                    std::size_t block, Draws& draws) {
    for (std::size_t g = 0; g + 1 < groups.size(); ++g)
        shuffle(std::span(vertices).subspan(groups[g], groups[g + 1] - groups[g]), draws);
    std::vector<std::size_t> starts;
    // The cuts move from epoch to epoch, so that no two clusters stay together for ever.
    const std::size_t shift = vertices.empty() ? 0 : draws.below(block);
    for (std::size_t at = 0; at < vertices.size(); at = at == 0 && shift != 0 ? shift : at + block)
        starts.push_back(at);
    std::vector<std::size_t> order(starts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(std::span(order), draws);
    starts.push_back(vertices.size());
    std::vector<LocalId> shuffled;
    shuffled.reserve(vertices.size());
    for (const std::size_t b : order) {
        shuffled.insert(shuffled.end(), vertices.begin() + static_cast<std::ptrdiff_t>(starts[b]),
                        vertices.begin() + static_cast<std::ptrdiff_t>(starts[b + 1]));
    }
    vertices.swap(shuffled);
}

}  // namespace rudder::sample
