// Graph convolution: each layer one product of the normalised sum of own row and neighbours.
#include <cmath>

#include <fmt/format.h>

#include "rudder/nn/layered_network.hpp"

namespace rudder::nn {

namespace {

/// Which parameters a layer has, and where its matrices of the present pass lie.
///
/// With c = 1 / sqrt(degree + 1) and r = c degree / sampled, row d of the sums is
/// c_d^2 own + r_d sum of c_s row_s: what all neighbours together would give, on average.
struct GcnLayer {
    std::size_t weight = 0;
    std::size_t bias = 0;
    Matrix weights;           ///< outputs x inputs, packed
    Matrix summed;            ///< destinations x inputs; later their gradient
    float* roots = nullptr;   ///< c of the sources
    float* shares = nullptr;  ///< c^2 of the sources
    float* reach = nullptr;   ///< r of the destinations
    TransposedBlock readers;
};

class Gcn final : public LayeredNetwork {
public:
    explicit Gcn(const NetworkOptions& network_options);
    [[nodiscard]] bool wants_degrees() const noexcept override { return true; }

protected:
    void plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                          WorkspacePlan& memory, Offsets& offsets) const override;
    [[nodiscard]] std::size_t sum_floats(std::size_t l, const sample::Block& block) const override {
        return LaneSums::floats(Lanes(block.destinations), layer_outputs(l), layer_inputs(l));
    }
    void begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) override;
    void forward_rows(std::size_t l, Rows rows, Pass pass) override;
    void backward_rows(std::size_t l, Rows rows, LaneTurn turn) override;
    void finish_backward(std::size_t l, std::span<float> gradient) override;
    void source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                         const Matrix& out) override;

private:
    [[nodiscard]] LaneSums lane_sums(std::size_t l) {
        return {sums(), Lanes(view(l).out.rows), layer_outputs(l), layer_inputs(l)};
    }
    void weigh(std::size_t l);

    std::vector<GcnLayer> layers_;
};

Gcn::Gcn(const NetworkOptions& network_options)
    : LayeredNetwork(network_options, Activation::rectifier) {
    for (std::size_t l = 0; l < layers(); ++l) {
        const auto in = static_cast<std::int64_t>(layer_inputs(l));
        const auto out = static_cast<std::int64_t>(layer_outputs(l));
        // As PyG's GCNConv: Glorot-uniform weights, no bias at first.
        const double bound = std::sqrt(6.0 / static_cast<double>(in + out));
        GcnLayer layer;
        layer.weight = add_parameter(fmt::format("layers.{}.weight", l), {out, in}, bound, true);
        layer.bias = add_constant(fmt::format("layers.{}.bias", l), {out}, 0);
        end_convolution(layer.bias);
        layers_.push_back(layer);
    }
    seal();
}

void Gcn::plan_convolution(std::size_t l, const sample::Block& block, Pass pass,
                           WorkspacePlan& memory, Offsets& offsets) const {
    const std::size_t stride = aligned_columns(layer_inputs(l));
    offsets.push_back(memory.add<float>(layer_outputs(l) * stride));
    offsets.push_back(memory.add<float>(block.destinations * stride));
    offsets.push_back(memory.add<float>(block.sources));
    offsets.push_back(memory.add<float>(block.sources));
    offsets.push_back(memory.add<float>(block.destinations));
    if (pass == Pass::predict || l == 0) return;
    offsets.push_back(memory.add<std::uint32_t>(std::size_t{block.sources} + 1));
    offsets.push_back(memory.add<LocalId>(block.edges()));
}

void Gcn::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    GcnLayer& layer = layers_[l];
    const sample::Block& block = *view(l).block;
    const std::size_t in = layer_inputs(l);
    layer.weights = {workspace().at<float>(offsets[0]), layer_outputs(l), in, aligned_columns(in)};
    layer.summed = {workspace().at<float>(offsets[1]), block.destinations, in, aligned_columns(in)};
    layer.roots = workspace().at<float>(offsets[2]);
    layer.shares = workspace().at<float>(offsets[3]);
    layer.reach = workspace().at<float>(offsets[4]);
    pack(layer.weight, layer.weights);
    weigh(l);
    if (pass == Pass::predict || l == 0) return;
    layer.readers = {{workspace().at<std::uint32_t>(offsets[5]), std::size_t{block.sources} + 1},
                     {workspace().at<LocalId>(offsets[6]), block.edges()}};
    transpose(block, layer.readers);
}

void Gcn::weigh(std::size_t l) {
    const GcnLayer& layer = layers_[l];
    const sample::Block& block = *view(l).block;
    const auto degrees = view(l).degrees;
    for (std::uint32_t s = 0; s < block.sources; ++s) {
        layer.roots[s] = 1.F / std::sqrt(static_cast<float>(degrees[s]) + 1.F);
        layer.shares[s] = layer.roots[s] * layer.roots[s];
    }
    for (std::uint32_t d = 0; d < block.destinations; ++d) {
        const std::uint32_t sampled = block.offsets[d + 1] - block.offsets[d];
        const float scale =
            sampled == 0 ? 0.F : static_cast<float>(degrees[d]) / static_cast<float>(sampled);
        layer.reach[d] = layer.roots[d] * scale;
    }
}

void Gcn::forward_rows(std::size_t l, Rows rows, Pass /*pass*/) {
    const GcnLayer& layer = layers_[l];
    const sample::Block& block = *view(l).block;
    const ConstMatrix& input = view(l).input;
    const Matrix summed = layer.summed.part(rows.first, rows.count);
    const WeightedRows sum{input, layer.roots, layer.reach, input, layer.shares};
    weighted_sum(block.offsets, block.neighbours, sum, static_cast<std::uint32_t>(rows.first),
                 static_cast<std::uint32_t>(rows.first + rows.count), summed);
    multiply_transposed(summed, layer.weights, view(l).out.part(rows.first, rows.count));
}

void Gcn::backward_rows(std::size_t l, Rows rows, LaneTurn turn) {
    const GcnLayer& layer = layers_[l];
    const Matrix out = view(l).out.part(rows.first, rows.count);
    const Matrix summed = layer.summed.part(rows.first, rows.count);
    lane_sums(l).add(turn.lane, turn.first, out, summed);
    // The sums are not needed any more: their gradient takes their place.
    if (l > 0) multiply(out, layer.weights, summed);
}

void Gcn::finish_backward(std::size_t l, std::span<float> gradient) {
    const GcnLayer& layer = layers_[l];
    const LaneSums::Stretch whole{0, layer_inputs(l), place(gradient, layer.weight)};
    lane_sums(l).finish(std::span(&whole, 1), place(gradient, layer.bias));
}

void Gcn::source_gradient(std::size_t l, Rows rows, const ActiveRows& active, const Matrix& out) {
    const GcnLayer& layer = layers_[l];
    // The same sum read backwards: what a reader weighed by its source's c, the source weighs by
    // the reader's r.
    const WeightedRows sum{layer.summed, layer.reach,  layer.roots,
                           layer.summed, layer.shares, active};
    weighted_sum(layer.readers.offsets, layer.readers.readers, sum,
                 static_cast<std::uint32_t>(rows.first),
                 static_cast<std::uint32_t>(rows.first + rows.count), out);
}

}  // namespace

std::unique_ptr<Network> make_gcn(const NetworkOptions& options) {
    return std::make_unique<Gcn>(options);
}

}  // namespace rudder::nn
