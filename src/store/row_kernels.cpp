// Compiled without contraction of multiply and add (see CMakeLists.txt), which would give the wider
// instruction sets other bits.
#include "row_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "graph/row_sum.hpp"
#include "rudder/core/check.hpp"

#include "instruction_sets.hpp"

namespace rudder::store {

namespace {

/// Half to float without a branch, so that it becomes vectors; the bits are f16_to_float's.
RUDDER_INLINE float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const std::uint32_t magnitude = static_cast<std::uint32_t>(half & 0x7fffU) << 13;
    const std::uint32_t exponent = magnitude & 0x0f800000U;
    const std::uint32_t normal = magnitude + (112U << 23);
    const std::uint32_t special = magnitude | 0x7f800000U;
    // A subnormal half: its digits behind a one of weight 2^-14, less that one.
    const float small = std::bit_cast<float>(magnitude + (113U << 23)) -
                        std::bit_cast<float>(std::uint32_t{113U << 23});
    // Masks, not conditions: those become branches.
    const std::uint32_t if_special = 0U - static_cast<std::uint32_t>(exponent == 0x0f800000U);
    const std::uint32_t if_small = 0U - static_cast<std::uint32_t>(exponent == 0);
    const std::uint32_t bits = (special & if_special) |
                               (std::bit_cast<std::uint32_t>(small) & if_small) |
                               (normal & ~(if_special | if_small));
    return std::bit_cast<float>(bits | sign);
}

/// float_to_bf16 without a branch.
RUDDER_INLINE std::uint16_t rounded(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t nearest = (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
    const std::uint32_t quiet = (bits >> 16) | 0x40U;
    return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? quiet : nearest);
}

struct FromF32 {
    using Stored = float;
    RUDDER_INLINE static float value(float v, const float*, std::size_t) { return v; }
};
struct FromF16 {
    using Stored = std::uint16_t;
    RUDDER_INLINE static float value(Stored v, const float*, std::size_t) {
        return half_to_float(v);
    }
};
struct FromBf16 {
    using Stored = std::uint16_t;
    RUDDER_INLINE static float value(Stored v, const float*, std::size_t) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16);
    }
};
struct FromI8 {
    using Stored = std::int8_t;
    RUDDER_INLINE static float value(Stored v, const float* scale, std::size_t i) {
        return static_cast<float>(v) * scale[i];
    }
};
struct FromU8 {
    using Stored = std::uint8_t;
    RUDDER_INLINE static float value(Stored v, const float*, std::size_t) {
        return static_cast<float>(v);
    }
};

template <class From>
RUDDER_INLINE void convert(const std::byte* __restrict row, const float* __restrict scale,
                           float* __restrict out, std::size_t width) {
    using Stored = typename From::Stored;
    for (std::size_t i = 0; i < width; ++i) {
        Stored value;
        std::memcpy(&value, row + i * sizeof(Stored), sizeof(Stored));
        out[i] = From::value(value, scale, i);
    }
}

RUDDER_INLINE void normalise(float* out, std::size_t width) {
    const float sum = graph::sum_of_magnitudes(out, width);
    if (sum == 0) return;
    for (std::size_t i = 0; i < width; ++i)
        out[i] /= sum;
}

template <class From>
RUDDER_INLINE void load_all(const RowRecipe& recipe, std::span<const std::byte* const> rows,
                            float* const* out) {
    const std::size_t width = recipe.width;
    const std::size_t bytes = width * sizeof(typename From::Stored);
    for (std::size_t i = 0; i < std::min(rows_ahead, rows.size()); ++i)
        fetch_ahead(rows[i], bytes);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i + rows_ahead < rows.size()) fetch_ahead(rows[i + rows_ahead], bytes);
        convert<From>(rows[i], recipe.scale, out[i], width);
        if (recipe.normalise) normalise(out[i], width);
        if (!recipe.round) continue;
        for (std::size_t k = 0; k < width; ++k) {
            out[i][k] = std::bit_cast<float>(static_cast<std::uint32_t>(rounded(out[i][k])) << 16);
        }
    }
}

// ---- the same loops for each instruction set ---------------------------------------------------

template <class From>
void load_baseline(const RowRecipe& recipe, std::span<const std::byte* const> rows,
                   float* const* out) {
    load_all<From>(recipe, rows, out);
}
RUDDER_INLINE void round_all(const float* __restrict values, std::byte* __restrict out,
                             std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint16_t bits = rounded(values[i]);
        std::memcpy(out + i * sizeof(bits), &bits, sizeof(bits));
    }
}
void round_baseline(const float* values, std::byte* out, std::size_t count) {
    round_all(values, out, count);
}

#ifdef __x86_64__

template <class From>
[[gnu::target("avx2")]] void load_avx2(const RowRecipe& recipe,
                                       std::span<const std::byte* const> rows, float* const* out) {
    load_all<From>(recipe, rows, out);
}
template <class From>
[[gnu::target(RUDDER_AVX512)]] void load_avx512(const RowRecipe& recipe,
                                                std::span<const std::byte* const> rows,
                                                float* const* out) {
    load_all<From>(recipe, rows, out);
}
[[gnu::target("avx2")]] void round_avx2(const float* values, std::byte* out, std::size_t count) {
    round_all(values, out, count);
}

bool has_avx2() {
    return __builtin_cpu_supports("avx2") != 0;
}
bool has_avx512() {
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
}

template <class From>
RowLoader loader_for(std::string_view instructions) {
    if (instructions == "avx512") return load_avx512<From>;
    if (instructions == "avx2") return load_avx2<From>;
    return load_baseline<From>;
}

#else

bool has_avx2() {
    return false;
}
bool has_avx512() {
    return false;
}
constexpr auto round_avx2 = round_baseline;

template <class From>
RowLoader loader_for(std::string_view) {
    return load_baseline<From>;
}

#endif

}  // namespace

std::vector<std::string_view> row_instruction_sets() {
    std::vector<std::string_view> sets{"baseline"};
    if (has_avx2()) sets.emplace_back("avx2");
    if (has_avx512()) sets.emplace_back("avx512");
    return sets;
}

RowLoader row_loader(const RowRecipe& recipe, std::string_view instructions) {
    switch (recipe.type) {
        case ElementType::f32:
            return loader_for<FromF32>(instructions);
        case ElementType::f16:
            return loader_for<FromF16>(instructions);
        case ElementType::bf16:
            return loader_for<FromBf16>(instructions);
        case ElementType::i8:
            return loader_for<FromI8>(instructions);
        default:
            RUDDER_CHECK(recipe.type == ElementType::u8);
            return loader_for<FromU8>(instructions);
    }
}

RowLoader row_loader(const RowRecipe& recipe) {
    return row_loader(recipe, row_instruction_sets().back());
}

void round_row(const float* values, std::byte* out, std::size_t count) {
    static const auto best = has_avx2() ? round_avx2 : round_baseline;
    best(values, out, count);
}

void pack_rows(std::span<const std::byte* const> rows, std::size_t row_bytes, std::byte* out) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i + rows_ahead < rows.size()) fetch_ahead(rows[i + rows_ahead], row_bytes);
        std::memcpy(out + i * row_bytes, rows[i], row_bytes);
    }
}

}  // namespace rudder::store
