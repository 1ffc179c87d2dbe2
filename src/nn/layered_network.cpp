// Memory and forward passes of layered networks.
#include "rudder/nn/layered_network.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/check.hpp"

#include "pair_head.hpp"
#include "scratch.hpp"
#include "sparse_input.hpp"

namespace rudder::nn {

namespace {

Norm norm_of(const std::string& name) noexcept {
    if (name == "batch") return Norm::batch;
    return name == "layer" ? Norm::layer : Norm::none;
}

/// How fast running statistics follow those of the batches.
constexpr float statistics_momentum = 0.1F;

}  // namespace

LayeredNetwork::LayeredNetwork(const NetworkOptions& network_options, Activation activation)
    : FlatNetwork(network_options), activation_(activation), norm_(norm_of(network_options.norm)) {
    if (network_options.sparse) columns_ = std::make_unique<SparseColumns>();
}

LayeredNetwork::~LayeredNetwork() = default;

void LayeredNetwork::end_convolution(std::size_t bias) {
    const std::size_t l = layers_.size();
    const auto in = static_cast<std::int64_t>(layer_inputs(l));
    const auto out = static_cast<std::int64_t>(layer_outputs(l));
    Layer layer;
    layer.bias = bias;
    if (normed(l)) {
        layer.gain = add_constant(fmt::format("layers.{}.norm.weight", l), {out}, 1);
        layer.shift = add_constant(fmt::format("layers.{}.norm.bias", l), {out}, 0);
    }
    if (normed(l) && norm_ == Norm::batch) {
        layer.mean = add_constant(fmt::format("layers.{}.norm.running_mean", l), {out}, 0, false);
        layer.variance =
            add_constant(fmt::format("layers.{}.norm.running_var", l), {out}, 1, false);
    }
    layer.mapped = residual(l) && in != out;
    if (layer.mapped) {
        const double bound = 1 / std::sqrt(static_cast<double>(in));
        layer.map =
            add_parameter(fmt::format("layers.{}.residual.weight", l), {out, in}, bound, true);
    }
    end_layer();
    layers_.push_back(layer);
    if (layers_.size() == layers() && options().pairs) add_pair_parameters();
}

void LayeredNetwork::pack(std::size_t parameter, const Matrix& out) const noexcept {
    const float* from = weights_of(parameter).data();
    for (std::size_t r = 0; r < out.rows; ++r)
        std::copy_n(from + r * out.columns, out.columns, out.row(r));
}

void LayeredNetwork::pack_transposed(std::size_t parameter, LaneSums::Groups groups,
                                     const Matrix& out) const {
    const std::span<const float> from = weights_of(parameter);
    transpose_weights({from.data(), from.size() / out.rows, out.rows, out.rows}, groups, out);
}

void LayeredNetwork::set_input(View& view, const InputRows& rows, std::size_t layer) const {
    RUDDER_CHECK(rows.is_sparse() == sparse_input(layer));
    if (rows.is_sparse()) {
        view.sparse = rows.sparse(layer_inputs(layer));
    } else {
        view.input = rows.dense(layer_inputs(layer));
    }
}

void LayeredNetwork::check(const sample::Batch& batch, const InputRows& rows) const {
    RUDDER_CHECK(batch.blocks.size() == layers());
    RUDDER_CHECK(batch.blocks.back().destinations == batch.seeds);
    RUDDER_CHECK(batch.blocks.front().sources == batch.vertices.size());
    RUDDER_CHECK(rows.holds(batch.vertices.size(), options().inputs));
    RUDDER_CHECK(!wants_degrees() || batch.degrees.size() == batch.vertices.size());
    for (std::size_t l = 1; l < layers(); ++l)
        RUDDER_CHECK(batch.blocks[l].sources == batch.blocks[l - 1].destinations);
    for (const sample::Block& block : batch.blocks)
        check_edges(block);
}

void LayeredNetwork::check_edges(const sample::Block& block) const {
    RUDDER_CHECK(options().edge_inputs == 0 ||
                 block.features.size() == block.edges() * options().edge_inputs);
}

// ---- memory
// --------------------------------------------------------------------------------------

/// Floats that the gradients of norm and residual are added up in.
std::size_t LayeredNetwork::extra_floats(std::size_t layer, const sample::Block& block) const {
    const Lanes lanes(block.destinations);
    const std::size_t out = layer_outputs(layer);
    std::size_t floats = 0;
    if (normed(layer)) floats += 2 * LaneColumns::floats(lanes, out);
    if (layers_[layer].mapped && !sparse_input(layer))
        floats += LaneSums::floats(lanes, out, layer_inputs(layer));
    return floats;
}

LayeredNetwork::LayerPlace LayeredNetwork::plan_layer(std::size_t layer, const sample::Block& block,
                                                      Pass pass, WorkspacePlan& memory,
                                                      OutRows out_rows) const {
    const std::size_t in = layer_inputs(layer);
    const std::size_t out = layer_outputs(layer);
    LayerPlace place;
    plan_convolution(layer, block, pass, memory, place.convolution);
    if (out_rows == OutRows::planned)
        place.out = memory.add<float>(block.destinations * aligned_columns(out));
    if (layers_[layer].mapped) {
        place.map_weights = memory.add<float>(sparse_input(layer) ? in * aligned_columns(out)
                                                                  : out * aligned_columns(in));
    }
    if (normed(layer)) {
        place.columns = memory.add<float>(2 * aligned_columns(out));
        place.spreads = memory.add<float>(std::max<std::size_t>(block.destinations, out));
    }
    if (pass == Pass::predict) return place;
    if (normed(layer)) place.normal = memory.add<float>(block.destinations * aligned_columns(out));
    if (residual(layer) && (goes_back(layer) || sparse_input(layer))) {
        place.skip =
            memory.add<float>(block.destinations * aligned_columns(sparse_input(layer) ? out : in));
    }
    return place;
}

LayeredNetwork::PassPlan LayeredNetwork::plan(const sample::Batch& batch, Pass pass) const {
    PassPlan plan;
    std::size_t sums = 0;
    std::size_t extras = 0;
    for (std::size_t l = 0; l < layers(); ++l) {
        const sample::Block& block = batch.blocks[l];
        plan.layers.push_back(plan_layer(l, block, pass, plan.memory, OutRows::planned));
        if (pass == Pass::predict) continue;
        sums = std::max(sums, sum_floats(l, block));
        extras = std::max(extras, extra_floats(l, block));
    }
    if (pass == Pass::predict) return plan;
    plan.sums = plan.memory.add<float>(sums);
    plan.extras = plan.memory.add<float>(extras);
    plan.losses = plan.memory.add<LossSums>(chunk_count(batch.seeds, chunk_rows));
    if (options().input_dropout <= 0) return plan;
    const std::size_t vertices = batch.vertices.size();
    plan.input = sparse_input(0)
                     ? plan.memory.add<SparseEntry>(vertices * (1 + options().sparse->largest))
                     : plan.memory.add<float>(vertices * aligned_columns(options().inputs));
    return plan;
}

std::uint64_t LayeredNetwork::activation_bytes(const sample::Batch& batch) const {
    const std::uint64_t planned = Workspace::bytes_for(plan(batch, Pass::train).memory);
    if (!options().sparse) return planned;
    const double non_zeros = options().sparse->mean * static_cast<double>(batch.vertices.size());
    return planned + SparseColumns::bytes_for(options().inputs, non_zeros);
}

void LayeredNetwork::begin_layer(std::size_t index, const sample::Block& block,
                                 std::span<const std::uint32_t> degrees, const LayerPlace& place,
                                 Pass pass) {
    const std::size_t in = layer_inputs(index);
    const std::size_t out = layer_outputs(index);
    const auto matrix = [&](std::size_t offset, std::size_t rows, std::size_t columns) {
        return Matrix{workspace().at<float>(offset), rows, columns, aligned_columns(columns)};
    };
    Layer& layer = layers_[index];
    layer.view.block = &block;
    layer.view.degrees = degrees;
    layer.view.out = matrix(place.out, block.destinations, out);
    if (layer.mapped) {
        layer.map_weights = sparse_input(index) ? matrix(place.map_weights, in, out)
                                                : matrix(place.map_weights, out, in);
        sparse_input(index) ? pack_transposed(layer.map, {}, layer.map_weights)
                            : pack(layer.map, layer.map_weights);
    }
    layer.columns = workspace().at<float>(place.columns);
    layer.spreads = workspace().at<float>(place.spreads);
    layer.normal = {};
    if (pass == Pass::train) {
        if (normed(index)) layer.normal = matrix(place.normal, block.destinations, out);
        layer.skip = matrix(place.skip, block.destinations, sparse_input(index) ? out : in);
    }
    begin_convolution(index, place.convolution, pass);
}

LayeredNetwork::PassPlan LayeredNetwork::begin(const sample::Batch& batch, Pass pass) {
    PassPlan places = plan(batch, pass);
    workspace().fit(places.memory);
    sums_ = workspace().at<float>(places.sums);
    extras_ = workspace().at<float>(places.extras);
    for (std::size_t l = 0; l < layers(); ++l) {
        const sample::Block& block = batch.blocks[l];
        std::span<const std::uint32_t> degrees;
        if (wants_degrees()) degrees = std::span(batch.degrees).subspan(0, block.sources);
        layers_[l].view = {};
        begin_layer(l, block, degrees, places.layers[l], pass);
    }
    return places;
}

// ---- forward
// -------------------------------------------------------------------------------------

Dropout LayeredNetwork::dropout_before(std::size_t layer, const sample::BatchKey& key,
                                       Pass pass) const {
    const double rate = layer == 0 ? options().input_dropout : options().dropout;
    if (pass == Pass::predict || layer == layers() || rate <= 0) return {};
    return {{.purpose = Purpose::dropout,
             .seed = options().seed,
             .epoch = key.epoch,
             .step = key.step,
             .layer = static_cast<std::uint32_t>(layer)},
            rate};
}

void LayeredNetwork::add_bias(std::size_t layer, Rows rows) {
    const Matrix out = view(layer).out.part(rows.first, rows.count);
    add_rows(out, {weights_of(layers_[layer].bias).data(), out.rows, out.columns, 0});
}

void LayeredNetwork::add_residual(std::size_t index, Rows rows) {
    const Layer& layer = layers_[index];
    const Matrix out = layer.view.out.part(rows.first, rows.count);
    const bool sparse = sparse_input(index);
    const SparseMatrix entries =
        sparse ? layer.view.sparse.part(rows.first, rows.count) : SparseMatrix{};
    if (sparse && !layer.mapped) return add_sparse(out, entries);
    ConstMatrix own = sparse ? ConstMatrix{} : layer.view.input.part(rows.first, rows.count);
    if (layer.mapped) {
        const Matrix product = scratch_rows(Scratch::product, out.rows, out.columns);
        if (sparse) {
            multiply_sparse(entries, layer.map_weights, product);
        } else {
            multiply_transposed(aligned_rows(own, Scratch::input), layer.map_weights, product);
        }
        own = product;
    }
    add_rows(out, own);
}

/// Mean and variance of the columns over all destinations, in chunks added in order.
void LayeredNetwork::measure_columns(std::size_t index) {
    const Layer& layer = layers_[index];
    const Matrix& out = layer.view.out;
    const Lanes lanes(out.rows);
    float* mean = layer.columns;
    float* variance = layer.columns + aligned_columns(out.columns);
    const LaneColumns partial(extras_, lanes, out.columns);
    const auto rows = static_cast<float>(out.rows);
    parallel_chunks(lanes.rows, lanes.size, [&](const Chunk& lane) {
        partial.clear(lane.index);
        partial.add(lane.index, out.part(lane.begin, lane.end - lane.begin));
    });
    partial.finish(mean);
    for (std::size_t c = 0; c < out.columns; ++c)
        mean[c] /= rows;
    parallel_chunks(lanes.rows, lanes.size, [&](const Chunk& lane) {
        float* __restrict sums = partial.lane(lane.index);
        std::fill_n(sums, out.columns, 0.F);
        for (std::size_t r = lane.begin; r < lane.end; ++r) {
            const float* row = out.row(r);
            for (std::size_t c = 0; c < out.columns; ++c)
                sums[c] += (row[c] - mean[c]) * (row[c] - mean[c]);
        }
    });
    partial.finish(variance);
    for (std::size_t c = 0; c < out.columns; ++c) {
        layer.spreads[c] = inverse_root(static_cast<double>(variance[c] / rows));
        variance[c] /= std::max(1.F, rows - 1);  // as running variances are kept: unbiased
    }
}

void LayeredNetwork::norm_rows(std::size_t index, Rows rows, Pass pass) {
    const Layer& layer = layers_[index];
    const Matrix out = layer.view.out.part(rows.first, rows.count);
    const Matrix normal =
        pass == Pass::train ? layer.normal.part(rows.first, rows.count) : Matrix{};
    const auto gain = std::as_const(*this).weights_of(layer.gain);
    const auto shift = std::as_const(*this).weights_of(layer.shift);
    if (norm_ == Norm::layer)
        return normalise_rows(out, gain, shift, normal, layer.spreads + rows.first);
    normalise_columns(out, layer.columns, layer.spreads, gain, shift, normal);
}

/// From what the convolution gave to what the next layer reads. With batch statistics the bias is
/// added already. `vertices` are those of the destinations; nobody asks for them where nothing is
/// dropped.
void LayeredNetwork::finish_rows(std::size_t layer, Rows rows, const Dropout& dropout,
                                 std::span<const VertexId> vertices, Pass pass) {
    const Matrix out = view(layer).out.part(rows.first, rows.count);
    if (!vertices.empty()) vertices = vertices.subspan(rows.first, rows.count);
    if (last(layer)) return add_bias(layer, rows);
    if (plain()) return bias_rectify_drop(out, weights_of(layers_[layer].bias), dropout, vertices);
    if (norm_ != Norm::batch || pass == Pass::predict) add_bias(layer, rows);
    if (norm_ != Norm::none) norm_rows(layer, rows, pass);
    if (residual(layer)) add_residual(layer, rows);
    activate(out, activation_, dropout, vertices);
}

void LayeredNetwork::forward_layer(std::size_t index, const Dropout& dropout,
                                   std::span<const VertexId> vertices, Pass pass) {
    const Layer& layer = layers_[index];
    prepare(index);
    const std::size_t count = layer.view.out.rows;
    const bool measured = normed(index) && norm_ == Norm::batch;
    if (measured && pass == Pass::predict) {
        const auto variance = weights_of(layer.variance);
        std::ranges::copy(weights_of(layer.mean), layer.columns);
        for (std::size_t c = 0; c < variance.size(); ++c)
            layer.spreads[c] = inverse_root(static_cast<double>(variance[c]));
    }
    const bool in_two = measured && pass == Pass::train;
    parallel_chunks(count, chunk_rows, [&](const Chunk& chunk) {
        const Rows rows{chunk.begin, chunk.end - chunk.begin};
        forward_rows(index, rows, pass);
        if (in_two) return add_bias(index, rows);
        finish_rows(index, rows, dropout, vertices, pass);
    });
    if (!in_two) return;
    measure_columns(index);
    parallel_chunks(count, chunk_rows, [&](const Chunk& chunk) {
        finish_rows(index, {chunk.begin, chunk.end - chunk.begin}, dropout, vertices, pass);
    });
}

/// The first layer's input after dropout, in the workspace.
void LayeredNetwork::drop_input(const sample::Batch& batch, const Dropout& dropout,
                                const PassPlan& places) {
    View& first = layers_.front().view;
    const bool sparse = sparse_input(0);
    const SparseMatrix entries = first.sparse;
    const ConstMatrix input = first.input;
    auto* left = workspace().at<SparseEntry>(places.input);
    const Matrix dropped{workspace().at<float>(places.input), input.rows, input.columns,
                         aligned_columns(input.columns)};
    parallel_chunks(batch.vertices.size(), chunk_rows, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        const auto vertices = std::span(batch.vertices).subspan(chunk.begin, count);
        if (sparse) {
            drop_sparse(entries.part(chunk.begin, count), dropout, vertices,
                        left + chunk.begin * entries.stride);
        } else {
            drop(input.part(chunk.begin, count), dropout, vertices,
                 dropped.part(chunk.begin, count));
        }
    });
    if (sparse) {
        first.sparse.data = left;
    } else {
        first.input = dropped;
    }
}

