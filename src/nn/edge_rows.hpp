// The features of edges as networks read them: their means, and a row per entry of attention.
#pragma once

#include "rudder/nn/layered_network.hpp"

namespace rudder::nn {

/// The mean of the features of each destination's edges, by their shares where the block has some;
/// of none, zeroes. In scratch memory of the thread (Scratch::gathered).
[[nodiscard]] Matrix edge_means(const sample::Block& block, std::size_t columns, Rows rows);

/// A row for each entry of attention with self loops: that of a destination itself is the mean of
/// its edges' features. In scratch memory of the thread (Scratch::input).
[[nodiscard]] Matrix edge_entries(const sample::Block& block, std::size_t columns, Rows rows);

/// The entries of some destinations, with self loops.
[[nodiscard]] inline Rows entries_of(const sample::Block& block, Rows rows) noexcept {
    const std::size_t first = std::size_t{block.offsets[rows.first]} + rows.first;
    const std::size_t end = rows.first + rows.count;
    return {first, std::size_t{block.offsets[end]} + end - first};
}

}  // namespace rudder::nn
