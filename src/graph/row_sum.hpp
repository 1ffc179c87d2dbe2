// The sum that row normalisation divides by, in one fixed order of additions.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>

namespace rudder::graph {

/// The sum of the absolute values of a row. Column i goes to lane i mod 16, the lanes are added in
/// halves: the same bits whether the compiler makes vectors of 4, 8 or 16 of it.
[[gnu::always_inline]] inline float sum_of_magnitudes(const float* values,
                                                      std::size_t count) noexcept {
    constexpr std::size_t lanes = 16;
    std::array<float, lanes> sums{};
    std::size_t i = 0;
    for (; i + lanes <= count; i += lanes) {
        for (std::size_t k = 0; k < lanes; ++k)
            sums[k] += std::fabs(values[i + k]);
    }
    for (std::size_t k = 0; i + k < count; ++k)
        sums[k] += std::fabs(values[i + k]);
    for (std::size_t half = lanes / 2; half > 0; half /= 2) {
        for (std::size_t k = 0; k < half; ++k)
            sums[k] += sums[k + half];
    }
    return sums[0];
}

}  // namespace rudder::graph
