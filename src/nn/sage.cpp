// GraphSAGE with means: each layer one product of [own | mean of neighbours], chunk by chunk.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/aggregate.hpp"
#include "rudder/nn/dropout.hpp"
#include "rudder/nn/flat_network.hpp"
#include "rudder/nn/linear.hpp"
#include "rudder/nn/loss.hpp"

namespace rudder {

namespace {

/// Which parameters a layer has, and where its matrices of the present pass lie.
struct Layer {
    std::size_t self = 0;
    std::size_t neighbours = 0;
    std::size_t bias = 0;
    Matrix weights;  ///< outputs x 2 inputs, packed from self and neighbours
    Matrix joined;   ///< destinations x 2 inputs: own row, mean; later their gradients
    Matrix out;      ///< destinations x outputs; later the gradient before the activation
    TransposedBlock readers;
};

/// Offsets in the workspace of one layer's matrices.
struct LayerPlace {
    std::size_t weights = 0;
    std::size_t joined = 0;
    std::size_t out = 0;
    std::size_t offsets = 0;
    std::size_t readers = 0;
};

/// The memory of a pass.
struct PassPlan {
    WorkspacePlan memory;
    std::vector<LayerPlace> layers;
    std::size_t input = 0;  ///< of the input after dropout
    std::size_t sums = 0;   ///< of the gradients' lanes
    std::size_t losses = 0;
};

enum class Pass : bool { predict, train };

class Sage final : public FlatNetwork {
public:
    explicit Sage(const NetworkOptions& network_options);

    BatchResult train(const Batch& batch, std::span<const float> rows, const SeedTargets& targets,
                      float weight, std::span<float> gradient,
                      FunctionRef<void(std::size_t)> ready) override;
    void predict(const Batch& batch, std::span<const float> rows, std::span<float> scores) override;
    void infer_layer(std::size_t index, const Block& block, std::span<const float> sources,
                     std::span<float> out) override;
    [[nodiscard]] std::uint64_t activation_bytes(const Batch& batch) const override {
        return Workspace::bytes_for(plan(batch, Pass::train).memory);
    }

private:
    [[nodiscard]] PassPlan plan(const Batch& batch, Pass pass) const;
    [[nodiscard]] Dropout dropout_before(std::size_t layer, const BatchKey& key, Pass pass) const;
    void check(const Batch& batch, std::span<const float> rows) const;
    PassPlan begin(const Batch& batch, Pass pass);
    void pack(Layer& layer) const;
    void forward(const Batch& batch, std::span<const float> rows, const PassPlan& places,
                 Pass pass);
    void forward_chunk(const Block& block, std::size_t index, const ConstMatrix& input,
                       const Dropout& dropout, std::span<const VertexId> vertices,
                       const Chunk& chunk);
    LossSums loss(const SeedTargets& targets, float weight, const PassPlan& places);
    void backward(const Batch& batch, std::size_t index, const PassPlan& places,
                  std::span<float> gradient);
    void backward_chunk(const Batch& batch, std::size_t index, std::size_t first, std::size_t count,
                        std::size_t lane, bool first_of_lane, const LaneSums& sums, float scale);

