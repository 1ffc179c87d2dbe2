// Products with sparse rows, and the gradient of the weights they are multiplied by.
#pragma once

#include <cstdint>
#include <span>

#include "rudder/core/array.hpp"
#include "rudder/nn/dropout.hpp"
#include "rudder/nn/linear.hpp"
#include "rudder/nn/matmul.hpp"

namespace rudder::nn {

/// Outputs of weights, in groups that are filled up: columns of a transposed matrix.
[[nodiscard]] constexpr std::size_t padded_outputs(std::size_t outputs,
                                                   LaneSums::Groups groups) noexcept {
    return outputs / groups.used * groups.padded;
}

/// Copies weights, outputs x inputs, into `out`, inputs x padded outputs: so a non-zero meets the
/// weights of all outputs side by side. What fills up groups is zero. On all threads.
void transpose_weights(const ConstMatrix& weights, LaneSums::Groups groups, const Matrix& out);

/// out = rows times transposed weights, by the calling thread alone: each element is one chain in
/// the order of the row's non-zeros, the same on every vector path.
void multiply_sparse(const SparseMatrix& rows, const ConstMatrix& weights, const Matrix& out);

/// to += rows, non-zero by non-zero.
void add_sparse(const Matrix& to, const SparseMatrix& rows) noexcept;

/// Writes the rows that dropout leaves to `out`, whose rows lie as far apart; the draws are those
/// of dense rows. By the calling thread alone.
void drop_sparse(const SparseMatrix& rows, const Dropout& dropout,
                 std::span<const VertexId> vertices, SparseEntry* out) noexcept;

/// The non-zeros of sparse rows read by column, those of a column in the order of the rows: so the
/// gradient of a column's weights is one chain, whoever computes it.
class SparseColumns {
public:
    /// Memory that so many non-zeros take.
    [[nodiscard]] static std::uint64_t bytes_for(std::uint64_t columns, double non_zeros) noexcept;
    /// On all threads; memory is used again.
    void fill(const SparseMatrix& rows);
    /// weights = transpose of `gradient` times the first rows, as many as it has: outputs x inputs,
    /// without what fills up groups. On all threads.
    void weight_gradient(const ConstMatrix& gradient, LaneSums::Groups groups,
                         float* weights) const;

private:
    Array<std::uint32_t> offsets_;  ///< by column, and the end
    Array<SparseEntry> entries_;    ///< whose `column` is the row
    Array<std::uint32_t> counts_;   ///< by lane and column
    std::size_t columns_ = 0;
};

}  // namespace rudder::nn
