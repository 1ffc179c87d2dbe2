// The matrix product for one instruction set. Each of its files includes this once and is compiled
// for its set, so all is internal: nothing may be shared with a file compiled for another.
#pragma once

#include <cstddef>

#include "matmul_product.hpp"

namespace rudder::nn {
namespace {  // NOLINT(google-build-namespaces,cert-dcl59-cpp): one copy per instruction set

/// Vectors of a panel: with so many, and Isa::rows, all registers hold sums or operands.
constexpr std::size_t most_vectors = 3;
/// How many rows ahead b is fetched into the first cache.
constexpr std::size_t rows_ahead = 8;
/// From which depth on c is fetched while the sums grow; below, fetching costs more than it brings.
constexpr std::size_t deep = 96;

/// Where a tile's operands lie, for one stretch of k.
struct TileOperands {
    const float* a;
    std::size_t a_stride;
    const float* b;
    std::size_t b_stride;
    std::size_t depth;
    float* c;
    std::size_t c_stride;
    std::size_t columns;
    bool add;
};

/// `Rows` x `Vectors` elements of c in registers; a packed tile of a has its rows side by side.
/// Each element is one chain of fused multiply-adds in the order of k, wherever blocks and tiles
/// end: so bits depend on the operands alone.
template <class Isa, std::size_t Rows, std::size_t Vectors, bool Packed, bool Full>
void tile(const TileOperands& o) {
    using Vector = typename Isa::Vector;
    constexpr std::size_t width = Isa::width;
    const auto last = Isa::mask(o.columns - (Vectors - 1) * width);
    const auto load = [last](const float* from, std::size_t v) {
        return !Full && v + 1 == Vectors ? Isa::load(from + v * width, last)
                                         : Isa::load(from + v * width);
    };
    Vector sums[Rows][Vectors];
    const bool add = o.add;
    const bool fetch = !add && o.depth >= deep;
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
        const float* c = o.c + r * o.c_stride;
#pragma GCC unroll 4
        for (std::size_t v = 0; v < Vectors; ++v) {
            if (fetch) __builtin_prefetch(c + v * width, 1);
            sums[r][v] = add ? load(c, v) : Isa::zero();
        }
    }
    const float* a = o.a;
    const float* b = o.b;
    const std::size_t a_stride = o.a_stride;
    const std::size_t b_stride = o.b_stride;
    for (std::size_t k = o.depth; k > 0; --k) {
        Vector y[Vectors];
#pragma GCC unroll 4
        for (std::size_t v = 0; v < Vectors; ++v) {
            y[v] = load(b, v);
            __builtin_prefetch(b + rows_ahead * b_stride + v * width);
        }
#pragma GCC unroll 8
        for (std::size_t r = 0; r < Rows; ++r) {
            const Vector x = Isa::broadcast(Packed ? a + r : a + r * a_stride);
#pragma GCC unroll 4
            for (std::size_t v = 0; v < Vectors; ++v)
                sums[r][v] = Isa::fma(x, y[v], sums[r][v]);
        }
        a += Packed ? Isa::rows : 1;
        b += b_stride;
    }
#pragma GCC unroll 8
    for (std::size_t r = 0; r < Rows; ++r) {
        float* c = o.c + r * o.c_stride;
#pragma GCC unroll 4
        for (std::size_t v = 0; v < Vectors; ++v) {
            if (!Full && v + 1 == Vectors) {
                Isa::store(c + v * width, sums[r][v], last);
            } else {
                Isa::store(c + v * width, sums[r][v]);
            }
        }
    }
}

/// Runs the tile of so many rows and columns.
template <class Isa, bool Packed, std::size_t Vectors, std::size_t Rows = Isa::rows>
void run_tile(const TileOperands& o, std::size_t rows) {
    if constexpr (Rows > 1) {
        if (rows < Rows) return run_tile<Isa, Packed, Vectors, Rows - 1>(o, rows);
    }
    if (o.columns == Vectors * Isa::width) {
        tile<Isa, Rows, Vectors, Packed, true>(o);
    } else {
        tile<Isa, Rows, Vectors, Packed, false>(o);
    }
}
template <class Isa, bool Packed>
void run_tile(const TileOperands& o, std::size_t rows) {
    if (o.columns > 2 * Isa::width) {
        run_tile<Isa, Packed, 3>(o, rows);
    } else if (o.columns > Isa::width) {
        run_tile<Isa, Packed, 2>(o, rows);
    } else {
        run_tile<Isa, Packed, 1>(o, rows);
    }
}

/// out[p * out_stride + j] = from[j * stride + p], a square of vectors at a time.
template <class Isa>
void pack_transposed(const float* from, std::size_t stride, std::size_t depth, std::size_t columns,
                     float* out, std::size_t out_stride) {
    constexpr std::size_t width = Isa::width;
    for (std::size_t j = 0; j < columns; j += width) {
        for (std::size_t p = 0; p < depth; p += width) {
            const std::size_t count = depth - p < width ? depth - p : width;
            typename Isa::Vector r[width];
            for (std::size_t i = 0; i < width; ++i) {
                r[i] = j + i < columns ? Isa::load(from + (j + i) * stride + p, Isa::mask(count))
                                       : Isa::zero();
            }
            Isa::transpose(r);
            for (std::size_t i = 0; i < count; ++i)
                Isa::store(out + (p + i) * out_stride + j, r[i]);
        }
    }
}

/// Equal shares, up to one: tiles and panels of about one size keep the registers busy throughout.
struct Shares {
    std::size_t total;
    std::size_t count;
    Shares(std::size_t all, std::size_t most) : total(all), count((all + most - 1) / most) {}
    [[nodiscard]] std::size_t begin(std::size_t i) const { return total * i / count; }
    [[nodiscard]] std::size_t size(std::size_t i) const { return begin(i + 1) - begin(i); }
};

template <class Isa>
class Multiplication {
public:
    explicit Multiplication(const MatrixProduct& product)
        : p_(product), panels_((product.columns + Isa::width - 1) / Isa::width, most_vectors) {}

