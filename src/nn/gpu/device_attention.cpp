// gat and gatv2 on a device.
#include <algorithm>

#include "device_pass.hpp"

namespace rudder::nn {

namespace {

class DeviceAttentionNetwork final : public DeviceConvolution {
public:
    DeviceAttentionNetwork(const DeviceSteps& steps, const NetworkOptions& options)
        : steps_(steps),
          dynamic_(options.model == "gatv2"),
          heads_(static_cast<std::uint32_t>(options.heads)),
          layers_(static_cast<std::size_t>(options.layers)) {}

    void lay_out(std::size_t layer, const DeviceLayer& sizes, Stretches& memory) override {
        Own& own = layers_[layer];
        const BlockPlaces& block = sizes.block;
        const std::size_t wide = width(layer, sizes);
        const std::size_t entries = (std::size_t{block.edges} + block.destinations) * heads_;
        own.values = memory.take<float>(block.sources * wide);
        own.back = memory.take<float>(block.sources * wide);
        own.alphas = memory.take<float>(entries);
        own.deltas = memory.take<float>(entries);
        own.gradient = last(layer) ? memory.take<float>(block.destinations * wide) : nullptr;
        own.sums = last(layer) ? memory.take<float>(block.destinations * wide) : nullptr;
        if (dynamic_) {
            own.rows = memory.take<float>(block.destinations * wide);
            own.rows_back = memory.take<float>(block.destinations * wide);
            own.vector_rows = memory.take<float>(block.destinations * wide);
            return;
        }
        own.source_scores = memory.take<float>(std::size_t{block.sources} * heads_);
        own.destination_scores = memory.take<float>(std::size_t{block.destinations} * heads_);
        own.source_sums = memory.take<float>(std::size_t{block.sources} * heads_);
        own.destination_sums = memory.take<float>(std::size_t{block.destinations} * heads_);
    }
    [[nodiscard]] std::size_t partial_floats(const DeviceLayer& sizes) const override {
        // The last layer's width is the most that any layer of these outputs has.
        return std::max(
            DeviceSteps::partial_floats(sizes.block.destinations, sizes.outputs * heads_),
            DeviceSteps::partial_floats(sizes.block.sources, sizes.outputs * heads_));
    }
    void forward(std::size_t layer, const DeviceLayer& pass) override {
        const Own& own = layers_[layer];
        const BlockPlaces& block = pass.block;
        const std::size_t wide = width(layer, pass);
        const std::uint32_t columns = head_columns(layer, pass);
        steps_.multiply_transposed(pass.input,
                                   steps_.weight(layer, dynamic_ ? "left.weight" : "weight"),
                                   own.values, block.sources, wide, pass.inputs);
        float* const sums = last(layer) ? own.sums : pass.out;
        if (dynamic_) {
            add_bias(layer, "left.bias", own.values, block.sources, wide);
            steps_.multiply_transposed(pass.input, steps_.weight(layer, "right.weight"), own.rows,
                                       block.destinations, wide, pass.inputs);
            add_bias(layer, "right.bias", own.rows, block.destinations, wide);
            steps_.device().run(AttendDynamic{dynamic(layer, pass), sums}, block.destinations);
        } else {
            steps_.device().run(HeadDots{own.values, steps_.weight(layer, "att_src"),
                                         own.source_scores, heads_, columns},
                                block.sources);
            steps_.device().run(HeadDots{own.values, steps_.weight(layer, "att_dst"),
                                         own.destination_scores, heads_, columns},
                                block.destinations);
            steps_.device().run(AttendAdditive{attention(layer, pass), own.source_scores,
                                               own.destination_scores, sums},
                                block.destinations);
        }
        if (last(layer))
            steps_.device().run(MeanOfHeads{sums, pass.out, heads_, columns}, block.destinations);
    }
    void backward(std::size_t layer, const DeviceLayer& pass) override {
        const Own& own = layers_[layer];
        const BlockPlaces& block = pass.block;
        const std::size_t wide = width(layer, pass);
        steps_.sum_columns(pass.out, block.destinations, pass.outputs,
                           steps_.gradient(layer, "bias"));
        const float* gradient = pass.out;
        if (last(layer)) {
            steps_.device().run(
                PartHeads{pass.out, own.gradient, heads_, head_columns(layer, pass)},
                block.destinations);
            gradient = own.gradient;
        }
        dynamic_ ? backward_dynamic(layer, pass, gradient)
                 : backward_additive(layer, pass, gradient);
        steps_.weight_gradient(own.back, pass.input,
                               steps_.gradient(layer, dynamic_ ? "left.weight" : "weight"),
                               block.sources, wide, pass.inputs);
    }
    void source_gradient(std::size_t layer, const DeviceLayer& pass, const float* /*active*/,
                         float /*scale*/, float* to) override {
        const Own& own = layers_[layer];
        const std::size_t wide = width(layer, pass);
        steps_.multiply(own.back, steps_.weight(layer, dynamic_ ? "left.weight" : "weight"), to,
                        pass.block.sources, pass.inputs, wide);
        if (!dynamic_) return;
        steps_.multiply(own.rows_back, steps_.weight(layer, "right.weight"), to,
                        pass.block.destinations, pass.inputs, wide, true);
    }
    [[nodiscard]] bool undoes_rectifier() const noexcept override { return false; }
    [[nodiscard]] std::string_view bias() const noexcept override { return "bias"; }

private:
    /// Of a layer, in the present pass.
    struct Own {
        float* values = nullptr;
        float* back = nullptr;  ///< the gradient of the values
        float* alphas = nullptr;
        float* deltas = nullptr;
        float* gradient = nullptr;  ///< of the sums, in the last layer
        float* sums = nullptr;      ///< in the last layer
        // gatv2
        float* rows = nullptr;  ///< of the destinations
        float* rows_back = nullptr;
        float* vector_rows = nullptr;
        // gat
        float* source_scores = nullptr;
        float* destination_scores = nullptr;
        float* source_sums = nullptr;
        float* destination_sums = nullptr;
    };
    [[nodiscard]] bool last(std::size_t layer) const noexcept {
        return layer + 1 == layers_.size();
    }
    [[nodiscard]] std::size_t width(std::size_t layer, const DeviceLayer& of) const noexcept {
        return last(layer) ? of.outputs * heads_ : of.outputs;
    }
    [[nodiscard]] std::uint32_t head_columns(std::size_t layer,
                                             const DeviceLayer& of) const noexcept {
        return static_cast<std::uint32_t>(width(layer, of) / heads_);
    }
    [[nodiscard]] LaneAttention attention(std::size_t layer, const DeviceLayer& pass) const {
        const BlockPlaces& block = pass.block;
        const Own& own = layers_[layer];
        return {block.offsets, block.neighbours,   block.starts, block.readers,
                block.places,  block.destinations, heads_,       head_columns(layer, pass),
                own.values,    own.alphas,         own.deltas};
    }
    [[nodiscard]] LaneDynamic dynamic(std::size_t layer, const DeviceLayer& pass) const {
        return {attention(layer, pass), layers_[layer].rows, steps_.weight(layer, "att")};
    }
    void add_bias(std::size_t layer, std::string_view name, float* rows, std::size_t count,
                  std::size_t wide) const {
        FinishRows add{};
        add.x = rows;
        add.out = rows;
        add.columns = static_cast<std::uint32_t>(wide);
        add.bias = steps_.weight(layer, name);
        steps_.device().run(add, count);
    }
    void backward_additive(std::size_t layer, const DeviceLayer& pass, const float* gradient) {
        const Own& own = layers_[layer];
        const BlockPlaces& block = pass.block;
        const auto wide = static_cast<std::uint32_t>(width(layer, pass));
        const LaneAttention a = attention(layer, pass);
        steps_.device().run(AttendAdditiveBack{a, own.source_scores, own.destination_scores,
                                               gradient, own.destination_sums},
                            block.destinations);
        steps_.device().run(GatherAdditive{a, gradient, steps_.weight(layer, "att_src"),
                                           steps_.weight(layer, "att_dst"), own.destination_sums,
                                           own.source_sums, own.back},
                            block.sources);
        steps_.sum_columns(ColumnSums{ColumnTerm::by_head, own.values, own.source_sums,
                                      block.sources, wide, heads_, nullptr},
                           steps_.gradient(layer, "att_src"));
        steps_.sum_columns(ColumnSums{ColumnTerm::by_head, own.values, own.destination_sums,
                                      block.destinations, wide, heads_, nullptr},
                           steps_.gradient(layer, "att_dst"));
    }
    void backward_dynamic(std::size_t layer, const DeviceLayer& pass, const float* gradient) {
        const Own& own = layers_[layer];
        const BlockPlaces& block = pass.block;
        const std::size_t wide = width(layer, pass);
        const LaneDynamic of = dynamic(layer, pass);
        steps_.device().run(AttendDynamicBack{of, gradient, own.rows_back, own.vector_rows},
                            block.destinations);
        steps_.device().run(GatherDynamic{of, gradient, own.back}, block.sources);
        steps_.sum_columns(own.vector_rows, block.destinations, wide,
                           steps_.gradient(layer, "att"));
        steps_.sum_columns(own.rows_back, block.destinations, wide,
                           steps_.gradient(layer, "right.bias"));
        steps_.sum_columns(own.back, block.sources, wide, steps_.gradient(layer, "left.bias"));
        steps_.weight_gradient(own.rows_back, pass.input, steps_.gradient(layer, "right.weight"),
                               block.destinations, wide, pass.inputs);
    }

    const DeviceSteps& steps_;
    bool dynamic_;
    std::uint32_t heads_;
    std::vector<Own> layers_;
};

}  // namespace

std::unique_ptr<DeviceConvolution> make_device_attention(const DeviceSteps& steps,
                                                         const NetworkOptions& options) {
    return std::make_unique<DeviceAttentionNetwork>(steps, options);
}

}  // namespace rudder::nn
