// Heads of attention: how their columns lie in memory, and maps of which only scores are wanted.
#pragma once

#include <cstddef>
#include <span>

#include "rudder/nn/matmul.hpp"

namespace rudder::nn {

/// The heads of a layer. In memory each head's columns are filled up with zeros to whole vectors.
struct Heads {
    std::size_t count;
    std::size_t columns;  ///< per head
    [[nodiscard]] std::size_t padded() const noexcept { return aligned_columns(columns); }
    [[nodiscard]] std::size_t width() const noexcept { return count * padded(); }
};

/// What a layer makes of its heads: their columns side by side, or their mean.
enum class HeadsBecome : bool { columns, mean };

/// Copies weights with a row (or a number) per head and column, zeroes between the heads.
void pack_heads(const Heads& heads, std::span<const float> from, const Matrix& out) noexcept;
/// A number per head and column, without the zeroes between heads.
void unpack_heads(const Heads& heads, const float* from, float* out) noexcept;
/// Rows of all heads become rows of the layer's output.
void join_heads(const Heads& heads, HeadsBecome become, const ConstMatrix& sums,
                const Matrix& out) noexcept;
/// Gradients of the output become those of all heads.
void part_heads(const Heads& heads, HeadsBecome become, const ConstMatrix& gradient,
                const Matrix& out) noexcept;

/// A map (heads x columns, by inputs) whose results meet nothing but a vector per head, and what
/// rows of inputs score through both: a product with heads x inputs numbers.
struct ScoreMap {
    Heads heads;
    std::size_t inputs;
    std::span<const float> map;
    std::span<const float> vector;  ///< heads x columns

    /// Writes those numbers, head by head.
    void collapse(const Matrix& out) const noexcept;
    /// From their gradient (heads x inputs, one right after the other) those of map and vector.
    void expand(const float* gradient, float* of_map, float* of_vector) const noexcept;
};

}  // namespace rudder::nn
