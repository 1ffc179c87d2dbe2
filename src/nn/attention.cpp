#include "rudder/nn/attention.hpp"

#include <algorithm>

#include "vector_exp.hpp"

namespace rudder {

namespace {

/// How many entries ahead rows are fetched into the cache.
constexpr std::size_t fetch_ahead = 8;

RUDDER_INLINE void load(Vector& to, const float* from) noexcept {
    to = *reinterpret_cast<const LooseVector*>(from);
}
RUDDER_INLINE void store(float* to, const Vector& from) noexcept {
    *reinterpret_cast<LooseVector*>(to) = from;
}

/// The sum of 16 lanes, always in the same order.
RUDDER_INLINE float sum_lanes(const Vector& lanes) noexcept {
    float half[8];
    for (std::size_t i = 0; i < 8; ++i)
        half[i] = lanes[i] + lanes[i + 8];
    const float a = (half[0] + half[4]) + (half[2] + half[6]);
    const float b = (half[1] + half[5]) + (half[3] + half[7]);
    return a + b;
}

RUDDER_INLINE void leak(Vector& x) noexcept {
    const Vector zero{};
    x = x > zero ? x : x * attention_slope;
}

/// a . b over the columns of one head.
RUDDER_INLINE float dot(const float* a, const float* b, std::size_t padded) noexcept {
    Vector sum{};
    for (std::size_t c = 0; c < padded; c += 16) {
        Vector x;
        Vector y;
        load(x, a + c);
        load(y, b + c);
        sum += x * y;
    }
    return sum_lanes(sum);
}

RUDDER_INLINE void prefetch_row(const float* row, std::size_t width) noexcept {
    for (std::size_t c = 0; c < width; c += 16)
        __builtin_prefetch(row + c);
}

/// The entries of one destination.
struct Entries {
    std::size_t first;  ///< number of the first entry
    std::size_t count;
    const LocalId* neighbours;  ///< of the entries after the first
    LocalId self;
    std::size_t fetchable;  ///< neighbours in the block's list from here on

    RUDDER_INLINE Entries(const Block& block, std::uint32_t d) noexcept
        : first(std::size_t{block.offsets[d]} + d),
          count(std::size_t{block.offsets[d + 1]} - block.offsets[d] + 1),
          neighbours(block.neighbours.data() + block.offsets[d]),
          self(d),
          fetchable(block.neighbours.size() - block.offsets[d]) {}
    [[nodiscard]] RUDDER_INLINE LocalId source(std::size_t i) const noexcept {
        return i == 0 ? self : neighbours[i - 1];
    }
    /// Asks for the row of a later entry, of this destination or of those after it.
    RUDDER_INLINE void prefetch(const ConstMatrix& table, std::size_t i) const noexcept {
        const std::size_t later = i + fetch_ahead;
        if (later < fetchable) prefetch_row(table.row(neighbours[later]), table.columns);
    }
};

/// Scores become weights: for each head e^(score - largest), over their sum.
RUDDER_INLINE void softmax(float* scores, std::size_t count, std::size_t heads) noexcept {
    for (std::size_t h = 0; h < heads; ++h) {
        float top = scores[h];
        for (std::size_t i = 1; i < count; ++i)
            top = scores[i * heads + h] > top ? scores[i * heads + h] : top;
        for (std::size_t i = 0; i < count; ++i)
            scores[i * heads + h] -= top;
    }
    const std::size_t all = count * heads;
    std::size_t i = 0;
    for (; i + 16 <= all; i += 16) {
        Vector x;
        load(x, scores + i);
        exp_in_place(x);
        store(scores + i, x);
    }
    if (i < all) {
        Vector x{};
        for (std::size_t j = i; j < all; ++j)
            x[j - i] = scores[j];
        exp_in_place(x);
        for (std::size_t j = i; j < all; ++j)
            scores[j] = x[j - i];
    }
    for (std::size_t h = 0; h < heads; ++h) {
        float sum = 0;
        for (std::size_t e = 0; e < count; ++e)
            sum += scores[e * heads + h];
        const float factor = 1.F / sum;
        for (std::size_t e = 0; e < count; ++e)
            scores[e * heads + h] *= factor;
    }
}

// ---- scores
// --------------------------------------------------------------------------------------

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

// ---- sums
// ----------------------------------------------------------------------------------------

/// Tiles of 16 columns of the weighted sum of a destination's entries, in registers.
template <std::size_t Tiles>
RUDDER_INLINE void sum_tiles(const Attention& a, const Entries& entries, std::size_t column,
                             float* out) noexcept {
    const std::size_t padded = a.heads.padded();
    std::size_t head[Tiles];
    Vector sums[Tiles];
    for (std::size_t t = 0; t < Tiles; ++t) {
        head[t] = (column + t * 16) / padded;
        sums[t] = Vector{};
    }
    for (std::size_t i = 0; i < entries.count; ++i) {
        entries.prefetch(a.values, i);
        const float* row = a.values.row(entries.source(i)) + column;
        const float* alpha = a.alphas + (entries.first + i) * a.heads.count;
#pragma GCC unroll 16
        for (std::size_t t = 0; t < Tiles; ++t) {
            Vector x;
            load(x, row + t * 16);
            sums[t] += x * alpha[head[t]];
        }
    }
    for (std::size_t t = 0; t < Tiles; ++t)
        store(out + column + t * 16, sums[t]);
}

/// Calls the widest body that fits, strip after strip.
template <class Body>
RUDDER_INLINE void over_strips(std::size_t width, const Body& body) noexcept {
    std::size_t column = 0;
    for (; width - column >= 256; column += 256)
        body.template strip<16>(column);
    for (; width - column >= 64; column += 64)
        body.template strip<4>(column);
    for (; column < width; column += 16)
        body.template strip<1>(column);
}

struct SumStrip {
    const Attention& a;
    const Entries& entries;
    float* out;
    template <std::size_t Tiles>
    RUDDER_INLINE void strip(std::size_t column) const noexcept {
        sum_tiles<Tiles>(a, entries, column, out);
    }
};

template <class Scores>
struct Attend {
    const Attention& a;
    const Scores& scores;
    std::uint32_t first;
    std::uint32_t last;
    Matrix sums;

