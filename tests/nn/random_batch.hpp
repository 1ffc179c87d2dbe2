// Random batches of any shape, for the tests and benchmarks of networks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "rudder/sample/batch.hpp"

namespace rudder::testing {

struct BatchShape {
    std::uint32_t seeds = 20;
    std::vector<std::uint32_t> fanouts{3, 4};  ///< input side first
    std::uint32_t new_sources_per_edge = 50;   ///< percent of edges that lead to a new vertex
    std::uint32_t isolated = 10;               ///< percent of destinations without neighbours
    std::uint64_t seed = 1;
};

/// A batch as the sampler would give it, of no graph in particular.
inline sample::Batch random_batch(const BatchShape& shape) {
    std::mt19937_64 random(shape.seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    sample::Batch batch;
    batch.key = {2, 7, 1};
    batch.seeds = shape.seeds;
    batch.blocks.resize(shape.fanouts.size());
    std::uint32_t known = shape.seeds;
    for (std::size_t l = shape.fanouts.size(); l-- > 0;) {
        sample::Block& block = batch.blocks[l];
        block.destinations = known;
        block.offsets.assign(1, 0);
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            const bool alone = below(100) < shape.isolated;
            const std::uint64_t degree = alone ? 0 : 1 + below(shape.fanouts[l]);
            for (std::uint64_t e = 0; e < degree; ++e) {
                const bool fresh = below(100) < shape.new_sources_per_edge;
                block.neighbours.push_back(fresh ? known++ : static_cast<LocalId>(below(known)));
            }
            block.offsets.push_back(block.edges());
        }
        block.sources = known;
    }
    batch.vertices.resize(known);
    batch.degrees.resize(known);
    for (std::uint32_t v = 0; v < known; ++v)
        batch.degrees[v] = static_cast<std::uint32_t>(below(30));
    for (std::uint32_t v = 0; v < known; ++v)
        batch.vertices[v] = (std::uint64_t{v} * 2654435761U + shape.seed) % (1ULL << 40);
    return batch;
}

inline std::vector<float> random_floats(std::size_t count, std::uint64_t seed, float spread = 1) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<float> draw(-spread, spread);
    std::vector<float> values(count);
    for (float& value : values)
        value = draw(random);
    return values;
}

}  // namespace rudder::testing
