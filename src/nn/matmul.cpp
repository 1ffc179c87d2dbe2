#include "rudder/nn/matmul.hpp"

#include "rudder/core/check.hpp"
#include "rudder/core/checked.hpp"

#include "torch_library.hpp"

namespace rudder {

namespace {

/// The BLAS starts threads of its own unless told otherwise, and is told so thread by thread.
void limit_this_thread(const TorchLibrary& torch) {
    thread_local bool limited = false;
    if (limited) return;
    if (torch.limit_threads != nullptr) torch.limit_threads(1);
    limited = true;
}

/// Row-major c[m x n] = op(a) op(b) + beta c, as BLAS sees it: columns first, so c' = op(b)'
/// op(a)'.
void call(char op_b, char op_a, std::size_t n, std::size_t m, std::size_t k, const ConstMatrix& b,
          const ConstMatrix& a, float beta, const Matrix& c) {
    if (m == 0 || n == 0) return;
    const TorchLibrary& torch = torch_library();
    limit_this_thread(torch);
    const auto size = [](std::size_t value) { return narrow<int>(value, "size of a matrix"); };
    const int rows = size(n);
    const int columns = size(m);
    const int inner = size(k);
    const int stride_a = size(a.stride);
    const int stride_b = size(b.stride);
    const int stride_c = size(c.stride);
    const float alpha = 1;
    torch.multiply(&op_b, &op_a, &rows, &columns, &inner, &alpha, b.data, &stride_b, a.data,
                   &stride_a, &beta, c.data, &stride_c);
}

}  // namespace

void multiply(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
    RUDDER_CHECK_NORMAL(a.columns == b.rows && c.rows == a.rows && c.columns == b.columns);
    call('N', 'N', c.columns, c.rows, a.columns, b, a, 0, c);
}

void multiply_transposed(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c) {
    RUDDER_CHECK_NORMAL(a.columns == b.columns && c.rows == a.rows && c.columns == b.rows);
    call('T', 'N', c.columns, c.rows, a.columns, b, a, 0, c);
}

void multiply_first_transposed(const ConstMatrix& a, const ConstMatrix& b, const Matrix& c,
                               Accumulate accumulate) {
    RUDDER_CHECK_NORMAL(a.rows == b.rows && c.rows == a.columns && c.columns == b.columns);
    call('N', 'T', c.columns, c.rows, a.rows, b, a, accumulate == Accumulate::yes ? 1.F : 0.F, c);
}

}  // namespace rudder
