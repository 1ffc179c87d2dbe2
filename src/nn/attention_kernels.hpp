// What the kernels of both kinds of attention share: entries, readers, softmax, weighted sums.
#pragma once

#include <algorithm>

#include "attention.hpp"
#include "vector_exp.hpp"

namespace rudder::nn {

/// How many entries ahead rows are fetched into the cache.
constexpr std::size_t entries_ahead = 8;

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
/// delta times the slope of the leaky rectifier at x.
RUDDER_INLINE void leak_back(Vector& slope, const Vector& x, float delta) noexcept {
    const Vector zero{};
    const Vector full = zero + delta;
    slope = x > zero ? full : full * attention_slope;
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
template <SelfLoops loops>
struct Entries {
    static constexpr std::size_t own = loops == SelfLoops::yes ? 1 : 0;  ///< entries before others
    std::size_t first;  ///< number of the first entry
    std::size_t count;
    const LocalId* neighbours;  ///< of the entries after its own
    LocalId self;
    std::size_t fetchable;  ///< neighbours in the block's list from here on

    RUDDER_INLINE Entries(const sample::Block& block, std::uint32_t d) noexcept
        : first(std::size_t{block.offsets[d]} + own * d),
          count(std::size_t{block.offsets[d + 1]} - block.offsets[d] + own),
          neighbours(block.neighbours.data() + block.offsets[d]),
          self(d),
          fetchable(block.neighbours.size() - block.offsets[d]) {}
    [[nodiscard]] RUDDER_INLINE LocalId source(std::size_t i) const noexcept {
        return i < own ? self : neighbours[i - own];
    }
    /// Asks for the row of a later entry, of this destination or of those after it.
    RUDDER_INLINE void prefetch(const ConstMatrix& table, std::size_t i) const noexcept {
        const std::size_t later = i + entries_ahead;
        if (later < fetchable) prefetch_row(table.row(neighbours[later]), table.columns);
    }
    template <class Each>
    RUDDER_INLINE void each(const ConstMatrix& table, const Each& body) const noexcept {
        for (std::size_t i = 0; i < count; ++i) {
            prefetch(table, i);
            body(source(i), first + i);
        }
    }
};

/// Who reads a source: itself where it is a destination that does, then its readers.
template <SelfLoops loops>
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
          reads_itself(loops == SelfLoops::yes && s < a.block->destinations) {
        if (reads_itself) self_entry = std::size_t{a.block->offsets[s]} + s;
    }
    /// The entry's number: with loops those of destination d begin with itself.
    [[nodiscard]] RUDDER_INLINE std::size_t entry(std::size_t i) const noexcept {
        if constexpr (loops == SelfLoops::no) return block.edges[i];
        return std::size_t{block.edges[i]} + block.readers[i] + 1;
    }
    template <class Each>
    RUDDER_INLINE void each(const ConstMatrix& table, const Each& body) const noexcept {
        if (reads_itself) body(self, self_entry);
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t later = i + entries_ahead;
            if (later < block.readers.size())
                prefetch_row(table.row(block.readers[later]), table.columns);
            body(block.readers[i], entry(i));
        }
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

/// Tiles of 16 columns, side by side in registers, over all that `who` has: the entries of a
/// destination or the readers of a source. `Sums` says what a tile adds up.
template <std::size_t Tiles, class Who, class Sums>
RUDDER_INLINE void sum_tiles(const Attention& a, const Who& who, const ConstMatrix& fetched,
                             const Sums& sums, std::size_t column) noexcept {
    const std::size_t padded = a.heads.padded();
    std::size_t head[Tiles];
    typename Sums::Tile tiles[Tiles];
    for (std::size_t t = 0; t < Tiles; ++t) {
        head[t] = (column + t * 16) / padded;
        sums.begin(tiles[t], column + t * 16);
    }
    who.each(
        fetched, [&](LocalId id, std::size_t entry) __attribute__((always_inline)) {
#pragma GCC unroll 16
            for (std::size_t t = 0; t < Tiles; ++t)
                sums.add(tiles[t], column + t * 16, id, entry * a.heads.count + head[t]);
        });
    for (std::size_t t = 0; t < Tiles; ++t)
        sums.finish(tiles[t], column + t * 16);
}

/// All columns, as many tiles at a time as fit; rows of `fetched` are fetched ahead.
template <class Who, class Sums>
RUDDER_INLINE void over_columns(const Attention& a, const Who& who, const ConstMatrix& fetched,
                                const Sums& sums) noexcept {
    const std::size_t width = a.heads.width();
    std::size_t column = 0;
    if constexpr (Sums::most_tiles == 16) {
        for (; width - column >= 256; column += 256)
            sum_tiles<16>(a, who, fetched, sums, column);
    }
    for (; width - column >= 64; column += 64)
        sum_tiles<4>(a, who, fetched, sums, column);
    for (; column < width; column += 16)
        sum_tiles<1>(a, who, fetched, sums, column);
}

/// The sum of rows by their weights.
struct WeightedSum {
    static constexpr std::size_t most_tiles = 16;  ///< as many as there are registers for
    struct Tile {
        Vector sum;
    };
    const Attention& a;
    const ConstMatrix& table;
    float* out;

    RUDDER_INLINE void begin(Tile& tile, std::size_t) const noexcept { tile.sum = Vector{}; }
    RUDDER_INLINE void add(Tile& tile, std::size_t column, LocalId id,
                           std::size_t slot) const noexcept {
        Vector x;
        load(x, table.row(id) + column);
        tile.sum += x * a.alphas[slot];
    }
    RUDDER_INLINE void finish(const Tile& tile, std::size_t column) const noexcept {
        store(out + column, tile.sum);
    }
};

/// Gradients of a destination's scores before the softmax.
template <SelfLoops loops>
RUDDER_INLINE void score_gradients(const Attention& a, const Entries<loops>& entries,
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

}  // namespace rudder::nn
