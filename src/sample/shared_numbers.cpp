#include "shared_numbers.hpp"

#include <algorithm>
#include <array>
#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#define RUDDER_SHARED_TARGET(isa) [[gnu::target(isa)]]
#define RUDDER_SHARED_AVX512 "avx512f,avx512bw,avx512dq,avx512vl"
#endif
#define RUDDER_SHARED_INLINE [[gnu::always_inline]] inline

namespace rudder::sample {

namespace {

using SharedTurn = SharedNumbers::Turn;

constexpr std::size_t shared_lanes = 16;
/// The largest number that can divide those that are kept from others.
constexpr std::uint64_t last_border = 0xFFFFFFFEU;
constexpr std::uint32_t phase_mix = 0x9E3779B1U;

/// The numbers of 16 ids.
RUDDER_SHARED_INLINE void sixteen_numbers(const SharedTurn& turn, const std::uint32_t* ids,
                                          std::uint32_t* out) noexcept {
    alignas(64) std::array<std::uint32_t, shared_lanes> a{};
    alignas(64) std::array<std::uint32_t, shared_lanes> b{};
    for (std::size_t i = 0; i < shared_lanes; ++i) {
        a[i] = ids[i];
        const std::uint32_t mixed = a[i] * phase_mix;
        const auto phase = static_cast<std::uint32_t>((std::uint64_t{mixed} * turn.redraw) >> 32);
        b[i] = turn.turn + (phase >= turn.next ? 1U : 0U);
    }
    std::uint32_t key = turn.key;
    for (int round = 0; round < ShortPhilox::rounds; ++round) {
#pragma GCC unroll 1
        for (std::size_t i = 0; i < shared_lanes; ++i) {
            const std::uint64_t product = std::uint64_t{ShortPhilox::multiplier} * a[i];
            a[i] = static_cast<std::uint32_t>(product >> 32) ^ key ^ b[i];
            b[i] = static_cast<std::uint32_t>(product);
        }
        key += ShortPhilox::weyl;
    }
    for (std::size_t i = 0; i < shared_lanes; ++i)
        out[i] = a[i];
}

/// The last ids of a list, filled up to 16.
RUDDER_SHARED_INLINE std::array<std::uint32_t, shared_lanes> last_ids(const std::uint32_t* ids,
                                                                      std::size_t count) noexcept {
    std::array<std::uint32_t, shared_lanes> filled{};
    for (std::size_t i = 0; i < count; ++i)
        filled[i] = ids[i];
    return filled;
}

RUDDER_SHARED_INLINE void write_body(const SharedTurn& turn, const std::uint32_t* ids,
                                     std::size_t count, std::uint32_t* out) noexcept {
    std::size_t at = 0;
    for (; at + shared_lanes <= count; at += shared_lanes)
        sixteen_numbers(turn, ids + at, out + at);
    if (at < count) sixteen_numbers(turn, last_ids(ids + at, count - at).data(), out + at);
}

RUDDER_SHARED_INLINE std::size_t collect_body(const SharedTurn& turn, const std::uint32_t* ids,
                                              std::size_t count, std::uint32_t limit,
                                              std::uint32_t* out_ids,
                                              std::uint32_t* out_numbers) noexcept {
    std::size_t kept = 0;
    for (std::size_t at = 0; at < count; at += shared_lanes) {
        const std::size_t here = std::min(shared_lanes, count - at);
        const auto lanes = last_ids(ids + at, here);
        alignas(64) std::array<std::uint32_t, shared_lanes> numbers{};
        sixteen_numbers(turn, lanes.data(), numbers.data());
        std::uint32_t any = 0;
        for (std::size_t i = 0; i < shared_lanes; ++i)
            any |= numbers[i] <= limit ? 1U : 0U;
        if (any == 0) continue;  // as good as always where a row is long
        for (std::size_t i = 0; i < here; ++i) {
            out_ids[kept] = lanes[i];
            out_numbers[kept] = numbers[i];
            kept += numbers[i] <= limit ? 1U : 0U;
        }
    }
    return kept;
}

RUDDER_SHARED_INLINE std::size_t count_body(const std::uint32_t* numbers, std::size_t count,
                                            std::uint32_t most) noexcept {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < count; ++i)
        sum += numbers[i] <= most ? 1U : 0U;
    return sum;
}

RUDDER_SHARED_INLINE void keep_body(const std::uint32_t* ids, const std::uint32_t* numbers,
                                    std::size_t count, std::uint32_t most, std::size_t wanted,
                                    std::uint32_t* out) noexcept {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count && kept < wanted; ++i) {
        out[kept] = ids[i];
        kept += numbers[i] <= most ? 1U : 0U;
    }
}

