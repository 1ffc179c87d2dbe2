// Losses of seeds: scores become gradients, and each seed says what it cost.
#pragma once

#include "warp.hpp"

namespace rudder::nn {

/// What one seed gave; the host adds them up in order.
struct SeedOutcome {
    double loss;  ///< times its weight
    std::uint32_t correct;
    std::uint32_t answers;
};

/// Cross-entropy of one class per seed, as loss.cpp. An item is a seed.
struct ClassLoss {
    float* scores;
    std::uint32_t columns;
    const std::int32_t* labels;
    const float* class_weights;  ///< null: none
    float weight;
    SeedOutcome* outcomes;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t seed) const {
        float* row = scores + seed * columns;
        const std::int32_t label = labels[seed];
        if (label < 0) {
            warp.each([&](std::uint32_t lane) {
                for (std::size_t c = lane; c < columns; c += warp_lanes)
                    row[c] = 0.F;
                if (lane == 0) outcomes[seed] = SeedOutcome{0, 0, 0};
            });
            return;
        }
        const float top = warp.most([&](std::uint32_t lane) {
            float most = -3.4e38F;
            for (std::size_t c = lane; c < columns; c += warp_lanes)
                most = row[c] > most ? row[c] : most;
            return most;
        });
        const std::uint32_t best = warp.least([&](std::uint32_t lane) {
            for (std::uint32_t c = lane; c < columns; c += warp_lanes) {
                if (row[c] == top) return c;
            }
            return columns;
        });
        const float own = row[label] - top;
        // Whoever reads the label's score has read it before it is written over.
        warp.each([](std::uint32_t) {});
        const float sum = warp.sum([&](std::uint32_t lane) {
            float part = 0;
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const float power = lane_exp(row[c] - top);
                row[c] = power;
                part += power;
            }
            return part;
        });
        const float share = class_weights == nullptr ? weight : weight * class_weights[label];
        const float factor = share / sum;
        const auto place = static_cast<std::size_t>(label);
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const float power = row[c] * factor;
                row[c] = c == place ? power - share : power;
            }
            if (lane != 0) return;
            const double loss = std::log(static_cast<double>(sum)) - static_cast<double>(own);
            outcomes[seed] = SeedOutcome{static_cast<double>(share) * loss,
                                         best == static_cast<std::uint32_t>(label) ? 1U : 0U, 1U};
        });
    }
};

/// Binary cross-entropy of each output, their mean per seed. An item is a seed.
struct MultilabelLoss {
    float* scores;
    std::uint32_t columns;
    const std::uint8_t* labels;
    float share;  ///< the weight over the columns
    SeedOutcome* outcomes;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t seed) const {
        float* row = scores + seed * columns;
        const std::uint8_t* label = labels + seed * columns;
        if (label[0] > 1) {
            warp.each([&](std::uint32_t lane) {
                for (std::size_t c = lane; c < columns; c += warp_lanes)
                    row[c] = 0.F;
                if (lane == 0) outcomes[seed] = SeedOutcome{0, 0, 0};
            });
            return;
        }
        const double loss = warp.sum([&](std::uint32_t lane) {
            double part = 0;
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const float x = row[c];
                const float e = lane_exp(x > 0.F ? -x : x);
                const float y = static_cast<float>(label[c]);
                part += static_cast<double>((x > 0.F ? x : 0.F) - x * y) +
                        std::log1p(static_cast<double>(e));
            }
            return part;
        });
        const std::uint32_t correct = warp.sum([&](std::uint32_t lane) {
            std::uint32_t right = 0;
            for (std::size_t c = lane; c < columns; c += warp_lanes)
                right += (row[c] > 0.F) == (label[c] == 1) ? 1U : 0U;
            return right;
        });
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const float x = row[c];
                const float e = lane_exp(x > 0.F ? -x : x);
                const float sigmoid = x >= 0.F ? 1.F / (1.F + e) : e / (1.F + e);
                row[c] = (sigmoid - static_cast<float>(label[c])) * share;
            }
            if (lane == 0)
                outcomes[seed] = SeedOutcome{loss * static_cast<double>(share), correct, columns};
        });
    }
};

/// Mean squared error per seed. An item is a seed.
struct SquaredLoss {
    float* scores;
    std::uint32_t columns;
    const float* targets;
    float share;
    SeedOutcome* outcomes;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t seed) const {
        float* row = scores + seed * columns;
        const float* target = targets + seed * columns;
        const bool known = target[0] == target[0];
        const double loss = warp.sum([&](std::uint32_t lane) {
            double part = 0;
            for (std::size_t c = lane; known && c < columns; c += warp_lanes) {
                const auto off = static_cast<double>(row[c] - target[c]);
                part += off * off;
            }
            return part;
        });
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < columns; c += warp_lanes)
                row[c] = known ? 2.F * (row[c] - target[c]) * share : 0.F;
            if (lane == 0) outcomes[seed] = SeedOutcome{loss * static_cast<double>(share), 0, 0};
        });
    }
};

}  // namespace rudder::nn
