// What the parts of a network on a device share in one training pass.
#pragma once

#include <memory>
#include <vector>

#include "rudder/nn/dropout.hpp"

#include "device_inputs.hpp"
#include "device_weights.hpp"

namespace rudder::nn {

/// A layer in the present pass. All matrices are on the device, row by row without gaps.
struct DeviceLayer {
    BlockPlaces block;
    const std::uint32_t* degrees = nullptr;
    std::size_t inputs = 0;
    std::size_t outputs = 0;
    const float* input = nullptr;  ///< sources x inputs
    float* out = nullptr;          ///< destinations x outputs; later the gradient of that
};

/// Kernels by what they do for a network, in the order they are asked for.
class DeviceSteps {
public:
    explicit DeviceSteps(std::shared_ptr<DeviceWeights> weights) : weights_(std::move(weights)) {}

    [[nodiscard]] Device& device() const noexcept { return weights_->device(); }
    [[nodiscard]] DeviceWeights& weights() const noexcept { return *weights_; }
    /// A layer's parameter, and its gradient; null where it has none of that name.
    [[nodiscard]] const float* weight(std::size_t layer, std::string_view name) const;
    [[nodiscard]] float* gradient(std::size_t layer, std::string_view name) const;
    [[nodiscard]] bool has(std::size_t layer, std::string_view name) const;

    /// c (+)= rows times the transpose of weights (columns x depth).
    void multiply_transposed(const float* rows, const float* weights, float* c, std::size_t count,
                             std::size_t columns, std::size_t depth, bool add = false) const;
    /// c (+)= rows times weights (depth x columns).
    void multiply(const float* rows, const float* weights, float* c, std::size_t count,
                  std::size_t columns, std::size_t depth, bool add = false) const;
    /// The gradient of weights: gradient (rows x outputs) transposed, times input (rows x inputs).
    void weight_gradient(const float* gradient, const float* input, float* to, std::size_t rows,
                         std::size_t outputs, std::size_t inputs) const;

    /// Where sums of columns have room; set for each pass.
    void set_partial(float* partial) noexcept { partial_ = partial; }
    [[nodiscard]] static std::size_t partial_floats(std::size_t rows,
                                                    std::size_t columns) noexcept {
        return pieces_of(rows, stretch_rows(rows)) * columns;
    }
    /// out = the sums of terms by column, over the divisor (0: as they are).
    void sum_columns(const ColumnSums& sums, float* out, float divisor = 0,
                     float* undivided = nullptr) const;
    void sum_columns(const float* x, std::size_t rows, std::size_t columns, float* out) const;
    /// to = from, element by element, times a factor.
    void scale(const float* from, float* to, std::size_t count, float factor) const;

private:
    std::shared_ptr<DeviceWeights> weights_;
    float* partial_ = nullptr;
};

/// What a layer computes of its block before the norm, and the way back.
class DeviceConvolution {
public:
    virtual ~DeviceConvolution() = default;
    /// Takes memory for a pass over blocks of these sizes; `memory` may only count.
    virtual void lay_out(std::size_t layer, const DeviceLayer& sizes, Stretches& memory) = 0;
    /// Floats that its sums of columns need room for.
    [[nodiscard]] virtual std::size_t partial_floats(const DeviceLayer& sizes) const = 0;
    /// Writes `out`, without the bias.
    virtual void forward(std::size_t layer, const DeviceLayer& pass) = 0;
    /// From the gradient in `out`: the gradients of its parameters, bias included.
    virtual void backward(std::size_t layer, const DeviceLayer& pass) = 0;
    /// After that: the gradient of the layer's input (sources x inputs). Where `active` is set,
    /// rectifier and dropout are undone by it and `scale`; `to` may then be it.
    virtual void source_gradient(std::size_t layer, const DeviceLayer& pass, const float* active,
                                 float scale, float* to) = 0;
    /// Whether source_gradient takes `active`.
    [[nodiscard]] virtual bool undoes_rectifier() const noexcept = 0;
    /// The parameter that is added to what it computes.
    [[nodiscard]] virtual std::string_view bias() const noexcept = 0;
};

/// sage and gcn.
[[nodiscard]] std::unique_ptr<DeviceConvolution> make_device_products(
    const DeviceSteps& steps, const NetworkOptions& options);
/// gat and gatv2.
[[nodiscard]] std::unique_ptr<DeviceConvolution> make_device_attention(
    const DeviceSteps& steps, const NetworkOptions& options);

}  // namespace rudder::nn
