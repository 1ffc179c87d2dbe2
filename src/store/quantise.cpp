// Compiled without contraction of multiply and add (see CMakeLists.txt), which would give the wider
// instruction sets other bits.
#include "quantise.hpp"

#include <array>
#include <cstring>

#include "core/column_draws.hpp"

#include "instruction_sets.hpp"

namespace rudder::store {

namespace {

constexpr std::size_t lanes = ColumnDraws::lanes;
constexpr Philox::Key rounding_key = RandomStream({.purpose = Purpose::round_rows}).key();

/// `shift` is 0 or 16: the half of the word that is this column's.
RUDDER_INLINE int level_of(float x, float zero, float step, std::uint32_t word, unsigned shift,
                           float most) {
    const auto draw = static_cast<int>(((word >> shift) & 0xFFFFU) | 1U);
    const float at = (x - zero) / step;
    const float from_zero = at > 0.F ? at : 0.F;  // of a constant column, too: 0 / 0
    const float raised = from_zero + static_cast<float>(draw) * 0x1.0p-16F;
    return static_cast<int>(raised < most ? raised : most);
}

/// Calls sink(column, levels, count) for stretches of at most 16 columns; `count` is a constant for
/// all but the last of a row.
template <class Draw, class Sink>
RUDDER_INLINE void quantise_row(const ColumnSteps& columns, VertexId v, const float* row,
                                const Sink& sink) {
    const std::size_t width = columns.width;
    const float* zeros = columns.zeros(v);
    const float* steps = columns.steps(v);
    const auto most = static_cast<float>(columns.levels);
    ColumnDraws::Words words;
    std::array<int, lanes> levels;
    for (std::size_t begin = 0; begin < width; begin += ColumnDraws::group) {
        Draw::draw(rounding_key, v, begin / ColumnDraws::group * lanes, words);
        for (std::size_t part = 0; part < ColumnDraws::group / lanes; ++part) {
            const std::size_t at = begin + part * lanes;
            if (at >= width) break;
            const std::uint32_t* drawn = words[part % 4].data();
            const unsigned shift = part < 4 ? 0U : 16U;
            if (at + lanes <= width) {
                for (std::size_t i = 0; i < lanes; ++i) {
                    levels[i] =
                        level_of(row[at + i], zeros[at + i], steps[at + i], drawn[i], shift, most);
                }
                sink(at, levels.data(), lanes);
            } else {
                for (std::size_t i = 0; i < width - at; ++i) {
                    levels[i] =
                        level_of(row[at + i], zeros[at + i], steps[at + i], drawn[i], shift, most);
                }
                sink(at, levels.data(), width - at);
            }
        }
    }
}

struct ToBytes {
    std::byte* wire;
    RUDDER_INLINE void operator()(std::size_t at, const int* levels, std::size_t count) const {
        for (std::size_t i = 0; i < count; ++i)
            wire[at + i] = static_cast<std::byte>(levels[i]);
    }
};

/// Lower halves come first, so that upper ones are added to what is there.
struct ToNibbles {
    std::byte* wire;
    std::size_t half;
    RUDDER_INLINE void operator()(std::size_t at, const int* levels, std::size_t count) const {
        if (at + count <= half) return ToBytes{wire}(at, levels, count);
        if (at >= half) return add(at - half, levels, count);
        const std::size_t low = half - at;
        ToBytes{wire}(at, levels, low);
        add(0, levels + low, count - low);
    }
    RUDDER_INLINE void add(std::size_t at, const int* levels, std::size_t count) const {
        for (std::size_t i = 0; i < count; ++i)
            wire[at + i] |= static_cast<std::byte>(levels[i] << 4);
    }
};

struct ToFloats {
    float* row;
    const float* zeros;
    const float* steps;
    RUDDER_INLINE void operator()(std::size_t at, const int* levels, std::size_t count) const {
        for (std::size_t i = 0; i < count; ++i)
            row[at + i] = zeros[at + i] + static_cast<float>(levels[i]) * steps[at + i];
    }
};

template <class Draw>
RUDDER_INLINE void quantise_all(const ColumnSteps& columns, std::span<const VertexId> vertices,
                                const float* rows, std::byte* wire) {
    const std::size_t bytes = quantised_bytes(columns.width, columns.levels);
    for (std::size_t i = 0; i < vertices.size(); ++i, rows += columns.width, wire += bytes) {
        if (columns.nibbles()) {
            quantise_row<Draw>(columns, vertices[i], rows, ToNibbles{wire, bytes});
        } else {
            quantise_row<Draw>(columns, vertices[i], rows, ToBytes{wire});
        }
    }
}

template <class Draw>
RUDDER_INLINE void round_all_rows(const ColumnSteps& columns, std::span<const VertexId> vertices,
                                  float* const* rows) {
    for (std::size_t i = 0; i < vertices.size(); ++i) {
        const VertexId v = vertices[i];
        quantise_row<Draw>(columns, v, rows[i],
                           ToFloats{rows[i], columns.zeros(v), columns.steps(v)});
    }
}

/// `mask` of the level is in the lower bits of a byte, once it is shifted.
template <unsigned shift>
RUDDER_INLINE void dequantise_bytes(const std::byte* __restrict wire, const float* __restrict zeros,
                                    const float* __restrict steps, std::uint32_t mask,
                                    std::size_t count, float* __restrict out) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t level = (static_cast<std::uint32_t>(wire[i]) >> shift) & mask;
        out[i] = zeros[i] + static_cast<float>(static_cast<int>(level)) * steps[i];
    }
}