    void run() const {
        const Shares depths(p_.depth, block_depth);
        for (std::size_t panel = 0; panel < panels_.count; panel += block_panels) {
            const std::size_t end =
                panel + block_panels < panels_.count ? panel + block_panels : panels_.count;
            for (std::size_t i = 0; i < depths.count; ++i)
                block(panel, end, depths.begin(i), depths.size(i));
        }
    }

private:
    [[nodiscard]] std::size_t column(std::size_t panel) const {
        return panels_.begin(panel) * Isa::width;
    }
    /// Columns of a panel; the last may end within a vector.
    [[nodiscard]] std::size_t columns(std::size_t panel) const {
        const std::size_t all = panels_.size(panel) * Isa::width;
        const std::size_t left = p_.columns - column(panel);
        return all < left ? all : left;
    }
    /// Where a panel of b lies that had to be transposed, after the tile of a.
    [[nodiscard]] float* packed(std::size_t first, std::size_t panel, std::size_t depth) const {
        return p_.memory + block_depth * most_tile_rows + (column(panel) - column(first)) * depth;
    }

    /// Panels [first, end), one stretch of k, tile after tile.
    void block(std::size_t first, std::size_t end, std::size_t k, std::size_t depth) const {
        if (p_.b_transposed) {
            for (std::size_t panel = first; panel < end; ++panel) {
                pack_transposed<Isa>(p_.b + column(panel) * p_.b_stride + k, p_.b_stride, depth,
                                     columns(panel), packed(first, panel, depth),
                                     panels_.size(panel) * Isa::width);
            }
        }
        TileOperands o{};
        o.a_stride = p_.a_stride;
        o.depth = depth;
        o.c_stride = p_.c_stride;
        o.add = p_.add || k > 0;
        const Shares tiles(p_.rows, Isa::rows);
        for (std::size_t t = 0; t < tiles.count; ++t) {
            const std::size_t row = tiles.begin(t);
            o.a = p_.a + row * p_.a_stride + k;
            if (p_.a_transposed) o.a = pack_rows(row, tiles.size(t), k, depth);
            for (std::size_t panel = first; panel < end; ++panel) {
                o.columns = columns(panel);
                o.c = p_.c + row * p_.c_stride + column(panel);
                o.b = p_.b_transposed ? packed(first, panel, depth)
                                      : p_.b + k * p_.b_stride + column(panel);
                o.b_stride = p_.b_transposed ? panels_.size(panel) * Isa::width : p_.b_stride;
                if (p_.a_transposed) {
                    run_tile<Isa, true>(o, tiles.size(t));
                } else {
                    run_tile<Isa, false>(o, tiles.size(t));
                }
            }
        }
    }
    /// The rows of a tile side by side, from a that lies by columns.
    const float* pack_rows(std::size_t row, std::size_t rows, std::size_t k,
                           std::size_t depth) const {
        const float* from = p_.a + k * p_.a_stride + row;
        float* to = p_.memory;
        for (std::size_t i = 0; i < depth; ++i, from += p_.a_stride, to += Isa::rows)
            Isa::copy_rows(from, to, rows);
        return p_.memory;
    }

    const MatrixProduct& p_;
    Shares panels_;  ///< in vectors
};

}  // namespace
}  // namespace rudder::nn
