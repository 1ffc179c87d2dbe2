// Graph attention, second version: the attention's vector comes after its nonlinearity.
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/check.hpp"

#include "attention_network.hpp"
#include "scratch.hpp"

namespace rudder {

namespace {

/// Which parameters a layer has, and where its matrices of the present pass lie. `left` maps
/// sources, `right` destinations.
struct GatV2Layer {
    std::size_t left = 0;
    std::size_t left_bias = 0;
    std::size_t right = 0;
    std::size_t right_bias = 0;
    std::size_t vector = 0;
    std::size_t bias = 0;
    Matrix left_weights;       ///< width x inputs, packed
    Matrix right_weights;      ///< the same
    float* vectors = nullptr;  ///< of the scores, left bias, right bias
    Matrix values;             ///< sources x width; later their gradient
    Matrix own;                ///< destinations x width
    float* alphas = nullptr;
    float* deltas = nullptr;
    Matrix gradient;  ///< of the sums: destinations x width
    Matrix back;      ///< of `own`
    TransposedBlock readers;
};

class GatV2 final : public AttentionNetwork {
public:
    explicit GatV2(const NetworkOptions& network_options);

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
        const GatV2Layer& layer = layers_[l];
        return {view(l).block, heads(l), layer.values, layer.alphas, layer.deltas};
    }
    [[nodiscard]] DynamicScores scores(std::size_t l) const noexcept {
        return {layers_[l].own, layers_[l].vectors};
    }
    /// Where gradients are added up; all but those of `left` over the destinations.
    struct Sums {
        Lanes sources;
        LaneSums left;
        LaneSums right;
        LaneColumns vector;
        LaneColumns bias;
    };
    [[nodiscard]] Sums lane_sums(std::size_t l);
    void map_rows(std::size_t l, Rows rows, const Matrix& weights, const float* bias,
                  const Matrix& out) const;

