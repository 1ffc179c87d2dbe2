// The kernels of attention: scores and their gradients for each kind, the rest for both.
#include <concepts>
#include <type_traits>

#include "attention_kernels.hpp"

namespace rudder::nn {

namespace {

// ---- additive scores (GAT) ---------------------------------------------------------------------

/// What edges add to the scores of an entry; null: nothing.
RUDDER_INLINE const float* edge_part(const AdditiveScores&, std::size_t) noexcept {
    return nullptr;
}
RUDDER_INLINE const float* edge_part(const EdgeAdditiveScores& scores, std::size_t slot) noexcept {
    return scores.of_edge + slot;
}

template <std::derived_from<AdditiveScores> Scores>
RUDDER_INLINE void score(const Attention& a, const Scores& scores,
                         const Entries<Scores::loops>& entries, float* out) noexcept {
    const std::size_t heads = a.heads.count;
    const float* own = scores.of_destination + entries.self * heads;
    for (std::size_t i = 0; i < entries.count; ++i) {
        const float* theirs = scores.of_source + entries.source(i) * heads;
        const float* edge = edge_part(scores, (entries.first + i) * heads);
        for (std::size_t h = 0; h < heads; ++h) {
            const float x = edge == nullptr ? theirs[h] + own[h] : theirs[h] + own[h] + edge[h];
            out[i * heads + h] = x > 0.F ? x : x * attention_slope;
        }
    }
}

/// Gradients of the scores become those before the leaky rectifier, and are summed.
template <std::derived_from<AdditiveScores> Scores>
RUDDER_INLINE void score_back(const Attention& a, const Scores& scores,
                              const Entries<Scores::loops>& entries) noexcept {
    const std::size_t heads = a.heads.count;
    float* deltas = a.deltas + entries.first * heads;
    float* sums = scores.destination_sums + entries.self * heads;
    const float* own = scores.of_destination + entries.self * heads;
    for (std::size_t h = 0; h < heads; ++h)
        sums[h] = 0;
    for (std::size_t i = 0; i < entries.count; ++i) {
        const float* theirs = scores.of_source + entries.source(i) * heads;
        const float* edge = edge_part(scores, (entries.first + i) * heads);
        for (std::size_t h = 0; h < heads; ++h) {
            const float x = edge == nullptr ? theirs[h] + own[h] : theirs[h] + own[h] + edge[h];
            if (!(x > 0.F)) deltas[i * heads + h] *= attention_slope;
            sums[h] += deltas[i * heads + h];
        }
    }
}

/// The values' gradient through the sums, and what finish_additive needs for the rest: the sums of
/// the source's deltas.
template <SelfLoops loops>
RUDDER_INLINE void gather_source(const Attention& a, const AdditiveScores& scores,
                                 const Readers<loops>& readers, const ConstMatrix& gradient,
                                 float* out) noexcept {
    over_columns(a, readers, gradient, WeightedSum{a, gradient, out});
    const std::size_t heads = a.heads.count;
    float* sums = scores.source_sums + readers.self * heads;
    for (std::size_t h = 0; h < heads; ++h)
        sums[h] = readers.reads_itself ? a.deltas[readers.self_entry * heads + h] : 0.F;
    for (std::size_t i = readers.begin; i < readers.end; ++i) {
        for (std::size_t h = 0; h < heads; ++h)
            sums[h] += a.deltas[readers.entry(i) * heads + h];
    }
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

/// The row of an entry's edge.
RUDDER_INLINE float* edge_row(const EdgeDynamicScores& scores, std::size_t entry) noexcept {
    return scores.of_edge.row(entry - scores.first_entry);
}
/// Adds it to 16 columns of a sum; where edges have none, nothing.
RUDDER_INLINE void add_edge(const DynamicScores&, std::size_t, std::size_t, Vector&) noexcept {}
RUDDER_INLINE void add_edge(const EdgeDynamicScores& scores, std::size_t entry, std::size_t column,
                            Vector& sum) noexcept {
    Vector x;
    load(x, edge_row(scores, entry) + column);
    sum += x;
}

template <std::derived_from<DynamicScores> Scores>
RUDDER_INLINE void score(const Attention& a, const Scores& scores,
                         const Entries<Scores::loops>& entries, float* out) noexcept {
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
                add_edge(scores, entries.first + i, c, x);
                leak(x);
                load(y, scores.vector + c);
                sum += x * y;
            }
            out[i * a.heads.count + h] = sum_lanes(sum);
        }
    }
}

/// The gradients that a destination's row, the vector and rows of edges get through the scores.
template <class Scores>
struct DynamicBack {
    static constexpr std::size_t most_tiles = 4;
    struct Tile {
        Vector own;
        Vector sum;
        Vector vector;
    };
    const Attention& a;
    const Scores& scores;
    LocalId self;

