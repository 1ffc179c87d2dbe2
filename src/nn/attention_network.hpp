// What the networks with attention share: heads, and the way from heads to columns and back.
#pragma once

#include "attention.hpp"

namespace rudder::nn {

/// Networks whose layers attend with several heads, side by side in hidden layers, averaged in the
/// last one. Both kinds map the sources to values, attend, join heads, and go back over lanes of
/// the sources; they differ in scores.
class AttentionNetwork : public LayeredNetwork {
protected:
    explicit AttentionNetwork(const NetworkOptions& options)
        : LayeredNetwork(options, Activation::exponential), layers_(layers()) {}

    /// What every layer has: its parameters, and where its matrices of the present pass lie.
    struct Layer {
        std::size_t weight = 0;  ///< maps sources to values
        std::size_t bias = 0;
        Matrix weights;  ///< width x inputs, packed
        Matrix values;   ///< sources x width; later their gradient
        float* alphas = nullptr;
        float* deltas = nullptr;
        Matrix gradient;  ///< of the sums: destinations x width
        TransposedBlock readers;
    };
    [[nodiscard]] Layer& layer(std::size_t l) noexcept { return layers_[l]; }
    [[nodiscard]] const Layer& layer(std::size_t l) const noexcept { return layers_[l]; }
    [[nodiscard]] Attention attention(std::size_t l) const noexcept {
        return {view(l).block, heads(l), layers_[l].values, layers_[l].alphas, layers_[l].deltas};
    }
    [[nodiscard]] Heads heads(std::size_t layer) const noexcept {
        const std::size_t count = options().heads;
        return {count, last(layer) ? layer_outputs(layer) : options().hidden / count};
    }
    /// Aligned rows of a layer's input; of a sparse one no columns, so that lanes add up biases
    /// alone.
    [[nodiscard]] ConstMatrix input_rows(std::size_t l, Rows rows) const;
    /// Columns of the input that lanes add gradients up for.
    [[nodiscard]] std::size_t lane_inputs(std::size_t l) const noexcept {
        return sparse_input(l) ? 0 : layer_inputs(l);
    }
    /// Floats of the weights of all heads.
    [[nodiscard]] std::size_t weight_floats(std::size_t l) const noexcept {
        return sparse_input(l) ? layer_inputs(l) * heads(l).width()
                               : heads(l).width() * aligned_columns(layer_inputs(l));
    }
    /// Packs the weights of all heads there: width x inputs, or transposed for a sparse input.
    [[nodiscard]] Matrix pack_weights(std::size_t l, std::size_t parameter, float* memory) const;
    /// out = rows of the input times packed weights.
    void multiply_input(std::size_t l, Rows rows, const Matrix& weights, const Matrix& out) const;
    /// Writes the gradients of weights that multiply the input and of their bias (null: nowhere),
    /// from what the lanes have added up and, of a sparse input, the gradient of the products.
    void finish_weights(std::size_t l, const LaneSums& lanes, const ConstMatrix& products,
                        float* weights, float* bias);
    /// A parameter of Glorot's uniform beginnings, rows by columns of the weights' tensor.
    std::size_t add_glorot(std::size_t l, const char* name, std::size_t rows, std::size_t columns);
    std::size_t add_zeroes(std::size_t l, const char* name, std::size_t count);

    // ---- what a kind of attention provides ------------------------------------------------------

    /// Floats of its own matrices, of predictions first.
    [[nodiscard]] virtual std::vector<std::size_t> own_floats(std::size_t l,
                                                              const sample::Block& block,
                                                              Pass pass) const = 0;
    /// Where they are.
    virtual void begin_own(std::size_t l, const std::vector<float*>& memory, Pass pass) = 0;
    /// Floats that adding up its own gradients takes.
    [[nodiscard]] virtual std::size_t own_sum_floats(std::size_t l,
                                                     const sample::Block& block) const = 0;
    /// Values of some sources are there: what else they give.
    virtual void values_made(std::size_t l, Rows rows) = 0;
    virtual void attend_rows(std::size_t l, Rows rows, const Matrix& sums) = 0;
    /// The gradient of the sums is there: fills `deltas`, and what its own parameters get.
    virtual void attend_back(std::size_t l, Rows rows, LaneTurn turn) = 0;
    /// Values of some sources become their gradient.
    virtual void values_back(std::size_t l, Rows rows, LaneTurn turn) = 0;
    /// Writes the gradients of its own parameters.
    virtual void finish_own(std::size_t l, std::span<float> gradient) = 0;
    /// The parameter that is added to the values, if there is one: its place in the gradient.
    virtual float* value_bias(std::size_t /*l*/, std::span<float> /*gradient*/) const {
        return nullptr;
    }

    /// Where its own gradients are added up.
    [[nodiscard]] float* own_sums(std::size_t l) noexcept;

    /// A matrix whose rows are whole vectors.
    [[nodiscard]] static Matrix matrix(float* memory, std::size_t rows,
                                       std::size_t columns) noexcept {
        return {memory, rows, columns, aligned_columns(columns)};
    }
    /// Copies a parameter with a row (or a number) per head and column, zeroes between the heads.
    void pack_heads(std::size_t parameter, const Heads& heads, const Matrix& out) const noexcept {
        nn::pack_heads(heads, weights_of(parameter), out);
    }
    void pack_heads(std::size_t parameter, const Heads& heads, float* out) const noexcept {
        pack_heads(parameter, heads, Matrix{out, heads.width(), 1, 1});
    }
    /// Adds up the lanes of a vector, and takes the zeroes between its heads out.
    static void finish_vector(const Heads& heads, const LaneColumns& sums, float* out);

    void source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                         const Matrix& out) override;

private:
    void plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                          WorkspacePlan& memory, Offsets& offsets) const final;
    [[nodiscard]] std::size_t sum_floats(std::size_t l, const sample::Block& block) const final;
    void begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) final;
    void prepare(std::size_t l) final;
    void forward_rows(std::size_t l, Rows rows, Pass pass) final;
    void backward_rows(std::size_t l, Rows rows, LaneTurn turn) final;
    void finish_backward(std::size_t l, std::span<float> gradient) final;

    [[nodiscard]] HeadsBecome become(std::size_t l) const noexcept {
        return last(l) ? HeadsBecome::mean : HeadsBecome::columns;
    }
    [[nodiscard]] LaneColumns bias_sums(std::size_t l) noexcept;
    [[nodiscard]] LaneSums weight_sums(std::size_t l) noexcept;

    std::vector<Layer> layers_;
};

}  // namespace rudder::nn
