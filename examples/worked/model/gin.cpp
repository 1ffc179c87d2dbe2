// rudder with one more model, 'gin': a layer is one linear map of the sum of a vertex's own row and
// those of its neighbours (graph isomorphism network, with epsilon 0 and one map per layer).
#include <cmath>
#include <string>

#include "rudder/cli/program.hpp"
#include "rudder/nn/layered_network.hpp"
#include "rudder/nn/model_registry.hpp"

namespace {

using rudder::nn::Matrix;
using rudder::sample::Block;

class Gin final : public rudder::nn::LayeredNetwork {
public:
    explicit Gin(const rudder::nn::NetworkOptions& options)
        : LayeredNetwork(options, rudder::nn::Activation::rectifier), layers_(layers()) {
        for (std::size_t l = 0; l < layers(); ++l) {
            const auto in = static_cast<std::int64_t>(layer_inputs(l));
            const auto out = static_cast<std::int64_t>(layer_outputs(l));
            const std::string name = "layers." + std::to_string(l);
            const double bound = 1 / std::sqrt(static_cast<double>(in));
            layers_[l].weight = add_parameter(name + ".weight", {out, in}, bound, true);
            layers_[l].bias = add_constant(name + ".bias", {out}, 0);
            end_convolution(layers_[l].bias);
        }
        seal();
    }

protected:
    /// The memory of a layer: weights, sums, a one per row, and who reads each source.
    void plan_convolution(std::size_t l, const Block& block, rudder::nn::Pass pass,
                          rudder::nn::WorkspacePlan& memory, Offsets& offsets) const override {
        const std::size_t stride = rudder::nn::aligned_columns(layer_inputs(l));
        offsets.push_back(memory.add<float>(layer_outputs(l) * stride));
        offsets.push_back(memory.add<float>(block.destinations * stride));
        offsets.push_back(memory.add<float>(block.sources));
        if (pass == rudder::nn::Pass::predict || l == 0) return;
        offsets.push_back(memory.add<std::uint32_t>(std::size_t{block.sources} + 1));
        offsets.push_back(memory.add<rudder::LocalId>(block.edges()));
    }
    [[nodiscard]] std::size_t sum_floats(std::size_t l, const Block& block) const override {
        return rudder::nn::LaneSums::floats(rudder::nn::Lanes(block.destinations), layer_outputs(l),
                                            layer_inputs(l));
    }
    void begin_convolution(std::size_t l, const Offsets& offsets, rudder::nn::Pass pass) override {
        Layer& layer = layers_[l];
        const Block& block = *view(l).block;
        const std::size_t in = layer_inputs(l);
        const std::size_t stride = rudder::nn::aligned_columns(in);
        layer.weights = {workspace().at<float>(offsets[0]), layer_outputs(l), in, stride};
        layer.sums = {workspace().at<float>(offsets[1]), block.destinations, in, stride};
        layer.ones = workspace().at<float>(offsets[2]);
        std::fill_n(layer.ones, block.sources, 1.F);
        pack(layer.weight, layer.weights);
        if (pass == rudder::nn::Pass::predict || l == 0) return;
        layer.readers = {
            {workspace().at<std::uint32_t>(offsets[3]), std::size_t{block.sources} + 1},
            {workspace().at<rudder::LocalId>(offsets[4]), block.edges()}};
        rudder::nn::transpose(block, layer.readers);
    }

    /// out = (own + sum of neighbours) W'. Bias, norm, activation and dropout follow by themselves.
    void forward_rows(std::size_t l, rudder::nn::Rows rows, rudder::nn::Pass /*pass*/) override {
        const Layer& layer = layers_[l];
        const Block& block = *view(l).block;
        const Matrix sums = layer.sums.part(rows.first, rows.count);
        add_up(layer, block.offsets, block.neighbours, view(l).input, {}, rows, sums);
        rudder::nn::multiply_transposed(sums, layer.weights,
                                        view(l).out.part(rows.first, rows.count));
    }
    /// `out` holds gradients now: those of the weights go to the lane, those of the sums take the
    /// sums' place.
    void backward_rows(std::size_t l, rudder::nn::Rows rows, rudder::nn::LaneTurn turn) override {
        const Matrix out = view(l).out.part(rows.first, rows.count);
        const Matrix sums = layers_[l].sums.part(rows.first, rows.count);
        lanes(l).add(turn.lane, turn.first, out, sums);
        if (l > 0) rudder::nn::multiply(out, layers_[l].weights, sums);
    }
    void finish_backward(std::size_t l, std::span<float> gradient) override {
        const rudder::nn::LaneSums::Stretch whole{0, layer_inputs(l),
                                                  place(gradient, layers_[l].weight)};
        lanes(l).finish(std::span(&whole, 1), place(gradient, layers_[l].bias));
    }
    /// A source gets the gradients of its own sum and of those that read it.
    void source_gradient(std::size_t l, rudder::nn::Rows rows, const rudder::nn::ActiveRows& active,
                         const Matrix& out) override {
        const Layer& layer = layers_[l];
        add_up(layer, layer.readers.offsets, layer.readers.readers, layer.sums, active, rows, out);
    }

private:
    struct Layer {
        std::size_t weight = 0;  ///< parameters
        std::size_t bias = 0;
        Matrix weights;         ///< outputs x inputs, packed
        Matrix sums;            ///< destinations x inputs; later their gradient
        float* ones = nullptr;  ///< by source
        rudder::nn::TransposedBlock readers;
    };

    static void add_up(const Layer& layer, std::span<const std::uint32_t> offsets,
                       std::span<const rudder::LocalId> ids, const rudder::nn::ConstMatrix& table,
                       const rudder::nn::ActiveRows& active, rudder::nn::Rows rows,
                       const Matrix& out) {
        const rudder::nn::WeightedRows sum{table, layer.ones, layer.ones,
                                           table, layer.ones, active};
        rudder::nn::weighted_sum(offsets, ids, sum, static_cast<std::uint32_t>(rows.first),
                                 static_cast<std::uint32_t>(rows.first + rows.count), out);
    }
    [[nodiscard]] rudder::nn::LaneSums lanes(std::size_t l) {
        return {sums(), rudder::nn::Lanes(view(l).out.rows), layer_outputs(l), layer_inputs(l)};
    }

    std::vector<Layer> layers_;
};

std::unique_ptr<rudder::nn::Network> make(const rudder::nn::NetworkOptions& options) {
    return std::make_unique<Gin>(options);
}

}  // namespace

int main(int argc, char** argv) {
    rudder::nn::register_model({"gin", make});
    return rudder::cli::run_program({argv + 1, argv + argc});
}
