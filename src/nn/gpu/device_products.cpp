// sage and gcn on a device: a sum over neighbours, and products with it.
#include "device_pass.hpp"

namespace rudder::nn {

namespace {

class DeviceProductNetwork final : public DeviceConvolution {
public:
    DeviceProductNetwork(const DeviceSteps& steps, const NetworkOptions& options)
        : steps_(steps),
          sage_(options.model == "sage"),
          layers_(static_cast<std::size_t>(options.layers)) {}

    void lay_out(std::size_t layer, const DeviceLayer& sizes, Stretches& memory) override {
        Own& own = layers_[layer];
        const BlockPlaces& block = sizes.block;
        own.sums = memory.take<float>(block.destinations * sizes.inputs);
        if (sage_) {
            own.inverse = memory.take<float>(block.destinations);
        } else {
            own.roots = memory.take<float>(block.sources);
            own.shares = memory.take<float>(block.sources);
            own.reach = memory.take<float>(block.destinations);
        }
        if (layer > 0 && sage_) own.own = memory.take<float>(block.destinations * sizes.inputs);
    }
    [[nodiscard]] std::size_t partial_floats(const DeviceLayer& sizes) const override {
        return DeviceSteps::partial_floats(sizes.block.destinations, sizes.outputs);
    }
    void forward(std::size_t layer, const DeviceLayer& pass) override {
        const Own& own = layers_[layer];
        weigh(own, pass);
        const std::size_t rows = pass.block.destinations;
        steps_.device().run(forward_sum(own, pass), rows);
        if (sage_) {
            steps_.multiply_transposed(pass.input, steps_.weight(layer, "self.weight"), pass.out,
                                       rows, pass.outputs, pass.inputs);
        }
        steps_.multiply_transposed(own.sums, steps_.weight(layer, summed()), pass.out, rows,
                                   pass.outputs, pass.inputs, sage_);
    }
    void backward(std::size_t layer, const DeviceLayer& pass) override {
        const Own& own = layers_[layer];
        const std::size_t rows = pass.block.destinations;
        if (sage_) {
            steps_.weight_gradient(pass.out, pass.input, steps_.gradient(layer, "self.weight"),
                                   rows, pass.outputs, pass.inputs);
        }
        steps_.weight_gradient(pass.out, own.sums, steps_.gradient(layer, summed()), rows,
                               pass.outputs, pass.inputs);
        steps_.sum_columns(pass.out, rows, pass.outputs, steps_.gradient(layer, bias()));
        if (layer == 0) return;
        // The sums are not needed any more: their gradient takes their place.
        steps_.multiply(pass.out, steps_.weight(layer, summed()), own.sums, rows, pass.inputs,
                        pass.outputs);
        if (!sage_) return;
        steps_.multiply(pass.out, steps_.weight(layer, "self.weight"), own.own, rows, pass.inputs,
                        pass.outputs);
    }
    void source_gradient(std::size_t layer, const DeviceLayer& pass, const float* active,
                         float scale, float* to) override {
        const Own& own = layers_[layer];
        GatherSum sum;
        sum.offsets = pass.block.starts;
        sum.ids = pass.block.readers;
        sum.table = own.sums;
        sum.columns = static_cast<std::uint32_t>(pass.inputs);
        sum.out = to;
        if (sage_) {
            sum.begin_rows = own.own;
            sum.begin_count = pass.block.destinations;
            if (pass.block.shares == nullptr) {
                sum.id_weights = own.inverse;
            } else {
                sum.edge_weights = pass.block.shares;
                sum.places = pass.block.places;
            }
        } else {
            // The same sum read backwards: what a reader weighed by its source's c, the source
            // weighs by the reader's r.
            sum.id_weights = own.reach;
            sum.factors = own.roots;
            sum.own_rows = own.sums;
            sum.own_factors = own.shares;
            sum.own_count = pass.block.destinations;
        }
        sum.active = active;
        sum.scale = scale;
        steps_.device().run(sum, pass.block.sources);
    }
    [[nodiscard]] bool undoes_rectifier() const noexcept override { return true; }
    [[nodiscard]] std::string_view bias() const noexcept override {
        return sage_ ? "neigh.bias" : "bias";
    }

private:
    /// Of a layer, in the present pass.
    struct Own {
        float* sums = nullptr;     ///< destinations x inputs; later their gradient
        float* own = nullptr;      ///< sage: the gradient of the destinations' own rows
        float* inverse = nullptr;  ///< sage: one over the number of neighbours
        float* roots = nullptr;
        float* shares = nullptr;
        float* reach = nullptr;
    };
    [[nodiscard]] std::string_view summed() const noexcept {
        return sage_ ? "neigh.weight" : "weight";
    }
    void weigh(const Own& own, const DeviceLayer& pass) const {
        const BlockPlaces& block = pass.block;
        if (sage_) {
            steps_.device().run(InverseCounts{block.offsets, block.destinations, own.inverse},
                                pieces_of(block.destinations, warp_lanes));
            return;
        }
        steps_.device().run(WeighBlock{block.offsets, pass.degrees, block.destinations,
                                       block.sources, own.roots, own.shares, own.reach},
                            pieces_of(block.sources, warp_lanes));
    }
    [[nodiscard]] GatherSum forward_sum(const Own& own, const DeviceLayer& pass) const {
        GatherSum sum;
        sum.offsets = pass.block.offsets;
        sum.ids = pass.block.neighbours;
        sum.table = pass.input;
        sum.columns = static_cast<std::uint32_t>(pass.inputs);
        sum.out = own.sums;
        if (!sage_) {
            sum.id_weights = own.roots;
            sum.factors = own.reach;
            sum.own_rows = pass.input;
            sum.own_factors = own.shares;
            sum.own_count = pass.block.destinations;
        } else if (pass.block.shares != nullptr) {
            sum.edge_weights = pass.block.shares;
        } else {
            sum.factors = own.inverse;
        }
        return sum;
    }

    const DeviceSteps& steps_;
    bool sage_;
    std::vector<Own> layers_;
};

}  // namespace

std::unique_ptr<DeviceConvolution> make_device_products(const DeviceSteps& steps,
                                                        const NetworkOptions& options) {
    return std::make_unique<DeviceProductNetwork>(steps, options);
}

}  // namespace rudder::nn
