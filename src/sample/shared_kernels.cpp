#include "shared_kernels.hpp"

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
constexpr std::size_t most_few = SharedNumbers::most_few;

constexpr std::size_t shared_lanes = 16;
/// The largest number that can divide those that are kept from others.
constexpr std::uint64_t last_border = 0xFFFFFFFEU;

RUDDER_SHARED_INLINE std::uint32_t shared_number(const SharedTurn& turn,
                                                 std::uint32_t id) noexcept {
    const std::uint32_t h = id * SharedMix::spread;
    return SharedMix::word(h, h > turn.last_now ? turn.next : turn.now);
}

/// The numbers of 16 ids.
RUDDER_SHARED_INLINE void sixteen_numbers(const SharedTurn& turn, const std::uint32_t* ids,
                                          std::uint32_t* out) noexcept {
    for (std::size_t i = 0; i < shared_lanes; ++i)
        out[i] = shared_number(turn, ids[i]);
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

/// Drops pairs whose h is one of `length` from `first` on, round about.
RUDDER_SHARED_INLINE std::size_t drop_body(std::uint32_t first, std::uint32_t length,
                                           std::uint32_t* ids, std::uint32_t* numbers,
                                           std::size_t count) noexcept {
    std::size_t left = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t id = ids[i];
        ids[left] = id;
        numbers[left] = numbers[i];
        left += id * SharedMix::spread - first >= length ? 1U : 0U;
    }
    return left;
}

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

RUDDER_SHARED_INLINE bool few_body(const SharedTurn& turn, const std::uint32_t* ids,
                                   std::size_t count, std::size_t wanted,
                                   std::uint32_t* out) noexcept {
    alignas(64) std::array<std::uint32_t, most_few> numbers;  // written, then read
    write_body(turn, ids, count, numbers.data());
    return keep_smallest_body(ids, numbers.data(), count, wanted, out);
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
std::size_t drop_portable(std::uint32_t first, std::uint32_t length, std::uint32_t* ids,
                          std::uint32_t* numbers, std::size_t count) noexcept {
    return drop_body(first, length, ids, numbers, count);
}
bool few_portable(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
                  std::size_t wanted, std::uint32_t* out) noexcept {
    return few_body(turn, ids, count, wanted, out);
}
constexpr SharedKernels portable_kernels{collect_portable, keep_portable, drop_portable,
                                         few_portable};

#if defined(__x86_64__)

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
RUDDER_SHARED_TARGET("avx2")
bool few_avx2(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
              std::size_t wanted, std::uint32_t* out) noexcept {
    return few_body(turn, ids, count, wanted, out);
}
constexpr SharedKernels avx2_kernels{collect_avx2, keep_avx2, drop_portable, few_avx2};

RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE __m512i all_512(std::uint32_t word) noexcept {
    return _mm512_set1_epi32(static_cast<int>(word));
}

/// The same in registers: what compilers make of the loops above spills.
RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE __m512i numbers_512(const SharedTurn& turn, __m512i ids) noexcept {
    const __m512i h = _mm512_mullo_epi32(ids, all_512(SharedMix::spread));
    const __mmask16 further = _mm512_cmpgt_epu32_mask(h, all_512(turn.last_now));
    const __m512i first =
        _mm512_mask_blend_epi32(further, all_512(turn.now.first), all_512(turn.next.first));
    const __m512i second =
        _mm512_mask_blend_epi32(further, all_512(turn.now.second), all_512(turn.next.second));
    __m512i x = _mm512_xor_si512(h, first);
    x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 16));
    x = _mm512_add_epi32(_mm512_mullo_epi32(x, all_512(SharedMix::one)), second);
    x = _mm512_xor_si512(x, _mm512_srli_epi32(x, 15));
    x = _mm512_mullo_epi32(x, all_512(SharedMix::two));
    return _mm512_xor_si512(x, _mm512_srli_epi32(x, 15));
}

/// Through an explicit conversion: where GCC 12 has to store a mask (under the thread sanitizer),
/// it stores 16 bits of it and would count 32.
RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE std::size_t lanes_of(__mmask16 mask) noexcept {
    return static_cast<std::size_t>(std::popcount(_cvtmask16_u32(mask)));
}

RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE __mmask16 lanes_left(std::size_t count) noexcept {
    return count >= shared_lanes ? __mmask16{0xFFFF} : static_cast<__mmask16>((1U << count) - 1U);
}