    std::vector<Layer> layers_;
};

Sage::Sage(const NetworkOptions& network_options) : FlatNetwork(network_options) {
    for (std::size_t l = 0; l < layers(); ++l) {
        const auto in = static_cast<std::int64_t>(layer_inputs(l));
        const auto out = static_cast<std::int64_t>(layer_outputs(l));
        // As PyG's SAGEConv: Kaiming-uniform with a = sqrt(5), which is one over the root of the
        // inputs, for the weights and the bias alike.
        const double bound = 1 / std::sqrt(static_cast<double>(in));
        Layer layer;
        layer.self = add_parameter(fmt::format("layers.{}.self.weight", l), {out, in}, bound, true);
        layer.neighbours =
            add_parameter(fmt::format("layers.{}.neigh.weight", l), {out, in}, bound, true);
        layer.bias = add_parameter(fmt::format("layers.{}.neigh.bias", l), {out}, bound, false);
        end_layer();
        layers_.push_back(layer);
    }
    seal();
}

void Sage::check(const Batch& batch, std::span<const float> rows) const {
    RUDDER_CHECK(batch.blocks.size() == layers());
    RUDDER_CHECK(batch.blocks.back().destinations == batch.seeds);
    RUDDER_CHECK(batch.blocks.front().sources == batch.vertices.size());
    RUDDER_CHECK(rows.size() == batch.vertices.size() * options().inputs);
    for (std::size_t l = 1; l < layers(); ++l)
        RUDDER_CHECK(batch.blocks[l].sources == batch.blocks[l - 1].destinations);
}

PassPlan Sage::plan(const Batch& batch, Pass pass) const {
    PassPlan plan;
    std::size_t sums = 0;
    for (std::size_t l = 0; l < layers(); ++l) {
        const Block& block = batch.blocks[l];
        const std::size_t in = 2 * layer_inputs(l);
        const std::size_t out = layer_outputs(l);
        LayerPlace place;
        place.weights = plan.memory.add<float>(out * aligned_columns(in));
        place.joined = plan.memory.add<float>(block.destinations * aligned_columns(in));
        place.out = plan.memory.add<float>(block.destinations * aligned_columns(out));
        if (pass == Pass::train && l > 0) {
            place.offsets = plan.memory.add<std::uint32_t>(std::size_t{block.sources} + 1);
            place.readers = plan.memory.add<LocalId>(block.edges());
        }
        plan.layers.push_back(place);
        sums = std::max(sums, LaneSums::floats(Lanes(block.destinations), out, in));
    }
    if (pass == Pass::predict) return plan;
    plan.sums = plan.memory.add<float>(sums);
    plan.losses = plan.memory.add<LossSums>(chunk_count(batch.seeds, chunk_rows));
    if (options().input_dropout > 0) {
        plan.input =
            plan.memory.add<float>(batch.vertices.size() * aligned_columns(options().inputs));
    }
    return plan;
}

PassPlan Sage::begin(const Batch& batch, Pass pass) {
    PassPlan places = plan(batch, pass);
    workspace().fit(places.memory);
    for (std::size_t l = 0; l < layers(); ++l) {
        const Block& block = batch.blocks[l];
        const LayerPlace& place = places.layers[l];
        const std::size_t in = 2 * layer_inputs(l);
        const std::size_t out = layer_outputs(l);
        Layer& layer = layers_[l];
        layer.weights = {workspace().at<float>(place.weights), out, in, aligned_columns(in)};
        layer.joined = {workspace().at<float>(place.joined), block.destinations, in,
                        aligned_columns(in)};
        layer.out = {workspace().at<float>(place.out), block.destinations, out,
                     aligned_columns(out)};
        pack(layer);
        if (pass == Pass::predict || l == 0) continue;
        layer.readers = {
            {workspace().at<std::uint32_t>(place.offsets), std::size_t{block.sources} + 1},
            {workspace().at<LocalId>(place.readers), block.edges()}};
        transpose(block, layer.readers);
    }
    return places;
}

void Sage::pack(Layer& layer) const {
    const std::size_t in = layer.weights.columns / 2;
    const float* self = weights_of(layer.self).data();
    const float* neighbours = weights_of(layer.neighbours).data();
    for (std::size_t o = 0; o < layer.weights.rows; ++o) {
        std::copy_n(self + o * in, in, layer.weights.row(o));
        std::copy_n(neighbours + o * in, in, layer.weights.row(o) + in);
    }
}

Dropout Sage::dropout_before(std::size_t layer, const BatchKey& key, Pass pass) const {
    const double rate = layer == 0 ? options().input_dropout : options().dropout;
    if (pass == Pass::predict || layer == layers() || rate <= 0) return {};
    return {{.purpose = Purpose::dropout,
             .seed = options().seed,
             .epoch = key.epoch,
             .step = key.step,
             .layer = static_cast<std::uint32_t>(layer)},
            rate};
}

/// `vertices` are those of the destinations; nobody asks for them where nothing is dropped.
void Sage::forward_chunk(const Block& block, std::size_t index, const ConstMatrix& input,
                         const Dropout& dropout, std::span<const VertexId> vertices,
                         const Chunk& chunk) {
    const Layer& layer = layers_[index];
    const std::size_t count = chunk.end - chunk.begin;
    const Matrix joined = layer.joined.part(chunk.begin, count);
    const Matrix out = layer.out.part(chunk.begin, count);
    const std::size_t in = input.columns;
    for (std::size_t r = 0; r < count; ++r)
        std::copy_n(input.row(chunk.begin + r), in, joined.row(r));
    mean_of_neighbours(block, input, static_cast<std::uint32_t>(chunk.begin),
                       static_cast<std::uint32_t>(chunk.end),
                       {joined.data + in, count, in, joined.stride});
    multiply_transposed(joined, layer.weights, out);
    const std::span<const float> bias = weights_of(layer.bias);
    if (index + 1 < layers()) {
        bias_rectify_drop(out, bias, dropout,
                          vertices.empty() ? vertices : vertices.subspan(chunk.begin, count));
        return;
    }
    for (std::size_t r = 0; r < count; ++r) {
        for (std::size_t c = 0; c < out.columns; ++c)
            out.row(r)[c] += bias[c];
    }
}

void Sage::forward(const Batch& batch, std::span<const float> rows, const PassPlan& places,
                   Pass pass) {
    ConstMatrix input{rows.data(), batch.vertices.size(), options().inputs, options().inputs};
    if (const Dropout first = dropout_before(0, batch.key, pass); first.drops()) {
        const Matrix dropped{workspace().at<float>(places.input), input.rows, input.columns,
                             aligned_columns(input.columns)};
        parallel_chunks(input.rows, chunk_rows, [&](const Chunk& chunk) {
            const std::size_t count = chunk.end - chunk.begin;
            drop(input.part(chunk.begin, count), first,
                 std::span(batch.vertices).subspan(chunk.begin, count),
                 dropped.part(chunk.begin, count));
        });
        input = dropped;
    }
    for (std::size_t l = 0; l < layers(); ++l) {
        const Dropout dropout = dropout_before(l + 1, batch.key, pass);
        parallel_chunks(batch.blocks[l].destinations, chunk_rows, [&](const Chunk& chunk) {
            forward_chunk(batch.blocks[l], l, input, dropout, batch.vertices, chunk);
        });
        input = layers_[l].out;
    }
}

LossSums Sage::loss(const SeedTargets& targets, float weight, const PassPlan& places) {
    const Matrix scores = layers_.back().out;
    auto* sums = workspace().at<LossSums>(places.losses);
    parallel_chunks(scores.rows, chunk_rows, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        sums[chunk.index] = loss_and_gradient(
            options().objective, targets_of(targets, scores.columns, chunk.begin, count), weight,
            scores.part(chunk.begin, count));
    });
    LossSums total;
    for (std::size_t i = 0; i < chunk_count(scores.rows, chunk_rows); ++i)
        total.add(sums[i]);
    return total;
}

void Sage::backward_chunk(const Batch& batch, std::size_t index, std::size_t first,
                          std::size_t count, std::size_t lane, bool first_of_lane,
                          const LaneSums& sums, float scale) {
    const Layer& layer = layers_[index];
    const auto begin = static_cast<std::uint32_t>(first);
    const auto end = static_cast<std::uint32_t>(first + count);
    if (index + 1 < layers()) {
        // The gradient before the activation takes the place of the activation itself.
        const Layer& above = layers_[index + 1];
        const std::size_t in = above.joined.columns / 2;
        const GradientOfSources gradient{
            {above.joined.data, above.joined.rows, in, above.joined.stride},
            {above.joined.data + in, above.joined.rows, in, above.joined.stride},
            layer.out.data,
            layer.out.stride,
            scale};
        gather_gradient(above.readers, gradient, begin, end, layer.out);
    }
    const Matrix out = layer.out.part(first, count);
    const Matrix joined = layer.joined.part(first, count);
    sums.add(lane, first_of_lane, out, joined);
    if (index == 0) return;
    // The inputs are not needed any more: their gradient takes their place.
    multiply(out, layer.weights, joined);
    const std::size_t in = joined.columns / 2;
    divide_by_neighbours(batch.blocks[index], begin, end,
                         {joined.data + in, count, in, joined.stride});
}

void Sage::backward(const Batch& batch, std::size_t index, const PassPlan& places,
                    std::span<float> gradient) {
    const Layer& layer = layers_[index];
    const Lanes lanes(layer.out.rows);
    const std::size_t in = layer.joined.columns / 2;
    const LaneSums sums(workspace().at<float>(places.sums), lanes, layer.out.columns, 2 * in);
    const float scale = dropout_before(index + 1, batch.key, Pass::train).scale;
    parallel_chunks(lanes.rows, lanes.size, [&](const Chunk& lane) {
        for (std::size_t first = lane.begin; first < lane.end; first += chunk_rows) {
            const std::size_t count = std::min(chunk_rows, lane.end - first);
            backward_chunk(batch, index, first, count, lane.index, first == lane.begin, sums,
                           scale);
        }
    });
    const auto place = [&](std::size_t parameter) {
        return gradient.data() + parameters()[parameter].offset;
    };
    const LaneSums::Stretch stretches[]{{0, in, place(layer.self)},
                                        {in, in, place(layer.neighbours)}};
    sums.finish(stretches, place(layer.bias));
}

BatchResult Sage::train(const Batch& batch, std::span<const float> rows, const SeedTargets& targets,
                        float weight, std::span<float> gradient,
                        FunctionRef<void(std::size_t)> ready) {
    RUDDER_CHECK(gradient.size() == weights().size());
    if (batch.seeds == 0) {
        std::ranges::fill(gradient, 0.F);
        for (std::size_t b = 0; b < buckets().size(); ++b)
            ready(b);
        return {};
    }
    check(batch, rows);
    const PassPlan places = begin(batch, Pass::train);
    forward(batch, rows, places, Pass::train);
    const LossSums total = loss(targets, weight, places);
    for (std::size_t b = 0; b < layers(); ++b) {
        backward(batch, layers() - 1 - b, places, gradient);
        ready(b);
    }
    return {static_cast<float>(total.loss), total.correct, total.answers};
}

void Sage::infer_layer(std::size_t index, const Block& block, std::span<const float> sources,
                       std::span<float> out) {
    const std::size_t in = layer_inputs(index);
    const std::size_t columns = layer_outputs(index);
    RUDDER_CHECK(sources.size() == block.sources * in);
    RUDDER_CHECK(out.size() == block.destinations * columns);
    WorkspacePlan memory;
    const std::size_t weights_at = memory.add<float>(columns * aligned_columns(2 * in));
    const std::size_t joined_at = memory.add<float>(block.destinations * aligned_columns(2 * in));
    const std::size_t out_at = memory.add<float>(block.destinations * aligned_columns(columns));
    workspace().fit(memory);
    Layer& layer = layers_[index];
    layer.weights = {workspace().at<float>(weights_at), columns, 2 * in, aligned_columns(2 * in)};
    layer.joined = {workspace().at<float>(joined_at), block.destinations, 2 * in,
                    aligned_columns(2 * in)};
    layer.out = {workspace().at<float>(out_at), block.destinations, columns,
                 aligned_columns(columns)};
    pack(layer);
    const ConstMatrix input{sources.data(), block.sources, in, in};
    parallel_chunks(block.destinations, chunk_rows, [&](const Chunk& chunk) {
        forward_chunk(block, index, input, {}, {}, chunk);
        for (std::size_t r = chunk.begin; r < chunk.end; ++r)
            std::copy_n(layer.out.row(r), columns, out.data() + r * columns);
    });
}

void Sage::predict(const Batch& batch, std::span<const float> rows, std::span<float> scores) {
    RUDDER_CHECK(scores.size() == batch.seeds * options().outputs);
    if (batch.seeds == 0) return;
    check(batch, rows);
    const PassPlan places = begin(batch, Pass::predict);
    forward(batch, rows, places, Pass::predict);
    const Matrix out = layers_.back().out;
    for (std::size_t r = 0; r < out.rows; ++r)
        std::copy_n(out.row(r), out.columns, scores.data() + r * out.columns);
}

}  // namespace

std::unique_ptr<Network> make_sage(const NetworkOptions& options) {
    return std::make_unique<Sage>(options);
}

}  // namespace rudder
