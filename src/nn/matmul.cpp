#include "rudder/nn/matmul.hpp"

#include <algorithm>
#include <cmath>

#include "rudder/core/array.hpp"
#include "rudder/core/check.hpp"

#include "matmul_kernel.hpp"
#include "simd.hpp"

namespace rudder::nn {

namespace {

/// One float at a time, for processors without AVX2: the same sums, slowly.
struct Portable {
    using Vector = float;
    static constexpr std::size_t width = 1;
    static constexpr std::size_t rows = 4;

    static bool mask(std::size_t /*count*/) { return true; }
    static float zero() { return 0; }
    static float broadcast(const float* from) { return *from; }
    static float load(const float* from) { return *from; }
    static float load(const float* from, bool /*which*/) { return *from; }
    static void store(float* to, float value) { *to = value; }
    static void store(float* to, float value, bool /*which*/) { *to = value; }
    static float fma(float a, float b, float c) { return std::fma(a, b, c); }
    static void copy_rows(const float* from, float* to, std::size_t count) {
        std::copy_n(from, count, to);
    }
    static void transpose(float (&/*one*/)[1]) {}
};

/// c = op(a) op(b), or that added to c.
void run(std::size_t depth, const ConstMatrix& a, bool a_transposed, const ConstMatrix& b,
         bool b_transposed, const Matrix& c, bool add) {
    if (c.rows == 0 || c.columns == 0) return;
    if (depth == 0) {
        if (add) return;
        for (std::size_t r = 0; r < c.rows; ++r)
            std::fill_n(c.row(r), c.columns, 0.F);
        return;
    }
    thread_local Array<float> memory = Array<float>::uninitialised(product_floats);
    const MatrixProduct product{c.rows,       c.columns, depth,        a.data,       a.stride,
                                a_transposed, b.data,    b.stride,     b_transposed, c.data,
                                c.stride,     add,       memory.data()};
    switch (vector_path()) {
        case VectorPath::avx512:
            return multiply_avx512(product);
        case VectorPath::avx2:
            return multiply_avx2(product);
        case VectorPath::portable:
            return Multiplication<Portable>(product).run();
    }
}

}  // namespace

void multiply(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
    RUDDER_CHECK_NORMAL(a.columns == b.rows && c.rows == a.rows && c.columns == b.columns);
    run(a.columns, a, false, b, false, c, false);
}

void multiply_transposed(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
    RUDDER_CHECK_NORMAL(a.columns == b.columns && c.rows == a.rows && c.columns == b.rows);
    run(a.columns, a, false, b, true, c, false);
}

void multiply_first_transposed(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                               Accumulate accumulate) {
    RUDDER_CHECK_NORMAL(a.rows == b.rows && c.rows == a.columns && c.columns == b.columns);
    run(a.rows, a, true, b, false, c, accumulate == Accumulate::yes);
}

}  // namespace rudder::nn
