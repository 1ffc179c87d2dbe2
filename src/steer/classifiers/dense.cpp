#include "dense.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace rudder::steer {

namespace {

// Vectors of the compiler: one body serves every width the processor has.
constexpr std::size_t lanes = 16;
using Floats [[gnu::vector_size(64)]] = float;
using Ints [[gnu::vector_size(64)]] = std::int32_t;

[[gnu::always_inline]] inline Floats load(const float* from) {
    Floats value;
    std::memcpy(&value, from, sizeof value);
    return value;
}
[[gnu::always_inline]] inline void store(float* to, const Floats& value) {
    std::memcpy(to, &value, sizeof value);
}

struct Product {
    const float* blocks;
    const float* bias;
    const float* x;
    float* y;
    std::size_t inputs;
    std::size_t padded;
};

[[gnu::always_inline]] inline void multiply_body(const Product& p) {
    const float* weights = p.blocks;
    for (std::size_t o = 0; o < p.padded; o += Dense::block) {
        Floats s0 = load(p.bias + o);
        Floats s1 = load(p.bias + o + lanes);
        Floats s2 = load(p.bias + o + 2 * lanes);
        Floats s3 = load(p.bias + o + 3 * lanes);
        for (std::size_t i = 0; i < p.inputs; ++i, weights += Dense::block) {
            const float x = p.x[i];
            s0 += load(weights) * x;
            s1 += load(weights + lanes) * x;
            s2 += load(weights + 2 * lanes) * x;
            s3 += load(weights + 3 * lanes) * x;
        }
        store(p.y + o, s0);
        store(p.y + o + lanes, s1);
        store(p.y + o + 2 * lanes, s2);
        store(p.y + o + 3 * lanes, s3);
    }
}

/// 2^t by its exponent and a polynomial on [-0.5, 0.5] (Taylor's, to the seventh power).
[[gnu::always_inline]] inline void gate_body(const float* value, const float* gates, float* out,
                                             std::size_t count) {
    constexpr float shift = 12582912.0F;  // 1.5 * 2^23: rounds when added
    for (std::size_t i = 0; i < count; i += lanes) {
        Floats t = load(gates + i) * -1.44269504F;
        // Beyond, the gate is open or shut.
        t = t > 120.0F ? Floats{} + 120.0F : t;
        t = t < -120.0F ? Floats{} - 120.0F : t;
        const Floats whole = (t + shift) - shift;
        const Floats r = (t - whole) * 0.69314718F;
        Floats power = 1.0F / 5040 + Floats{};
        for (const float c : {1.0F / 720, 1.0F / 120, 1.0F / 24, 1.0F / 6, 0.5F, 1.0F, 1.0F})
            power = power * r + c;
        const Ints exponent = (__builtin_convertvector(whole, Ints) + 127) << 23;
        Floats scale;
        std::memcpy(&scale, &exponent, sizeof scale);
        store(out + i, load(value + i) / (1.0F + power * scale));
    }
}

using Multiply = void(const Product&);
using Gate = void(const float*, const float*, float*, std::size_t);

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void multiply_512(const Product& p) {
    multiply_body(p);
}
[[gnu::target("avx2,fma")]] void multiply_256(const Product& p) {
    multiply_body(p);
}
[[gnu::target("avx512f")]] void gate_512(const float* v, const float* g, float* o, std::size_t n) {
    gate_body(v, g, o, n);
}
[[gnu::target("avx2,fma")]] void gate_256(const float* v, const float* g, float* o, std::size_t n) {
    gate_body(v, g, o, n);
}
#endif
void multiply_plain(const Product& p) {
    multiply_body(p);
}
void gate_plain(const float* v, const float* g, float* o, std::size_t n) {
    gate_body(v, g, o, n);
}

struct Kernels {
    Multiply* multiply = multiply_plain;
    Gate* gate = gate_plain;
};

Kernels choose() {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) return {multiply_512, gate_512};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return {multiply_256, gate_256};
#endif
    return {};
}

const Kernels kernels = choose();

}  // namespace

Dense::Dense(std::span<const float> weights, std::size_t inputs, std::span<const float> factor,
             std::span<const float> bias)
    : inputs_(inputs), outputs_(weights.size() / inputs) {
    const std::size_t padded = (outputs_ + block - 1) / block * block;
    blocks_.assign(padded * inputs, 0);
    bias_.assign(padded, 0);
    std::ranges::copy(bias, bias_.begin());
    for (std::size_t o = 0; o < outputs_; ++o) {
        float* to = blocks_.data() + o / block * block * inputs + o % block;
        const float times = factor.empty() ? 1 : factor[o];
        for (std::size_t i = 0; i < inputs; ++i)
            to[i * block] = weights[o * inputs + i] * times;
    }
}

void Dense::apply(const float* x, float* y) const {
    kernels.multiply({blocks_.data(), bias_.data(), x, y, inputs_, bias_.size()});
}

void gate(const float* value, const float* gates, float* out, std::size_t count) {
    kernels.gate(value, gates, out, count);
}

}  // namespace rudder::steer
