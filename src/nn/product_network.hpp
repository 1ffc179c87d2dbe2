// What GraphSAGE and GCN share: each layer is one product of the rows that destinations gather.
#pragma once

#include <algorithm>
#include <vector>

#include "rudder/nn/layered_network.hpp"

namespace rudder::nn {

/// Networks whose layers gather a row per destination, of one or two pieces as wide as the input
/// (perhaps its own row, and a sum over its neighbours), and multiply it by the weights of all
/// pieces side by side. The sum is linear, so inference may multiply first, where that leaves fewer
/// columns to sum; and a sparse input is always multiplied first, so that nothing is ever as wide
/// as its rows would be.
class ProductNetwork : public LayeredNetwork {
public:
    [[nodiscard]] std::size_t layer_reads(std::size_t l) const noexcept final {
        const std::size_t products = aligned_columns(layer_outputs(l));
        return sparse_input(l) ? products : std::min(products, layer_inputs(l));
    }
    [[nodiscard]] bool maps_rows(std::size_t l) const noexcept final {
        return sparse_input(l) || layer_reads(l) != layer_inputs(l);
    }
    void map_rows(std::size_t l, const InputRows& input, std::span<float> out) final;
    [[nodiscard]] bool sums_rows(std::size_t l) const noexcept final {
        return !maps_rows(l) && options().edge_inputs == 0;
    }

protected:
    explicit ProductNetwork(const NetworkOptions& options)
        : LayeredNetwork(options, Activation::rectifier), layers_(layers()) {}

    /// Which parameters a layer has, and where its matrices of the present pass lie.
    struct Layer {
        std::vector<std::size_t> pieces;  ///< the weights of each
        std::size_t bias = 0;
        Matrix weights;   ///< outputs x columns of all pieces, packed
        Matrix gathered;  ///< training: destinations x the same columns; later their gradient
        TransposedBlock readers;
        // Of a sparse input `weights` are the pieces' transposed ones, one below the other, and
        // `gathered` is destinations x outputs: the gradient of the sums.
        Matrix products;  ///< sources x outputs, by the last piece's weights; later their gradient
    };
    [[nodiscard]] Layer& layer(std::size_t l) noexcept { return layers_[l]; }
    /// Adds the weights of a layer's next piece, uniform within the bound.
    void add_piece(std::size_t l, const char* name, double bound);

    /// Writes what some destinations sum up of the rows of `table`, which is by source.
    virtual void sum_rows(std::size_t l, Rows rows, const ConstMatrix& table,
                          const Matrix& sums) = 0;
    /// The gradient of what some destinations summed up is there: makes of it what sum_back reads.
    virtual void gather_back(std::size_t /*l*/, Rows /*rows*/, const Matrix& /*sums*/) {}
    /// The gradient of some rows of the table of sum_rows, from that of all sums; to the
    /// destinations' own rows `own` is added, if it has rows. `active` as of source_gradient.
    virtual void sum_back(std::size_t l, Rows rows, const ConstMatrix& sums, const ConstMatrix& own,
                          const ActiveRows& active, const Matrix& out) = 0;

    // What a model adds to the products of some rows, of the same chunks and lanes.
    virtual void add_more(std::size_t /*l*/, Rows /*rows*/) {}
    virtual void more_back(std::size_t /*l*/, Rows /*rows*/, LaneTurn /*turn*/) {}
    virtual void finish_more(std::size_t /*l*/, std::span<float> /*gradient*/) {}
    /// Floats that adding up its gradients takes, and where they are.
    [[nodiscard]] virtual std::size_t more_floats(std::size_t /*l*/,
                                                  std::size_t /*destinations*/) const {
        return 0;
    }
    [[nodiscard]] float* more_sums(std::size_t l) noexcept {
        return sums() + product_floats(l, view(l).out.rows);
    }

    void plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                          WorkspacePlan& memory, Offsets& offsets) const override;
    void begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) override;

private:
    [[nodiscard]] std::size_t columns(std::size_t l) const noexcept {
        return layers_[l].pieces.size() * layer_inputs(l);
    }
    /// The columns of `rows`, of all pieces, that are of one piece.
    template <class M>
    [[nodiscard]] M piece(std::size_t l, const M& rows, std::size_t which) const noexcept {
        const std::size_t in = layer_inputs(l);
        return {rows.data + which * in, rows.rows, in, rows.stride};
    }
    void gather_rows(std::size_t l, Rows rows, const Matrix& gathered);
    void add_mapped(std::size_t l, Rows rows, const ConstMatrix& table);
    void prepare(std::size_t l) final;
    void source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                         const Matrix& out) final;
    void finish_sparse(std::size_t l, std::span<float> gradient);
    /// The transposed weights of a sparse input's piece.
    [[nodiscard]] ConstMatrix transposed(std::size_t l, std::size_t which) const noexcept {
        return ConstMatrix(layers_[l].weights).part(which * layer_inputs(l), layer_inputs(l));
    }
    /// Columns of the gathered rows that lanes add gradients up for; biases they always do.
    [[nodiscard]] std::size_t lane_columns(std::size_t l) const noexcept {
        return sparse_input(l) ? 0 : columns(l);
    }
    [[nodiscard]] LaneSums lane_sums(std::size_t l) {
        return {sums(), Lanes(view(l).out.rows), layer_outputs(l), lane_columns(l)};
    }
    [[nodiscard]] std::size_t product_floats(std::size_t l, std::size_t rows) const noexcept {
        return LaneSums::floats(Lanes(rows), layer_outputs(l), lane_columns(l));
    }
    [[nodiscard]] std::size_t sum_floats(std::size_t l, const sample::Block& block) const final {
        return product_floats(l, block.destinations) + more_floats(l, block.destinations);
    }
    void multiply_rows(std::size_t l, Rows rows, Pass pass);
    void forward_rows(std::size_t l, Rows rows, Pass pass) final;
    void backward_rows(std::size_t l, Rows rows, LaneTurn turn) final;
    void finish_backward(std::size_t l, std::span<float> gradient) final;

    std::vector<Layer> layers_;
    Array<float> products_;  ///< of predictions
};

/// The numbers of rows, as kernels take them.
struct RowNumbers {
    std::uint32_t first;
    std::uint32_t last;
    explicit RowNumbers(Rows rows)
        : first(static_cast<std::uint32_t>(rows.first)),
          last(static_cast<std::uint32_t>(rows.first + rows.count)) {}
};

}  // namespace rudder::nn
