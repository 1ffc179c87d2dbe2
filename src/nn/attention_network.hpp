// What the networks with attention share: heads, and the way from heads to columns and back.
#pragma once

#include "rudder/nn/attention.hpp"
#include "rudder/nn/layered_network.hpp"

namespace rudder {

/// Networks whose layers attend with several heads, side by side in hidden layers, averaged in the
/// last one.
class AttentionNetwork : public LayeredNetwork {
protected:
    explicit AttentionNetwork(const NetworkOptions& options)
        : LayeredNetwork(options, Activation::exponential) {}

    [[nodiscard]] Heads heads(std::size_t layer) const noexcept {
        const std::size_t count = options().heads;
        return {count, last(layer) ? options().outputs : options().hidden / count};
    }
    /// A matrix in the workspace whose rows are whole vectors.
    [[nodiscard]] Matrix matrix(std::size_t offset, std::size_t rows,
                                std::size_t columns) noexcept {
        return {workspace().at<float>(offset), rows, columns, aligned_columns(columns)};
    }
    /// Copies a parameter with a row (or a number) per head and column, zeroes between the heads.
    void pack_heads(std::size_t parameter, const Heads& heads, const Matrix& out) const noexcept;
    void pack_heads(std::size_t parameter, const Heads& heads, float* out) const noexcept {
        pack_heads(parameter, heads, Matrix{out, heads.width(), 1, 1});
    }
    /// Takes the zeroes out of a vector.
    static void unpack_heads(const Heads& heads, const float* from, float* out) noexcept;

    /// Rows of all heads become rows of the layer's output.
    void join_heads(std::size_t layer, const ConstMatrix& sums, const Matrix& out) const noexcept;
    /// Gradients of the output become those of all heads.
    void part_heads(std::size_t layer, const ConstMatrix& gradient,
                    const Matrix& out) const noexcept;

    /// Memory of the readers of a block's sources.
    static void plan_readers(const Block& block, WorkspacePlan& memory, Offsets& offsets);
    [[nodiscard]] TransposedBlock find_readers(const Block& block, const Offsets& offsets,
                                               std::size_t at);
};

}  // namespace rudder
