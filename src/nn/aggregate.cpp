#include "rudder/nn/aggregate.hpp"

#include <algorithm>
#include <utility>

#include "dispatch.hpp"

namespace rudder::nn {

namespace {

/// How many edges ahead the rows are fetched into the cache.
constexpr std::size_t fetch_ahead = 12;

/// A gather: output row i is made of the rows ids[offsets[i] .. offsets[i + 1]) of a table.
struct Gather {
    ConstMatrix table;
    const std::uint32_t* offsets;
    const LocalId* ids;
    std::size_t edges;               ///< of all outputs, for fetching ahead
    const float* weights = nullptr;  ///< of finishes that are weighted: by id, or by edge
};

/// By what the rows of a sum are multiplied.
enum class Weighing : std::uint8_t { none, by_id, by_edge };

/// What becomes of a sum before it is written; one per kernel.
struct MeanFinish {
    static constexpr bool begins_with_own = false;
    static constexpr Weighing weighing = Weighing::none;
    const std::uint32_t* offsets;

    RUDDER_INLINE static const float* own(std::size_t) noexcept { return nullptr; }
    template <std::size_t W>
    RUDDER_INLINE void apply(typename VectorOf<W>::Type& sum, std::size_t row,
                             std::size_t) const noexcept {
        const std::uint32_t count = offsets[row + 1] - offsets[row];
        const float factor = count == 0 ? 0.F : 1.F / static_cast<float>(count);
        sum = sum * factor;
    }
};

/// What flows back through rectifier and dropout.
template <std::size_t W>
RUDDER_INLINE void undo_rectifier(typename VectorOf<W>::Type& sum, const ActiveRows& active,
                                  std::size_t row, std::size_t column) noexcept {
    if (active.data == nullptr) return;
    using V = typename VectorOf<W>::Type;
    const V value = *reinterpret_cast<const typename VectorOf<W>::Loose*>(
        active.data + row * active.stride + column);
    const V zero{};
    sum = value > zero ? sum * active.scale : zero;
}

template <Weighing by>
struct GradientFinish {
    static constexpr bool begins_with_own = true;
    static constexpr Weighing weighing = by;
    const GradientOfSources* gradient;

    [[nodiscard]] RUDDER_INLINE const float* own(std::size_t row) const noexcept {
        return row < gradient->own.rows ? gradient->own.row(row) : nullptr;
    }
    template <std::size_t W>
    RUDDER_INLINE void apply(typename VectorOf<W>::Type& sum, std::size_t row,
                             std::size_t column) const noexcept {
        undo_rectifier<W>(sum, gradient->active, row, column);
    }
};

/// Shares add up to one already.
struct ShareFinish {
    static constexpr bool begins_with_own = false;
    static constexpr Weighing weighing = Weighing::by_edge;

    RUDDER_INLINE static const float* own(std::size_t) noexcept { return nullptr; }
    template <std::size_t W>
    RUDDER_INLINE void apply(typename VectorOf<W>::Type&, std::size_t, std::size_t) const noexcept {
    }
};

struct WeightedFinish {
    static constexpr bool begins_with_own = false;
    static constexpr Weighing weighing = Weighing::by_id;
    const WeightedRows* rows;

    RUDDER_INLINE static const float* own(std::size_t) noexcept { return nullptr; }
    template <std::size_t W>
    RUDDER_INLINE void apply(typename VectorOf<W>::Type& sum, std::size_t row,
                             std::size_t column) const noexcept {
        sum = sum * rows->factors[row];
        if (row < rows->own.rows) {
            // Copied: a reference would forget that the row need not be aligned.
            const typename VectorOf<W>::Type own_row =
                *reinterpret_cast<const typename VectorOf<W>::Loose*>(rows->own.row(row) + column);
            sum += own_row * rows->own_factors[row];
        }
        undo_rectifier<W>(sum, rows->active, row, column);
    }
};

/// Tiles x W columns of one output row, from `column` on, summed in registers.
template <std::size_t W, std::size_t Tiles, class Finish>
RUDDER_INLINE void sum_columns(const Gather& gather, const Finish& finish, std::size_t row,
                               std::size_t column, float* out) noexcept {
    using V = typename VectorOf<W>::Type;
    using Loose = typename VectorOf<W>::Loose;
    V sums[Tiles];
    const float* own = finish.own(row);
    for (std::size_t t = 0; t < Tiles; ++t) {
        sums[t] = V{};
        if (Finish::begins_with_own && own != nullptr) {
            sums[t] = *reinterpret_cast<const Loose*>(own + column + t * W);
        }
    }
    const std::size_t end = gather.offsets[row + 1];
    for (std::size_t e = gather.offsets[row]; e < end; ++e) {
        if (column == 0) {
            // All of the row: the strips that follow find it in the cache.
            const std::size_t later = std::min(e + fetch_ahead, gather.edges - 1);
            const float* next = gather.table.row(gather.ids[later]);
            for (std::size_t line = 0; line < gather.table.columns; line += 16)
                __builtin_prefetch(next + line);
        }
        const float* from = gather.table.row(gather.ids[e]) + column;
        [[maybe_unused]] float weight = 1;
        if constexpr (Finish::weighing == Weighing::by_id) weight = gather.weights[gather.ids[e]];
        if constexpr (Finish::weighing == Weighing::by_edge) weight = gather.weights[e];
#pragma GCC unroll 16
        for (std::size_t t = 0; t < Tiles; ++t) {
            if constexpr (Finish::weighing != Weighing::none) {
                sums[t] += *reinterpret_cast<const Loose*>(from + t * W) * weight;
            } else {
                sums[t] += *reinterpret_cast<const Loose*>(from + t * W);
            }
        }
    }
    for (std::size_t t = 0; t < Tiles; ++t) {
        const std::size_t at = column + t * W;
        finish.template apply<W>(sums[t], row, at);
        *reinterpret_cast<Loose*>(out + at) = sums[t];
    }
}

/// As many strips of Tiles x W columns as fit from `column` on.
template <std::size_t W, std::size_t Tiles, class Finish>
RUDDER_INLINE void sum_strips(const Gather& gather, const Finish& finish, std::size_t row,
                              std::size_t& column, float* out) noexcept {
    for (; gather.table.columns - column >= W * Tiles; column += W * Tiles)
        sum_columns<W, Tiles>(gather, finish, row, column, out);
}

template <class Finish>
struct SumRows {
    Gather gather;
    Finish finish;
    std::size_t first;
    std::size_t last;
    Matrix sums;

