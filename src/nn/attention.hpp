// Attention over a block, fused: scores, softmax and weighted sums, forward and backward, without a
// row per edge in memory.
#pragma once

#include <cstdint>
#include <span>

#include "rudder/nn/aggregate.hpp"
#include "rudder/nn/matmul.hpp"
#include "rudder/sample/batch.hpp"

namespace rudder::nn {

/// The heads of a layer. In memory each head's columns are filled up with zeros to whole vectors.
struct Heads {
    std::size_t count;
    std::size_t columns;  ///< per head
    [[nodiscard]] std::size_t padded() const noexcept { return aligned_columns(columns); }
    [[nodiscard]] std::size_t width() const noexcept { return count * padded(); }
};

/// Slope of the leaky rectifier of attention.
inline constexpr float attention_slope = 0.2F;

/// Each destination attends to itself and its neighbours. Its entries, itself first, have the
/// numbers offsets[d] + d up to offsets[d + 1] + d + 1; numbers per entry and head lie side by
/// side.
[[nodiscard]] inline std::size_t entry_count(const sample::Block& block) noexcept {
    return std::size_t{block.edges()} + block.destinations;
}

/// One block's attention as its kernels see it. All rows have the heads' padded width.
struct Attention {
    const sample::Block* block;
    Heads heads;
    ConstMatrix values;  ///< of the sources: what is summed
    float* alphas;       ///< of the entries: scores, then weights
    float* deltas;       ///< of the entries, backward: gradients of the scores
};

/// The parts of scores that sources and destinations contribute (GAT): sources x heads each.
struct AdditiveScores {
    const float* of_source;
    const float* of_destination;
};
/// Scores from the sum of the source's values and a row of the destination (GATv2).
struct DynamicScores {
    ConstMatrix of_destination;  ///< destinations x width
    const float* vector;         ///< width
};

/// scores[row * heads + h] = row . vector, head by head.
void head_products(const Heads& heads, const ConstMatrix& rows, const float* vector, float* scores);

/// Row d - first of `sums` becomes the sum of the entries' values by their weights, for d in
/// [first, last); the weights stay in `alphas`.
void attend(const Attention& attention, const AdditiveScores& scores, std::uint32_t first,
            std::uint32_t last, const Matrix& sums);
void attend(const Attention& attention, const DynamicScores& scores, std::uint32_t first,
            std::uint32_t last, const Matrix& sums);

/// Given the gradient of the sums, fills `deltas` of the destinations, and by destination and head
/// their sums: the gradient of what the destination contributed.
void attend_backward(const Attention& attention, const AdditiveScores& scores,
                     const ConstMatrix& gradient, std::uint32_t first, std::uint32_t last,
                     float* destination_sums);
/// The same; row d of `back` becomes the gradient of the destination's row, and what the vector
/// gets is added to `vector_sums`.
void attend_backward(const Attention& attention, const DynamicScores& scores,
                     const ConstMatrix& gradient, std::uint32_t first, std::uint32_t last,
                     const Matrix& back, float* vector_sums);

/// Row s - first of `out` becomes the gradient of the values of source s through the sums, for s in
/// [first, last); by source and head the sums of its deltas go to `source_sums`.
void gather_attention(const Attention& attention, const TransposedBlock& readers,
                      const ConstMatrix& gradient, std::uint32_t first, std::uint32_t last,
                      float* source_sums, const Matrix& out);
/// The same with what comes through the scores, by s; `out` may be the values themselves.
void gather_attention(const Attention& attention, const DynamicScores& scores,
                      const TransposedBlock& readers, const ConstMatrix& gradient,
                      std::uint32_t first, std::uint32_t last, const Matrix& out);

/// The vectors of additive scores, of sources and of destinations.
struct ScoreVectors {
    const float* source;
    const float* destination;
    float* source_sums;       ///< gets the gradient of the vector, added
    float* destination_sums;  ///< likewise
};
/// Rows of the values, from source `first` on, become their gradient: `through_sums` plus what
/// comes through the scores, whose gradients by source (and, for the first so many, by destination)
/// and head are given.
void finish_additive(const Heads& heads, const ScoreVectors& vectors,
                     const ConstMatrix& through_sums, const float* source_sums,
                     const float* destination_sums, std::size_t destinations, std::size_t first,
                     const Matrix& values);

}  // namespace rudder::nn
