#include "edge_rows.hpp"

#include <algorithm>

#include "scratch.hpp"

namespace rudder::nn {

namespace {

/// Writes the mean of the features of a destination's edges, added in their order.
void write_mean(const sample::Block& block, std::size_t columns, std::size_t d, float* mean) {
    std::fill_n(mean, columns, 0.F);
    const std::size_t begin = block.offsets[d];
    const std::size_t end = block.offsets[d + 1];
    if (begin == end) return;
    const float* row = block.features.data() + begin * columns;
    const bool shares = !block.shares.empty();
    for (std::size_t e = begin; e < end; ++e, row += columns) {
        const float share = shares ? block.shares[e] : 1.F;
        for (std::size_t c = 0; c < columns; ++c)
            mean[c] += row[c] * share;
    }
    if (shares) return;
    const float factor = 1.F / static_cast<float>(end - begin);
    for (std::size_t c = 0; c < columns; ++c)
        mean[c] *= factor;
}

}  // namespace

Matrix edge_means(const sample::Block& block, std::size_t columns, Rows rows) {
    const Matrix means = scratch_rows(Scratch::gathered, rows.count, columns);
    for (std::size_t r = 0; r < rows.count; ++r)
        write_mean(block, columns, rows.first + r, means.row(r));
    return means;
}

Matrix edge_entries(const sample::Block& block, std::size_t columns, Rows rows) {
    const Matrix entries = scratch_rows(Scratch::input, entries_of(block, rows).count, columns);
    std::size_t next = 0;
    for (std::size_t d = rows.first; d < rows.first + rows.count; ++d) {
        write_mean(block, columns, d, entries.row(next++));
        for (std::size_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e)
            std::copy_n(block.features.data() + e * columns, columns, entries.row(next++));
    }
    return entries;
}

}  // namespace rudder::nn
