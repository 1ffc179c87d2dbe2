// The kernels of attention: scores and their gradients for each kind, the rest for both.
#include "attention_kernels.hpp"

namespace rudder::nn {

namespace {

// ---- additive scores (GAT) ---------------------------------------------------------------------

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

/// Gradients of the scores become those before the leaky rectifier, and are summed.
RUDDER_INLINE void score_back(const Attention& a, const AdditiveScores& scores,
                              const Entries& entries) noexcept {
    const std::size_t heads = a.heads.count;
    float* deltas = a.deltas + entries.first * heads;
    float* sums = scores.destination_sums + entries.self * heads;
    const float* own = scores.of_destination + entries.self * heads;
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

/// Values get nothing through the scores before finish_additive, which needs the sums of deltas.
RUDDER_INLINE NothingElse through_scores(const Attention& a, const AdditiveScores& scores,
                                         const Readers& readers) noexcept {
    const std::size_t heads = a.heads.count;
    float* sums = scores.source_sums + readers.self * heads;
    for (std::size_t h = 0; h < heads; ++h)
        sums[h] = readers.reads_itself ? a.deltas[readers.self_entry * heads + h] : 0.F;
    for (std::size_t i = readers.begin; i < readers.end; ++i) {
        for (std::size_t h = 0; h < heads; ++h)
            sums[h] += a.deltas[readers.entry(i) * heads + h];
    }
    return {};
}

struct FinishAdditive {
    const Heads& heads;
    const ScoreVectors& vectors;
    const ConstMatrix& through_sums;
    const AdditiveScores& scores;
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
                    add(row, value, scores.source_sums[s * heads.count + h], vectors.source + c,
                        vectors.source_sums + c);
                    if (both) {
                        add(row, value, scores.destination_sums[s * heads.count + h],
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

// ---- dynamic scores (GATv2) --------------------------------------------------------------------

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

/// Tiles of the gradients that a destination's row and the vector get through the scores.
struct DynamicStrip {
    const Attention& a;
    const DynamicScores& scores;
    const Entries& entries;

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
            load(vectors[t], scores.vector_sums + column + t * 16);
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
                Vector slope;
                leak_back(slope, x, delta[head[t]]);
                sums[t] += slope;
                vectors[t] += x * slope;
            }
        }
        for (std::size_t t = 0; t < Tiles; ++t) {
            Vector vector;
            load(vector, scores.vector + column + t * 16);
            store(scores.back.row(entries.self) + column + t * 16, sums[t] * vector);
            store(scores.vector_sums + column + t * 16, vectors[t]);
        }
    }
};

RUDDER_INLINE void score_back(const Attention& a, const DynamicScores& scores,
                              const Entries& entries) noexcept {
    over_strips(a.heads.width(), DynamicStrip{a, scores, entries});
}

/// What the values of a source get through the scores of its readers.
struct DynamicThrough {
    static constexpr std::size_t most_tiles = 4;
    struct Tile {
        Vector own;
        Vector slopes;
    };
    const Attention& a;
    const DynamicScores& scores;
    const float* values;

    RUDDER_INLINE void begin(Tile& tile, std::size_t column) const noexcept {
        load(tile.own, values + column);
        tile.slopes = Vector{};
    }
    RUDDER_INLINE void add(Tile& tile, std::size_t column, std::size_t head, LocalId reader,
                           std::size_t entry) const noexcept {
        Vector x;
        Vector slope;
        load(x, scores.of_destination.row(reader) + column);
        x += tile.own;
        leak_back(slope, x, a.deltas[entry * a.heads.count + head]);
        tile.slopes += slope;
    }
    RUDDER_INLINE void finish(Vector& sum, const Tile& tile, std::size_t column) const noexcept {
        Vector vector;
        load(vector, scores.vector + column);
        sum += tile.slopes * vector;
    }
};
RUDDER_INLINE DynamicThrough through_scores(const Attention& a, const DynamicScores& scores,
                                            const Readers& readers) noexcept {
    return {a, scores, a.values.row(readers.self)};
}

// ---- both kinds --------------------------------------------------------------------------------

template <class Scores>
struct Attend {
    const Attention& a;
    const Scores& scores;
    Rows rows;
    Matrix sums;

    RUDDER_INLINE void run() const noexcept {
        for (std::size_t r = 0; r < rows.count; ++r) {
            const Entries entries(*a.block, static_cast<LocalId>(rows.first + r));
            float* alphas = a.alphas + entries.first * a.heads.count;
            score(a, scores, entries, alphas);
            softmax(alphas, entries.count, a.heads.count);
            over_strips(a.heads.width(),
                        WeightedSum<Entries, NothingElse>{a, entries, a.values, {}, sums.row(r)});
        }
    }
};

template <class Scores>
struct AttendBackward {
    const Attention& a;
    const Scores& scores;
    ConstMatrix gradient;
    Rows rows;

    RUDDER_INLINE void run() const noexcept {
        for (std::size_t d = rows.first; d < rows.first + rows.count; ++d) {
            const Entries entries(*a.block, static_cast<LocalId>(d));
            score_gradients(a, entries, gradient.row(d));
            score_back(a, scores, entries);
        }
    }
};

template <class Scores>
struct GatherAttention {
    const Attention& a;
    const Scores& scores;
    const TransposedBlock& readers;
    ConstMatrix gradient;
    Rows rows;
    Matrix out;

    RUDDER_INLINE void run() const noexcept {
        for (std::size_t r = 0; r < rows.count; ++r) {
            const Readers own(a, readers, static_cast<LocalId>(rows.first + r));
            const auto through = through_scores(a, scores, own);
            over_strips(a.heads.width(), WeightedSum<Readers, decltype(through)>{
                                             a, own, gradient, through, out.row(r)});
        }
    }
};

}  // namespace

void head_products(const Heads& heads, const ConstMatrix& rows, const float* vector,
                   float* scores) {
    run_kernel(HeadProducts{heads, rows, vector, scores});
}

void finish_additive(const Heads& heads, const ScoreVectors& vectors,
                     const ConstMatrix& through_sums, const AdditiveScores& scores,
                     std::size_t destinations, std::size_t first, const Matrix& values) {
    run_kernel(FinishAdditive{heads, vectors, through_sums, scores, destinations, first, values});
}

template <class Scores>
void attend(const Attention& attention, const Scores& scores, Rows rows, const Matrix& sums) {
    run_kernel(Attend<Scores>{attention, scores, rows, sums});
}
template <class Scores>
void attend_backward(const Attention& attention, const Scores& scores, const ConstMatrix& gradient,
                     Rows rows) {
    run_kernel(AttendBackward<Scores>{attention, scores, gradient, rows});
}
template <class Scores>
void gather_attention(const Attention& attention, const Scores& scores,
                      const TransposedBlock& readers, const ConstMatrix& gradient, Rows rows,
                      const Matrix& out) {
    run_kernel(GatherAttention<Scores>{attention, scores, readers, gradient, rows, out});
}

template void attend(const Attention&, const AdditiveScores&, Rows, const Matrix&);
template void attend(const Attention&, const DynamicScores&, Rows, const Matrix&);
template void attend_backward(const Attention&, const AdditiveScores&, const ConstMatrix&, Rows);
template void attend_backward(const Attention&, const DynamicScores&, const ConstMatrix&, Rows);
template void gather_attention(const Attention&, const AdditiveScores&, const TransposedBlock&,
                               const ConstMatrix&, Rows, const Matrix&);
template void gather_attention(const Attention&, const DynamicScores&, const TransposedBlock&,
                               const ConstMatrix&, Rows, const Matrix&);

}  // namespace rudder::nn