    std::vector<GatV2Layer> layers_;
};

GatV2::GatV2(const NetworkOptions& network_options) : AttentionNetwork(network_options) {
    for (std::size_t l = 0; l < layers(); ++l) {
        const Heads all = heads(l);
        const auto in = static_cast<std::int64_t>(layer_inputs(l));
        const auto columns = static_cast<std::int64_t>(all.columns);
        const auto count = static_cast<std::int64_t>(all.count);
        const std::int64_t width = count * columns;
        // As PyG's GATv2Conv: Glorot-uniform weights and vector, no biases at first.
        const double bound = std::sqrt(6.0 / static_cast<double>(in + width));
        const auto name = [&](const char* what) { return fmt::format("layers.{}.{}", l, what); };
        GatV2Layer layer;
        layer.left = add_parameter(name("left.weight"), {width, in}, bound, true);
        layer.left_bias = add_constant(name("left.bias"), {width}, 0);
        layer.right = add_parameter(name("right.weight"), {width, in}, bound, true);
        layer.right_bias = add_constant(name("right.bias"), {width}, 0);
        layer.vector = add_parameter(name("att"), {count, columns},
                                     std::sqrt(6.0 / static_cast<double>(count + columns)), true);
        layer.bias = add_constant(name("bias"), {static_cast<std::int64_t>(layer_outputs(l))}, 0);
        end_convolution(layer.bias);
        layers_.push_back(layer);
    }
    seal();
}

void GatV2::plan_convolution(std::size_t l, const Block& block, Pass pass, WorkspacePlan& memory,
                             Offsets& offsets) const {
    const Heads all = heads(l);
    const auto floats = [&](std::size_t count) { offsets.push_back(memory.add<float>(count)); };
    floats(all.width() * aligned_columns(layer_inputs(l)));
    floats(all.width() * aligned_columns(layer_inputs(l)));
    floats(3 * all.width());
    floats(block.sources * all.width());
    floats(block.destinations * all.width());
    floats(entry_count(block) * all.count);
    if (pass == Pass::predict) return;
    floats(entry_count(block) * all.count);
    floats(block.destinations * all.width());
    floats(block.destinations * all.width());
    plan_readers(block, memory, offsets);
}

std::size_t GatV2::sum_floats(std::size_t l, const Block& block) const {
    const Lanes destinations(block.destinations);
    const std::size_t width = heads(l).width();
    return LaneSums::floats(Lanes(block.sources), width, layer_inputs(l)) +
           LaneSums::floats(destinations, width, layer_inputs(l)) +
           LaneColumns::floats(destinations, width) +
           LaneColumns::floats(destinations, layer_outputs(l));
}

GatV2::Sums GatV2::lane_sums(std::size_t l) {
    const Lanes sources(view(l).block->sources);
    const Lanes destinations(view(l).out.rows);
    const std::size_t width = heads(l).width();
    const std::size_t in = layer_inputs(l);
    float* right = sums() + LaneSums::floats(sources, width, in);
    float* vector = right + LaneSums::floats(destinations, width, in);
    float* bias = vector + LaneColumns::floats(destinations, width);
    return {sources,
            {sums(), sources, width, in},
            {right, destinations, width, in},
            {vector, destinations, width},
            {bias, destinations, layer_outputs(l)}};
}

void GatV2::begin_convolution(std::size_t l, const Offsets& offsets, Pass pass) {
    GatV2Layer& layer = layers_[l];
    const Block& block = *view(l).block;
    const Heads all = heads(l);
    const auto floats = [&](std::size_t i) { return workspace().at<float>(offsets[i]); };
    layer.left_weights = matrix(offsets[0], all.width(), layer_inputs(l));
    layer.right_weights = matrix(offsets[1], all.width(), layer_inputs(l));
    layer.vectors = floats(2);
    layer.values = matrix(offsets[3], block.sources, all.width());
    layer.own = matrix(offsets[4], block.destinations, all.width());
    layer.alphas = floats(5);
    pack_heads(layer.left, all, layer.left_weights);
    pack_heads(layer.right, all, layer.right_weights);
    pack_heads(layer.vector, all, layer.vectors);
    pack_heads(layer.left_bias, all, layer.vectors + all.width());
    pack_heads(layer.right_bias, all, layer.vectors + 2 * all.width());
    if (pass == Pass::predict) return;
    layer.deltas = floats(6);
    layer.gradient = matrix(offsets[7], block.destinations, all.width());
    layer.back = matrix(offsets[8], block.destinations, all.width());
    layer.readers = find_readers(block, offsets, 9);
}

void GatV2::map_rows(std::size_t l, Rows rows, const Matrix& weights, const float* bias,
                     const Matrix& out) const {
    multiply_transposed(aligned_rows(view(l).input.part(rows.first, rows.count), Scratch::input),
                        weights, out);
    for (std::size_t r = 0; r < out.rows; ++r) {
        float* row = out.row(r);
        for (std::size_t c = 0; c < out.columns; ++c)
            row[c] += bias[c];
    }
}

void GatV2::prepare(std::size_t l) {
    const GatV2Layer& layer = layers_[l];
    const std::size_t width = heads(l).width();
    parallel_chunks(layer.values.rows, chunk_rows, [&](const Chunk& chunk) {
        const Rows rows{chunk.begin, chunk.end - chunk.begin};
        map_rows(l, rows, layer.left_weights, layer.vectors + width,
                 layer.values.part(rows.first, rows.count));
    });
}

void GatV2::forward_rows(std::size_t l, Rows rows, Pass /*pass*/) {
    const GatV2Layer& layer = layers_[l];
    const std::size_t width = heads(l).width();
    map_rows(l, rows, layer.right_weights, layer.vectors + 2 * width,
             layer.own.part(rows.first, rows.count));
    const Matrix sums = scratch_rows(Scratch::product, rows.count, width);
    attend(attention(l), scores(l), static_cast<std::uint32_t>(rows.first),
           static_cast<std::uint32_t>(rows.first + rows.count), sums);
    join_heads(l, sums, view(l).out.part(rows.first, rows.count));
}

void GatV2::backward_rows(std::size_t l, Rows rows, LaneTurn turn) {
    const GatV2Layer& layer = layers_[l];
    const Matrix out = view(l).out.part(rows.first, rows.count);
    const Sums sums = lane_sums(l);
    if (turn.first) {
        sums.bias.clear(turn.lane);
        sums.vector.clear(turn.lane);
    }
    sums.bias.add(turn.lane, out);
    part_heads(l, out, layer.gradient.part(rows.first, rows.count));
    attend_backward(attention(l), scores(l), layer.gradient, static_cast<std::uint32_t>(rows.first),
                    static_cast<std::uint32_t>(rows.first + rows.count), layer.back,
                    sums.vector.lane(turn.lane));
    sums.right.add(turn.lane, turn.first, layer.back.part(rows.first, rows.count),
                   aligned_rows(view(l).input.part(rows.first, rows.count), Scratch::input));
}

void GatV2::finish_backward(std::size_t l, std::span<float> gradient) {
    const GatV2Layer& layer = layers_[l];
    const Heads all = heads(l);
    const Sums sums = lane_sums(l);
    parallel_chunks(sums.sources.rows, sums.sources.size, [&](const Chunk& lane) {
        for (std::size_t first = lane.begin; first < lane.end; first += chunk_rows) {
            const std::size_t count = std::min(chunk_rows, lane.end - first);
            gather_attention(attention(l), scores(l), layer.readers, layer.gradient,
                             static_cast<std::uint32_t>(first),
                             static_cast<std::uint32_t>(first + count), layer.values);
            sums.left.add(lane.index, first == lane.begin, layer.values.part(first, count),
                          aligned_rows(view(l).input.part(first, count), Scratch::input));
        }
    });
    const LaneSums::Groups groups{all.columns, all.padded()};
    const LaneSums::Stretch left{0, layer_inputs(l), place(gradient, layer.left)};
    sums.left.finish(std::span(&left, 1), place(gradient, layer.left_bias), groups);
    const LaneSums::Stretch right{0, layer_inputs(l), place(gradient, layer.right)};
    sums.right.finish(std::span(&right, 1), place(gradient, layer.right_bias), groups);
    std::vector<float> vector(all.width());
    sums.vector.finish(vector.data());
    unpack_heads(all, vector.data(), place(gradient, layer.vector));
    sums.bias.finish(place(gradient, layer.bias));
}

void GatV2::source_gradient(std::size_t l, Rows rows, const ActiveRows& active, const Matrix& out) {
    RUDDER_CHECK_NORMAL(active.data == nullptr);  // there is no rectifier
    const GatV2Layer& layer = layers_[l];
    multiply(layer.values.part(rows.first, rows.count), layer.left_weights, out);
    if (rows.first >= layer.back.rows) return;
    const std::size_t count = std::min(rows.count, layer.back.rows - rows.first);
    const Matrix own = scratch_rows(Scratch::product, count, out.columns);
    multiply(layer.back.part(rows.first, count), layer.right_weights, own);
    for (std::size_t r = 0; r < count; ++r) {
        float* row = out.row(r);
        for (std::size_t c = 0; c < out.columns; ++c)
            row[c] += own.row(r)[c];
    }
}

}  // namespace

std::unique_ptr<Network> make_gatv2(const NetworkOptions& options) {
    return std::make_unique<GatV2>(options);
}

}  // namespace rudder
