// Networks over graphs of several types: each type of edges is summed up and multiplied for itself.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/raw_vector.hpp"
#include "rudder/nn/layered_network.hpp"

#include "typed_block.hpp"

namespace rudder::nn {

/// out = own row times the weights of its type + for each type of edges that leads to it the mean
/// over neighbours of that type times the weights of the type of edges + bias. Means may be
/// weighted. Rectifier and dropout between layers. In the first layer a type reads as many columns
/// as its vertices have, whatever the width of the rows.
class TypedNetwork : public LayeredNetwork {
protected:
    explicit TypedNetwork(const NetworkOptions& options);

    /// The weights of one product of a layer, outputs x width, and where they lie in a pass.
    struct Piece {
        std::size_t width = 0;
        Matrix weights;
        Matrix gathered;  ///< training: the rows that it multiplies; later their gradient
        std::size_t rows = 0;
    };
    [[nodiscard]] const TypedInputs& types() const noexcept { return *options().types; }
    /// Pieces of a layer: first those of types of vertices, then those of types of edges.
    [[nodiscard]] std::size_t pieces() const noexcept {
        return types().vertices.size() + types().edges.size();
    }
    [[nodiscard]] const Piece& piece(std::size_t l, std::size_t p) const noexcept {
        return layers_[l].pieces[p];
    }

    // ---- what a model provides ----------------------------------------------------------------

    /// Writes the weights of a piece into an aligned matrix.
    virtual void write_weights(std::size_t l, std::size_t p, const Matrix& out) = 0;
    /// Takes the gradients of all pieces of a layer (outputs x width each, one row right after the
    /// other) and writes those of its parameters.
    virtual void take_gradients(std::size_t l, std::span<const ConstMatrix> pieces,
                                std::span<float> gradient) = 0;
    /// To be called for each layer in turn, once it has its parameters: adds the bias.
    void end_typed_layer(double bound);

private:
    struct Layer {
        std::vector<Piece> pieces;
        TypedBlock block;
        std::size_t bias = 0;
    };

    void plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                          WorkspacePlan& memory, Offsets& offsets) const final;
    [[nodiscard]] std::size_t sum_floats(std::size_t l, const sample::Block& block) const final;
    void begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) final;
    void forward_rows(std::size_t l, Rows rows, Pass pass) final;
    void backward_rows(std::size_t l, Rows rows, LaneTurn turn) final;
    void finish_backward(std::size_t l, std::span<float> gradient) final;
    void source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                         const Matrix& out) final;

    [[nodiscard]] LaneSums lane_sums(std::size_t l, std::size_t p);
    [[nodiscard]] Matrix own_rows(std::size_t l, std::size_t type, TypedBlock::Stretch of) const;

    std::vector<Layer> layers_;
    std::size_t ended_ = 0;                ///< layers that have their bias
    std::vector<Array<float>> gradients_;  ///< of the pieces of a layer
};

}  // namespace rudder::nn
