// The arithmetic of a model in this process. Every path gives the same bits: an element is one
// chain of products and sums, or 16 chains joined in one order, however wide registers are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rudder::steer {

/// Floats in a panel: outputs that lie side by side for each input.
inline constexpr std::size_t panel_lanes = 16;
[[nodiscard]] constexpr std::size_t in_panels(std::size_t count) noexcept {
    return (count + panel_lanes - 1) / panel_lanes * panel_lanes;
}

/// y[t][o] = sum over k, in its order, of x[t][k] * panels[o / 16][k][o % 16].
struct PanelProduct {
    const float* x;
    std::size_t x_stride;
    std::size_t tokens;
    const float* panels;
    std::size_t panel_stride;  ///< floats from one panel to the next
    std::size_t outputs;
    std::size_t depth;
    float* y;
    std::size_t y_stride;
};

/// Which vector instructions are used.
enum class KernelPath : std::uint8_t { portable, avx2, avx512 };

/// One path's functions. `padded` counts are multiples of 16.
struct ModelKernels {
    void (*product)(const PanelProduct& product);
    /// Softmax of the first `count` of scores times `scale`; the rest, up to `padded`, become 0.
    void (*soften)(float* scores, std::size_t count, std::size_t padded, float scale);
    /// y = x * weights / sqrt(mean of x^2 + epsilon); x and weights are 0 beyond `width`.
    void (*normalise)(const float* x, const float* weights, float* y, std::size_t width,
                      float epsilon);
    /// gate = silu(gate) * up.
    void (*gate)(float* gate, const float* up, std::size_t padded);
    float (*dot)(const float* a, const float* b, std::size_t padded);
};

/// The widest this processor has.
[[nodiscard]] KernelPath best_kernel_path() noexcept;
/// Of that path, which the processor must have.
[[nodiscard]] const ModelKernels& model_kernels(KernelPath path) noexcept;

}  // namespace rudder::steer
