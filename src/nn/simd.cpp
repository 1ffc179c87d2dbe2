#include "simd.hpp"

#include <algorithm>
#include <atomic>

namespace rudder::nn {

namespace {

std::atomic<VectorPath>& chosen() noexcept {
    static std::atomic<VectorPath> path{best_vector_path()};
    return path;
}

}  // namespace

VectorPath best_vector_path() noexcept {
    __builtin_cpu_init();
#ifndef __SANITIZE_ADDRESS__  // GCC's address sanitizer misplaces 64-byte locals (its bug 110027)
    if (__builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
        __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
        __builtin_cpu_supports("fma") != 0)
        return VectorPath::avx512;
#endif
    if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0)
        return VectorPath::avx2;
    return VectorPath::portable;
}

VectorPath vector_path() noexcept {
    return chosen().load(std::memory_order_relaxed);
}

void set_vector_path(VectorPath path) noexcept {
    chosen().store(std::min(path, best_vector_path()), std::memory_order_relaxed);
}

std::string_view to_string(VectorPath path) noexcept {
    switch (path) {
        case VectorPath::avx512:
            return "AVX-512";
        case VectorPath::avx2:
            return "AVX2";
        case VectorPath::portable:
            break;
    }
    return "portable";
}

}  // namespace rudder::nn
