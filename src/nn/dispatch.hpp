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

/// One path's body: `run<W>` of a kernel that asks for the path's width in floats, or `run`.
template <std::size_t W, class Kernel>
RUDDER_INLINE void run_path(const Kernel& kernel) {
    if constexpr (requires { kernel.template run<W>(); }) {
        kernel.template run<W>();
    } else {
        kernel.run();
    }
}
template <class Kernel>
RUDDER_AVX512 void run_avx512(const Kernel& kernel) {
    run_path<16>(kernel);
}
template <class Kernel>
RUDDER_AVX2 void run_avx2(const Kernel& kernel) {
    run_path<8>(kernel);
}
template <class Kernel>
void run_portable(const Kernel& kernel) {
    run_path<4>(kernel);
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
