// Rows that a thread needs for a moment, aligned like all matrices, and sums of rows.
#pragma once

#include <algorithm>

#include "rudder/core/array.hpp"
#include "rudder/nn/matmul.hpp"

namespace rudder::nn {

/// Who uses scratch rows; two users of one thread at a time must differ.
enum class Scratch : unsigned char { input, gradient, product, gathered, count };

/// Rows of the calling thread, of whatever values; they last until its next call for the same use.
inline Matrix scratch_rows(Scratch use, std::size_t rows, std::size_t columns) {
    thread_local Array<float> memory[static_cast<std::size_t>(Scratch::count)];
    Array<float>& own = memory[static_cast<std::size_t>(use)];
    const std::size_t stride = aligned_columns(columns);
    if (own.size() < rows * stride) own = Array<float>::uninitialised(rows * stride);
    return {own.data(), rows, columns, stride};
}

/// The rows themselves where they are aligned, else a copy in scratch rows, which products read
/// faster; their bits are the same.
inline ConstMatrix aligned_rows(const ConstMatrix& rows, Scratch use) {
    constexpr std::size_t bytes = row_alignment * sizeof(float);
    if (rows.stride % row_alignment == 0 &&
        reinterpret_cast<std::uintptr_t>(rows.data) % bytes == 0)
        return rows;
    const Matrix copy = scratch_rows(use, rows.rows, rows.columns);
    for (std::size_t r = 0; r < rows.rows; ++r)
        std::copy_n(rows.row(r), rows.columns, copy.row(r));
    return copy;
}

/// to += rows, element by element; a stride of 0 adds one row to all.
inline void add_rows(const Matrix& to, const ConstMatrix& rows) noexcept {
    for (std::size_t r = 0; r < to.rows; ++r) {
        float* row = to.row(r);
        const float* from = rows.row(r);
        for (std::size_t c = 0; c < to.columns; ++c)
            row[c] += from[c];
    }
}

}  // namespace rudder::nn
