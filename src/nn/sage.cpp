// GraphSAGE with means: each layer one product of [own | mean of neighbours], chunk by chunk.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/nn/layered_network.hpp"

namespace rudder::nn {

namespace {

/// Which parameters a layer has, and where its matrices of the present pass lie.
struct SageLayer {
    std::size_t self = 0;
    std::size_t neighbours = 0;
    std::size_t bias = 0;
    Matrix weights;  ///< outputs x 2 inputs, packed from self and neighbours
    Matrix joined;   ///< destinations x 2 inputs: own row, mean; later their gradients
    TransposedBlock readers;
};

class Sage final : public LayeredNetwork {
public:
    explicit Sage(const NetworkOptions& network_options);

protected:
    void plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                          WorkspacePlan& memory, Offsets& offsets) const override;
    [[nodiscard]] std::size_t sum_floats(std::size_t l, const sample::Block& block) const override {
        return LaneSums::floats(Lanes(block.destinations), layer_outputs(l), 2 * layer_inputs(l));
    }
    void begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) override;
    void forward_rows(std::size_t l, Rows rows, Pass pass) override;
    void backward_rows(std::size_t l, Rows rows, LaneTurn turn) override;
    void finish_backward(std::size_t l, std::span<float> gradient) override;
    void source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                         const Matrix& out) override;

private:
    [[nodiscard]] LaneSums lane_sums(std::size_t l) {
        return {sums(), Lanes(view(l).out.rows), layer_outputs(l), 2 * layer_inputs(l)};
    }

    std::vector<SageLayer> layers_;
};

Sage::Sage(const NetworkOptions& network_options)
    : LayeredNetwork(network_options, Activation::rectifier) {
    for (std::size_t l = 0; l < layers(); ++l) {
        const auto in = static_cast<std::int64_t>(layer_inputs(l));
        const auto out = static_cast<std::int64_t>(layer_outputs(l));
        // As PyG's SAGEConv: Kaiming-uniform with a = sqrt(5), which is one over the root of the
        // inputs, for the weights and the bias alike.
        const double bound = 1 / std::sqrt(static_cast<double>(in));
        SageLayer layer;
        layer.self = add_parameter(fmt::format("layers.{}.self.weight", l), {out, in}, bound, true);
        layer.neighbours =
            add_parameter(fmt::format("layers.{}.neigh.weight", l), {out, in}, bound, true);
        layer.bias = add_parameter(fmt::format("layers.{}.neigh.bias", l), {out}, bound, false);
        end_convolution(layer.bias);
        layers_.push_back(layer);
    }
    seal();
}

void Sage::plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                            WorkspacePlan& memory, Offsets& offsets) const {
    const std::size_t stride = aligned_columns(2 * layer_inputs(l));
    offsets.push_back(memory.add<float>(layer_outputs(l) * stride));
    offsets.push_back(memory.add<float>(block.destinations * stride));
    if (pass == Pass::predict || l == 0) return;
    offsets.push_back(memory.add<std::uint32_t>(std::size_t{block.sources} + 1));
    offsets.push_back(memory.add<LocalId>(block.edges()));
}

void Sage::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    SageLayer& layer = layers_[l];
    const sample::Block& block = *view(l).block;
    const std::size_t in = layer_inputs(l);
    const std::size_t stride = aligned_columns(2 * in);
    layer.weights = {workspace().at<float>(offsets[0]), layer_outputs(l), 2 * in, stride};
    layer.joined = {workspace().at<float>(offsets[1]), block.destinations, 2 * in, stride};
    pack(layer.self, {layer.weights.data, layer.weights.rows, in, stride});
    pack(layer.neighbours, {layer.weights.data + in, layer.weights.rows, in, stride});
    if (pass == Pass::predict || l == 0) return;
    layer.readers = {{workspace().at<std::uint32_t>(offsets[2]), std::size_t{block.sources} + 1},
                     {workspace().at<LocalId>(offsets[3]), block.edges()}};
    transpose(block, layer.readers);
}

void Sage::forward_rows(std::size_t l, Rows rows, Pass /*pass*/) {
    const SageLayer& layer = layers_[l];
    const ConstMatrix& input = view(l).input;
    const Matrix joined = layer.joined.part(rows.first, rows.count);
    const std::size_t in = input.columns;
    for (std::size_t r = 0; r < rows.count; ++r)
        std::copy_n(input.row(rows.first + r), in, joined.row(r));
    mean_of_neighbours(*view(l).block, input, static_cast<std::uint32_t>(rows.first),
                       static_cast<std::uint32_t>(rows.first + rows.count),
                       {joined.data + in, rows.count, in, joined.stride});
    multiply_transposed(joined, layer.weights, view(l).out.part(rows.first, rows.count));
}

void Sage::backward_rows(std::size_t l, Rows rows, LaneTurn turn) {
    const SageLayer& layer = layers_[l];
    const Matrix out = view(l).out.part(rows.first, rows.count);
    const Matrix joined = layer.joined.part(rows.first, rows.count);
    lane_sums(l).add(turn.lane, turn.first, out, joined);
    if (l == 0) return;
    // The inputs are not needed any more: their gradient takes their place.
    multiply(out, layer.weights, joined);
    const std::size_t in = joined.columns / 2;
    divide_by_neighbours(*view(l).block, static_cast<std::uint32_t>(rows.first),
                         static_cast<std::uint32_t>(rows.first + rows.count),
                         {joined.data + in, rows.count, in, joined.stride});
}

void Sage::finish_backward(std::size_t l, std::span<float> gradient) {
    const SageLayer& layer = layers_[l];
    const std::size_t in = layer_inputs(l);
    const LaneSums::Stretch stretches[]{{0, in, place(gradient, layer.self)},
                                        {in, in, place(gradient, layer.neighbours)}};
    lane_sums(l).finish(stretches, place(gradient, layer.bias));
}

void Sage::source_gradient(std::size_t l, Rows rows, const ActiveRows& active, const Matrix& out) {
    const Matrix& joined = layers_[l].joined;
    const std::size_t in = joined.columns / 2;
    const GradientOfSources gradient{{joined.data, joined.rows, in, joined.stride},
                                     {joined.data + in, joined.rows, in, joined.stride},
                                     active};
    gather_gradient(layers_[l].readers, gradient, static_cast<std::uint32_t>(rows.first),
                    static_cast<std::uint32_t>(rows.first + rows.count), out);
}

}  // namespace

std::unique_ptr<Network> make_sage(const NetworkOptions& options) {
    return std::make_unique<Sage>(options);
}

}  // namespace rudder::nn
