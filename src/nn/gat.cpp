// Graph attention: scores are sums of what source and destination contribute.
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/check.hpp"

#include "attention_network.hpp"
#include "scratch.hpp"

namespace rudder {

namespace {

/// Which parameters a layer has, and where its matrices of the present pass lie.
struct GatLayer {
    std::size_t weight = 0;
    std::size_t source_vector = 0;
    std::size_t destination_vector = 0;
    std::size_t bias = 0;
    Matrix weights;            ///< width x inputs, packed
    float* vectors = nullptr;  ///< of sources, then of destinations
    Matrix values;             ///< sources x width; later their gradient
    float* source_scores = nullptr;
    float* destination_scores = nullptr;
    float* alphas = nullptr;
    float* deltas = nullptr;
    Matrix gradient;  ///< of the sums: destinations x width
    float* source_sums = nullptr;
    float* destination_sums = nullptr;
    TransposedBlock readers;
};

class Gat final : public AttentionNetwork {
public:
    explicit Gat(const NetworkOptions& network_options);

protected:
    void plan_convolution(std::size_t l, const Block& block, Pass pass, WorkspacePlan& memory,
                          Offsets& offsets) const override;
    [[nodiscard]] std::size_t sum_floats(std::size_t l, const Block& block) const override;
    void begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) override;
    void prepare(std::size_t l) override;
    void forward_rows(std::size_t l, Rows rows, Pass pass) override;
    void backward_rows(std::size_t l, Rows rows, LaneTurn turn) override;
    void finish_backward(std::size_t l, std::span<float> gradient) override;
    void source_gradient(std::size_t l, Rows rows, const ActiveRows& active,
                         const Matrix& out) override;

private:
    [[nodiscard]] Attention attention(std::size_t l) const noexcept {
        const GatLayer& layer = layers_[l];
        return {view(l).block, heads(l), layer.values, layer.alphas, layer.deltas};
    }
    /// Where gradients are added up: of weights and vectors over the sources, and of the bias.
    struct Sums {
        Lanes lanes;  ///< of the sources
        LaneSums weights;
        LaneColumns source_vector;
        LaneColumns destination_vector;
        LaneColumns bias;
    };
    [[nodiscard]] Sums lane_sums(std::size_t l);
    void source_rows(std::size_t l, Rows rows, LaneTurn turn, const Sums& sums);

    std::vector<GatLayer> layers_;
};

Gat::Gat(const NetworkOptions& network_options) : AttentionNetwork(network_options) {
    for (std::size_t l = 0; l < layers(); ++l) {
        const Heads all = heads(l);
        const auto in = static_cast<std::int64_t>(layer_inputs(l));
        const auto columns = static_cast<std::int64_t>(all.columns);
        const auto count = static_cast<std::int64_t>(all.count);
        // As PyG's GATConv: Glorot-uniform weights and vectors, no bias at first.
        const double bound = std::sqrt(6.0 / static_cast<double>(in + count * columns));
        const double vector_bound = std::sqrt(6.0 / static_cast<double>(count + columns));
        GatLayer layer;
        layer.weight =
            add_parameter(fmt::format("layers.{}.weight", l), {count * columns, in}, bound, true);
        layer.source_vector = add_parameter(fmt::format("layers.{}.att_src", l), {count, columns},
                                            vector_bound, true);
        layer.destination_vector = add_parameter(fmt::format("layers.{}.att_dst", l),
                                                 {count, columns}, vector_bound, true);
        layer.bias = add_constant(fmt::format("layers.{}.bias", l),
                                  {static_cast<std::int64_t>(layer_outputs(l))}, 0);
        end_convolution(layer.bias);
        layers_.push_back(layer);
    }
    seal();
}

void Gat::plan_convolution(std::size_t l, const Block& block, Pass pass, WorkspacePlan& memory,
                           Offsets& offsets) const {
    const Heads all = heads(l);
    const auto floats = [&](std::size_t count) { offsets.push_back(memory.add<float>(count)); };
    floats(all.width() * aligned_columns(layer_inputs(l)));
    floats(2 * all.width());
    floats(block.sources * all.width());
    floats(block.sources * all.count);
    floats(block.destinations * all.count);
    floats(entry_count(block) * all.count);
    if (pass == Pass::predict) return;
    floats(entry_count(block) * all.count);
    floats(block.destinations * all.width());
    floats(block.sources * all.count);
    floats(block.destinations * all.count);
    plan_readers(block, memory, offsets);
}

std::size_t Gat::sum_floats(std::size_t l, const Block& block) const {
    const Lanes lanes(block.sources);
    return LaneSums::floats(lanes, heads(l).width(), layer_inputs(l)) +
           2 * LaneColumns::floats(lanes, heads(l).width()) +
           LaneColumns::floats(Lanes(block.destinations), layer_outputs(l));
}

Gat::Sums Gat::lane_sums(std::size_t l) {
    const Lanes lanes(view(l).block->sources);
    const std::size_t width = heads(l).width();
    float* vectors = sums() + LaneSums::floats(lanes, width, layer_inputs(l));
    const std::size_t vector = LaneColumns::floats(lanes, width);
    return {lanes,
            {sums(), lanes, width, layer_inputs(l)},
            {vectors, lanes, width},
            {vectors + vector, lanes, width},
            {vectors + 2 * vector, Lanes(view(l).out.rows), layer_outputs(l)}};
}

void Gat::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    GatLayer& layer = layers_[l];
    const Block& block = *view(l).block;
    const Heads all = heads(l);
    const auto floats = [&](std::size_t i) { return workspace().at<float>(offsets[i]); };
    layer.weights = matrix(offsets[0], all.width(), layer_inputs(l));
    layer.vectors = floats(1);
    layer.values = matrix(offsets[2], block.sources, all.width());
    layer.source_scores = floats(3);
    layer.destination_scores = floats(4);
    layer.alphas = floats(5);
    pack_heads(layer.weight, all, layer.weights);
    pack_heads(layer.source_vector, all, layer.vectors);
    pack_heads(layer.destination_vector, all, layer.vectors + all.width());
    if (pass == Pass::predict) return;
    layer.deltas = floats(6);
    layer.gradient = matrix(offsets[7], block.destinations, all.width());
    layer.source_sums = floats(8);
    layer.destination_sums = floats(9);
    layer.readers = find_readers(block, offsets, 10);
}