RUDDER_INLINE void dequantise_all(const ColumnSteps& columns, std::span<const VertexId> vertices,
                                  const std::byte* const* wire, float* const* out) {
    const std::size_t width = columns.width;
    const std::size_t bytes = quantised_bytes(width, columns.levels);
    const bool blocks = columns.blocks != VertexBlocks::one;
    const auto fetch = [&](std::size_t i) {
        fetch_ahead(wire[i], bytes);
        if (!blocks) return;
        fetch_ahead(reinterpret_cast<const std::byte*>(columns.zeros(vertices[i])),
                    2 * width * sizeof(float));
    };
    for (std::size_t i = 0; i < std::min(rows_ahead, vertices.size()); ++i)
        fetch(i);
    for (std::size_t i = 0; i < vertices.size(); ++i) {
        if (i + rows_ahead < vertices.size()) fetch(i + rows_ahead);
        const float* zeros = columns.zeros(vertices[i]);
        const float* steps = columns.steps(vertices[i]);
        if (!columns.nibbles()) {
            dequantise_bytes<0>(wire[i], zeros, steps, 0xFFU, width, out[i]);
            continue;
        }
        dequantise_bytes<0>(wire[i], zeros, steps, 0xFU, bytes, out[i]);
        dequantise_bytes<4>(wire[i], zeros + bytes, steps + bytes, 0xFU, width - bytes,
                            out[i] + bytes);
    }
}

// ---- the same loops for each instruction set ---------------------------------------------------

void quantise_baseline(const ColumnSteps& columns, std::span<const VertexId> vertices,
                       const float* rows, std::byte* wire) {
    quantise_all<DrawPortable>(columns, vertices, rows, wire);
}
void dequantise_baseline(const ColumnSteps& columns, std::span<const VertexId> vertices,
                         const std::byte* const* wire, float* const* out) {
    dequantise_all(columns, vertices, wire, out);
}
void round_rows_baseline(const ColumnSteps& columns, std::span<const VertexId> vertices,
                         float* const* rows) {
    round_all_rows<DrawPortable>(columns, vertices, rows);
}
constexpr QuantiseKernels baseline_kernels{quantise_baseline, dequantise_baseline,
                                           round_rows_baseline};

#ifdef __x86_64__

[[gnu::target("avx2")]] void quantise_avx2(const ColumnSteps& columns,
                                           std::span<const VertexId> vertices, const float* rows,
                                           std::byte* wire) {
    quantise_all<DrawAvx2>(columns, vertices, rows, wire);
}
[[gnu::target("avx2")]] void dequantise_avx2(const ColumnSteps& columns,
                                             std::span<const VertexId> vertices,
                                             const std::byte* const* wire, float* const* out) {
    dequantise_all(columns, vertices, wire, out);
}
[[gnu::target("avx2")]] void round_rows_avx2(const ColumnSteps& columns,
                                             std::span<const VertexId> vertices,
                                             float* const* rows) {
    round_all_rows<DrawAvx2>(columns, vertices, rows);
}
constexpr QuantiseKernels avx2_kernels{quantise_avx2, dequantise_avx2, round_rows_avx2};

#ifndef __SANITIZE_ADDRESS__  // GCC's address sanitizer misplaces 64-byte locals (its bug 110027)
using Draw512 = DrawAvx512;
#else
using Draw512 = DrawAvx2;
#endif

[[gnu::target(RUDDER_AVX512)]] void quantise_avx512(const ColumnSteps& columns,
                                                    std::span<const VertexId> vertices,
                                                    const float* rows, std::byte* wire) {
    quantise_all<Draw512>(columns, vertices, rows, wire);
}
[[gnu::target(RUDDER_AVX512)]] void dequantise_avx512(const ColumnSteps& columns,
                                                      std::span<const VertexId> vertices,
                                                      const std::byte* const* wire,
                                                      float* const* out) {
    dequantise_all(columns, vertices, wire, out);
}
[[gnu::target(RUDDER_AVX512)]] void round_rows_avx512(const ColumnSteps& columns,
                                                      std::span<const VertexId> vertices,
                                                      float* const* rows) {
    round_all_rows<Draw512>(columns, vertices, rows);
}
constexpr QuantiseKernels avx512_kernels{quantise_avx512, dequantise_avx512, round_rows_avx512};

#else
constexpr const QuantiseKernels& avx2_kernels = baseline_kernels;
constexpr const QuantiseKernels& avx512_kernels = baseline_kernels;
#endif

}  // namespace

const QuantiseKernels& quantise_kernels(std::string_view instructions) {
    if (instructions == "avx512") return avx512_kernels;
    return instructions == "avx2" ? avx2_kernels : baseline_kernels;
}

const QuantiseKernels& quantise_kernels() {
    static const QuantiseKernels& best = quantise_kernels(row_instruction_sets().back());
    return best;
}

}  // namespace rudder::store
