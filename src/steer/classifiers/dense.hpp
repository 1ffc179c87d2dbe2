// Products of a matrix and one vector, and gates, as fast as one core has them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rudder::steer {

/// A matrix times a vector, plus a bias. Weights are kept in blocks of outputs, so that they are
/// read once, in order, and sums stay in registers.
class Dense {
public:
    Dense() = default;
    /// `weights` is [outputs][inputs]; `factor` scales each output (empty: 1), `bias` is added
    /// (empty: 0).
    Dense(std::span<const float> weights, std::size_t inputs, std::span<const float> factor,
          std::span<const float> bias);

    [[nodiscard]] std::size_t outputs() const noexcept { return outputs_; }
    /// Outputs, rounded up to whole blocks: what `apply` writes.
    [[nodiscard]] std::size_t padded() const noexcept { return bias_.size(); }
    /// x has the inputs, y `padded()` floats.
    void apply(const float* x, float* y) const;

    static constexpr std::size_t block = 64;

private:
    std::size_t inputs_ = 0;
    std::size_t outputs_ = 0;
    std::vector<float> blocks_;  ///< [block of outputs][input][64]
    std::vector<float> bias_;    ///< padded
};

/// out[i] = value[i] * sigmoid(gate[i]); count is a multiple of 16. Within 1e-6 of the exact one.
void gate(const float* value, const float* gate, float* out, std::size_t count);

}  // namespace rudder::steer