    RUDDER_INLINE void begin(Tile& tile, std::size_t column) const noexcept {
        load(tile.own, scores.of_destination.row(self) + column);
        load(tile.vector, scores.vector_sums + column);
        tile.sum = Vector{};
    }
    RUDDER_INLINE void add(Tile& tile, std::size_t column, LocalId id,
                           std::size_t slot) const noexcept {
        Vector x;
        Vector slope;
        load(x, a.values.row(id) + column);
        x += tile.own;
        add_edge(scores, slot / a.heads.count, column, x);
        leak_back(slope, x, a.deltas[slot]);
        tile.sum += slope;
        tile.vector += x * slope;
        if constexpr (std::is_same_v<Scores, EdgeDynamicScores>) {
            Vector vector;
            load(vector, scores.vector + column);
            store(edge_row(scores, slot / a.heads.count) + column, slope * vector);
        }
    }
    RUDDER_INLINE void finish(const Tile& tile, std::size_t column) const noexcept {
        Vector vector;
        load(vector, scores.vector + column);
        store(scores.back.row(self) + column, tile.sum * vector);
        store(scores.vector_sums + column, tile.vector);
    }
};
template <std::derived_from<DynamicScores> Scores>
RUDDER_INLINE void score_back(const Attention& a, const Scores& scores,
                              const Entries<Scores::loops>& entries) noexcept {
    const ConstMatrix none{};  // the rows are in the cache already
    over_columns(a, entries, none, DynamicBack<Scores>{a, scores, entries.self});
}

/// The gradient of a source's values through the sums and through the scores.
struct DynamicGather {
    static constexpr std::size_t most_tiles = 4;
    struct Tile {
        WeightedSum::Tile values;
        Vector own;
        Vector slopes;
    };
    WeightedSum values;
    const DynamicScores& scores;
    const float* own;

    RUDDER_INLINE void begin(Tile& tile, std::size_t column) const noexcept {
        values.begin(tile.values, column);
        load(tile.own, own + column);
        tile.slopes = Vector{};
    }
    RUDDER_INLINE void add(Tile& tile, std::size_t column, LocalId id,
                           std::size_t slot) const noexcept {
        Vector x;
        Vector slope;
        values.add(tile.values, column, id, slot);
        load(x, scores.of_destination.row(id) + column);
        x += tile.own;
        leak_back(slope, x, values.a.deltas[slot]);
        tile.slopes += slope;
    }
    RUDDER_INLINE void finish(const Tile& tile, std::size_t column) const noexcept {
        Vector vector;
        load(vector, scores.vector + column);
        store(values.out + column, tile.values.sum + tile.slopes * vector);
    }
};
/// The same where scores read rows of edges, too, whose gradients are there.
struct EdgeDynamicGather {
    static constexpr std::size_t most_tiles = 4;
    using Tile = WeightedSum::Tile;
    WeightedSum values;
    const EdgeDynamicScores& scores;

    RUDDER_INLINE void begin(Tile& tile, std::size_t column) const noexcept {
        values.begin(tile, column);
    }
    RUDDER_INLINE void add(Tile& tile, std::size_t column, LocalId id,
                           std::size_t slot) const noexcept {
        Vector x;
        values.add(tile, column, id, slot);
        load(x, edge_row(scores, slot / values.a.heads.count) + column);
        tile.sum += x;
    }
    RUDDER_INLINE void finish(const Tile& tile, std::size_t column) const noexcept {
        values.finish(tile, column);
    }
};
template <SelfLoops loops>
RUDDER_INLINE void gather_source(const Attention& a, const EdgeDynamicScores& scores,
                                 const Readers<loops>& readers, const ConstMatrix& gradient,
                                 float* out) noexcept {
    over_columns(a, readers, gradient, EdgeDynamicGather{{a, gradient, out}, scores});
}
// NOLINTBEGIN(readability-non-const-parameter): written through the gather
template <SelfLoops loops>
RUDDER_INLINE void gather_source(const Attention& a, const DynamicScores& scores,
                                 const Readers<loops>& readers, const ConstMatrix& gradient,
                                 float* out) noexcept {
    // NOLINTEND(readability-non-const-parameter)
    over_columns(a, readers, gradient,
                 DynamicGather{{a, gradient, out}, scores, a.values.row(readers.self)});
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
            const Entries<Scores::loops> entries(*a.block, static_cast<LocalId>(rows.first + r));
            float* alphas = a.alphas + entries.first * a.heads.count;
            score(a, scores, entries, alphas);
            if (Scores::loops == SelfLoops::yes || entries.count > 0)
                softmax(alphas, entries.count, a.heads.count);
            over_columns(a, entries, a.values, WeightedSum{a, a.values, sums.row(r)});
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
            const Entries<Scores::loops> entries(*a.block, static_cast<LocalId>(d));
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
            const Readers<Scores::loops> own(a, readers, static_cast<LocalId>(rows.first + r));
            gather_source(a, scores, own, gradient, out.row(r));
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

#define RUDDER_ATTEND_BY(Scores)                                                              \
    template void attend(const Attention&, const Scores&, Rows, const Matrix&);               \
    template void attend_backward(const Attention&, const Scores&, const ConstMatrix&, Rows); \
    template void gather_attention(const Attention&, const Scores&, const TransposedBlock&,   \
                                   const ConstMatrix&, Rows, const Matrix&)
RUDDER_ATTEND_BY(AdditiveScores);
RUDDER_ATTEND_BY(RelationScores);
RUDDER_ATTEND_BY(EdgeAdditiveScores);
RUDDER_ATTEND_BY(DynamicScores);
RUDDER_ATTEND_BY(EdgeDynamicScores);
#undef RUDDER_ATTEND_BY

}  // namespace rudder::nn