/// A number that `wanted` of them do not exceed, and no more; false where there is none. Numbers
/// are as good as uniform, so guesses between two that are known to enclose it come close.
template <class Count>
RUDDER_SHARED_INLINE bool find_border(std::size_t count, std::size_t wanted, Count&& at_most,
                                      std::uint32_t largest, std::uint32_t& border) noexcept {
    std::uint64_t low = 0;         // numbers below it: fewer than wanted
    std::uint64_t high = largest;  // numbers up to it: more than wanted
    std::size_t below = 0;
    std::size_t above = count;
    for (int guess = 0; low < high; ++guess) {
        const std::uint64_t middle = low + (high - low) / 2;
        const std::uint64_t close = low + (high - low) * (wanted - below) / (above - below);
        const std::uint64_t tried = guess < 6 ? std::min(close, high - 1) : middle;
        const std::size_t found = at_most(static_cast<std::uint32_t>(tried));
        border = static_cast<std::uint32_t>(tried);
        if (found == wanted) return true;
        if (found < wanted) {
            low = tried + 1;
            below = found;
        } else {
            high = tried;
            above = found;
        }
    }
    return false;
}

/// How the parts that differ between instruction sets are called.
struct SharedKernels {
    void (*write)(const SharedTurn&, const std::uint32_t*, std::size_t, std::uint32_t*) noexcept;
    std::size_t (*collect)(const SharedTurn&, const std::uint32_t*, std::size_t, std::uint32_t,
                           std::uint32_t*, std::uint32_t*) noexcept;
    bool (*keep)(const std::uint32_t*, const std::uint32_t*, std::size_t, std::size_t,
                 std::uint32_t*) noexcept;
};

RUDDER_SHARED_INLINE bool keep_smallest_body(const std::uint32_t* ids, const std::uint32_t* numbers,
                                             std::size_t count, std::size_t wanted,
                                             std::uint32_t* out) noexcept {
    std::uint32_t largest = 0;
    for (std::size_t i = 0; i < count; ++i)
        largest = std::max(largest, numbers[i]);
    std::uint32_t border = 0;
    const auto at_most = [&](std::uint32_t most) { return count_body(numbers, count, most); };
    if (!find_border(count, wanted, at_most, largest, border)) return false;
    keep_body(ids, numbers, count, border, wanted, out);
    return true;
}

void write_portable(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
                    std::uint32_t* out) noexcept {
    write_body(turn, ids, count, out);
}
std::size_t collect_portable(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
                             std::uint32_t limit, std::uint32_t* out_ids,
                             std::uint32_t* out_numbers) noexcept {
    return collect_body(turn, ids, count, limit, out_ids, out_numbers);
}
bool keep_portable(const std::uint32_t* ids, const std::uint32_t* numbers, std::size_t count,
                   std::size_t wanted, std::uint32_t* out) noexcept {
    return keep_smallest_body(ids, numbers, count, wanted, out);
}
constexpr SharedKernels portable_kernels{write_portable, collect_portable, keep_portable};

#if defined(__x86_64__)

RUDDER_SHARED_TARGET("avx2")
void write_avx2(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
                std::uint32_t* out) noexcept {
    write_body(turn, ids, count, out);
}
RUDDER_SHARED_TARGET("avx2")
std::size_t collect_avx2(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
                         std::uint32_t limit, std::uint32_t* out_ids,
                         std::uint32_t* out_numbers) noexcept {
    return collect_body(turn, ids, count, limit, out_ids, out_numbers);
}
RUDDER_SHARED_TARGET("avx2")
bool keep_avx2(const std::uint32_t* ids, const std::uint32_t* numbers, std::size_t count,
               std::size_t wanted, std::uint32_t* out) noexcept {
    return keep_smallest_body(ids, numbers, count, wanted, out);
}
constexpr SharedKernels avx2_kernels{write_avx2, collect_avx2, keep_avx2};