/// Writes those of 16 ids whose number is at most `most`, and returns how many.
RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE std::size_t write_few(__mmask16 few, __m512i ids, __m512i numbers,
                                           std::uint32_t* out_ids,
                                           std::uint32_t* out_numbers) noexcept {
    _mm512_storeu_si512(out_ids, _mm512_maskz_compress_epi32(few, ids));
    _mm512_storeu_si512(out_numbers, _mm512_maskz_compress_epi32(few, numbers));
    return lanes_of(few);
}

/// Where one group of 16 in eight or more has any, it costs less to write none than to guess wrong.
constexpr std::uint32_t often = 0x02000000U;

template <bool always>
RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE std::size_t
    collect_512(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
                std::uint32_t limit, std::uint32_t* out_ids, std::uint32_t* out_numbers) noexcept {
    const __m512i most = all_512(limit);
    std::size_t kept = 0;
    std::size_t at = 0;
    for (; at + shared_lanes <= count; at += shared_lanes) {
        const __m512i lanes = _mm512_loadu_si512(ids + at);
        const __m512i numbers = numbers_512(turn, lanes);
        const __mmask16 few = _mm512_cmple_epu32_mask(numbers, most);
        if (always || few != 0)
            kept += write_few(few, lanes, numbers, out_ids + kept, out_numbers + kept);
    }
    if (at == count) return kept;
    const __mmask16 here = lanes_left(count - at);
    const __m512i lanes = _mm512_maskz_loadu_epi32(here, ids + at);
    const __m512i numbers = numbers_512(turn, lanes);
    const __mmask16 few = _mm512_mask_cmple_epu32_mask(here, numbers, most);
    return kept + write_few(few, lanes, numbers, out_ids + kept, out_numbers + kept);
}

RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
std::size_t collect_avx512(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
                           std::uint32_t limit, std::uint32_t* out_ids,
                           std::uint32_t* out_numbers) noexcept {
    return limit >= often ? collect_512<true>(turn, ids, count, limit, out_ids, out_numbers)
                          : collect_512<false>(turn, ids, count, limit, out_ids, out_numbers);
}

/// At most 64 numbers, in `parts` registers. Lanes beyond the last hold the largest number, which
/// is no border.
template <unsigned parts>
struct FewNumbers {
    __m512i part[parts];

    /// One bit for each that is at most `border`.
    RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
    [[nodiscard]] RUDDER_SHARED_INLINE std::uint64_t at_most(std::uint64_t border) const noexcept {
        const __m512i most = all_512(static_cast<std::uint32_t>(border));
        std::uint64_t found = 0;
        for (unsigned p = 0; p < parts; ++p)
            found |= std::uint64_t{_mm512_cmple_epu32_mask(part[p], most)} << 16 * p;
        return found;
    }
};

/// Closes in on a number that `wanted` of the numbers do not exceed.
struct BorderSearch {
    std::size_t wanted;
    std::size_t above;  ///< numbers up to `high`: more than wanted
    std::size_t below = 0;
    std::uint64_t low = 0;  ///< numbers below it: `below`, fewer than wanted
    std::uint64_t high = std::uint64_t{1} << 32;

    [[nodiscard]] RUDDER_SHARED_INLINE std::uint64_t close() const noexcept {
        const std::uint64_t guess = low + (high - low) * (wanted - below) / (above - below);
        return std::min(std::min(guess, high - 1), last_border);
    }
    /// What was found at a number that was tried; true if it is the one.
    RUDDER_SHARED_INLINE bool note(std::uint64_t tried, std::size_t found) noexcept {
        const bool fewer = found < wanted;
        const bool more = found > wanted;
        low = fewer ? tried + 1 : low;
        below = fewer ? found : below;
        high = more ? tried : high;
        above = more ? found : above;
        return found == wanted;
    }
};

/// The bits of the `wanted` smallest; 0 where a tie leaves open which. The first guesses, nearly
/// always enough, are made whether needed or not: that costs less than to foresee their count
/// wrong.
template <unsigned parts>
RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE std::uint64_t
    smallest_512(const FewNumbers<parts>& numbers, std::size_t count, std::size_t wanted) noexcept {
    constexpr int guesses = 3;
    constexpr int close_guesses = 8;  // then halves, which end
    BorderSearch search{.wanted = wanted, .above = count};
    std::uint64_t chosen = 0;
    bool right = false;
    for (int i = 0; i < guesses; ++i) {
        const std::uint64_t tried = search.close();
        chosen = numbers.at_most(tried);
        right = search.note(tried, static_cast<std::size_t>(std::popcount(chosen)));
    }
    for (int i = guesses; !right && search.low < std::min(search.high, last_border + 1); ++i) {
        const std::uint64_t middle = search.low + (search.high - search.low) / 2;
        const std::uint64_t tried =
            i < close_guesses ? search.close() : std::min(middle, last_border);
        chosen = numbers.at_most(tried);
        right = search.note(tried, static_cast<std::size_t>(std::popcount(chosen)));
    }
    return right ? chosen : 0;
}

