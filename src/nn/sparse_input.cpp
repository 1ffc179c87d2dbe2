#include "sparse_input.hpp"

#include <algorithm>
#include <array>

#include "rudder/core/check.hpp"
#include "rudder/core/checked.hpp"
#include "rudder/core/parallel.hpp"

#include "dispatch.hpp"
#include "scratch.hpp"

namespace rudder::nn {

namespace {

/// Stretches of rows that are counted side by side. They do not show in the result.
constexpr std::size_t sparse_lanes = 8;
/// Columns whose weights' gradient is made and then turned round at a time.
constexpr std::size_t columns_at_once = 64;
/// How many entries ahead the rows of weights are fetched into the cache.
constexpr std::size_t entries_ahead = 4;

struct EntryList {
    const SparseEntry* begin;
    const SparseEntry* end;
};

/// Row i of `sums` becomes the sum over list i of value times the table's row of that number.
struct SumEntries {
    const EntryList* lists;
    ConstMatrix table;
    Matrix sums;

    template <std::size_t W, std::size_t Tiles>
    RUDDER_INLINE void sum_columns(std::size_t row, std::size_t column) const noexcept {
        using V = typename VectorOf<W>::Type;
        using Loose = typename VectorOf<W>::Loose;
        V total[Tiles];
        for (std::size_t t = 0; t < Tiles; ++t)
            total[t] = V{};
        const EntryList list = lists[row];
        for (const SparseEntry* e = list.begin; e != list.end; ++e) {
            if (column == 0) {
                const auto left = static_cast<std::size_t>(list.end - e) - 1;
                const float* later = table.row(e[std::min(entries_ahead, left)].column);
                for (std::size_t line = 0; line < table.columns; line += 16)
                    __builtin_prefetch(later + line);
            }
            const float* from = table.row(e->column) + column;
            const float value = e->value;
#pragma GCC unroll 16
            for (std::size_t t = 0; t < Tiles; ++t)
                total[t] += *reinterpret_cast<const Loose*>(from + t * W) * value;
        }
        for (std::size_t t = 0; t < Tiles; ++t)
            *reinterpret_cast<Loose*>(sums.row(row) + column + t * W) = total[t];
    }
    template <std::size_t W, std::size_t Tiles>
    RUDDER_INLINE void strips(std::size_t row, std::size_t& column) const noexcept {
        for (; table.columns - column >= W * Tiles; column += W * Tiles)
            sum_columns<W, Tiles>(row, column);
    }
    template <std::size_t W>
    RUDDER_INLINE void run() const noexcept {
        for (std::size_t row = 0; row < sums.rows; ++row) {
            std::size_t column = 0;
            if constexpr (W == 16) strips<W, 16>(row, column);
            strips<W, 8>(row, column);
            strips<W, 4>(row, column);
            strips<W, 2>(row, column);
            strips<W, 1>(row, column);
            if constexpr (W > 8) strips<8, 1>(row, column);
            if constexpr (W > 4) strips<4, 1>(row, column);
            strips<1, 1>(row, column);
        }
    }
};

/// to[j][i] = from[i][j], square by square.
void turn_round(const ConstMatrix& from, const Matrix& to) noexcept {
    constexpr std::size_t square = row_alignment;
    for (std::size_t i = 0; i < from.rows; i += square) {
        const std::size_t last = std::min(from.rows, i + square);
        for (std::size_t j = 0; j < from.columns; ++j) {
            float* out = to.row(j);
            for (std::size_t r = i; r < last; ++r)
                out[r] = from.row(r)[j];
        }
    }
}

/// Some columns of a matrix.
template <class M>
M columns_of(const M& matrix, std::size_t first, std::size_t count) noexcept {
    return {matrix.data + first, matrix.rows, count, matrix.stride};
}

template <class T>
void grow(Array<T>& array, std::size_t size) {
    if (array.size() < size) array = Array<T>::uninitialised(size);
}

/// Calls `f(first output, first padded output, outputs)` for every group; outputs that are not
/// filled up are one group.
template <class F>
void each_group(std::size_t outputs, LaneSums::Groups groups, F&& f) {
    if (groups.used == groups.padded) return f(0, 0, outputs);
    for (std::size_t g = 0; g * groups.used < outputs; ++g)
        f(g * groups.used, g * groups.padded, groups.used);
}

}  // namespace

void transpose_weights(const ConstMatrix& weights, LaneSums::Groups groups, const Matrix& out) {
    RUDDER_CHECK_NORMAL(out.rows == weights.columns &&
                        out.columns == padded_outputs(weights.rows, groups));
    parallel_chunks(weights.columns, columns_at_once, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        const Matrix to = out.part(chunk.begin, count);
        for (std::size_t r = 0; groups.used != groups.padded && r < count; ++r)
            std::fill_n(to.row(r), to.columns, 0.F);
        each_group(weights.rows, groups,
                   [&](std::size_t first, std::size_t padded, std::size_t outputs) {
                       turn_round(columns_of(weights.part(first, outputs), chunk.begin, count),
                                  columns_of(to, padded, outputs));
                   });
    });
}

