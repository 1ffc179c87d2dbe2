// Attention over a block: scores, softmax and weighted sums, forward and backward. Heads lie side
// by side, without anything between them.
#pragma once

#include "warp.hpp"

namespace rudder::nn {

/// Slope of the leaky rectifier of attention below zero, as attention.hpp has it.
inline constexpr float lane_slope = 0.2F;

/// Each destination attends to itself and its neighbours: its entries, itself first, have the
/// numbers offsets[d] + d up to offsets[d + 1] + d + 1; numbers per entry and head side by side.
struct LaneAttention {
    const std::uint32_t* offsets;
    const std::uint32_t* neighbours;
    /// The transposed block: who reads a source, and by which edge.
    const std::uint32_t* starts;
    const std::uint32_t* readers;
    const std::uint32_t* places;
    std::uint32_t destinations;
    std::uint32_t heads;
    std::uint32_t head_columns;
    const float* values;  ///< of the sources
    float* alphas;        ///< of the entries: scores, then weights
    float* deltas;        ///< of the entries, backward: gradients of the scores

    RUDDER_LANES std::size_t width() const { return std::size_t{heads} * head_columns; }
    RUDDER_LANES std::size_t first(std::size_t d) const { return std::size_t{offsets[d]} + d; }
    RUDDER_LANES std::size_t count(std::size_t d) const {
        return std::size_t{offsets[d + 1]} - offsets[d] + 1;
    }
    RUDDER_LANES std::size_t source(std::size_t d, std::size_t i) const {
        return i == 0 ? d : std::size_t{neighbours[offsets[d] + i - 1]};
    }
    /// The entry by which reader i of the transposed block reads.
    RUDDER_LANES std::size_t entry(std::size_t i) const {
        return std::size_t{places[i]} + readers[i] + 1;
    }

    /// Scores of destination d become weights, head by head.
    template <class Warp>
    RUDDER_LANES void soften(const Warp& warp, std::size_t d) const {
        const std::size_t entries = count(d);
        float* scores = alphas + first(d) * heads;
        for (std::uint32_t h = 0; h < heads; ++h) {
            const float top = warp.most([&](std::uint32_t lane) {
                float most = -3.4e38F;
                for (std::size_t i = lane; i < entries; i += warp_lanes)
                    most = scores[i * heads + h] > most ? scores[i * heads + h] : most;
                return most;
            });
            const float sum = warp.sum([&](std::uint32_t lane) {
                float part = 0;
                for (std::size_t i = lane; i < entries; i += warp_lanes) {
                    const float power = lane_exp(scores[i * heads + h] - top);
                    scores[i * heads + h] = power;
                    part += power;
                }
                return part;
            });
            const float factor = 1.F / sum;
            warp.each([&](std::uint32_t lane) {
                for (std::size_t i = lane; i < entries; i += warp_lanes)
                    scores[i * heads + h] *= factor;
            });
        }
    }
    /// Row d of `sums` becomes the sum of the values of its entries by their weights.
    template <class Warp>
    RUDDER_LANES void weigh(const Warp& warp, std::size_t d, float* sums) const {
        const std::size_t entries = count(d);
        const std::size_t wide = width();
        const float* weights = alphas + first(d) * heads;
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < wide; c += warp_lanes) {
                const std::size_t h = c / head_columns;
                float sum = 0;
                for (std::size_t i = 0; i < entries; ++i)
                    sum += values[source(d, i) * wide + c] * weights[i * heads + h];
                sums[d * wide + c] = sum;
            }
        });
    }
    /// Deltas of destination d: gradients of its scores before the softmax, from row d of the sums'
    /// gradient.
    template <class Warp>
    RUDDER_LANES void score_gradients(const Warp& warp, std::size_t d,
                                      const float* gradient) const {
        const std::size_t entries = count(d);
        const std::size_t wide = width();
        const float* weights = alphas + first(d) * heads;
        float* out = deltas + first(d) * heads;
        const float* row = gradient + d * wide;
        for (std::size_t i = 0; i < entries; ++i) {
            const float* value = values + source(d, i) * wide;
            for (std::uint32_t h = 0; h < heads; ++h) {
                const std::size_t begin = std::size_t{h} * head_columns;
                const float dot = warp.sum([&](std::uint32_t lane) {
                    float part = 0;
                    for (std::size_t c = lane; c < head_columns; c += warp_lanes)
                        part += row[begin + c] * value[begin + c];
                    return part;
                });
                warp.each([&](std::uint32_t lane) {
                    if (lane == 0) out[i * heads + h] = dot;
                });
            }
        }
        for (std::uint32_t h = 0; h < heads; ++h) {
            const float mean = warp.sum([&](std::uint32_t lane) {
                float part = 0;
                for (std::size_t i = lane; i < entries; i += warp_lanes)
                    part += weights[i * heads + h] * out[i * heads + h];
                return part;
            });
            warp.each([&](std::uint32_t lane) {
                for (std::size_t i = lane; i < entries; i += warp_lanes)
                    out[i * heads + h] = weights[i * heads + h] * (out[i * heads + h] - mean);
            });
        }
    }
};

