// Scores of pairs of seeds, their loss, and the gradient of the seeds' rows.
#pragma once

#include <cstdint>
#include <span>

#include "rudder/core/array.hpp"
#include "rudder/core/raw_vector.hpp"
#include "rudder/nn/linear.hpp"
#include "rudder/nn/loss.hpp"
#include "rudder/nn/network.hpp"

namespace rudder::nn {

/// The weights of a scorer, each a stretch of the flat ones; those it does not have are empty.
struct PairWeights {
    std::span<const float> relation;  ///< relations x width
    std::span<const float> hidden;    ///< width x pair_inputs
    std::span<const float> hidden_bias;
    std::span<const float> out;  ///< outputs x width
    std::span<const float> out_bias;
};
/// Where their gradients go.
struct PairGradients {
    float* relation = nullptr;
    float* hidden = nullptr;
    float* hidden_bias = nullptr;
    float* out = nullptr;
    float* out_bias = nullptr;
};

/// Turns the scores of groups of `group` pairs, the first of each joined, into the gradient of
/// their loss times `weight`, and sums loss and right answers.
LossSums link_loss(LinkLoss loss, std::uint32_t group, float weight, std::span<float> scores);

/// Columns that a scorer's network reads of a pair.
[[nodiscard]] constexpr std::size_t pair_inputs(const PairOptions& options) noexcept {
    const auto width = static_cast<std::size_t>(options.width);
    return options.input == PairInput::products ? width
           : options.input == PairInput::sums   ? 2 * width
                                                : 3 * width;
}

/// Scores pairs of rows. Bits depend on rows, pairs and weights alone: what flows back to a row is
/// added in the order of the pairs that it is of.
class PairHead {
public:
    PairHead(const PairOptions& options, std::uint64_t outputs) noexcept
        : options_(options), outputs_(outputs) {}

    /// pairs x outputs, one right after the other, of rows of `width` columns. On all threads.
    void score(const ConstMatrix& rows, const SeedPairs& pairs, const PairWeights& weights,
               std::span<float> scores);
    /// Scores, loss and gradient: `rows` become the gradient of theirs. Each pair (of links: each
    /// group) counts `weight`.
    LossSums train(Objective objective, const Matrix& rows, const SeedTargets& targets,
                   float weight, const PairWeights& weights, std::span<const float> class_weights,
                   const PairGradients& gradients);

    /// Memory of a training pass over so many seeds and pairs.
    [[nodiscard]] std::uint64_t bytes(std::uint64_t seeds, std::uint64_t pairs) const noexcept;

private:
    /// Which pairs a seed is of.
    struct Places {
        RawVector<std::uint32_t> offsets;  ///< seeds + 1
        RawVector<std::uint32_t> sides;  ///< twice the pair, one more where the seed is its target
    };

    [[nodiscard]] bool layered() const noexcept { return options_.scorer == PairScorer::network; }
    [[nodiscard]] std::size_t inputs() const noexcept { return pair_inputs(options_); }
    [[nodiscard]] Matrix hidden_rows(std::size_t first, std::size_t count) noexcept;
    [[nodiscard]] float* input_back(std::size_t pair) noexcept;
    void fill_inputs(const ConstMatrix& rows, const SeedPairs& pairs, const PairWeights& weights,
                     std::size_t first, const Matrix& out) const noexcept;
    void score_rows(const ConstMatrix& rows, const SeedPairs& pairs, const PairWeights& weights,
                    std::size_t first, std::size_t last, float* scores, const Matrix& hidden) const;
    LossSums loss(Objective objective, const SeedTargets& targets, float weight,
                  std::span<const float> class_weights);
    void network_back(const ConstMatrix& rows, const SeedPairs& pairs, const PairWeights& weights,
                      const PairGradients& gradients);
    void relation_back(const ConstMatrix& rows, const SeedPairs& pairs,
                       const PairGradients& gradients);
    void find_places(const SeedPairs& pairs, std::size_t seeds);
    void rows_back(const ConstMatrix& rows, const SeedPairs& pairs, const PairWeights& weights);

    PairOptions options_;
    std::uint64_t outputs_;
    Places places_;
    Array<float> scores_;  ///< pairs x outputs; later their gradients
    /// Of the scorer's network: pairs x width, in rows of its inputs; later the inputs' gradient.
    Array<float> hidden_;
    Array<float> back_;  ///< the gradient of the rows
    Array<float> sums_;  ///< of the lanes
    Array<LossSums> losses_;
};

}  // namespace rudder::nn
