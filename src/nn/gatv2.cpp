// Graph attention, second version: the attention's vector comes after its nonlinearity.
#include "attention_network.hpp"
#include "edge_rows.hpp"
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
    // Where edges have features:
    std::size_t edge_weight = 0;
    Matrix edge_weights;  ///< width x columns of edges, packed
    Matrix edges;         ///< training: entries x width; later their gradient
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
        const std::size_t width = heads(l).width();
        const std::size_t edges =
            edge_columns() == 0 ? 0 : LaneSums::floats(lanes, width, edge_columns());
        return LaneSums::floats(lanes, width, lane_inputs(l)) + LaneColumns::floats(lanes, width) +
               edges;
    }
    void values_made(std::size_t l, Rows rows) override {
        add_bias(layer(l).values.part(rows.first, rows.count), own_[l].vectors + heads(l).width());
    }
    void attend_rows(std::size_t l, Rows rows, const Matrix& sums) override;
    void attend_back(std::size_t l, Rows rows, LaneTurn turn) override;
    void values_back(std::size_t l, Rows rows, LaneTurn /*turn*/) override {
        const Matrix values = layer(l).values.part(rows.first, rows.count);
        const auto gather = [&](const auto& scored) {
            gather_attention(attention(l), scored, layer(l).readers, layer(l).gradient, rows,
                             values);
        };
        edge_columns() == 0 ? gather(scores(l))
                            : gather(EdgeDynamicScores{scores(l), own_[l].edges});
    }
    void finish_own(std::size_t l, std::span<float> gradient) override;
    float* value_bias(std::size_t l, std::span<float> gradient) const override {
        return place(gradient, own_[l].left_bias);
    }
    void source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                         const Matrix& out) override;

private:
    [[nodiscard]] std::size_t edge_columns() const noexcept { return options().edge_inputs; }
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
        LaneSums edges;
    };
    [[nodiscard]] Sums lane_sums(std::size_t l) {
        const Lanes lanes(view(l).out.rows);
        const std::size_t width = heads(l).width();
        float* vector = own_sums(l) + LaneSums::floats(lanes, width, lane_inputs(l));
        return {{own_sums(l), lanes, width, lane_inputs(l)},
                {vector, lanes, width},
                {vector + LaneColumns::floats(lanes, width), lanes, width, edge_columns()}};
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
        if (edge_columns() != 0)
            own_[l].edge_weight = add_glorot(l, "edge.weight", width, edge_columns());
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
    std::vector<std::size_t> floats{weights, 3 * width, rows};
    if (edge_columns() != 0) floats.push_back(width * aligned_columns(edge_columns()));
    if (pass == Pass::predict) return floats;
    floats.push_back(rows);
    if (edge_columns() != 0) floats.push_back(entry_count(block) * width);
    return floats;
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
    std::size_t next = 3;
    own.edges = {};
    if (edge_columns() != 0) {
        own.edge_weights = matrix(memory[next++], all.width(), edge_columns());
        pack_heads(own.edge_weight, all, own.edge_weights);
    }
    if (pass == Pass::predict) return;
    own.back = matrix(memory[next++], destinations, all.width());
    if (edge_columns() != 0)
        own.edges = matrix(memory[next], entry_count(*view(l).block), all.width());
}

void GatV2::attend_rows(std::size_t l, Rows rows, const Matrix& sums) {
    const GatV2Layer& own = own_[l];
    const Matrix mapped = own.own.part(rows.first, rows.count);
    multiply_input(l, rows, own.right_weights, mapped);
    add_bias(mapped, own.vectors + 2 * heads(l).width());
    if (edge_columns() == 0) return attend(attention(l), scores(l), rows, sums);
    // Predictions need the rows of these entries for the moment alone.
    const Rows entries = entries_of(*view(l).block, rows);
    const bool kept = own.edges.data != nullptr;
    const Matrix edges = kept ? own.edges.part(entries.first, entries.count)
                              : scratch_rows(Scratch::gathered, entries.count, heads(l).width());
    multiply_transposed(edge_entries(*view(l).block, edge_columns(), rows), own.edge_weights,
                        edges);
    attend(attention(l), EdgeDynamicScores{scores(l), edges, entries.first}, rows, sums);
}

void GatV2::attend_back(std::size_t l, Rows rows, LaneTurn turn) {
    const Sums sums = lane_sums(l);
    if (turn.first) sums.vector.clear(turn.lane);
    DynamicScores backward = scores(l);
    backward.vector_sums = sums.vector.lane(turn.lane);
    if (edge_columns() == 0) {
        attend_backward(attention(l), backward, layer(l).gradient, rows);
    } else {
        const Rows entries = entries_of(*view(l).block, rows);
        attend_backward(attention(l), EdgeDynamicScores{backward, own_[l].edges}, layer(l).gradient,
                        rows);
        sums.edges.add(turn.lane, turn.first, own_[l].edges.part(entries.first, entries.count),
                       edge_entries(*view(l).block, edge_columns(), rows));
    }
    sums.right.add(turn.lane, turn.first, own_[l].back.part(rows.first, rows.count),
                   input_rows(l, rows));
}

void GatV2::finish_own(std::size_t l, std::span<float> gradient) {
    const Heads all = heads(l);
    const Sums sums = lane_sums(l);
    finish_weights(l, sums.right, own_[l].back, place(gradient, own_[l].right),
                   place(gradient, own_[l].right_bias));
    finish_vector(all, sums.vector, place(gradient, own_[l].vector));
    if (edge_columns() == 0) return;
    const LaneSums::Stretch whole{0, edge_columns(), place(gradient, own_[l].edge_weight)};
    sums.edges.finish(std::span(&whole, 1), nullptr, {all.columns, all.padded()});
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
