// Sums of columns over many rows, in fixed stretches that are added in order.
#pragma once

#include "warp.hpp"

namespace rudder::nn {

/// Rows that one warp adds up: a fixed share, so that there are never more than 128 stretches.
[[nodiscard]] RUDDER_LANES constexpr std::size_t stretch_rows(std::size_t rows) noexcept {
    const std::size_t share = pieces_of(rows, 128);
    return share < 64 ? 64 : share;
}

/// What of each element is added up.
enum class ColumnTerm : std::uint8_t {
    value,    ///< x
    product,  ///< x y
    off,      ///< (x - centre by column) squared
    by_head   ///< x times the factor of its row and head
};

/// partial[stretch * columns + c] = sum of a stretch's terms in column c. An item is 32 columns of
/// a stretch: number stretch * strips + strip.
struct ColumnSums {
    ColumnTerm term;
    const float* x;
    const float* y;  ///< product: rows; off: the centres; by_head: rows x heads
    std::size_t rows;
    std::uint32_t columns;
    std::uint32_t heads;  ///< of by_head
    float* partial;

    RUDDER_LANES float term_of(std::size_t row, std::size_t c) const {
        const float value = x[row * columns + c];
        if (term == ColumnTerm::value) return value;
        if (term == ColumnTerm::product) return value * y[row * columns + c];
        if (term == ColumnTerm::by_head) return value * y[row * heads + c / (columns / heads)];
        const float off = value - y[c];
        return off * off;
    }
    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t item) const {
        const std::size_t each = stretch_rows(rows);
        const std::size_t wide = pieces_of(columns, warp_lanes);
        const std::size_t part = item / wide;
        const std::size_t begin = part * each;
        const std::size_t end = begin + each < rows ? begin + each : rows;
        warp.each([&](std::uint32_t lane) {
            const std::size_t c = item % wide * warp_lanes + lane;
            if (c >= columns) return;
            float sum = 0;
#ifdef __CUDACC__
#pragma unroll 4
#endif
            for (std::size_t row = begin; row < end; ++row)
                sum += term_of(row, c);
            partial[part * columns + c] = sum;
        });
    }
};

/// out[c] = sum of the stretches of column c in order, over `divisor` where that is not 0; what
/// `undivided` points at gets the sum. An item is 32 columns.
struct ColumnFinish {
    const float* partial;
    std::size_t stretches;
    std::uint32_t columns;
    float divisor;
    float* out;
    float* undivided;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t item) const {
        warp.each([&](std::uint32_t lane) {
            const std::size_t c = item * warp_lanes + lane;
            if (c >= columns) return;
            float sum = 0;
            for (std::size_t s = 0; s < stretches; ++s)
                sum += partial[s * columns + c];
            if (undivided != nullptr) undivided[c] = sum;
            if (out != nullptr) out[c] = divisor == 0.F ? sum : sum / divisor;
        });
    }
};

/// From the sums of squares: one over the roots of variances, and the variances as running
/// statistics keep them. An item is 32 columns.
struct SpreadColumns {
    float* squares;  ///< become the variances
    float* spread;
    std::uint32_t columns;
    float rows;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t item) const {
        warp.each([&](std::uint32_t lane) {
            const std::size_t c = item * warp_lanes + lane;
            if (c >= columns) return;
            const double variance =
                static_cast<double>(squares[c] / rows) + static_cast<double>(1e-5F);
            spread[c] = static_cast<float>(1 / std::sqrt(variance));
            squares[c] /= rows - 1 > 1.F ? rows - 1 : 1.F;
        });
    }
};

/// out = x times a factor. An item is 32 elements.
struct ScaleElements {
    const float* x;
    float* out;
    std::size_t count;
    float factor;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t item) const {
        warp.each([&](std::uint32_t lane) {
            const std::size_t i = item * warp_lanes + lane;
            if (i < count) out[i] = x[i] * factor;
        });
    }
};

}  // namespace rudder::nn
