// Losses of seeds, their gradients, and right answers.
#pragma once

#include <cstdint>

#include "rudder/nn/matmul.hpp"
#include "rudder/nn/network.hpp"

namespace rudder::nn {

/// Sums over a stretch of seeds.
struct LossSums {
    double loss = 0;
    std::uint64_t correct = 0;
    std::uint64_t answers = 0;
    void add(const LossSums& other) noexcept {
        loss += other.loss;
        correct += other.correct;
        answers += other.answers;
    }
};

/// The targets of `count` seeds from `first` on.
[[nodiscard]] SeedTargets targets_of(const SeedTargets& targets, std::size_t outputs,
                                     std::size_t first, std::size_t count) noexcept;

/// Turns the scores of seeds into the gradient of their loss times `weight`, and sums loss times
/// weight and right answers, seed after seed. Seeds without a target (class -1, a row of 255, a row
/// of NaN) give nothing. Cross-entropy per seed, times the weight of its class where there are
/// such; the others are means over the outputs of a seed.
LossSums loss_and_gradient(Objective objective, const SeedTargets& targets, float weight,
                           const Matrix& scores, std::span<const float> class_weights = {});

}  // namespace rudder::nn
