// What kernels are written in: bodies that 32 lanes run side by side. nvcc compiles them for the
// GPU, the C++ compiler for the twin, from the same lines.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define RUDDER_LANES __device__ __forceinline__
#else
#define RUDDER_LANES inline
#endif

namespace rudder::nn {

/// Lanes of a warp. A body is a struct of numbers and pointers into the device's memory, with
/// `template <class Warp> void run(const Warp& warp, std::size_t item) const`: warp `item` of as
/// many as were asked for. A warp has
///   each(f): f(lane) on every lane; what one lane wrote the others see afterwards;
///   sum(f), most(f), least(f): of f(lane) over the lanes, the same on all of them, always in the
///   same order.
/// Nothing but these goes from one lane to another, and nothing from one warp to another: so there
/// are no atomics, and bits do not depend on who runs when.
inline constexpr std::uint32_t warp_lanes = 32;

/// Pieces of `per_piece` that `count` makes, the last one perhaps smaller.
[[nodiscard]] RUDDER_LANES constexpr std::size_t pieces_of(std::size_t count,
                                                           std::size_t per_piece) noexcept {
    return (count + per_piece - 1) / per_piece;
}

/// e to the power of x, as exp_in_place of the vectors: the same bits on GPU and CPU.
RUDDER_LANES float lane_exp(float x) {
    x = x < -87.F ? -87.F : x;
    x = x > 88.F ? 88.F : x;
    const float rounder = 12582912.F;
    const float n = (x * 1.44269504088896341F + rounder) - rounder;
    const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
    float p = r * 1.9875691500e-4F + 1.3981999507e-3F;
    p = p * r + 8.3334519073e-3F;
    p = p * r + 4.1665795894e-2F;
    p = p * r + 1.6666665459e-1F;
    p = p * r + 5.0000001201e-1F;
    p = p * r * r + r + 1.F;
    if (!(x == x)) return x;
    union {
        std::int32_t bits;
        float value;
    } power{};
    power.bits = static_cast<std::int32_t>(
        (static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127)) << 23);
    return p * power.value;
}

/// Four words of 32 random bits.
struct LaneWords {
    std::uint32_t word[4];
};

/// Philox 4x32-10, as core/random.hpp has it.
RUDDER_LANES LaneWords lane_philox(std::uint32_t c0, std::uint32_t c1, std::uint32_t c2,
                                   std::uint32_t k0, std::uint32_t k1) {
    std::uint32_t c3 = 0;
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t p0 = std::uint64_t{0xD2511F53U} * c0;
        const std::uint64_t p1 = std::uint64_t{0xCD9E8D57U} * c2;
        c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
        c1 = static_cast<std::uint32_t>(p1);
        c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
        c3 = static_cast<std::uint32_t>(p0);
        k0 += 0x9E3779B9U;
        k1 += 0xBB67AE85U;
    }
    return {{c0, c1, c2, c3}};
}

/// What is dropped of a row: as Dropout, whose members these are.
struct LaneDropout {
    std::uint32_t key[2] = {0, 0};
    std::uint32_t threshold = 0;
    float scale = 1;
};

/// Columns that one round of a warp's draws serves, and those of one lane among them.
inline constexpr std::size_t drawn_columns = 128;
inline constexpr std::size_t lane_columns = 4;

/// Runs f(column, keep) for the columns of a row that are this lane's: a lane's block of draws
/// serves four columns, 16 apart. As ColumnDraws says which bits are which column's.
template <class F>
RUDDER_LANES void over_drawn_columns(std::uint32_t lane, std::size_t columns,
                                     const LaneDropout& dropout, std::uint64_t vertex, const F& f) {
    const std::uint32_t block = lane % 16;
    const std::uint32_t half = lane / 16;
    for (std::size_t begin = 0; begin < columns; begin += drawn_columns) {
        const std::size_t first = begin + std::size_t{half} * 64 + block;
        if (first >= columns) continue;
        LaneWords words{};
        if (dropout.threshold != 0) {
            const auto index = static_cast<std::uint32_t>(begin / drawn_columns * 16 + block);
            words = lane_philox(static_cast<std::uint32_t>(vertex),
                                static_cast<std::uint32_t>(vertex >> 32), index, dropout.key[0],
                                dropout.key[1]);
        }
        for (std::uint32_t w = 0; w < lane_columns; ++w) {
            const std::size_t column = first + std::size_t{16} * w;
            if (column >= columns) continue;
            const std::uint32_t bits = (words.word[w] >> (half == 0 ? 0U : 16U)) & 0xFFFFU;
            f(column, bits >= dropout.threshold);
        }
    }
}

}  // namespace rudder::nn