    template <std::size_t W>
    RUDDER_INLINE void run() const noexcept {
        for (std::size_t row = first; row < last; ++row) {
            float* out = sums.row(row - first);
            std::size_t column = 0;
            if constexpr (W == 16) sum_strips<W, 16>(gather, finish, row, column, out);
            sum_strips<W, 8>(gather, finish, row, column, out);
            sum_strips<W, 4>(gather, finish, row, column, out);
            sum_strips<W, 2>(gather, finish, row, column, out);
            sum_strips<W, 1>(gather, finish, row, column, out);
            if constexpr (W > 8) sum_strips<8, 1>(gather, finish, row, column, out);
            if constexpr (W > 4) sum_strips<4, 1>(gather, finish, row, column, out);
            sum_strips<1, 1>(gather, finish, row, column, out);
        }
    }
};

}  // namespace

void mean_of_neighbours(const sample::Block& block, const ConstMatrix& table, std::uint32_t first,
                        std::uint32_t last, const Matrix& means) noexcept {
    const Gather gather{table, block.offsets.data(), block.neighbours.data(),
                        block.neighbours.size()};
    run_kernel(SumRows<MeanFinish>{gather, {block.offsets.data()}, first, last, means});
}

void share_of_neighbours(const sample::Block& block, const ConstMatrix& table, std::uint32_t first,
                         std::uint32_t last, const Matrix& means) noexcept {
    const Gather gather{table, block.offsets.data(), block.neighbours.data(),
                        block.neighbours.size(), block.shares.data()};
    run_kernel(SumRows<ShareFinish>{gather, {}, first, last, means});
}

void transpose(const sample::Block& block, const TransposedBlock& out) noexcept {
    const bool with_edges = !out.edges.empty();
    // Counts shifted by one place, then starts, which move to the ends while filling.
    std::ranges::fill(out.offsets, 0U);
    std::uint32_t* starts = out.offsets.data() + 1;
    for (const LocalId source : block.neighbours)
        if (source + 1 < block.sources) ++starts[source + 1];
    for (std::uint32_t s = 1; s < block.sources; ++s)
        starts[s] += starts[s - 1];
    for (std::uint32_t d = 0; d < block.destinations; ++d) {
        for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
            const std::uint32_t place = starts[block.neighbours[e]]++;
            out.readers[place] = d;
            if (with_edges) out.edges[place] = e;
        }
    }
}

void gather_gradient(const TransposedBlock& block, const GradientOfSources& gradient,
                     std::uint32_t first, std::uint32_t last, const Matrix& out) noexcept {
    const Gather gather{gradient.readers, block.offsets.data(), block.readers.data(),
                        block.readers.size(), gradient.shares};
    if (gradient.shares != nullptr) {
        run_kernel(
            SumRows<GradientFinish<Weighing::by_edge>>{gather, {&gradient}, first, last, out});
    } else {
        run_kernel(SumRows<GradientFinish<Weighing::none>>{gather, {&gradient}, first, last, out});
    }
}

void weighted_sum(std::span<const std::uint32_t> offsets, std::span<const LocalId> ids,
                  const WeightedRows& rows, std::uint32_t first, std::uint32_t last,
                  const Matrix& out) noexcept {
    const Gather gather{rows.table, offsets.data(), ids.data(), ids.size(), rows.weights};
    run_kernel(SumRows<WeightedFinish>{gather, {&rows}, first, last, out});
}

void divide_by_neighbours(const sample::Block& block, std::uint32_t first, std::uint32_t last,
                          const Matrix& rows) noexcept {
    for (std::uint32_t d = first; d < last; ++d) {
        const std::uint32_t count = block.offsets[d + 1] - block.offsets[d];
        const float factor = count == 0 ? 0.F : 1.F / static_cast<float>(count);
        float* row = rows.row(d - first);
        for (std::size_t c = 0; c < rows.columns; ++c)
            row[c] *= factor;
    }
}

}  // namespace rudder::nn
