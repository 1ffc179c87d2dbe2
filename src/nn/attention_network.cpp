#include "attention_network.hpp"

#include <algorithm>

namespace rudder {

void AttentionNetwork::pack_heads(std::size_t parameter, const Heads& heads,
                                  const Matrix& out) const noexcept {
    const float* from = weights_of(parameter).data();
    for (std::size_t row = 0; row < out.rows; ++row) {
        const std::size_t column = row % heads.padded();
        if (column >= heads.columns) {
            std::fill_n(out.row(row), out.columns, 0.F);
            continue;
        }
        std::copy_n(from, out.columns, out.row(row));
        from += out.columns;
    }
}

void AttentionNetwork::unpack_heads(const Heads& heads, const float* from, float* out) noexcept {
    for (std::size_t h = 0; h < heads.count; ++h)
        std::copy_n(from + h * heads.padded(), heads.columns, out + h * heads.columns);
}

void AttentionNetwork::join_heads(std::size_t layer, const ConstMatrix& sums,
                                  const Matrix& out) const noexcept {
    const Heads all = heads(layer);
    const float share = 1.F / static_cast<float>(all.count);
    for (std::size_t r = 0; r < out.rows; ++r) {
        const float* from = sums.row(r);
        float* row = out.row(r);
        if (!last(layer)) {
            unpack_heads(all, from, row);
            continue;
        }
        std::copy_n(from, all.columns, row);
        for (std::size_t h = 1; h < all.count; ++h) {
            for (std::size_t c = 0; c < all.columns; ++c)
                row[c] += from[h * all.padded() + c];
        }
        for (std::size_t c = 0; c < all.columns; ++c)
            row[c] *= share;
    }
}

void AttentionNetwork::part_heads(std::size_t layer, const ConstMatrix& gradient,
                                  const Matrix& out) const noexcept {
    const Heads all = heads(layer);
    const bool mean = last(layer);
    const float share = mean ? 1.F / static_cast<float>(all.count) : 1.F;
    for (std::size_t r = 0; r < out.rows; ++r) {
        for (std::size_t h = 0; h < all.count; ++h) {
            const float* from = gradient.row(r) + (mean ? 0 : h * all.columns);
            float* row = out.row(r) + h * all.padded();
            for (std::size_t c = 0; c < all.columns; ++c)
                row[c] = from[c] * share;
            std::fill(row + all.columns, row + all.padded(), 0.F);
        }
    }
}

void AttentionNetwork::plan_readers(const Block& block, WorkspacePlan& memory, Offsets& offsets) {
    offsets.push_back(memory.add<std::uint32_t>(std::size_t{block.sources} + 1));
    offsets.push_back(memory.add<LocalId>(block.edges()));
    offsets.push_back(memory.add<std::uint32_t>(block.edges()));
}

TransposedBlock AttentionNetwork::find_readers(const Block& block, const Offsets& offsets,
                                               std::size_t at) {
    const TransposedBlock readers{
        {workspace().at<std::uint32_t>(offsets[at]), std::size_t{block.sources} + 1},
        {workspace().at<LocalId>(offsets[at + 1]), block.edges()},
        {workspace().at<std::uint32_t>(offsets[at + 2]), block.edges()}};
    transpose(block, readers);
    return readers;
}

}  // namespace rudder