void LayeredNetwork::forward(const sample::Batch& batch, const InputRows& rows,
                             const PassPlan& places, Pass pass) {
    set_input(layers_.front().view, rows, 0);
    const Dropout first = dropout_before(0, batch.key, pass);
    if (first.drops()) drop_input(batch, first, places);
    for (std::size_t l = 0; l < layers(); ++l) {
        if (l > 0) layers_[l].view.input = view(l - 1).out;
        forward_layer(l, dropout_before(l + 1, batch.key, pass), batch.vertices, pass);
    }
}

void LayeredNetwork::predict(const sample::Batch& batch, const InputRows& rows,
                             std::span<float> scores) {
    RUDDER_CHECK(scores.size() == batch.seeds * layer_outputs(layers() - 1));
    if (batch.seeds == 0) return;
    check(batch, rows);
    const PassPlan places = begin(batch, Pass::predict);
    forward(batch, rows, places, Pass::predict);
    const Matrix out = view(layers() - 1).out;
    for (std::size_t r = 0; r < out.rows; ++r)
        std::copy_n(out.row(r), out.columns, scores.data() + r * out.columns);
}

/// Kernels may write whole vectors, which must not reach into the next row.
bool LayeredNetwork::writes_in_place(std::size_t layer) const noexcept {
    return last(layer) || activation_ == Activation::rectifier ||
           layer_outputs(layer) % row_alignment == 0;
}

