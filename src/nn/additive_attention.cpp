// Attention whose scores are sums of what source and destination contribute (GAT).
#include "attention_kernels.hpp"

namespace rudder::nn {

RUDDER_INLINE void score(const Attention& a, const AdditiveScores& scores, const Entries& entries,
                         float* out) noexcept {
    const std::size_t heads = a.heads.count;
    const float* own = scores.of_destination + entries.self * heads;
    for (std::size_t i = 0; i < entries.count; ++i) {
        const float* theirs = scores.of_source + entries.source(i) * heads;
        for (std::size_t h = 0; h < heads; ++h) {
            const float x = theirs[h] + own[h];
            out[i * heads + h] = x > 0.F ? x : x * attention_slope;
        }
    }
}

namespace {

struct AdditiveBackward {
    const Attention& a;
    const AdditiveScores& scores;
    ConstMatrix gradient;
    std::uint32_t first;
    std::uint32_t last;
    float* destination_sums;

    RUDDER_INLINE void run() const noexcept {
        const std::size_t heads = a.heads.count;
        for (std::uint32_t d = first; d < last; ++d) {
            const Entries entries(*a.block, d);
            score_gradients(a, entries, gradient.row(d));
            float* deltas = a.deltas + entries.first * heads;
            float* sums = destination_sums + d * heads;
            const float* own = scores.of_destination + d * heads;
            for (std::size_t h = 0; h < heads; ++h)
                sums[h] = 0;
            for (std::size_t i = 0; i < entries.count; ++i) {
                const float* theirs = scores.of_source + entries.source(i) * heads;
                for (std::size_t h = 0; h < heads; ++h) {
                    if (!(theirs[h] + own[h] > 0.F)) deltas[i * heads + h] *= attention_slope;
                    sums[h] += deltas[i * heads + h];
                }
            }
        }
    }
};

struct GatherStrip {
    const Attention& a;
    const Readers& readers;
    const ConstMatrix& gradient;
    float* out;

    template <std::size_t Tiles>
    RUDDER_INLINE void strip(std::size_t column) const noexcept {
        const std::size_t padded = a.heads.padded();
        std::size_t head[Tiles];
        Vector sums[Tiles];
        for (std::size_t t = 0; t < Tiles; ++t) {
            head[t] = (column + t * 16) / padded;
            sums[t] = Vector{};
        }
        readers.each(
            gradient, [&](std::uint32_t d, std::size_t entry) __attribute__((always_inline)) {
                const float* row = gradient.row(d) + column;
                const float* alpha = a.alphas + entry * a.heads.count;
#pragma GCC unroll 16
                for (std::size_t t = 0; t < Tiles; ++t) {
                    Vector x;
                    load(x, row + t * 16);
                    sums[t] += x * alpha[head[t]];
                }
            });
        for (std::size_t t = 0; t < Tiles; ++t)
            store(out + column + t * 16, sums[t]);
    }
};

struct AdditiveGather {
    const Attention& a;
    const TransposedBlock& readers;
    ConstMatrix gradient;
    std::uint32_t first;
    std::uint32_t last;
    float* source_sums;
    Matrix out;

    RUDDER_INLINE void run() const noexcept {
        const std::size_t heads = a.heads.count;
        for (std::uint32_t s = first; s < last; ++s) {
            const Readers own(a, readers, s);
            over_strips(a.heads.width(), GatherStrip{a, own, gradient, out.row(s - first)});
            float* sums = source_sums + s * heads;
            for (std::size_t h = 0; h < heads; ++h)
                sums[h] = own.reads_itself ? a.deltas[own.self_entry * heads + h] : 0.F;
            for (std::size_t i = own.begin; i < own.end; ++i) {
                for (std::size_t h = 0; h < heads; ++h)
                    sums[h] += a.deltas[own.entry(i) * heads + h];
            }
        }
    }
};

struct FinishAdditive {
    const Heads& heads;
    const ScoreVectors& vectors;
    const ConstMatrix& through_sums;
    const float* source_sums;
    const float* destination_sums;
    std::size_t destinations;
    std::size_t first;
    Matrix values;

    /// One head of one row, for one of the two vectors.
    RUDDER_INLINE void add(Vector& row, const Vector& value, float weight, const float* vector,
                           float* sums) const noexcept {
        Vector x;
        load(x, vector);
        row += x * weight;
        load(x, sums);
        x += value * weight;
        store(sums, x);
    }
    RUDDER_INLINE void run() const noexcept {
        const std::size_t padded = heads.padded();
        for (std::size_t r = 0; r < values.rows; ++r) {
            const std::size_t s = first + r;
            const bool both = s < destinations;
            for (std::size_t h = 0; h < heads.count; ++h) {
                for (std::size_t c = h * padded; c < (h + 1) * padded; c += 16) {
                    Vector value;
                    Vector row;
                    load(value, values.row(r) + c);
                    load(row, through_sums.row(r) + c);
                    add(row, value, source_sums[s * heads.count + h], vectors.source + c,
                        vectors.source_sums + c);
                    if (both) {
                        add(row, value, destination_sums[s * heads.count + h],
                            vectors.destination + c, vectors.destination_sums + c);
                    }
                    store(values.row(r) + c, row);
                }
            }
        }
    }
};

struct HeadProducts {
    const Heads& heads;
    ConstMatrix rows;
    const float* vector;
    float* scores;

    RUDDER_INLINE void run() const noexcept {
        const std::size_t padded = heads.padded();
        for (std::size_t r = 0; r < rows.rows; ++r) {
            for (std::size_t h = 0; h < heads.count; ++h) {
                scores[r * heads.count + h] =
                    dot(rows.row(r) + h * padded, vector + h * padded, padded);
            }
        }
    }
};

}  // namespace

void head_products(const Heads& heads, const ConstMatrix& rows, const float* vector,
                   float* scores) {
    run_kernel(HeadProducts{heads, rows, vector, scores});
}

void attend(const Attention& attention, const AdditiveScores& scores, std::uint32_t first,
            std::uint32_t last, const Matrix& sums) {
    run_kernel(Attend<AdditiveScores>{attention, scores, first, last, sums});
}

void attend_backward(const Attention& attention, const AdditiveScores& scores,
                     const ConstMatrix& gradient, std::uint32_t first, std::uint32_t last,
                     float* destination_sums) {
    run_kernel(AdditiveBackward{attention, scores, gradient, first, last, destination_sums});
}

void gather_attention(const Attention& attention, const TransposedBlock& readers,
                      const ConstMatrix& gradient, std::uint32_t first, std::uint32_t last,
                      float* source_sums, const Matrix& out) {
    run_kernel(AdditiveGather{attention, readers, gradient, first, last, source_sums, out});
}

void finish_additive(const Heads& heads, const ScoreVectors& vectors,
                     const ConstMatrix& through_sums, const float* source_sums,
                     const float* destination_sums, std::size_t destinations, std::size_t first,
                     const Matrix& values) {
    run_kernel(FinishAdditive{heads, vectors, through_sums, source_sums, destination_sums,
                              destinations, first, values});
}

}  // namespace rudder::nn
