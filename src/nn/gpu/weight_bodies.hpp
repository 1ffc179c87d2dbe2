// Weights and their gradient: clipping, the optimisers, and the sum of a product's stretches.
#pragma once

#include "warp.hpp"

namespace rudder::nn {

/// Elements that one warp of the kernels below takes.
inline constexpr std::size_t weights_per_warp = 128;

/// Sums of the squares of a gradient, stretch by stretch. An item is a stretch of `each` elements.
struct SquareSums {
    const float* gradient;
    std::size_t count;
    std::size_t each;
    double* sums;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t item) const {
        const std::size_t begin = item * each;
        const std::size_t end = begin + each < count ? begin + each : count;
        const double sum = warp.sum([&](std::uint32_t lane) {
            double part = 0;
            for (std::size_t i = begin + lane; i < end; i += warp_lanes)
                part += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
            return part;
        });
        warp.each([&](std::uint32_t lane) {
            if (lane == 0) sums[item] = sum;
        });
    }
};

/// What the gradient is to be times, so that its norm is at most the limit. One item.
struct ClipFactor {
    const double* sums;
    std::size_t count;
    double limit;
    float* factor;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t /*item*/) const {
        const double total = warp.sum([&](std::uint32_t lane) {
            double part = 0;
            for (std::size_t i = lane; i < count; i += warp_lanes)
                part += sums[i];
            return part;
        });
        warp.each([&](std::uint32_t lane) {
            const double least = limit / (std::sqrt(total) + 1e-6);
            if (lane == 0) *factor = least < 1 ? static_cast<float>(least) : 1.F;
        });
    }
};

/// Adam and AdamW, with the numbers that optimiser.cpp makes of a step. An item is a stretch of
/// weights_per_warp.
struct AdamStep {
    float* weights;
    const float* gradient;
    float* mean;
    float* square;
    std::size_t count;
    const float* factor;  ///< of clipping; null: none
    float keep;
    float pull;
    float mix1;
    float beta2;
    float mix2;
    float epsilon;
    float root;
    float length;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t item) const {
        const float scale = factor == nullptr ? 1.F : *factor;
        warp.each([&](std::uint32_t lane) {
            const std::size_t begin = item * weights_per_warp + lane;
            const std::size_t end = (item + 1) * weights_per_warp;
            for (std::size_t i = begin; i < end && i < count; i += warp_lanes) {
                const float kept = weights[i] * keep;
                const float g = gradient[i] * scale + pull * kept;
                mean[i] += (g - mean[i]) * mix1;
                square[i] = square[i] * beta2 + mix2 * g * g;
                weights[i] = kept - length * (mean[i] / (std::sqrt(square[i]) / root + epsilon));
            }
        });
    }
};

/// Gradient descent with momentum. An item is a stretch of weights_per_warp.
struct SgdStep {
    float* weights;
    const float* gradient;
    float* velocity;
    std::size_t count;
    const float* factor;
    float momentum;
    float pull;
    float length;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t item) const {
        const float scale = factor == nullptr ? 1.F : *factor;
        warp.each([&](std::uint32_t lane) {
            const std::size_t begin = item * weights_per_warp + lane;
            const std::size_t end = (item + 1) * weights_per_warp;
            for (std::size_t i = begin; i < end && i < count; i += warp_lanes) {
                velocity[i] = momentum * velocity[i] + (gradient[i] * scale + pull * weights[i]);
                weights[i] -= length * velocity[i];
            }
        });
    }
};

/// out (+)= the sums of a product's stretches, in their order. An item is weights_per_warp
/// elements.
struct AddStretches {
    const float* parts;  ///< stretches x count
    std::size_t stretches;
    std::size_t count;
    float* out;
    bool add;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t item) const {
        warp.each([&](std::uint32_t lane) {
            const std::size_t begin = item * weights_per_warp + lane;
            const std::size_t end = (item + 1) * weights_per_warp;
            for (std::size_t i = begin; i < end && i < count; i += warp_lanes) {
                float sum = add ? out[i] : 0.F;
                for (std::size_t s = 0; s < stretches; ++s)
                    sum += parts[s * count + i];
                out[i] = sum;
            }
        });
    }
};

}  // namespace rudder::nn
