// Attention over a block, fused: scores, softmax and weighted sums, forward and backward, without a
// row per edge in memory.
#pragma once

#include "rudder/nn/layered_network.hpp"

#include "heads.hpp"

namespace rudder::nn {

/// Slope of the leaky rectifier of attention.
inline constexpr float attention_slope = 0.2F;

/// Whether each destination attends to itself, too.
enum class SelfLoops : bool { no, yes };

/// Each destination attends to itself and its neighbours. Its entries, itself first, have the
/// numbers offsets[d] + d up to offsets[d + 1] + d + 1; numbers per entry and head lie side by
/// side. Without self loops the numbers are those of the block's edges.
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

/// The parts of scores that sources and destinations contribute (GAT), and backward the gradients
/// of those parts: sources or destinations x heads each.
struct AdditiveScores {
    static constexpr SelfLoops loops = SelfLoops::yes;
    const float* of_source;
    const float* of_destination;
    float* source_sums = nullptr;       ///< gather_attention writes them
    float* destination_sums = nullptr;  ///< attend_backward writes them
};
/// The same where destinations are no sources: they attend to neighbours alone, if they have any.
struct RelationScores : AdditiveScores {
    static constexpr SelfLoops loops = SelfLoops::no;
};
/// Additive scores of which edges contribute a part, too.
struct EdgeAdditiveScores : AdditiveScores {
    const float* of_edge = nullptr;  ///< entries x heads
};
/// Scores from the sum of the source's values and a row of the destination (GATv2); backward,
/// attend_backward writes rows of `back` and adds to `vector_sums`.
struct DynamicScores {
    static constexpr SelfLoops loops = SelfLoops::yes;
    ConstMatrix of_destination;    ///< destinations x width
    const float* vector;           ///< width
    Matrix back{};                 ///< gradient of the destinations' rows
    float* vector_sums = nullptr;  ///< gradient of the vector
};

/// The same from the sum with a row of the edge as well; backward, attend_backward writes the
/// gradient of these rows in their place, from which gather_attention reads it.
struct EdgeDynamicScores : DynamicScores {
    Matrix of_edge{};             ///< of entries from `first_entry` on, x width
    std::size_t first_entry = 0;  ///< 0 where gradients are wanted
};

/// scores[row * heads + h] = row . vector, head by head.
void head_products(const Heads& heads, const ConstMatrix& rows, const float* vector, float* scores);

/// Row d - rows.first of `sums` becomes the sum of the entries' values by their weights, for the
/// destinations of `rows`; the weights stay in `alphas`. Scores are one of the two kinds.
template <class Scores>
void attend(const Attention& attention, const Scores& scores, Rows rows, const Matrix& sums);

/// Given the gradient of the sums of all destinations, fills `deltas` of those of `rows`, and what
/// the scores get through them.
template <class Scores>
void attend_backward(const Attention& attention, const Scores& scores, const ConstMatrix& gradient,
                     Rows rows);

/// Row s - rows.first of `out` becomes the gradient of the values of source s, for the sources of
/// `rows`: through the sums and through dynamic scores (additive ones: finish_additive). With
/// dynamic scores `out` may be the values themselves.
template <class Scores>
void gather_attention(const Attention& attention, const Scores& scores,
                      const TransposedBlock& readers, const ConstMatrix& gradient, Rows rows,
                      const Matrix& out);

/// The vectors of additive scores, of sources and of destinations.
struct ScoreVectors {
    const float* source;
    const float* destination;
    float* source_sums;       ///< gets the gradient of the vector, added
    float* destination_sums;  ///< likewise
};
/// Rows of the values, from source `first` on, become their gradient: `through_sums` plus what
/// comes through the scores, whose gradients by source (and, for the first so many, by destination)
/// and head are there.
void finish_additive(const Heads& heads, const ScoreVectors& vectors,
                     const ConstMatrix& through_sums, const AdditiveScores& scores,
                     std::size_t destinations, std::size_t first, const Matrix& values);

}  // namespace rudder::nn
