// The matrix product with AVX-512; compiled for it.
#include <immintrin.h>

#include "matmul_kernel.hpp"

namespace rudder::nn {

namespace {

struct Avx512 {
    using Vector = __m512;
    static constexpr std::size_t width = 16;
    static constexpr std::size_t rows = 8;

    static __mmask16 mask(std::size_t count) {
        return count >= width ? __mmask16{0xFFFF} : static_cast<__mmask16>((1U << count) - 1);
    }
    static Vector zero() { return _mm512_setzero_ps(); }
    static Vector broadcast(const float* from) { return _mm512_set1_ps(*from); }
    static Vector load(const float* from) { return _mm512_loadu_ps(from); }
    static Vector load(const float* from, __mmask16 which) {
        return _mm512_maskz_loadu_ps(which, from);
    }
    static void store(float* to, Vector value) { _mm512_storeu_ps(to, value); }
    static void store(float* to, Vector value, __mmask16 which) {
        _mm512_mask_storeu_ps(to, which, value);
    }
    static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }

    static void copy_rows(const float* from, float* to, std::size_t count) {
        const auto which = static_cast<__mmask8>((1U << count) - 1);
        _mm256_storeu_ps(to, _mm256_maskz_loadu_ps(which, from));
    }
    static void transpose(__m512 (&r)[16]) {
        __m512 t[16];
#pragma GCC unroll 8
        for (std::size_t i = 0; i < 8; ++i) {  // pairs of floats
            t[2 * i] = _mm512_unpacklo_ps(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_ps(r[2 * i], r[2 * i + 1]);
        }
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 16; i += 4) {  // fours: columns i % 4 of quarters
            r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
            r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xEE);
            r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
            r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
        }
#pragma GCC unroll 4
        for (std::size_t i = 0; i < 4; ++i) {  // quarters of registers
            const __m512 a = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
            const __m512 b = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xDD);
            const __m512 c = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
            const __m512 d = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xDD);
            t[i] = _mm512_shuffle_f32x4(a, c, 0x88);
            t[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
            t[i + 8] = _mm512_shuffle_f32x4(a, c, 0xDD);
            t[i + 12] = _mm512_shuffle_f32x4(b, d, 0xDD);
        }
#pragma GCC unroll 16
        for (std::size_t i = 0; i < 16; ++i)
            r[i] = t[i];
    }
};

}  // namespace

void multiply_avx512(const MatrixProduct& product) {
    Multiplication<Avx512>(product).run();
}

}  // namespace rudder::nn
