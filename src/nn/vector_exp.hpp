// The exponential of 16 floats at once, the same bits on every path.
#pragma once

#include <cstdint>

#include "dispatch.hpp"

namespace rudder::nn {

using Vector = VectorOf<16>::Type;
using LooseVector = VectorOf<16>::Loose;

/// x becomes e to the power of x, to about 1e-7 of it; below -87 it is that of -87, above 88 that
/// of
/// 88. Not-a-numbers stay.
RUDDER_INLINE void exp_in_place(Vector& x) noexcept {
    using Integers __attribute__((vector_size(64))) = std::int32_t;
    const Vector low = Vector{} - 87.F;
    const Vector high = Vector{} + 88.F;
    x = x < low ? low : x;
    x = x > high ? high : x;
    // x = n log 2 + r with n whole: adding a large number rounds.
    constexpr float rounder = 12582912.F;
    const Vector n = (x * 1.44269504088896341F + rounder) - rounder;
    const Vector r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
    Vector p = r * 1.9875691500e-4F + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * r * r + r + 1.F;
    const Integers exponent = (__builtin_convertvector(n, Integers) + 127) << 23;
    x = p * __builtin_bit_cast(Vector, exponent);
}

}  // namespace rudder::nn
