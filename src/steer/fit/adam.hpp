// Adam and AdamW over a few flat weights (Kingma and Ba 2015; Loshchilov and Hutter 2019).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

namespace rudder::steer {

/// A stretch of flat weights.
struct WeightRange {
    std::size_t offset;
    std::size_t size;
    bool decays;
};

struct AdamOptions {
    double learning_rate = 1e-3;
    double weight_decay = 0;  ///< decoupled (AdamW), of the ranges that decay
    double clip = 0;          ///< largest norm of the gradient; 0: any
};

class Adam {
public:
    explicit Adam(const AdamOptions& options) : o_(options) {}

    void step(std::span<float> weights, std::span<const float> gradient,
              std::span<const WeightRange> ranges) {
        mean_.resize(weights.size());
        square_.resize(weights.size());
        ++steps_;
        double norm = 0;
        for (const float g : gradient)
            norm += static_cast<double>(g) * static_cast<double>(g);
        const double shrink = o_.clip > 0 ? std::min(1.0, o_.clip / (std::sqrt(norm) + 1e-6)) : 1;
        const double rate = o_.learning_rate / (1 - std::pow(beta1, steps_));
        const auto root = static_cast<float>(std::sqrt(1 - std::pow(beta2, steps_)));
        for (const WeightRange& range : ranges) {
            const auto keep =
                static_cast<float>(1 - (range.decays ? o_.learning_rate * o_.weight_decay : 0));
            for (std::size_t i = range.offset; i < range.offset + range.size; ++i) {
                const float g = gradient[i] * static_cast<float>(shrink);
                mean_[i] += static_cast<float>(1 - beta1) * (g - mean_[i]);
                square_[i] =
                    static_cast<float>(beta2) * square_[i] + static_cast<float>(1 - beta2) * g * g;
                weights[i] = weights[i] * keep - static_cast<float>(rate) * mean_[i] /
                                                     (std::sqrt(square_[i]) / root + 1e-8F);
            }
        }
    }

private:
    static constexpr double beta1 = 0.9;
    static constexpr double beta2 = 0.999;
    AdamOptions o_;
    std::vector<float> mean_;
    std::vector<float> square_;
    int steps_ = 0;
};

}  // namespace rudder::steer
