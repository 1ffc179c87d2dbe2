// Rows by themselves: bias, norms, residual, activation with keyed dropout, and the way back.
#pragma once

#include "warp.hpp"

namespace rudder::nn {

enum class LaneActivation : std::uint8_t { none, rectifier, exponential };

/// x = x + bias + residual, activated, then dropped; what is null is left out. Row r belongs to
/// vertices[r], which nobody reads where nothing is dropped. `out` may be x. An item is a row.
struct FinishRows {
    const float* x;
    float* out;
    std::uint32_t columns;
    const float* bias;
    const float* residual;
    LaneActivation activation;
    LaneDropout dropout;
    const std::uint64_t* vertices;

    RUDDER_LANES float activated(float y) const {
        if (activation == LaneActivation::rectifier) return y <= 0.F ? 0.F : y;
        if (activation == LaneActivation::none) return y;
        const float least = 1.17549435e-38F;
        const float z = y > 0.F ? y : lane_exp(y) - 1.F;
        return z == 0.F ? least : z;
    }
    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        const bool drops = dropout.threshold != 0;
        const std::uint64_t vertex = drops ? vertices[row] : 0;
        warp.each([&](std::uint32_t lane) {
            over_drawn_columns(lane, columns, dropout, vertex, [&](std::size_t c, bool keep) {
                const std::size_t at = row * columns + c;
                float y = x[at];
                if (bias != nullptr) y += bias[c];
                if (residual != nullptr) y += residual[at];
                y = activated(y);
                if (drops) y = keep ? y * dropout.scale : 0.F;
                out[at] = y;
            });
        });
    }
};

/// What flows back through activation and dropout: out = (gradient + skip of the first so many
/// rows) times the slope at `active`, which may be `out`. An item is a row.
struct UndoRows {
    const float* gradient;
    const float* skip;
    std::uint32_t skips;
    const float* active;
    float* out;
    std::uint32_t columns;
    bool exponential;
    float scale;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const std::size_t at = row * columns + c;
                float g = gradient[at];
                if (row < skips) g += skip[at];
                const float value = active[at];
                if (exponential) {
                    const float slope = value > 0.F ? scale : value + scale;
                    out[at] = value == 0.F ? 0.F : g * slope;
                } else {
                    out[at] = value > 0.F ? g * scale : 0.F;
                }
            }
        });
    }
};

RUDDER_LANES float lane_inverse_root(double variance) {
    return static_cast<float>(1 / std::sqrt(variance + static_cast<double>(1e-5F)));
}

/// Each row by its own mean and variance; `normal` and `spreads` get the normalised rows and one
/// over the roots. An item is a row.
struct NormRows {
    float* x;
    std::uint32_t columns;
    const float* gain;
    const float* shift;
    float* normal;
    float* spreads;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        float* values = x + row * columns;
        float* kept = normal + row * columns;
        const double sum = warp.sum([&](std::uint32_t lane) {
            double part = 0;
            for (std::size_t c = lane; c < columns; c += warp_lanes)
                part += static_cast<double>(values[c]);
            return part;
        });
        const double mean = sum / static_cast<double>(columns);
        const double squares = warp.sum([&](std::uint32_t lane) {
            double part = 0;
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const double off = static_cast<double>(values[c]) - mean;
                part += off * off;
            }
            return part;
        });
        const float spread = lane_inverse_root(squares / static_cast<double>(columns));
        const float middle = static_cast<float>(mean);
        warp.each([&](std::uint32_t lane) {
            if (lane == 0) spreads[row] = spread;
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const float value = (values[c] - middle) * spread;
                kept[c] = value;
                values[c] = value * gain[c] + shift[c];
            }
        });
    }
};

/// The gradient of the rows before NormRows; in place. An item is a row.
struct UndoNormRows {
    float* gradient;
    std::uint32_t columns;
    const float* gain;
    const float* normal;
    const float* spreads;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        float* values = gradient + row * columns;
        const float* kept = normal + row * columns;
        const double sum = warp.sum([&](std::uint32_t lane) {
            double part = 0;
            for (std::size_t c = lane; c < columns; c += warp_lanes)
                part += static_cast<double>(values[c] * gain[c]);
            return part;
        });
        const double product = warp.sum([&](std::uint32_t lane) {
            double part = 0;
            for (std::size_t c = lane; c < columns; c += warp_lanes)
                part += static_cast<double>(values[c] * gain[c]) * static_cast<double>(kept[c]);
            return part;
        });
        const float mean = static_cast<float>(sum / static_cast<double>(columns));
        const float mean_product = static_cast<float>(product / static_cast<double>(columns));
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const float value = values[c] * gain[c];
                values[c] = (value - mean - kept[c] * mean_product) * spreads[row];
            }
        });
    }
};

/// x = (x - mean) * spread * gain + shift by column; `normal` as above. An item is a row.
struct NormColumns {
    float* x;
    std::uint32_t columns;
    const float* mean;
    const float* spread;
    const float* gain;
    const float* shift;
    float* normal;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const std::size_t at = row * columns + c;
                const float value = (x[at] - mean[c]) * spread[c];
                normal[at] = value;
                x[at] = value * gain[c] + shift[c];
            }
        });
    }
};

/// The gradient of the rows before NormColumns; in place. An item is a row.
struct UndoNormColumns {
    float* gradient;
    std::uint32_t columns;
    const float* gain;
    const float* normal;
    const float* spread;
    const float* mean_gradient;
    const float* mean_product;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const std::size_t at = row * columns + c;
                gradient[at] = (gradient[at] - mean_gradient[c] - normal[at] * mean_product[c]) *
                               (gain[c] * spread[c]);
            }
        });
    }
};

/// Rows of non-zeros become whole rows. A sparse row is `stride` pairs of a column and a value, of
/// which the first says how many follow. An item is a row.
struct ExpandRows {
    const std::uint32_t* entries;
    std::uint32_t stride;
    std::uint32_t columns;
    float* out;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        const std::uint32_t* header = entries + row * stride * 2;
        float* to = out + row * columns;
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < columns; c += warp_lanes)
                to[c] = 0.F;
        });
        const std::uint32_t count = header[0];
        warp.each([&](std::uint32_t lane) {
            for (std::size_t i = lane; i < count; i += warp_lanes) {
                const std::uint32_t* entry = header + 2 * (i + 1);
                union {
                    std::uint32_t bits;
                    float value;
                } number{};
                number.bits = entry[1];
                to[entry[0]] = number.value;
            }
        });
    }
};

}  // namespace rudder::nn