void multiply_sparse(const SparseMatrix& rows, const ConstMatrix& weights, const Matrix& out) {
    RUDDER_CHECK_NORMAL(rows.columns == weights.rows && out.rows == rows.rows &&
                        out.columns == weights.columns);
    std::array<EntryList, chunk_rows> lists{};
    for (std::size_t first = 0; first < rows.rows; first += chunk_rows) {
        const std::size_t count = std::min(chunk_rows, rows.rows - first);
        for (std::size_t r = 0; r < count; ++r) {
            const auto row = rows.row(first + r);
            lists[r] = {row.data(), row.data() + row.size()};
        }
        run_kernel(SumEntries{lists.data(), weights, out.part(first, count)});
    }
}

void add_sparse(const Matrix& to, const SparseMatrix& rows) noexcept {
    for (std::size_t r = 0; r < to.rows; ++r) {
        for (const SparseEntry& entry : rows.row(r))
            to.row(r)[entry.column] += entry.value;
    }
}

void drop_sparse(const SparseMatrix& rows, const Dropout& dropout,
                 std::span<const VertexId> vertices, SparseEntry* out) noexcept {
    for (std::size_t r = 0; r < rows.rows; ++r, out += rows.stride) {
        SparseEntry* end = out + 1;
        for (const SparseEntry& entry : rows.row(r)) {
            if (dropout.keeps(vertices[r], entry.column))
                *end++ = {entry.column, entry.value * dropout.scale};
        }
        *out = {static_cast<std::uint32_t>(end - out - 1), 0};
    }
}

std::uint64_t SparseColumns::bytes_for(std::uint64_t columns, double non_zeros) noexcept {
    return (columns + 1 + sparse_lanes * columns) * sizeof(std::uint32_t) +
           static_cast<std::uint64_t>(non_zeros * 9 / 8) * sizeof(SparseEntry);
}

void SparseColumns::fill(const SparseMatrix& rows) {
    columns_ = rows.columns;
    const std::size_t lane_rows =
        std::max<std::size_t>(1, (rows.rows + sparse_lanes - 1) / sparse_lanes);
    const std::size_t lanes = chunk_count(rows.rows, lane_rows);
    grow(offsets_, columns_ + 1);
    grow(counts_, sparse_lanes * columns_);
    const auto over_lanes = [&](const auto& body) {
        parallel_chunks(rows.rows, lane_rows, [&](const Chunk& lane) {
            std::uint32_t* counts = counts_.data() + lane.index * columns_;
            for (std::size_t r = lane.begin; r < lane.end; ++r) {
                for (const SparseEntry& entry : rows.row(r))
                    body(counts[entry.column], r, entry.value);
            }
        });
    };
    std::fill_n(counts_.data(), lanes * columns_, 0U);
    over_lanes([](std::uint32_t& count, std::size_t, float) { ++count; });
    std::uint32_t total = 0;
    for (std::size_t c = 0; c < columns_; ++c) {
        offsets_[c] = total;
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            std::uint32_t& count = counts_[lane * columns_ + c];
            const std::uint32_t before = total;
            total = checked_add(total, count, "non-zeros of a batch");
            count = before;
        }
    }
    offsets_[columns_] = total;
    // A little more than is needed: the next batches are about as large.
    if (entries_.size() < total) grow(entries_, std::size_t{total} + total / 8);
    over_lanes([&](std::uint32_t& place, std::size_t r, float value) {
        entries_[place++] = {static_cast<std::uint32_t>(r), value};
    });
}

// NOLINTBEGIN(readability-non-const-parameter): written through a matrix
void SparseColumns::weight_gradient(const ConstMatrix& gradient, LaneSums::Groups groups,
                                    float* weights) const {
    // NOLINTEND(readability-non-const-parameter)
    const std::size_t outputs = gradient.columns / groups.padded * groups.used;
    const Matrix all{weights, outputs, columns_, columns_};
    parallel_chunks(columns_, columns_at_once, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        std::array<EntryList, columns_at_once> lists{};
        for (std::size_t c = 0; c < count; ++c) {
            const SparseEntry* begin = entries_.data() + offsets_[chunk.begin + c];
            const SparseEntry* end = entries_.data() + offsets_[chunk.begin + c + 1];
            lists[c] = {begin, std::partition_point(begin, end, [&](const SparseEntry& entry) {
                            return entry.column < gradient.rows;
                        })};
        }
        const Matrix sums = scratch_rows(Scratch::product, count, gradient.columns);
        run_kernel(SumEntries{lists.data(), gradient, sums});
        each_group(outputs, groups, [&](std::size_t first, std::size_t padded, std::size_t some) {
            turn_round(columns_of(sums, padded, some),
                       columns_of(all.part(first, some), chunk.begin, count));
        });
    });
}

}  // namespace rudder::nn