/// A layer of inference: `given` has the block and what is read.
void LayeredNetwork::infer(std::size_t index, const View& given, std::span<float> out) {
    const sample::Block& block = *given.block;
    const std::size_t columns = layer_outputs(index);
    RUDDER_CHECK(out.size() == block.destinations * columns);
    RUDDER_CHECK(given.summed || !wants_degrees() || given.degrees.size() == block.sources);
    check_edges(block);
    const bool in_place = writes_in_place(index);
    WorkspacePlan memory;
    const LayerPlace place = plan_layer(index, block, Pass::predict, memory,
                                        in_place ? OutRows::elsewhere : OutRows::planned);
    workspace().fit(memory);
    layers_[index].view = given;
    begin_layer(index, block, given.degrees, place, Pass::predict);
    if (in_place) layers_[index].view.out = {out.data(), block.destinations, columns, columns};
    forward_layer(index, {}, {}, Pass::predict);
    if (in_place) return;
    const Matrix& result = view(index).out;
    parallel_chunks(block.destinations, chunk_rows, [&](const Chunk& chunk) {
        for (std::size_t r = chunk.begin; r < chunk.end; ++r)
            std::copy_n(result.row(r), columns, out.data() + r * columns);
    });
}

void LayeredNetwork::infer_layer(std::size_t index, const sample::Block& block,
                                 std::span<const std::uint32_t> degrees, const InputRows& sources,
                                 std::span<float> out) {
    RUDDER_CHECK(sources.holds(block.sources, layer_inputs(index)));
    View given;
    given.block = &block;
    given.degrees = degrees;
    set_input(given, sources, index);
    infer(index, given, out);
}