/// The same in registers: what compilers make of the loops above spills.
RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE __m512i numbers_512(const SharedTurn& turn, __m512i ids) noexcept {
    const __m512i mixed = _mm512_mullo_epi32(ids, _mm512_set1_epi32(static_cast<int>(phase_mix)));
    const __m512i redraw = _mm512_set1_epi32(static_cast<int>(turn.redraw));
    const __m512i even_phase = _mm512_srli_epi64(_mm512_mul_epu32(mixed, redraw), 32);
    const __m512i odd_phase = _mm512_mul_epu32(_mm512_srli_epi64(mixed, 32), redraw);
    const __m512i phase = _mm512_mask_blend_epi32(0xAAAA, even_phase, odd_phase);
    const __mmask16 further =
        _mm512_cmpge_epu32_mask(phase, _mm512_set1_epi32(static_cast<int>(turn.next)));
    const __m512i now = _mm512_set1_epi32(static_cast<int>(turn.turn));
    const __m512i factor = _mm512_set1_epi32(static_cast<int>(ShortPhilox::multiplier));
    __m512i a = ids;
    __m512i b = _mm512_mask_add_epi32(now, further, now, _mm512_set1_epi32(1));
    std::uint32_t key = turn.key;
    for (int round = 0; round < ShortPhilox::rounds; ++round) {
        const __m512i even = _mm512_mul_epu32(a, factor);
        const __m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), factor);
        const __m512i high = _mm512_mask_blend_epi32(0xAAAA, _mm512_srli_epi64(even, 32), odd);
        const __m512i low = _mm512_mask_blend_epi32(0xAAAA, even, _mm512_slli_epi64(odd, 32));
        a = _mm512_ternarylogic_epi32(high, b, _mm512_set1_epi32(static_cast<int>(key)), 0x96);
        b = low;
        key += ShortPhilox::weyl;
    }
    return a;
}

RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE __mmask16 lanes_left(std::size_t count) noexcept {
    return count >= shared_lanes ? __mmask16{0xFFFF} : static_cast<__mmask16>((1U << count) - 1U);
}

RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
void write_avx512(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
                  std::uint32_t* out) noexcept {
    for (std::size_t at = 0; at < count; at += shared_lanes) {
        const __m512i lanes = _mm512_maskz_loadu_epi32(lanes_left(count - at), ids + at);
        _mm512_storeu_si512(out + at, numbers_512(turn, lanes));
    }
}

RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
std::size_t collect_avx512(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
                           std::uint32_t limit, std::uint32_t* out_ids,
                           std::uint32_t* out_numbers) noexcept {
    const __m512i most = _mm512_set1_epi32(static_cast<int>(limit));
    std::size_t kept = 0;
    for (std::size_t at = 0; at < count; at += shared_lanes) {
        const __mmask16 here = lanes_left(count - at);
        const __m512i lanes = _mm512_maskz_loadu_epi32(here, ids + at);
        const __m512i numbers = numbers_512(turn, lanes);
        const __mmask16 few = _mm512_mask_cmple_epu32_mask(here, numbers, most);
        if (few == 0) continue;  // as good as always where a row is long
        _mm512_storeu_si512(out_ids + kept, _mm512_maskz_compress_epi32(few, lanes));
        _mm512_storeu_si512(out_numbers + kept, _mm512_maskz_compress_epi32(few, numbers));
        kept += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(few)));
    }
    return kept;
}

