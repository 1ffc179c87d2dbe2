// Gather and segment mean over a block's rows, fused, forward and backward.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/nn/matmul.hpp"
#include "rudder/sample/batch.hpp"

namespace rudder::nn {

/// Row d - first of `means` becomes the mean of the rows of `table` that destination d reads, for d
/// in [first, last): added in the order of the neighbours, then times one over their number; zero
/// where there are none. No memory besides; the rows of later neighbours are fetched ahead.
void mean_of_neighbours(const sample::Block& block, const ConstMatrix& table, std::uint32_t first,
                        std::uint32_t last, const Matrix& means) noexcept;

/// The same where neighbours count by the block's shares, of which it has some: the sum of each
/// row times its share.
void share_of_neighbours(const sample::Block& block, const ConstMatrix& table, std::uint32_t first,
                         std::uint32_t last, const Matrix& means) noexcept;

/// A block read from its sources' side: which destinations read each source, in the order of the
/// block's edges.
struct TransposedBlock {
    std::span<std::uint32_t> offsets;  ///< sources + 1 numbers, the first 0
    std::span<LocalId> readers;        ///< destinations
    std::span<std::uint32_t> edges{};  ///< positions in the block's list; may be empty
};

/// Fills `out`, whose spans have the block's sizes (sources + 1, edges, edges or none).
void transpose(const sample::Block& block, const TransposedBlock& out) noexcept;

/// Rows after rectifier and dropout, by which what flows back is times `scale` where such an
/// element is above zero, and zero elsewhere. None: nothing is undone. May be the rows that are
/// written.
struct ActiveRows {
    const float* data = nullptr;
    std::size_t stride = 0;
    float scale = 1;
};

/// What flows back to the sources of a block.
struct GradientOfSources {
    ConstMatrix own;      ///< of the destinations' own rows; none: no rows
    ConstMatrix readers;  ///< of the means, each divided by its number of neighbours already
    ActiveRows active{};  ///< the sources' rows, by s
    /// What each reader's row counts, by position in the transposed block; null: all the same.
    const float* shares = nullptr;
};

/// Row s - first of `out` becomes the gradient of source s, for s in [first, last): its own as
/// destination, plus those of its readers in order.
void gather_gradient(const TransposedBlock& block, const GradientOfSources& gradient,
                     std::uint32_t first, std::uint32_t last, const Matrix& out) noexcept;

/// A weighted sum over lists of ids, which each of some rows has.
struct WeightedRows {
    ConstMatrix table;           ///< by id
    const float* weights;        ///< by id
    const float* factors;        ///< by row
    ConstMatrix own;             ///< by row, of the first rows; those after have none
    const float* own_factors{};  ///< by row
    ActiveRows active{};         ///< by row
};

/// Row r - first of `out` becomes factor times the weighted sum of the rows of its ids, added in
/// their order, plus its own row times that factor; for r in [first, last).
void weighted_sum(std::span<const std::uint32_t> offsets, std::span<const LocalId> ids,
                  const WeightedRows& rows, std::uint32_t first, std::uint32_t last,
                  const Matrix& out) noexcept;

/// Divides row d - first by the number of neighbours of d (rows of none become zero).
void divide_by_neighbours(const sample::Block& block, std::uint32_t first, std::uint32_t last,
                          const Matrix& rows) noexcept;

}  // namespace rudder::nn
