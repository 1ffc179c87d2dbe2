// Dropout that any rank and thread computes alike: keyed by vertex and column.
#pragma once

#include <cstdint>
#include <span>

#include "rudder/core/random.hpp"
#include "rudder/core/types.hpp"
#include "rudder/nn/matmul.hpp"

namespace rudder::nn {

/// Which elements of which rows stay. An element is dropped when its 16 random bits are below
/// `threshold`: the rate is rounded to a multiple of 1/65536, and `scale` is one over the exact
/// share that stays.
///
/// The bits of vertex v, column c: with g = c / 128, k = c % 128, the upper (k >= 64) or lower half
/// of word k / 16 % 4 of the stream's block (v, 16 g + k % 16).
struct Dropout {
    Dropout() = default;
    Dropout(const StreamKey& stream, double rate) noexcept;
    [[nodiscard]] bool drops() const noexcept { return threshold != 0; }
    [[nodiscard]] bool keeps(VertexId vertex, std::uint64_t column) const noexcept;

    Philox::Key key{};
    std::uint32_t threshold = 0;  ///< of 65536
    float scale = 1;
};

/// x = max(0, x + bias), then dropout; row r belongs to vertices[r]. Not-a-numbers stay, unless
/// dropped.
void bias_rectify_drop(const Matrix& rows, std::span<const float> bias, const Dropout& dropout,
                       std::span<const VertexId> vertices) noexcept;

/// out = dropout of `rows` (no bias, no rectifier).
void drop(const ConstMatrix& rows, const Dropout& dropout, std::span<const VertexId> vertices,
          const Matrix& out) noexcept;

}  // namespace rudder::nn