/// scores[row * heads + h] = row . vector, head by head. An item is a row.
struct HeadDots {
    const float* rows;
    const float* vector;
    float* scores;
    std::uint32_t heads;
    std::uint32_t head_columns;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        const std::size_t wide = std::size_t{heads} * head_columns;
        for (std::uint32_t h = 0; h < heads; ++h) {
            const std::size_t begin = std::size_t{h} * head_columns;
            const float dot = warp.sum([&](std::uint32_t lane) {
                float part = 0;
                for (std::size_t c = lane; c < head_columns; c += warp_lanes)
                    part += rows[row * wide + begin + c] * vector[begin + c];
                return part;
            });
            warp.each([&](std::uint32_t lane) {
                if (lane == 0) scores[row * heads + h] = dot;
            });
        }
    }
};

// ---- additive scores (GAT) ---------------------------------------------------------------------

/// Scores from what source and destination contribute; rows of `sums`. An item is a destination.
struct AttendAdditive {
    LaneAttention a;
    const float* of_source;
    const float* of_destination;
    float* sums;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t d) const {
        const std::size_t numbers = a.count(d) * a.heads;
        float* scores = a.alphas + a.first(d) * a.heads;
        warp.each([&](std::uint32_t lane) {
            for (std::size_t n = lane; n < numbers; n += warp_lanes) {
                const std::size_t h = n % a.heads;
                const float x = of_source[a.source(d, n / a.heads) * a.heads + h] +
                                of_destination[d * a.heads + h];
                scores[n] = x > 0.F ? x : x * lane_slope;
            }
        });
        a.soften(warp, d);
        a.weigh(warp, d, sums);
    }
};

/// Fills deltas, and the gradients of what destinations contribute. An item is a destination.
struct AttendAdditiveBack {
    LaneAttention a;
    const float* of_source;
    const float* of_destination;
    const float* gradient;    ///< of the sums
    float* destination_sums;  ///< destinations x heads

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t d) const {
        a.score_gradients(warp, d, gradient);
        const std::size_t entries = a.count(d);
        float* deltas = a.deltas + a.first(d) * a.heads;
        for (std::uint32_t h = 0; h < a.heads; ++h) {
            const float own = of_destination[d * a.heads + h];
            const float sum = warp.sum([&](std::uint32_t lane) {
                float part = 0;
                for (std::size_t i = lane; i < entries; i += warp_lanes) {
                    const float x = of_source[a.source(d, i) * a.heads + h] + own;
                    float delta = deltas[i * a.heads + h];
                    if (!(x > 0.F)) delta *= lane_slope;
                    deltas[i * a.heads + h] = delta;
                    part += delta;
                }
                return part;
            });
            warp.each([&](std::uint32_t lane) {
                if (lane == 0) destination_sums[d * a.heads + h] = sum;
            });
        }
    }
};

/// The gradient of the values, through the sums and through both scores, and the gradients of what
/// sources contribute. An item is a source.
struct GatherAdditive {
    LaneAttention a;
    const float* gradient;
    const float* source_vector;
    const float* destination_vector;
    const float* destination_sums;
    float* source_sums;  ///< sources x heads
    float* out;          ///< sources x width

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t s) const {
        const bool own = s < a.destinations;
        const std::size_t begin = a.starts[s];
        const std::size_t end = a.starts[s + 1];
        const std::size_t wide = a.width();
        for (std::uint32_t h = 0; h < a.heads; ++h) {
            const float sum = warp.sum([&](std::uint32_t lane) {
                float part = own && lane == 0 ? a.deltas[a.first(s) * a.heads + h] : 0.F;
                for (std::size_t i = begin + lane; i < end; i += warp_lanes)
                    part += a.deltas[a.entry(i) * a.heads + h];
                return part;
            });
            warp.each([&](std::uint32_t lane) {
                if (lane == 0) source_sums[s * a.heads + h] = sum;
            });
        }
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < wide; c += warp_lanes) {
                const std::size_t h = c / a.head_columns;
                float sum = own ? gradient[s * wide + c] * a.alphas[a.first(s) * a.heads + h] : 0.F;
                for (std::size_t i = begin; i < end; ++i)
                    sum += gradient[a.readers[i] * wide + c] * a.alphas[a.entry(i) * a.heads + h];
                sum += source_sums[s * a.heads + h] * source_vector[c];
                if (own) sum += destination_sums[s * a.heads + h] * destination_vector[c];
                out[s * wide + c] = sum;
            }
        });
    }
};

// ---- dynamic scores (GATv2) --------------------------------------------------------------------

/// Scores from the leaky sum of the source's values and a row of the destination, by a vector.
struct LaneDynamic {
    LaneAttention a;
    const float* of_destination;  ///< destinations x width
    const float* vector;          ///< width

