// Shuffles of the schedule: of single seeds, and of blocks of seeds of one cluster.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "rudder/core/random.hpp"
#include "rudder/core/types.hpp"

namespace rudder::sample {

/// Every order is equally likely (Fisher and Yates).
template <class T>
void shuffle(std::span<T> items, Draws& draws) noexcept {
    for (std::size_t i = items.size(); i > 1; --i)
        std::swap(items[i - 1], items[draws.below(i)]);
}

/// Where the clusters begin in an ascending list of vertices, empty ones left out; the last number
/// is the list's size. `clusters` are the offsets of the part's.
[[nodiscard]] std::vector<std::size_t> group_by_cluster(std::span<const LocalId> vertices,
                                                        std::span<const VertexId> clusters);

/// Seeds per block for batches of this size.
[[nodiscard]] std::size_t seed_block(std::uint64_t batch) noexcept;

/// Shuffles the vertices of each group, cuts the list into blocks of `block` and shuffles those.
void shuffle_blocks(std::vector<LocalId>& vertices, std::span<const std::size_t> groups,
                    std::size_t block, Draws& draws);

}  // namespace rudder::sample
