// Matrix products on one thread, with the same bits on every processor.
#pragma once

#include <cstddef>
#include <span>

#include "rudder/core/element.hpp"

namespace rudder::nn {

/// Floats per 64 bytes: where every matrix and, by its stride, every row begins, so that vectors
/// lie in one cache line each. Bits do not depend on it.
inline constexpr std::size_t row_alignment = 16;

[[nodiscard]] constexpr std::size_t aligned_columns(std::size_t columns) noexcept {
    return (columns + row_alignment - 1) / row_alignment * row_alignment;
}

/// Rows of floats that lie `stride` apart; a view, whose memory is elsewhere.
struct ConstMatrix {
    const float* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t stride = 0;
    [[nodiscard]] const float* row(std::size_t r) const noexcept { return data + r * stride; }
    [[nodiscard]] ConstMatrix part(std::size_t first, std::size_t count) const noexcept {
        return {row(first), count, columns, stride};
    }
};
struct Matrix {
    float* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t stride = 0;
    [[nodiscard]] float* row(std::size_t r) const noexcept { return data + r * stride; }
    [[nodiscard]] Matrix part(std::size_t first, std::size_t count) const noexcept {
        return {row(first), count, columns, stride};
    }
    // A view that may write serves wherever one that reads is asked for.
    // NOLINTNEXTLINE(google-explicit-constructor)
    operator ConstMatrix() const noexcept { return {data, rows, columns, stride}; }
};

/// Rows of which the non-zeros alone are there, each row as SparseEntry says, `stride` entries
/// apart; a view.
struct SparseMatrix {
    const SparseEntry* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t stride = 0;
    [[nodiscard]] std::span<const SparseEntry> row(std::size_t r) const noexcept {
        const SparseEntry* header = data + r * stride;
        return {header + 1, header->column};
    }
    [[nodiscard]] SparseMatrix part(std::size_t first, std::size_t count) const noexcept {
        return {data + first * stride, count, columns, stride};
    }
};

/// c = a times b, by the calling thread alone. Each element is one chain of fused multiply-adds in
/// the order of a's columns, so bits depend on the operands alone: not on the rest of the matrices,
/// on alignment or on the vector path. Shapes that do not fit are an InternalError.
void multiply(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c);
/// c = a times the transpose of b.
void multiply_transposed(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c);
/// c = transpose of a times b, or that added to c.
enum class Accumulate : bool { no, yes };
void multiply_first_transposed(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                               Accumulate accumulate);

}  // namespace rudder::nn