template <unsigned parts, bool known>
RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE bool keep_parts_512(const SharedTurn& turn, const std::uint32_t* ids,
                                         const std::uint32_t* numbers, std::size_t count,
                                         std::size_t wanted, std::uint32_t* out) noexcept {
    const std::uint64_t all = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    FewNumbers<parts> few;
    for (unsigned p = 0; p < parts; ++p) {
        const auto here = static_cast<__mmask16>(all >> 16 * p);
        if constexpr (known) {
            few.part[p] =
                _mm512_mask_loadu_epi32(all_512(~0U), here, numbers + std::size_t{16} * p);
        } else {
            const __m512i lanes = _mm512_maskz_loadu_epi32(here, ids + std::size_t{16} * p);
            few.part[p] = _mm512_mask_mov_epi32(all_512(~0U), here, numbers_512(turn, lanes));
        }
    }
    const std::uint64_t chosen = smallest_512<parts>(few, count, wanted);
    if (chosen == 0) return false;
    for (unsigned p = 0; p < parts; ++p) {
        const auto some = static_cast<__mmask16>(chosen >> 16 * p);
        const auto more = lanes_of(some);
        _mm512_mask_storeu_epi32(
            out, lanes_left(more),
            _mm512_maskz_compress_epi32(some,
                                        _mm512_maskz_loadu_epi32(some, ids + std::size_t{16} * p)));
        out += more;
    }
    return true;
}

template <bool known>
RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
RUDDER_SHARED_INLINE bool keep_few_512(const SharedTurn& turn, const std::uint32_t* ids,
                                       const std::uint32_t* numbers, std::size_t count,
                                       std::size_t wanted, std::uint32_t* out) noexcept {
    if (count <= 32) return keep_parts_512<2, known>(turn, ids, numbers, count, wanted, out);
    if (count <= 48) return keep_parts_512<3, known>(turn, ids, numbers, count, wanted, out);
    return keep_parts_512<4, known>(turn, ids, numbers, count, wanted, out);
}

RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
bool few_avx512(const SharedTurn& turn, const std::uint32_t* ids, std::size_t count,
                std::size_t wanted, std::uint32_t* out) noexcept {
    return keep_few_512<false>(turn, ids, nullptr, count, wanted, out);
}

RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
bool keep_avx512(const std::uint32_t* ids, const std::uint32_t* numbers, std::size_t count,
                 std::size_t wanted, std::uint32_t* out) noexcept {
    if (count <= most_few) return keep_few_512<true>({}, ids, numbers, count, wanted, out);
    return keep_smallest_body(ids, numbers, count, wanted, out);
}

RUDDER_SHARED_TARGET(RUDDER_SHARED_AVX512)
std::size_t drop_avx512(std::uint32_t first, std::uint32_t length, std::uint32_t* ids,
                        std::uint32_t* numbers, std::size_t count) noexcept {
    std::size_t left = 0;
    for (std::size_t at = 0; at < count; at += shared_lanes) {
        const __mmask16 here = lanes_left(count - at);
        const __m512i lanes = _mm512_maskz_loadu_epi32(here, ids + at);
        const __m512i values = _mm512_maskz_loadu_epi32(here, numbers + at);
        const __m512i h = _mm512_mullo_epi32(lanes, all_512(SharedMix::spread));
        const __mmask16 stay = _mm512_mask_cmpge_epu32_mask(
            here, _mm512_sub_epi32(h, all_512(first)), all_512(length));
        const auto more = lanes_of(stay);
        _mm512_mask_storeu_epi32(ids + left, lanes_left(more),
                                 _mm512_maskz_compress_epi32(stay, lanes));
        _mm512_mask_storeu_epi32(numbers + left, lanes_left(more),
                                 _mm512_maskz_compress_epi32(stay, values));
        left += more;
    }
    return left;
}
constexpr SharedKernels avx512_kernels{collect_avx512, keep_avx512, drop_avx512, few_avx512};

#endif

}  // namespace

const SharedKernels& kernels_of(DrawCode code) noexcept {
#if defined(__x86_64__)
    if (code == DrawCode::avx512) return avx512_kernels;
    if (code == DrawCode::avx2) return avx2_kernels;
#endif
    static_cast<void>(code);
    return portable_kernels;
}

}  // namespace rudder::sample
