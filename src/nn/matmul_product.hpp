// A matrix product as its kernels see it.
#pragma once

#include <cstddef>

namespace rudder::nn {

/// c[rows x columns] = op(a) op(b), or that added to c; all by rows, strides in floats.
struct MatrixProduct {
    std::size_t rows;
    std::size_t columns;
    std::size_t depth;  ///< columns of op(a), rows of op(b)
    const float* a;
    std::size_t a_stride;
    bool a_transposed;
    const float* b;
    std::size_t b_stride;
    bool b_transposed;
    float* c;
    std::size_t c_stride;
    bool add;
    float* memory;  ///< product_floats, 64-byte aligned
};

/// What is multiplied at a time: a tile of a stays in the first cache, a block of b in the second.
inline constexpr std::size_t block_depth = 256;
inline constexpr std::size_t block_panels = 10;
/// The largest tile of any kernel.
inline constexpr std::size_t most_tile_rows = 8;
inline constexpr std::size_t most_panel_columns = 48;
inline constexpr std::size_t product_floats =
    block_depth * (most_tile_rows + block_panels * most_panel_columns);

/// The same bits from each: element by element the chain of fused multiply-adds in the order of k.
void multiply_avx512(const MatrixProduct& product);
void multiply_avx2(const MatrixProduct& product);

}  // namespace rudder::nn