    /// delta times the slope at the sum of a source's and a destination's column.
    RUDDER_LANES static float slope(float x, float delta) {
        return x > 0.F ? delta : delta * lane_slope;
    }
};

/// Rows of `sums`. An item is a destination.
struct AttendDynamic {
    LaneDynamic of;
    float* sums;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t d) const {
        const LaneAttention& a = of.a;
        const std::size_t entries = a.count(d);
        const std::size_t wide = a.width();
        float* scores = a.alphas + a.first(d) * a.heads;
        for (std::size_t i = 0; i < entries; ++i) {
            const float* theirs = a.values + a.source(d, i) * wide;
            for (std::uint32_t h = 0; h < a.heads; ++h) {
                const std::size_t begin = std::size_t{h} * a.head_columns;
                const float score = warp.sum([&](std::uint32_t lane) {
                    float part = 0;
                    for (std::size_t c = begin + lane; c < begin + a.head_columns;
                         c += warp_lanes) {
                        const float x = theirs[c] + of.of_destination[d * wide + c];
                        part += (x > 0.F ? x : x * lane_slope) * of.vector[c];
                    }
                    return part;
                });
                warp.each([&](std::uint32_t lane) {
                    if (lane == 0) scores[i * a.heads + h] = score;
                });
            }
        }
        a.soften(warp, d);
        a.weigh(warp, d, sums);
    }
};

/// Fills deltas, the gradient of the destinations' rows, and per destination what the vector gets.
/// An item is a destination.
struct AttendDynamicBack {
    LaneDynamic of;
    const float* gradient;
    float* back;         ///< destinations x width
    float* vector_rows;  ///< destinations x width

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t d) const {
        const LaneAttention& a = of.a;
        a.score_gradients(warp, d, gradient);
        const std::size_t entries = a.count(d);
        const std::size_t wide = a.width();
        const float* deltas = a.deltas + a.first(d) * a.heads;
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < wide; c += warp_lanes) {
                const std::size_t h = c / a.head_columns;
                const float own = of.of_destination[d * wide + c];
                float sum = 0;
                float vector = 0;
                for (std::size_t i = 0; i < entries; ++i) {
                    const float x = a.values[a.source(d, i) * wide + c] + own;
                    const float slope = LaneDynamic::slope(x, deltas[i * a.heads + h]);
                    sum += slope;
                    vector += x * slope;
                }
                back[d * wide + c] = sum * of.vector[c];
                vector_rows[d * wide + c] = vector;
            }
        });
    }
};

/// The gradient of the values through the sums and through the scores. An item is a source.
struct GatherDynamic {
    LaneDynamic of;
    const float* gradient;
    float* out;  ///< sources x width

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t s) const {
        const LaneAttention& a = of.a;
        const bool own = s < a.destinations;
        const std::size_t begin = a.starts[s];
        const std::size_t end = a.starts[s + 1];
        const std::size_t wide = a.width();
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < wide; c += warp_lanes) {
                const std::size_t h = c / a.head_columns;
                const float value = a.values[s * wide + c];
                float sum = 0;
                float slopes = 0;
                if (own) {
                    const std::size_t slot = a.first(s) * a.heads + h;
                    sum += gradient[s * wide + c] * a.alphas[slot];
                    slopes +=
                        LaneDynamic::slope(of.of_destination[s * wide + c] + value, a.deltas[slot]);
                }
                for (std::size_t i = begin; i < end; ++i) {
                    const std::size_t at = a.readers[i] * wide + c;
                    const std::size_t slot = a.entry(i) * a.heads + h;
                    sum += gradient[at] * a.alphas[slot];
                    slopes += LaneDynamic::slope(of.of_destination[at] + value, a.deltas[slot]);
                }
                out[s * wide + c] = sum + slopes * of.vector[c];
            }
        });
    }
};

// ---- both kinds --------------------------------------------------------------------------------

/// The last layer: out = mean over the heads. An item is a row.
struct MeanOfHeads {
    const float* sums;
    float* out;
    std::uint32_t heads;
    std::uint32_t head_columns;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        const float share = 1.F / static_cast<float>(heads);
        const std::size_t wide = std::size_t{heads} * head_columns;
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < head_columns; c += warp_lanes) {
                float sum = sums[row * wide + c];
                for (std::uint32_t h = 1; h < heads; ++h)
                    sum += sums[row * wide + std::size_t{h} * head_columns + c];
                out[row * head_columns + c] = sum * share;
            }
        });
    }
};

/// Its way back. An item is a row.
struct PartHeads {
    const float* gradient;
    float* out;
    std::uint32_t heads;
    std::uint32_t head_columns;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        const float share = 1.F / static_cast<float>(heads);
        const std::size_t wide = std::size_t{heads} * head_columns;
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < wide; c += warp_lanes)
                out[row * wide + c] = gradient[row * head_columns + c % head_columns] * share;
        });
    }
};

}  // namespace rudder::nn