    RUDDER_INLINE void run() const noexcept {
        for (std::uint32_t d = first; d < last; ++d) {
            const Entries entries(*a.block, d);
            float* alphas = a.alphas + entries.first * a.heads.count;
            score(a, scores, entries, alphas);
            softmax(alphas, entries.count, a.heads.count);
            over_strips(a.heads.width(), SumStrip{a, entries, sums.row(d - first)});
        }
    }
};

// ---- backward, by destination
// --------------------------------------------------------------------

/// Gradients of a destination's scores before the softmax.
RUDDER_INLINE void score_gradients(const Attention& a, const Entries& entries,
                                   const float* gradient) noexcept {
    const std::size_t heads = a.heads.count;
    const std::size_t padded = a.heads.padded();
    const float* alphas = a.alphas + entries.first * heads;
    float* deltas = a.deltas + entries.first * heads;
    for (std::size_t i = 0; i < entries.count; ++i) {
        entries.prefetch(a.values, i);
        const float* row = a.values.row(entries.source(i));
        for (std::size_t h = 0; h < heads; ++h)
            deltas[i * heads + h] = dot(gradient + h * padded, row + h * padded, padded);
    }
    for (std::size_t h = 0; h < heads; ++h) {
        float mean = 0;
        for (std::size_t i = 0; i < entries.count; ++i)
            mean += alphas[i * heads + h] * deltas[i * heads + h];
        for (std::size_t i = 0; i < entries.count; ++i)
            deltas[i * heads + h] = alphas[i * heads + h] * (deltas[i * heads + h] - mean);
    }
}

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

// ---- backward, by source
// -------------------------------------------------------------------------

/// Who reads a source: itself where it is a destination, then its readers.
struct Readers {
    const TransposedBlock& block;
    std::size_t begin;
    std::size_t end;
    std::size_t self_entry;
    std::uint32_t self;
    bool reads_itself;

    RUDDER_INLINE Readers(const Attention& a, const TransposedBlock& readers,
                          std::uint32_t s) noexcept
        : block(readers),
          begin(readers.offsets[s]),
          end(readers.offsets[s + std::size_t{1}]),
          self_entry(0),
          self(s),
          reads_itself(s < a.block->destinations) {
        if (reads_itself) self_entry = std::size_t{a.block->offsets[s]} + s;
    }
    /// The entry's number: those of destination d begin with itself.
    [[nodiscard]] RUDDER_INLINE std::size_t entry(std::size_t i) const noexcept {
        return std::size_t{block.edges[i]} + block.readers[i] + 1;
    }
    template <class Each>
    RUDDER_INLINE void each(const ConstMatrix& table, const Each& body) const noexcept {
        if (reads_itself) body(self, self_entry);
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t later = i + fetch_ahead;
            if (later < block.readers.size())
                prefetch_row(table.row(block.readers[later]), table.columns);
            body(block.readers[i], entry(i));
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

void attend(const Attention& attention, const DynamicScores& scores, std::uint32_t first,
            std::uint32_t last, const Matrix& sums) {
    run_kernel(Attend<DynamicScores>{attention, scores, first, last, sums});
}

void attend_backward(const Attention& attention, const AdditiveScores& scores,
                     const ConstMatrix& gradient, std::uint32_t first, std::uint32_t last,
                     float* destination_sums) {
    run_kernel(AdditiveBackward{attention, scores, gradient, first, last, destination_sums});
}

void attend_backward(const Attention& attention, const DynamicScores& scores,
                     const ConstMatrix& gradient, std::uint32_t first, std::uint32_t last,
                     const Matrix& back, float* vector_sums) {
    run_kernel(DynamicBackward{attention, scores, gradient, first, last, back, vector_sums});
}

void gather_attention(const Attention& attention, const TransposedBlock& readers,
                      const ConstMatrix& gradient, std::uint32_t first, std::uint32_t last,
                      float* source_sums, const Matrix& out) {
    run_kernel(AdditiveGather{attention, readers, gradient, first, last, source_sums, out});
}

void gather_attention(const Attention& attention, const DynamicScores& scores,
                      const TransposedBlock& readers, const ConstMatrix& gradient,
                      std::uint32_t first, std::uint32_t last, const Matrix& out) {
    run_kernel(DynamicGather{attention, scores, readers, gradient, first, last, out});
}

void finish_additive(const Heads& heads, const ScoreVectors& vectors,
                     const ConstMatrix& through_sums, const float* source_sums,
                     const float* destination_sums, std::size_t destinations, std::size_t first,
                     const Matrix& values) {
    run_kernel(FinishAdditive{heads, vectors, through_sums, source_sums, destination_sums,
                              destinations, first, values});
}

}  // namespace rudder
