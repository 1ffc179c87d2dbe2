// One kernel, compiled for several instruction sets, chosen when it is called.
#pragma once

#include <cstddef>

#include "simd.hpp"

namespace rudder::nn {

/// W floats side by side: in registers, and anywhere in memory.
template <std::size_t W>
struct VectorOf {
    using Type __attribute__((vector_size(W * sizeof(float)))) = float;
    using Loose __attribute__((vector_size(W * sizeof(float)), aligned(4), may_alias)) = float;
};

}  // namespace rudder::nn

// A kernel's body is inlined (RUDDER_INLINE) into one function per instruction set: only so is it
// compiled for the instructions of its caller. Contraction of products and sums is off in this
// layer, so the paths differ in width alone.
#ifdef __clang__
#define RUDDER_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")))
#else
#define RUDDER_AVX512 \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,prefer-vector-width=512")))
#endif
#define RUDDER_AVX2 __attribute__((target("avx2,fma")))
#define RUDDER_INLINE [[gnu::always_inline]] inline

namespace rudder::nn {

template <class Kernel>
RUDDER_AVX512 void run_avx512(const Kernel& kernel) {
    kernel.run();
}
template <class Kernel>
RUDDER_AVX2 void run_avx2(const Kernel& kernel) {
    kernel.run();
}
template <class Kernel>
void run_portable(const Kernel& kernel) {
    kernel.run();
}

/// Runs a kernel, whose `run` and all it calls are RUDDER_INLINE, on the present path.
template <class Kernel>
void run_kernel(const Kernel& kernel) {
    switch (vector_path()) {
        case VectorPath::avx512:
            return run_avx512(kernel);
        case VectorPath::avx2:
            return run_avx2(kernel);
        case VectorPath::portable:
            return run_portable(kernel);
    }
}

}  // namespace rudder::nn
