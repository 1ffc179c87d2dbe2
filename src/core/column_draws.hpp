// 16 random bits for every column of a row, keyed by vertex and column: many columns side by side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "rudder/core/random.hpp"

namespace rudder {

/// The bits of vertex v, column c: with g = c / 128, k = c % 128, the upper (k >= 64) or lower half
/// of word k / 16 % 4 of the stream's block (v, 16 g + k % 16).
struct ColumnDraws {
    static constexpr std::size_t lanes = 16;   ///< blocks drawn side by side
    static constexpr std::size_t group = 128;  ///< columns they serve: 4 words of 2 halves each

    /// words[w][i] is word w of block i of a group.
    using Words = std::array<std::array<std::uint32_t, lanes>, 4>;

    /// One column's bits; the slow way.
    [[nodiscard]] static constexpr std::uint32_t bits(Philox::Key key, VertexId vertex,
                                                      std::uint64_t column) noexcept {
        const std::uint64_t k = column % group;
        const std::uint64_t index = column / group * lanes + k % lanes;
        const auto words = Philox::block(
            {static_cast<std::uint32_t>(vertex), static_cast<std::uint32_t>(vertex >> 32),
             static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32)},
            key);
        return (words[k / lanes % 4] >> (k < group / 2 ? 0U : 16U)) & 0xFFFFU;
    }
};

// The words of one group of columns of one vertex: block (vertex, first_block + i) is lane i. The
// form that Philox::blocks gives compilers, they turn into much shuffling; so the two vector paths
// are written out: a lane's product is of an even or an odd half.

struct DrawPortable {
    static void draw(Philox::Key key, VertexId vertex, std::size_t first_block,
                     ColumnDraws::Words& words) noexcept {
        for (std::size_t i = 0; i < ColumnDraws::lanes; ++i) {
            words[0][i] = static_cast<std::uint32_t>(vertex);
            words[1][i] = static_cast<std::uint32_t>(vertex >> 32);
            words[2][i] = static_cast<std::uint32_t>(first_block + i);
            words[3][i] = 0;
        }
        Philox::blocks(words, key);
    }
};

#ifdef __x86_64__

/// Philox's numbers as the intrinsics take them.
struct PhiloxLanes {
    static constexpr int multiplier_0 = static_cast<int>(0xD2511F53U);
    static constexpr int multiplier_1 = static_cast<int>(0xCD9E8D57U);
    static constexpr std::uint32_t key_step_0 = 0x9E3779B9U;
    static constexpr std::uint32_t key_step_1 = 0xBB67AE85U;

    static constexpr int as_int(std::uint64_t value) noexcept {
        return static_cast<int>(static_cast<std::uint32_t>(value));
    }
};

struct DrawAvx512 : PhiloxLanes {
    [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]] static inline void draw(
        Philox::Key key, VertexId vertex, std::size_t first_block,
        ColumnDraws::Words& words) noexcept {
        constexpr __mmask16 odd = 0xAAAA;
        const __m512i m0 = _mm512_set1_epi32(multiplier_0);
        const __m512i m1 = _mm512_set1_epi32(multiplier_1);
        __m512i c0 = _mm512_set1_epi32(as_int(vertex));
        __m512i c1 = _mm512_set1_epi32(as_int(vertex >> 32));
        __m512i c2 = _mm512_add_epi32(
            _mm512_set1_epi32(as_int(first_block)),
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
        __m512i c3 = _mm512_setzero_si512();
        for (int round = 0; round < 10; ++round) {
            const __m512i even0 = _mm512_mul_epu32(c0, m0);
            const __m512i odd0 = _mm512_mul_epu32(_mm512_srli_epi64(c0, 32), m0);
            const __m512i even1 = _mm512_mul_epu32(c2, m1);
            const __m512i odd1 = _mm512_mul_epu32(_mm512_srli_epi64(c2, 32), m1);
            const __m512i high0 = _mm512_mask_blend_epi32(odd, _mm512_srli_epi64(even0, 32), odd0);
            const __m512i high1 = _mm512_mask_blend_epi32(odd, _mm512_srli_epi64(even1, 32), odd1);
            c0 = _mm512_ternarylogic_epi32(high1, c1, _mm512_set1_epi32(as_int(key[0])), 0x96);
            c2 = _mm512_ternarylogic_epi32(high0, c3, _mm512_set1_epi32(as_int(key[1])), 0x96);
            c1 = _mm512_mask_blend_epi32(odd, even1, _mm512_slli_epi64(odd1, 32));
            c3 = _mm512_mask_blend_epi32(odd, even0, _mm512_slli_epi64(odd0, 32));
            key[0] += key_step_0;
            key[1] += key_step_1;
        }
        _mm512_storeu_si512(words[0].data(), c0);
        _mm512_storeu_si512(words[1].data(), c1);
        _mm512_storeu_si512(words[2].data(), c2);
        _mm512_storeu_si512(words[3].data(), c3);
    }
};

struct DrawAvx2 : PhiloxLanes {
    [[gnu::target("avx2")]] static inline void draw(Philox::Key key, VertexId vertex,
                                                    std::size_t first_block,
                                                    ColumnDraws::Words& words) noexcept {
        half(key, vertex, first_block, words, 0);
        half(key, vertex, first_block, words, 8);
    }
    [[gnu::target("avx2")]] static inline void half(Philox::Key key, VertexId vertex,
                                                    std::size_t first_block,
                                                    ColumnDraws::Words& words,
                                                    std::size_t lane) noexcept {
        constexpr int odd = 0xAA;
        const __m256i m0 = _mm256_set1_epi32(multiplier_0);
        const __m256i m1 = _mm256_set1_epi32(multiplier_1);
        __m256i c0 = _mm256_set1_epi32(as_int(vertex));
        __m256i c1 = _mm256_set1_epi32(as_int(vertex >> 32));
        __m256i c2 = _mm256_add_epi32(_mm256_set1_epi32(as_int(first_block + lane)),
                                      _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        __m256i c3 = _mm256_setzero_si256();
        for (int round = 0; round < 10; ++round) {
            const __m256i even0 = _mm256_mul_epu32(c0, m0);
            const __m256i odd0 = _mm256_mul_epu32(_mm256_srli_epi64(c0, 32), m0);
            const __m256i even1 = _mm256_mul_epu32(c2, m1);
            const __m256i odd1 = _mm256_mul_epu32(_mm256_srli_epi64(c2, 32), m1);
            const __m256i high0 = _mm256_blend_epi32(_mm256_srli_epi64(even0, 32), odd0, odd);
            const __m256i high1 = _mm256_blend_epi32(_mm256_srli_epi64(even1, 32), odd1, odd);
            c0 = _mm256_xor_si256(_mm256_xor_si256(high1, c1), _mm256_set1_epi32(as_int(key[0])));
            c2 = _mm256_xor_si256(_mm256_xor_si256(high0, c3), _mm256_set1_epi32(as_int(key[1])));
            c1 = _mm256_blend_epi32(even1, _mm256_slli_epi64(odd1, 32), odd);
            c3 = _mm256_blend_epi32(even0, _mm256_slli_epi64(odd0, 32), odd);
            key[0] += key_step_0;
            key[1] += key_step_1;
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(words[0].data() + lane), c0);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(words[1].data() + lane), c1);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(words[2].data() + lane), c2);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(words[3].data() + lane), c3);
    }
};

#endif

}  // namespace rudder
