// What the levels of quantised columns stand for: a zero and a step for each column.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "rudder/core/types.hpp"

namespace rudder::store {

/// How many vertices share zeros and steps: all of them, or 1024 neighbours by id. Ids are those of
/// the partitioned data set, so blocks are the same on any number of ranks.
enum class VertexBlocks : std::uint8_t { one, by_1024 };

/// The number of a vertex's block is v >> block_bits(blocks).
[[nodiscard]] constexpr unsigned block_bits(VertexBlocks blocks) noexcept {
    return blocks == VertexBlocks::one ? 63U : 10U;
}

/// Level q of a column means zero + q * step, q from 0 to `levels`. A copy shares the numbers.
struct ColumnSteps {
    std::uint64_t width = 0;
    unsigned levels = 0;  ///< 255, or 15: two columns in a byte
    VertexBlocks blocks = VertexBlocks::one;
    std::span<const float> values;       ///< of each block: width zeros, then width steps
    std::shared_ptr<const void> memory;  ///< that holds them

    /// `width` zeros of the block of v.
    [[nodiscard]] const float* zeros(VertexId v) const noexcept {
        return values.data() + (v >> block_bits(blocks)) * 2 * width;
    }
    /// `width` steps.
    [[nodiscard]] const float* steps(VertexId v) const noexcept { return zeros(v) + width; }
    [[nodiscard]] bool nibbles() const noexcept { return levels < 16; }
};

}  // namespace rudder::store
