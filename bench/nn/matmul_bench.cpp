// GFLOP/s of the matrix products on one thread, by shape; beside those of a BLAS, if one is named.
//
//     bench_nn_matmul [LIBRARY]
//
// LIBRARY is a shared library with Fortran's sgemm_, for example .../torch/lib/libtorch_cpu.so.
// Sides are run in turns; the figures are medians of 15 rounds.
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>

#include "nn/random_batch.hpp"
#include "nn/simd.hpp"
#include "rudder/core/array.hpp"
#include "rudder/nn/matmul.hpp"

#include "timing.hpp"

namespace {

using namespace rudder;

using Sgemm = void(const char*, const char*, const int*, const int*, const int*, const float*,
                   const float*, const int*, const float*, const int*, const float*, float*,
                   const int*);

struct Shape {
    int m;
    int n;
    int k;
    char a;  ///< N or T: as it is, or transposed
    char b;
};

constexpr Shape shapes[]{
    {256, 256, 256, 'N', 'T'},   {256, 256, 256, 'N', 'N'},  {256, 256, 256, 'T', 'N'},
    {4096, 256, 128, 'N', 'T'},  {4096, 256, 128, 'N', 'N'}, {16384, 256, 256, 'N', 'T'},
    {16384, 256, 256, 'N', 'N'}, {64, 64, 16384, 'T', 'N'},  {64, 64, 16384, 'N', 'T'},
    {64, 64, 16384, 'N', 'N'},   {256, 16, 100, 'N', 'T'},   {16, 100, 256, 'T', 'N'},
    {256, 100, 16, 'N', 'N'},    {256, 256, 200, 'N', 'T'},  {256, 200, 256, 'T', 'N'},
    {256, 200, 256, 'N', 'N'},   {256, 64, 1204, 'N', 'T'},  {64, 1204, 256, 'T', 'N'},
    {256, 1204, 64, 'N', 'N'},   {256, 47, 512, 'N', 'T'},   {47, 512, 256, 'T', 'N'},
    {256, 512, 47, 'N', 'N'},
};

/// Rows that begin at 64 bytes, as networks have them.
struct Stored {
    Array<float> memory;
    nn::Matrix view;
    Stored(int rows, int columns, std::uint64_t seed) {
        const std::size_t stride = nn::aligned_columns(static_cast<std::size_t>(columns));
        memory = Array<float>::copy_of(
            testing::random_floats(static_cast<std::size_t>(rows) * stride, seed));
        view = {memory.data(), static_cast<std::size_t>(rows), static_cast<std::size_t>(columns),
                stride};
    }
    [[nodiscard]] int stride() const { return static_cast<int>(view.stride); }
};

void measure(const Shape& s, Sgemm* sgemm) {
    const Stored a(s.a == 'N' ? s.m : s.k, s.a == 'N' ? s.k : s.m, 1);
    const Stored b(s.b == 'N' ? s.k : s.n, s.b == 'N' ? s.n : s.k, 2);
    const Stored c(s.m, s.n, 3);
    const double operations = 2.0 * s.m * s.n * s.k;
    const int times = std::max(1, static_cast<int>(1e8 / operations));
    const auto repeat = [times](const auto& body) {
        return [times, body] {
            for (int i = 0; i < times; ++i)
                body();
        };
    };
    std::vector<bench::Side> sides{{"rudder", repeat([&] {
                                        if (s.a == 'T')
                                            nn::multiply_first_transposed(a.view, b.view, c.view,
                                                                          nn::Accumulate::no);
                                        else if (s.b == 'T')
                                            nn::multiply_transposed(a.view, b.view, c.view);
                                        else
                                            nn::multiply(a.view, b.view, c.view);
                                    })}};
    const float one = 1;
    const float zero = 0;
    const int strides[]{a.stride(), b.stride(), c.stride()};
    if (sgemm != nullptr)
        sides.push_back({"library", repeat([&] {
                             sgemm(&s.b, &s.a, &s.n, &s.m, &s.k, &one, b.view.data, &strides[1],
                                   a.view.data, &strides[0], &zero, c.view.data, &strides[2]);
                         })});
    bench::measure(sides, 15);
    std::printf("%6d x %4d x %5d  %c%c", s.m, s.n, s.k, s.a, s.b);
    for (const bench::Side& side : sides)
        std::printf("  %s %6.1f", side.name.c_str(), operations * times / side.milliseconds / 1e6);
    if (sides.size() > 1)
        std::printf("  ratio %.2f", sides[1].milliseconds / sides[0].milliseconds);
    std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
    Sgemm* sgemm = nullptr;
    if (argc > 1) {
        ::setenv("OMP_NUM_THREADS", "1", 1);
        void* library = ::dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
        if (library != nullptr) sgemm = reinterpret_cast<Sgemm*>(::dlsym(library, "sgemm_"));
        if (sgemm == nullptr) return std::fprintf(stderr, "%s\n", ::dlerror()), 1;
        if (auto* limit =
                reinterpret_cast<int (*)(int)>(::dlsym(library, "MKL_Set_Num_Threads_Local")))
            limit(1);
    }
    std::printf("GFLOP/s on one thread, %.*s\n",
                static_cast<int>(to_string(nn::vector_path()).size()),
                to_string(nn::vector_path()).data());
    for (const Shape& shape : shapes)
        measure(shape, sgemm);
    return 0;
}