/// At most 64 numbers, which stay in registers.
RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
bool keep_few_avx512(const std::uint32_t* ids, const std::uint32_t* numbers, std::size_t count,
                     std::size_t wanted, std::uint32_t* out) noexcept {
    const std::uint64_t all = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    const __m512i none = _mm512_set1_epi32(-1);
    // Lanes beyond the last hold the largest number, which is no border.
    const __m512i a = _mm512_mask_loadu_epi32(none, static_cast<__mmask16>(all), numbers);
    const __m512i b =
        _mm512_mask_loadu_epi32(none, static_cast<__mmask16>(all >> 16), numbers + 16);
    const __m512i c =
        _mm512_mask_loadu_epi32(none, static_cast<__mmask16>(all >> 32), numbers + 32);
    const __m512i d =
        _mm512_mask_loadu_epi32(none, static_cast<__mmask16>(all >> 48), numbers + 48);
    std::uint64_t low = 0;
    std::uint64_t high = std::uint64_t{1} << 32;
    std::size_t below = 0;
    std::size_t above = count;
    std::uint64_t chosen = 0;
    for (int guess = 0;; ++guess) {
        if (low >= high) return false;
        const std::uint64_t close = low + (high - low) * (wanted - below) / (above - below);
        const std::uint64_t tried =
            std::min(guess < 6 ? close : low + (high - low) / 2, std::min(high - 1, last_border));
        const __m512i border = _mm512_set1_epi32(static_cast<int>(tried));
        chosen = std::uint64_t{_mm512_cmple_epu32_mask(a, border)} |
                 std::uint64_t{_mm512_cmple_epu32_mask(b, border)} << 16 |
                 std::uint64_t{_mm512_cmple_epu32_mask(c, border)} << 32 |
                 std::uint64_t{_mm512_cmple_epu32_mask(d, border)} << 48;
        const auto found = static_cast<std::size_t>(std::popcount(chosen));
        if (found == wanted) break;
        if (tried == last_border && found < wanted) return false;  // several of the largest number
        if (found < wanted) {
            low = tried + 1;
            below = found;
        } else {
            high = tried;
            above = found;
        }
    }
    for (std::size_t at = 0; at < count; at += shared_lanes, chosen >>= shared_lanes) {
        const auto few = static_cast<__mmask16>(chosen);
        const auto more = static_cast<std::size_t>(std::popcount(static_cast<unsigned>(few)));
        _mm512_mask_storeu_epi32(
            out, lanes_left(more),
            _mm512_maskz_compress_epi32(few, _mm512_maskz_loadu_epi32(few, ids + at)));
        out += more;
    }
    return true;
}

RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
bool keep_avx512(const std::uint32_t* ids, const std::uint32_t* numbers, std::size_t count,
                 std::size_t wanted, std::uint32_t* out) noexcept {
    if (count <= 64) return keep_few_avx512(ids, numbers, count, wanted, out);
    return keep_smallest_body(ids, numbers, count, wanted, out);
}
constexpr SharedKernels avx512_kernels{write_avx512, collect_avx512, keep_avx512};

#endif

const SharedKernels& kernels_of(DrawCode code) noexcept {
#if defined(__x86_64__)
    if (code == DrawCode::avx512) return avx512_kernels;
    if (code == DrawCode::avx2) return avx2_kernels;
#endif
    static_cast<void>(code);
    return portable_kernels;
}

}  // namespace

SharedNumbers::SharedNumbers(const StreamKey& key, std::uint64_t redraw) noexcept
    : stream_({.purpose = key.purpose, .seed = key.seed, .layer = key.layer}),
      redraw_(static_cast<std::uint32_t>(redraw)),
      turn_{.key = stream_.block(0, shared_block)[0],
            .turn = static_cast<std::uint32_t>(key.step / redraw),
            .next = static_cast<std::uint32_t>(redraw - key.step % redraw),
            .redraw = redraw_} {}

std::uint32_t SharedNumbers::number(VertexId t) const noexcept {
    const VertexId high = t >> 32;
    const std::uint32_t key = high == 0 ? turn_.key : stream_.block(high, shared_block)[0];
    const std::uint32_t turn = turn_.turn + (phase(t) >= turn_.next ? 1U : 0U);
    return ShortPhilox::word(static_cast<std::uint32_t>(t), turn, key);
}

void SharedNumbers::write(DrawCode code, const std::uint32_t* ids, std::size_t count,
                          std::uint32_t* out) const noexcept {
    kernels_of(code).write(turn_, ids, count, out);
}

std::size_t SharedNumbers::collect(DrawCode code, const std::uint32_t* ids, std::size_t count,
                                   std::uint32_t limit, std::uint32_t* out_ids,
                                   std::uint32_t* out_numbers) const noexcept {
    return kernels_of(code).collect(turn_, ids, count, limit, out_ids, out_numbers);
}

bool keep_smallest(DrawCode code, const std::uint32_t* ids, const std::uint32_t* numbers,
                   std::size_t count, std::size_t wanted, std::uint32_t* out) noexcept {
    return kernels_of(code).keep(ids, numbers, count, wanted, out);
}

}  // namespace rudder::sample
