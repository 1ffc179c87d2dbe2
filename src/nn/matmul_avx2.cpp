// The matrix product with AVX2 and fused multiply-adds; compiled for them.
#include <immintrin.h>

#include "matmul_kernel.hpp"

namespace rudder::nn {

namespace {

struct Avx2 {
    using Vector = __m256;
    static constexpr std::size_t width = 8;
    static constexpr std::size_t rows = 4;

    static __m256i mask(std::size_t count) {
        const auto most = static_cast<int>(count < width ? count : width);
        return _mm256_cmpgt_epi32(_mm256_set1_epi32(most),
                                  _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    }
    static Vector zero() { return _mm256_setzero_ps(); }
    static Vector broadcast(const float* from) { return _mm256_broadcast_ss(from); }
    static Vector load(const float* from) { return _mm256_loadu_ps(from); }
    static Vector load(const float* from, __m256i which) { return _mm256_maskload_ps(from, which); }
    static void store(float* to, Vector value) { _mm256_storeu_ps(to, value); }
    static void store(float* to, Vector value, __m256i which) {
        _mm256_maskstore_ps(to, which, value);
    }
    static Vector fma(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }

    static void copy_rows(const float* from, float* to, std::size_t count) {
        for (std::size_t i = 0; i < count; ++i)
            to[i] = from[i];
    }
    static void transpose(__m256 (&r)[8]) {
        __m256 t[8];
        for (std::size_t i = 0; i < 8; i += 2) {  // pairs of floats
            t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
            t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
        }
        for (std::size_t i = 0; i < 8; i += 4) {  // fours
            r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
            r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
            r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
            r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
        }
        for (std::size_t i = 0; i < 4; ++i) {  // halves of registers
            t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
            t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
        }
        for (std::size_t i = 0; i < 8; ++i)
            r[i] = t[i];
    }
};

}  // namespace

void multiply_avx2(const MatrixProduct& product) {
    Multiplication<Avx2>(product).run();
}

}  // namespace rudder::nn
