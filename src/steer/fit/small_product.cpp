#include "small_product.hpp"

namespace rudder::steer {

namespace {

struct Operands {
    const float* a;
    std::size_t a_row, a_step;
    const float* b;
    float* c;
    std::size_t rows, columns, depth;
};

/// One body, compiled for the instructions of its caller; no products and sums are contracted.
[[gnu::always_inline]] inline void add_body(const Operands& o) {
    for (std::size_t r = 0; r < o.rows; ++r) {
        const float* a = o.a + r * o.a_row;
        float* __restrict c = o.c + r * o.columns;
        std::size_t k = 0;
        for (; k + 4 <= o.depth; k += 4) {  // four rows of b per pass over c
            const float* __restrict b = o.b + k * o.columns;
            const float a0 = a[k * o.a_step];
            const float a1 = a[(k + 1) * o.a_step];
            const float a2 = a[(k + 2) * o.a_step];
            const float a3 = a[(k + 3) * o.a_step];
            for (std::size_t j = 0; j < o.columns; ++j) {
                c[j] = (((c[j] + a0 * b[j]) + a1 * b[j + o.columns]) + a2 * b[j + 2 * o.columns]) +
                       a3 * b[j + 3 * o.columns];
            }
        }
        for (; k < o.depth; ++k) {
            const float* __restrict b = o.b + k * o.columns;
            for (std::size_t j = 0; j < o.columns; ++j)
                c[j] += a[k * o.a_step] * b[j];
        }
    }
}

[[gnu::target("avx2")]] void add_avx2(const Operands& o) {
    add_body(o);
}

}  // namespace

// NOLINTNEXTLINE(readability-non-const-parameter): c is written through the operands
void add_product(const float* a, std::size_t a_row, std::size_t a_step, const float* b, float* c,
                 std::size_t rows, std::size_t columns, std::size_t depth) {
    const Operands o{a, a_row, a_step, b, c, rows, columns, depth};
    static const bool wide = [] {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") != 0;
    }();
    wide ? add_avx2(o) : add_body(o);
}

}  // namespace rudder::steer