void Gat::prepare(std::size_t l) {
    const GatLayer& layer = layers_[l];
    const Heads all = heads(l);
    const std::size_t destinations = view(l).block->destinations;
    parallel_chunks(layer.values.rows, chunk_rows, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        const Matrix values = layer.values.part(chunk.begin, count);
        multiply_transposed(aligned_rows(view(l).input.part(chunk.begin, count), Scratch::input),
                            layer.weights, values);
        head_products(all, values, layer.vectors, layer.source_scores + chunk.begin * all.count);
        if (chunk.begin >= destinations) return;
        head_products(all, values.part(0, std::min(count, destinations - chunk.begin)),
                      layer.vectors + all.width(),
                      layer.destination_scores + chunk.begin * all.count);
    });
}

void Gat::forward_rows(std::size_t l, Rows rows, Pass /*pass*/) {
    const GatLayer& layer = layers_[l];
    const Matrix sums = scratch_rows(Scratch::product, rows.count, heads(l).width());
    attend(attention(l), AdditiveScores{layer.source_scores, layer.destination_scores},
           static_cast<std::uint32_t>(rows.first),
           static_cast<std::uint32_t>(rows.first + rows.count), sums);
    join_heads(l, sums, view(l).out.part(rows.first, rows.count));
}

void Gat::backward_rows(std::size_t l, Rows rows, LaneTurn turn) {
    const GatLayer& layer = layers_[l];
    const Matrix out = view(l).out.part(rows.first, rows.count);
    const LaneColumns bias = lane_sums(l).bias;
    if (turn.first) bias.clear(turn.lane);
    bias.add(turn.lane, out);
    part_heads(l, out, layer.gradient.part(rows.first, rows.count));
    attend_backward(attention(l), AdditiveScores{layer.source_scores, layer.destination_scores},
                    layer.gradient, static_cast<std::uint32_t>(rows.first),
                    static_cast<std::uint32_t>(rows.first + rows.count), layer.destination_sums);
}

/// Values of sources become their gradient, and give that of the parameters.
void Gat::source_rows(std::size_t l, Rows rows, LaneTurn turn, const Sums& sums) {
    const GatLayer& layer = layers_[l];
    const Heads all = heads(l);
    if (turn.first) {
        sums.source_vector.clear(turn.lane);
        sums.destination_vector.clear(turn.lane);
    }
    const Matrix values = layer.values.part(rows.first, rows.count);
    const Matrix through = scratch_rows(Scratch::product, rows.count, all.width());
    gather_attention(
        attention(l), layer.readers, layer.gradient, static_cast<std::uint32_t>(rows.first),
        static_cast<std::uint32_t>(rows.first + rows.count), layer.source_sums, through);
    finish_additive(all,
                    {layer.vectors, layer.vectors + all.width(), sums.source_vector.lane(turn.lane),
                     sums.destination_vector.lane(turn.lane)},
                    through, layer.source_sums, layer.destination_sums, view(l).block->destinations,
                    rows.first, values);
    sums.weights.add(turn.lane, turn.first, values,
                     aligned_rows(view(l).input.part(rows.first, rows.count), Scratch::input));
}

void Gat::finish_backward(std::size_t l, std::span<float> gradient) {
    const GatLayer& layer = layers_[l];
    const Heads all = heads(l);
    const Sums sums = lane_sums(l);
    parallel_chunks(sums.lanes.rows, sums.lanes.size, [&](const Chunk& lane) {
        for (std::size_t first = lane.begin; first < lane.end; first += chunk_rows) {
            source_rows(l, {first, std::min(chunk_rows, lane.end - first)},
                        {lane.index, first == lane.begin}, sums);
        }
    });
    const LaneSums::Stretch whole{0, layer_inputs(l), place(gradient, layer.weight)};
    sums.weights.finish(std::span(&whole, 1), nullptr, {all.columns, all.padded()});
    std::vector<float> vector(all.width());
    sums.source_vector.finish(vector.data());
    unpack_heads(all, vector.data(), place(gradient, layer.source_vector));
    sums.destination_vector.finish(vector.data());
    unpack_heads(all, vector.data(), place(gradient, layer.destination_vector));
    sums.bias.finish(place(gradient, layer.bias));
}

void Gat::source_gradient(std::size_t l, Rows rows, const ActiveRows& active, const Matrix& out) {
    RUDDER_CHECK_NORMAL(active.data == nullptr);  // there is no rectifier
    multiply(layers_[l].values.part(rows.first, rows.count), layers_[l].weights, out);
}

}  // namespace

std::unique_ptr<Network> make_gat(const NetworkOptions& options) {
    return std::make_unique<Gat>(options);
}

}  // namespace rudder
