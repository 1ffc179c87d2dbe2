// Graph attention, second version: the attention's vector comes after its nonlinearity.
#include "attention_network.hpp"
#include "scratch.hpp"

namespace rudder::nn {

namespace {

/// What a layer has beside what all attention has, whose weights are `left` here: `right` maps
/// destinations.
struct GatV2Layer {
    std::size_t left_bias = 0;
    std::size_t right = 0;
    std::size_t right_bias = 0;
    std::size_t vector = 0;
    Matrix right_weights;      ///< width x inputs, packed
    float* vectors = nullptr;  ///< of the scores, left bias, right bias
    Matrix own;                ///< destinations x width
    Matrix back;               ///< its gradient
};

class GatV2 final : public AttentionNetwork {
public:
    explicit GatV2(const NetworkOptions& network_options);

protected:
    [[nodiscard]] std::vector<std::size_t> own_floats(std::size_t l, const sample::Block& block,
                                                      Pass pass) const override;
    void begin_own(std::size_t l, const std::vector<float*>& memory, Pass pass) override;
    [[nodiscard]] std::size_t own_sum_floats(std::size_t l,
                                             const sample::Block& block) const override {
        const Lanes lanes(block.destinations);
        return LaneSums::floats(lanes, heads(l).width(), lane_inputs(l)) +
               LaneColumns::floats(lanes, heads(l).width());
    }
    void values_made(std::size_t l, Rows rows) override {
        add_bias(layer(l).values.part(rows.first, rows.count), own_[l].vectors + heads(l).width());
    }
    void attend_rows(std::size_t l, Rows rows, const Matrix& sums) override;
    void attend_back(std::size_t l, Rows rows, LaneTurn turn) override;
    void values_back(std::size_t l, Rows rows, LaneTurn /*turn*/) override {
        gather_attention(attention(l), scores(l), layer(l).readers, layer(l).gradient, rows,
                         layer(l).values.part(rows.first, rows.count));
    }
    void finish_own(std::size_t l, std::span<float> gradient) override;
    float* value_bias(std::size_t l, std::span<float> gradient) const override {
        return place(gradient, own_[l].left_bias);
    }
    void source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                         const Matrix& out) override;

private:
    [[nodiscard]] DynamicScores scores(std::size_t l) const noexcept {
        return {own_[l].own, own_[l].vectors, own_[l].back};
    }
    static void add_bias(const Matrix& rows, const float* bias) {
        add_rows(rows, {bias, rows.rows, rows.columns, 0});
    }
    /// Where gradients of `right` and the vector are added up, over the destinations.
    struct Sums {
        LaneSums right;
        LaneColumns vector;
    };
    [[nodiscard]] Sums lane_sums(std::size_t l) {
        const Lanes lanes(view(l).out.rows);
        const std::size_t width = heads(l).width();
        float* vector = own_sums(l) + LaneSums::floats(lanes, width, lane_inputs(l));
        return {{own_sums(l), lanes, width, lane_inputs(l)}, {vector, lanes, width}};
    }

    std::vector<GatV2Layer> own_;
};

GatV2::GatV2(const NetworkOptions& network_options)
    : AttentionNetwork(network_options), own_(layers()) {
    for (std::size_t l = 0; l < layers(); ++l) {
        const Heads all = heads(l);
        const std::size_t width = all.count * all.columns;
        // As PyG's GATv2Conv: Glorot-uniform weights and vector, no biases at first.
        layer(l).weight = add_glorot(l, "left.weight", width, layer_inputs(l));
        own_[l].left_bias = add_zeroes(l, "left.bias", width);
        own_[l].right = add_glorot(l, "right.weight", width, layer_inputs(l));
        own_[l].right_bias = add_zeroes(l, "right.bias", width);
        own_[l].vector = add_glorot(l, "att", all.count, all.columns);
        layer(l).bias = add_zeroes(l, "bias", layer_outputs(l));
        end_convolution(layer(l).bias);
    }
    seal();
}

std::vector<std::size_t> GatV2::own_floats(std::size_t l, const sample::Block& block,
                                           Pass pass) const {
    const std::size_t width = heads(l).width();
    const std::size_t weights = weight_floats(l);
    const std::size_t rows = block.destinations * width;
    if (pass == Pass::predict) return {weights, 3 * width, rows};
    return {weights, 3 * width, rows, rows};
}

void GatV2::begin_own(std::size_t l, const std::vector<float*>& memory, Pass pass) {
    GatV2Layer& own = own_[l];
    const Heads all = heads(l);
    const std::size_t destinations = view(l).block->destinations;
    own.right_weights = pack_weights(l, own.right, memory[0]);
    own.vectors = memory[1];
    own.own = matrix(memory[2], destinations, all.width());
    pack_heads(own.vector, all, own.vectors);
    pack_heads(own.left_bias, all, own.vectors + all.width());
    pack_heads(own.right_bias, all, own.vectors + 2 * all.width());
    if (pass == Pass::train) own.back = matrix(memory[3], destinations, all.width());
}

void GatV2::attend_rows(std::size_t l, Rows rows, const Matrix& sums) {
    const GatV2Layer& own = own_[l];
    const Matrix mapped = own.own.part(rows.first, rows.count);
    multiply_input(l, rows, own.right_weights, mapped);
    add_bias(mapped, own.vectors + 2 * heads(l).width());
    attend(attention(l), scores(l), rows, sums);
}

void GatV2::attend_back(std::size_t l, Rows rows, LaneTurn turn) {
    const Sums sums = lane_sums(l);
    if (turn.first) sums.vector.clear(turn.lane);
    DynamicScores backward = scores(l);
    backward.vector_sums = sums.vector.lane(turn.lane);
    attend_backward(attention(l), backward, layer(l).gradient, rows);
    sums.right.add(turn.lane, turn.first, own_[l].back.part(rows.first, rows.count),
                   input_rows(l, rows));
}

void GatV2::finish_own(std::size_t l, std::span<float> gradient) {
    const Heads all = heads(l);
    const Sums sums = lane_sums(l);
    finish_weights(l, sums.right, own_[l].back, place(gradient, own_[l].right),
                   place(gradient, own_[l].right_bias));
    finish_vector(all, sums.vector, place(gradient, own_[l].vector));
}

void GatV2::source_gradient(std::size_t l, Rows rows, const ActiveRows& active, const Matrix& out) {
    AttentionNetwork::source_gradient(l, rows, active, out);
    const GatV2Layer& own = own_[l];
    if (rows.first >= own.back.rows) return;
    const std::size_t count = std::min(rows.count, own.back.rows - rows.first);
    const Matrix through = scratch_rows(Scratch::product, count, out.columns);
    multiply(own.back.part(rows.first, count), own.right_weights, through);
    add_rows(out.part(0, count), through);
}

}  // namespace

std::unique_ptr<Network> make_gatv2(const NetworkOptions& options) {
    return std::make_unique<GatV2>(options);
}

}  // namespace rudder::nn
