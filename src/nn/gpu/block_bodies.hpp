// Sums over a block's neighbours, forward and (over the transposed block) backward.
#pragma once

#include "warp.hpp"

namespace rudder::nn {

/// One over the number of neighbours of each destination, 0 where there are none. An item is 32
/// destinations.
struct InverseCounts {
    const std::uint32_t* offsets;
    std::uint32_t destinations;
    float* inverse;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t item) const {
        warp.each([&](std::uint32_t lane) {
            const std::size_t d = item * warp_lanes + lane;
            if (d >= destinations) return;
            const std::uint32_t count = offsets[d + 1] - offsets[d];
            inverse[d] = count == 0 ? 0.F : 1.F / static_cast<float>(count);
        });
    }
};

/// The weights of graph convolution: c = 1 / sqrt(degree + 1) of the sources, its square, and of
/// destinations c times degree over the neighbours drawn. An item is 32 sources.
struct WeighBlock {
    const std::uint32_t* offsets;
    const std::uint32_t* degrees;
    std::uint32_t destinations;
    std::uint32_t sources;
    float* roots;
    float* shares;
    float* reach;

    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t item) const {
        warp.each([&](std::uint32_t lane) {
            const std::size_t s = item * warp_lanes + lane;
            if (s >= sources) return;
            const float degree = static_cast<float>(degrees[s]);
            const float root = 1.F / std::sqrt(degree + 1.F);
            roots[s] = root;
            shares[s] = root * root;
            if (s >= destinations) return;
            const std::uint32_t sampled = offsets[s + 1] - offsets[s];
            const float scale = sampled == 0 ? 0.F : degree / static_cast<float>(sampled);
            reach[s] = root * scale;
        });
    }
};

/// Row r of `out` becomes a sum over the rows of `table` that ids[offsets[r] .. offsets[r + 1])
/// name, in their order. All that is null is left out. An item is a row.
struct GatherSum {
    const std::uint32_t* offsets = nullptr;
    const std::uint32_t* ids = nullptr;
    const float* table = nullptr;
    std::uint32_t columns = 0;
    float* out = nullptr;
    /// The sum begins with these rows, of the first so many.
    const float* begin_rows = nullptr;
    std::uint32_t begin_count = 0;
    /// What each row of the table counts: by id, or by edge (its number, or what `places` says).
    const float* id_weights = nullptr;
    const float* edge_weights = nullptr;
    const std::uint32_t* places = nullptr;
    /// The sum is times this, by row; then this row times its factor is added, of the first so
    /// many.
    const float* factors = nullptr;
    const float* own_rows = nullptr;
    const float* own_factors = nullptr;
    std::uint32_t own_count = 0;
    /// Rows after rectifier and dropout, undone: times `scale` where above zero, else zero. May be
    /// `out`.
    const float* active = nullptr;
    float scale = 1;

    RUDDER_LANES float weight(std::size_t edge, std::uint32_t id) const {
        if (id_weights != nullptr) return id_weights[id];
        if (edge_weights == nullptr) return 1.F;
        return edge_weights[places == nullptr ? edge : places[edge]];
    }
    RUDDER_LANES float finish(float sum, std::size_t row, std::size_t at) const {
        if (factors != nullptr) sum *= factors[row];
        if (row < own_count) sum += own_rows[at] * own_factors[row];
        if (active != nullptr) sum = active[at] > 0.F ? sum * scale : 0.F;
        return sum;
    }
    template <class Warp>
    RUDDER_LANES void run(const Warp& warp, std::size_t row) const {
        const std::size_t begin = offsets[row];
        const std::size_t end = offsets[row + 1];
        const bool weighted = id_weights != nullptr || edge_weights != nullptr;
        warp.each([&](std::uint32_t lane) {
            for (std::size_t c = lane; c < columns; c += warp_lanes) {
                const std::size_t at = row * columns + c;
                float sum = row < begin_count ? begin_rows[at] : 0.F;
                if (weighted) {
#ifdef __CUDACC__
#pragma unroll 4
#endif
                    for (std::size_t e = begin; e < end; ++e) {
                        const std::uint32_t id = ids[e];
                        sum += table[std::size_t{id} * columns + c] * weight(e, id);
                    }
                } else {
#ifdef __CUDACC__
#pragma unroll 8
#endif
                    for (std::size_t e = begin; e < end; ++e)
                        sum += table[std::size_t{ids[e]} * columns + c];
                }
                out[at] = finish(sum, row, at);
            }
        });
    }
};

}  // namespace rudder::nn
