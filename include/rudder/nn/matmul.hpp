// Matrix products on one thread, by the BLAS inside libtorch, which is loaded at its first use.
#pragma once

#include <cstddef>

namespace rudder {

/// Floats per 64 bytes: where every matrix and, by its stride, every row begins, so that the
/// library's bits do not depend on where memory happens to lie.
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

/// c = a times b; the calling thread computes all of it, so the bits depend on the operands (and on
/// their alignment) alone. Shapes that do not fit are an InternalError.
void multiply(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c);
/// c = a times the transpose of b.
void multiply_transposed(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c);
/// c = transpose of a times b, or that added to c.
enum class Accumulate : bool { no, yes };
void multiply_first_transposed(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                               Accumulate accumulate);

}  // namespace rudder
