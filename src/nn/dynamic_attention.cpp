// Attention whose vector comes after its nonlinearity (GATv2).
#include "attention_kernels.hpp"

namespace rudder::nn {

RUDDER_INLINE void score(const Attention& a, const DynamicScores& scores, const Entries& entries,
                         float* out) noexcept {
    const std::size_t padded = a.heads.padded();
    const float* own = scores.of_destination.row(entries.self);
    for (std::size_t i = 0; i < entries.count; ++i) {
        entries.prefetch(a.values, i);
        const float* theirs = a.values.row(entries.source(i));
        for (std::size_t h = 0; h < a.heads.count; ++h) {
            Vector sum{};
            for (std::size_t c = h * padded; c < (h + 1) * padded; c += 16) {
                Vector x;
                Vector y;
                load(x, theirs + c);
                load(y, own + c);
                x += y;
                leak(x);
                load(y, scores.vector + c);
                sum += x * y;
            }
            out[i * a.heads.count + h] = sum_lanes(sum);
        }
    }
}

namespace {

/// Tiles of the gradients that a destination's row and the vector get through the scores.
struct DynamicStrip {
    const Attention& a;
    const DynamicScores& scores;
    const Entries& entries;
    float* back;
    float* vector_sums;

    template <std::size_t Tiles>
    RUDDER_INLINE void strip(std::size_t column) const noexcept {
        constexpr std::size_t some = Tiles > 4 ? 4 : Tiles;  // as many as there are registers for
        for (std::size_t t = 0; t < Tiles; t += some)
            tiles<some>(column + t * 16);
    }
    template <std::size_t Tiles>
    RUDDER_INLINE void tiles(std::size_t column) const noexcept {
        const std::size_t padded = a.heads.padded();
        std::size_t head[Tiles];
        Vector own[Tiles];
        Vector sums[Tiles];
        Vector vectors[Tiles];
        for (std::size_t t = 0; t < Tiles; ++t) {
            head[t] = (column + t * 16) / padded;
            load(own[t], scores.of_destination.row(entries.self) + column + t * 16);
            load(vectors[t], vector_sums + column + t * 16);
            sums[t] = Vector{};
        }
        for (std::size_t i = 0; i < entries.count; ++i) {
            const float* row = a.values.row(entries.source(i)) + column;
            const float* delta = a.deltas + (entries.first + i) * a.heads.count;
#pragma GCC unroll 16
            for (std::size_t t = 0; t < Tiles; ++t) {
                Vector x;
                load(x, row + t * 16);
                x += own[t];
                const Vector zero{};
                const Vector full = zero + delta[head[t]];
                const Vector slope = x > zero ? full : full * attention_slope;
                sums[t] += slope;
                vectors[t] += x * slope;
            }
        }
        for (std::size_t t = 0; t < Tiles; ++t) {
            Vector vector;
            load(vector, scores.vector + column + t * 16);
            store(back + column + t * 16, sums[t] * vector);
            store(vector_sums + column + t * 16, vectors[t]);
        }
    }
};

struct DynamicBackward {
    const Attention& a;
    const DynamicScores& scores;
    ConstMatrix gradient;
    std::uint32_t first;
    std::uint32_t last;
    Matrix back;
    float* vector_sums;

    RUDDER_INLINE void run() const noexcept {
        for (std::uint32_t d = first; d < last; ++d) {
            const Entries entries(*a.block, d);
            score_gradients(a, entries, gradient.row(d));
            over_strips(a.heads.width(),
                        DynamicStrip{a, scores, entries, back.row(d), vector_sums});
        }
    }
};

struct DynamicGatherStrip {
    const Attention& a;
    const DynamicScores& scores;
    const Readers& readers;
    const ConstMatrix& gradient;
    float* out;

    template <std::size_t Tiles>
    RUDDER_INLINE void strip(std::size_t column) const noexcept {
        constexpr std::size_t some = Tiles > 4 ? 4 : Tiles;
        for (std::size_t t = 0; t < Tiles; t += some)
            tiles<some>(column + t * 16);
    }
    template <std::size_t Tiles>
    RUDDER_INLINE void tiles(std::size_t column) const noexcept {
        const std::size_t padded = a.heads.padded();
        std::size_t head[Tiles];
        Vector own[Tiles];
        Vector values[Tiles];
        Vector slopes[Tiles];
        for (std::size_t t = 0; t < Tiles; ++t) {
            head[t] = (column + t * 16) / padded;
            load(own[t], a.values.row(readers.self) + column + t * 16);
            values[t] = Vector{};
            slopes[t] = Vector{};
        }
        readers.each(
            gradient, [&](std::uint32_t d, std::size_t entry) __attribute__((always_inline)) {
                const float* row = gradient.row(d) + column;
                const float* other = scores.of_destination.row(d) + column;
                const float* alpha = a.alphas + entry * a.heads.count;
                const float* delta = a.deltas + entry * a.heads.count;
#pragma GCC unroll 16
                for (std::size_t t = 0; t < Tiles; ++t) {
                    Vector x;
                    load(x, row + t * 16);
                    values[t] += x * alpha[head[t]];
                    load(x, other + t * 16);
                    x += own[t];
                    const Vector zero{};
                    const Vector full = zero + delta[head[t]];
                    slopes[t] += x > zero ? full : full * attention_slope;
                }
            });
        for (std::size_t t = 0; t < Tiles; ++t) {
            Vector vector;
            load(vector, scores.vector + column + t * 16);
            store(out + column + t * 16, values[t] + slopes[t] * vector);
        }
    }
};

struct DynamicGather {
    const Attention& a;
    const DynamicScores& scores;
    const TransposedBlock& readers;
    ConstMatrix gradient;
    std::uint32_t first;
    std::uint32_t last;
    Matrix out;

    RUDDER_INLINE void run() const noexcept {
        for (std::uint32_t s = first; s < last; ++s) {
            const Readers own(a, readers, s);
            over_strips(a.heads.width(), DynamicGatherStrip{a, scores, own, gradient, out.row(s)});
        }
    }
};

}  // namespace

void attend(const Attention& attention, const DynamicScores& scores, std::uint32_t first,
            std::uint32_t last, const Matrix& sums) {
    run_kernel(Attend<DynamicScores>{attention, scores, first, last, sums});
}

void attend_backward(const Attention& attention, const DynamicScores& scores,
                     const ConstMatrix& gradient, std::uint32_t first, std::uint32_t last,
                     const Matrix& back, float* vector_sums) {
    run_kernel(DynamicBackward{attention, scores, gradient, first, last, back, vector_sums});
}

void gather_attention(const Attention& attention, const DynamicScores& scores,
                      const TransposedBlock& readers, const ConstMatrix& gradient,
                      std::uint32_t first, std::uint32_t last, const Matrix& out) {
    run_kernel(DynamicGather{attention, scores, readers, gradient, first, last, out});
}

}  // namespace rudder::nn