void LayeredNetwork::infer_rows(std::size_t index, const sample::Block& block,
                                const LayerRows& rows, std::span<float> out) {
    const std::size_t reads = layer_reads(index);
    const bool mapped = maps_rows(index);
    RUDDER_CHECK(rows.own.holds(block.destinations, layer_inputs(index)));
    RUDDER_CHECK(rows.summed || rows.sources.holds(block.sources, reads));
    RUDDER_CHECK(!rows.summed || (sums_rows(index) && !rows.sums.empty()));
    RUDDER_CHECK(rows.sums.empty() || rows.sums.size() == block.destinations * reads);
    View given;
    given.block = &block;
    given.degrees = rows.degrees;
    set_input(given, mapped || rows.summed ? rows.own : rows.sources, index);
    if (mapped) given.mapped = rows.sources.dense(reads);
    if (!rows.sums.empty()) given.sums = {rows.sums.data(), block.destinations, reads, reads};
    given.summed = rows.summed;
    infer(index, given, out);
}

/// From the plans of small blocks: it takes so much for each destination, source and edge.
InferenceBytes LayeredNetwork::inference_bytes(std::size_t index) const {
    constexpr std::uint32_t some = 1024;
    const auto planned = [&](std::uint32_t destinations, std::uint32_t sources,
                             std::uint32_t edges) -> std::uint64_t {
        sample::Block block;
        block.destinations = destinations;
        block.sources = sources;
        block.neighbours.resize(edges);
        WorkspacePlan memory;
        static_cast<void>(
            plan_layer(index, block, Pass::predict, memory,
                       writes_in_place(index) ? OutRows::elsewhere : OutRows::planned));
        return Workspace::bytes_for(memory);
    };
    const auto each = [&](std::uint64_t more, std::uint64_t less) {
        return (more - less + some - 1) / some;
    };
    const std::uint64_t none = planned(0, 0, 0);
    const std::uint64_t sources = planned(0, some, 0);
    return {.fixed = none,
            .destination = each(planned(some, some, 0), sources),
            .source = each(sources, none),
            .edge = each(planned(0, some, some), sources)};
}

void LayeredNetwork::absorb_statistics(std::span<float> gradient) {
    if (norm_ != Norm::batch) return;
    for (const Parameter& parameter : parameters()) {
        if (parameter.trained) continue;
        for (std::size_t i = parameter.offset; i < parameter.offset + parameter.size; ++i) {
            weights()[i] += (gradient[i] - weights()[i]) * statistics_momentum;
            gradient[i] = 0;
        }
    }
}

}  // namespace rudder::nn
