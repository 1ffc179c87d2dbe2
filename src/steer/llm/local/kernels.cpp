// Compiled without contraction of products and sums: see CMakeLists.txt of the layer.
#include "kernels.hpp"

#include <cmath>
#include <cstring>

namespace rudder::steer {

namespace {

#define RUDDER_KERNEL [[gnu::always_inline]] inline

template <std::size_t W>
struct LanesOf {
    using Floats __attribute__((vector_size(W * sizeof(float)))) = float;
    using Ints __attribute__((vector_size(W * sizeof(float)))) = std::int32_t;
};
template <std::size_t W>
using LaneFloats = typename LanesOf<W>::Floats;

template <std::size_t W>
RUDDER_KERNEL LaneFloats<W> load_lanes(const float* from) {
    LaneFloats<W> value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
template <std::size_t W>
RUDDER_KERNEL void store_lanes(float* to, const LaneFloats<W>& value) {
    std::memcpy(to, &value, sizeof value);
}

/// T tokens by V vectors of outputs, all sums in registers.
template <std::size_t W, std::size_t T, std::size_t V>
RUDDER_KERNEL void product_tile(const PanelProduct& p, std::size_t token, std::size_t output) {
    constexpr std::size_t in_panel = panel_lanes / W;
    LaneFloats<W> sums[T][V] = {};
    const float* x = p.x + token * p.x_stride;
    const float* panel = p.panels + output / panel_lanes * p.panel_stride;
    for (std::size_t k = 0; k < p.depth; ++k) {
        LaneFloats<W> weights[V];
#pragma GCC unroll 8
        for (std::size_t v = 0; v < V; ++v) {
            weights[v] = load_lanes<W>(panel + v / in_panel * p.panel_stride + k * panel_lanes +
                                       v % in_panel * W);
        }
#pragma GCC unroll 8
        for (std::size_t t = 0; t < T; ++t) {
            const float value = x[t * p.x_stride + k];
#pragma GCC unroll 8
            for (std::size_t v = 0; v < V; ++v)
                sums[t][v] += weights[v] * value;
        }
    }
    const std::size_t left = p.outputs - output;
    for (std::size_t t = 0; t < T; ++t) {
        float* y = p.y + (token + t) * p.y_stride + output;
        if (left >= V * W) {
            for (std::size_t v = 0; v < V; ++v)
                store_lanes<W>(y + v * W, sums[t][v]);
        } else {
            std::memcpy(y, &sums[t][0], left * sizeof(float));
        }
    }
}

/// The tokens from `token` on, as many at a time as T and then ever fewer.
template <std::size_t W, std::size_t T, std::size_t V>
RUDDER_KERNEL void product_column(const PanelProduct& p, std::size_t token, std::size_t output) {
    for (; token + T <= p.tokens; token += T)
        product_tile<W, T, V>(p, token, output);
    if constexpr (T > 1) {
        if (token < p.tokens) product_column<W, T / 2, V>(p, token, output);
    }
}

/// V vectors of outputs at a time; what is left of them, a panel at a time.
template <std::size_t W, std::size_t T, std::size_t V>
RUDDER_KERNEL void product_body(const PanelProduct& p) {
    std::size_t output = 0;
    if constexpr (V * W > panel_lanes) {
        for (; output + V * W <= in_panels(p.outputs); output += V * W)
            product_column<W, T, V>(p, 0, output);
    }
    for (; output < p.outputs; output += panel_lanes)
        product_column<W, T, panel_lanes / W>(p, 0, output);
}

/// e^x to about 2e-7 of it; 0 below -64, and from 80 on as of 80.
template <std::size_t W>
RUDDER_KERNEL LaneFloats<W> exp_lanes(LaneFloats<W> x) {
    using Floats = LaneFloats<W>;
    using Ints = typename LanesOf<W>::Ints;
    constexpr float shift = 12582912.0F;  // 1.5 * 2^23: rounds when added
    const Ints vanishes = x < -64.0F;
    x = vanishes ? Floats{} : x;
    x = x > 80.0F ? Floats{} + 80.0F : x;
    const Floats whole = (x * 1.44269504F + shift) - shift;
    // ln 2 in two pieces, the first of few digits.
    const Floats r = (x - whole * 0.693359375F) + whole * 2.12194440e-4F;
    constexpr float terms[]{1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1, 1};
    Floats power = Floats{} + 1.0F / 5040;
#pragma GCC unroll 8
    for (const float term : terms)
        power = power * r + term;
    const Ints exponent = (__builtin_convertvector(whole, Ints) + 127) << 23;
    Floats scale;
    std::memcpy(&scale, &exponent, sizeof scale);
    return vanishes ? Floats{} : power * scale;
}

/// 16 sums as one, halves onto halves.
RUDDER_KERNEL float joined(float (&sums)[panel_lanes]) {
    for (std::size_t half = panel_lanes / 2; half > 0; half /= 2) {
        for (std::size_t i = 0; i < half; ++i)
            sums[i] += sums[i + half];
    }
    return sums[0];
}

template <std::size_t W>
RUDDER_KERNEL float dot_body(const float* a, const float* b, std::size_t padded) {
    constexpr std::size_t vectors = panel_lanes / W;
    LaneFloats<W> sums[vectors] = {};
    for (std::size_t i = 0; i < padded; i += panel_lanes) {
        for (std::size_t v = 0; v < vectors; ++v)
            sums[v] += load_lanes<W>(a + i + v * W) * load_lanes<W>(b + i + v * W);
    }
    float lanes[panel_lanes];
    std::memcpy(lanes, &sums[0], sizeof lanes);
    return joined(lanes);
}

template <std::size_t W>
RUDDER_KERNEL void soften_body(float* scores, std::size_t count, std::size_t padded, float scale) {
    using Floats = LaneFloats<W>;
    constexpr std::size_t vectors = panel_lanes / W;
    const std::size_t used = in_panels(count);
    for (std::size_t i = count; i < used; ++i)
        scores[i] = scores[0];  // changes no maximum
    Floats most = load_lanes<W>(scores);
    for (std::size_t i = W; i < used; i += W) {
        const Floats next = load_lanes<W>(scores + i);
        most = next > most ? next : most;
    }
    float top = most[0];
    for (std::size_t i = 1; i < W; ++i)
        top = most[i] > top ? most[i] : top;
    for (std::size_t i = 0; i < used; i += W)
        store_lanes<W>(scores + i, exp_lanes<W>((load_lanes<W>(scores + i) - top) * scale));
    for (std::size_t i = count; i < padded; ++i)
        scores[i] = 0;
    Floats sums[vectors] = {};
    for (std::size_t i = 0; i < used; i += panel_lanes) {
        for (std::size_t v = 0; v < vectors; ++v)
            sums[v] += load_lanes<W>(scores + i + v * W);
    }
    float lanes[panel_lanes];
    std::memcpy(lanes, &sums[0], sizeof lanes);
    const float share = 1.0F / joined(lanes);
    for (std::size_t i = 0; i < used; i += W)
        store_lanes<W>(scores + i, load_lanes<W>(scores + i) * share);
}

template <std::size_t W>
RUDDER_KERNEL void normalise_body(const float* x, const float* weights, float* y, std::size_t width,
                                  float epsilon) {
    const float mean = dot_body<W>(x, x, in_panels(width)) / static_cast<float>(width);
    const float factor = 1.0F / std::sqrt(mean + epsilon);
    for (std::size_t i = 0; i < in_panels(width); i += W)
        store_lanes<W>(y + i, (load_lanes<W>(x + i) * factor) * load_lanes<W>(weights + i));
}

template <std::size_t W>
RUDDER_KERNEL void gate_lanes(float* gate, const float* up, std::size_t padded) {
    for (std::size_t i = 0; i < padded; i += W) {
        const LaneFloats<W> value = load_lanes<W>(gate + i);
        store_lanes<W>(gate + i, value / (1.0F + exp_lanes<W>(-value)) * load_lanes<W>(up + i));
    }
}

// The functions of one path: each body is compiled for the instructions of its caller.
// NOLINTBEGIN(bugprone-macro-parentheses): attributes and arguments of templates take none
#define RUDDER_KERNEL_PATH(name, target, W, T, V)                                             \
    struct name {                                                                             \
        target static void product(const PanelProduct& p) {                                   \
            if (p.tokens == 1) return product_body < W, 1, W == 4 ? 8 : 64 / W > (p);         \
            product_body<W, T, V>(p);                                                         \
        }                                                                                     \
        target static void soften(float* s, std::size_t count, std::size_t padded, float f) { \
            soften_body<W>(s, count, padded, f);                                              \
        }                                                                                     \
        target static void normalise(const float* x, const float* w, float* y, std::size_t n, \
                                     float e) {                                               \
            normalise_body<W>(x, w, y, n, e);                                                 \
        }                                                                                     \
        target static void gate(float* g, const float* u, std::size_t n) {                    \
            gate_lanes<W>(g, u, n);                                                           \
        }                                                                                     \
        target static float dot(const float* a, const float* b, std::size_t n) {              \
            return dot_body<W>(a, b, n);                                                      \
        }                                                                                     \
        static constexpr ModelKernels all{product, soften, normalise, gate, dot};             \
    }

// NOLINTEND(bugprone-macro-parentheses)

#define RUDDER_NO_TARGET
RUDDER_KERNEL_PATH(PortableKernels, RUDDER_NO_TARGET, 4, 2, 4);
#if defined(__x86_64__)
RUDDER_KERNEL_PATH(Avx2Kernels, [[gnu::target("avx2")]], 8, 6, 2);
RUDDER_KERNEL_PATH(Avx512Kernels, [[gnu::target("avx512f")]], 16, 8, 2);
#endif

}  // namespace

KernelPath best_kernel_path() noexcept {
#if defined(__x86_64__)
    __builtin_cpu_init();
#if !defined(__SANITIZE_ADDRESS__)  // it misplaces locals of 64 bytes
    if (__builtin_cpu_supports("avx512f")) return KernelPath::avx512;
#endif
    if (__builtin_cpu_supports("avx2")) return KernelPath::avx2;
#endif
    return KernelPath::portable;
}

const ModelKernels& model_kernels(KernelPath path) noexcept {
#if defined(__x86_64__)
    if (path == KernelPath::avx512) return Avx512Kernels::all;
    if (path == KernelPath::avx2) return Avx2Kernels::all;
#endif
    static_cast<void>(path);
    return PortableKernels::all;
}

}  // namespace rudder::steer
