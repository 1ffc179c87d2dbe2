// Training passes of layered networks: loss, and all layers backwards.
#include <algorithm>

#include "rudder/core/check.hpp"
#include "rudder/nn/layered_network.hpp"

#include "pair_head.hpp"
#include "scratch.hpp"
#include "sparse_input.hpp"

namespace rudder::nn {

LossSums LayeredNetwork::loss(const SeedTargets& targets, float weight, const PassPlan& places,
                              std::span<float> gradient) {
    if (pairs_) return pair_loss(targets, weight, gradient);
    const Matrix scores = view(layers() - 1).out;
    auto* sums = workspace().at<LossSums>(places.losses);
    parallel_chunks(scores.rows, chunk_rows, [&](const Chunk& chunk) {
        const std::size_t count = chunk.end - chunk.begin;
        sums[chunk.index] = loss_and_gradient(
            options().objective, targets_of(targets, scores.columns, chunk.begin, count), weight,
            scores.part(chunk.begin, count), options().class_weights);
    });
    LossSums total;
    for (std::size_t i = 0; i < chunk_count(scores.rows, chunk_rows); ++i)
        total.add(sums[i]);
    return total;
}

/// Rows of a hidden layer's output become the gradient before its activation.
void LayeredNetwork::undo_rows(std::size_t index, Rows rows, float scale) {
    const Matrix out = view(index).out.part(rows.first, rows.count);
    const Layer& above = layers_[index + 1];
    const bool skips = residual(index + 1);
    const ActiveRows all{view(index).out.data, out.stride, scale};
    if (activation_ == Activation::rectifier && !skips)
        return source_gradient(index + 1, rows, all, out);
    const Matrix gradient = scratch_rows(Scratch::gradient, rows.count, out.columns);
    source_gradient(index + 1, rows, {}, gradient);
    if (skips && rows.first < above.skip.rows) {
        const std::size_t count = std::min(rows.count, above.skip.rows - rows.first);
        add_rows(gradient.part(0, count), above.skip.part(rows.first, count));
    }
    undo_activation(gradient, activation_, {out.data, out.stride, scale}, out);
}

/// What flows back through the residual, and the gradient of its map.
void LayeredNetwork::residual_rows(std::size_t index, Rows rows, LaneTurn turn,
                                   const LaneSums& map) {
    const Layer& layer = layers_[index];
    const Matrix out = layer.view.out.part(rows.first, rows.count);
    const Matrix skip = layer.skip.part(rows.first, rows.count);
    if (layer.mapped && !sparse_input(index)) {
        const ConstMatrix own = layer.view.input.part(rows.first, rows.count);
        map.add(turn.lane, turn.first, out, aligned_rows(own, Scratch::input));
        if (goes_back(index)) multiply(out, layer.map_weights, skip);
        return;
    }
    if (!goes_back(index) && !layer.mapped) return;
    for (std::size_t r = 0; r < out.rows; ++r)
        std::copy_n(out.row(r), out.columns, skip.row(r));
}

void LayeredNetwork::sparse_gradient(const ConstMatrix& gradient, LaneSums::Groups groups,
                                     float* weights) {
    columns_->weight_gradient(gradient, groups, weights);
}

/// From the gradient after the norm to that before it.
void LayeredNetwork::undo_norm(std::size_t index, Rows rows) {
    const Layer& layer = layers_[index];
    const Matrix out = layer.view.out.part(rows.first, rows.count);
    const Matrix normal = layer.normal.part(rows.first, rows.count);
    const auto gain = std::as_const(*this).weights_of(layer.gain);
    if (norm_ == Norm::layer)
        return undo_normalise_rows(out, gain, normal, layer.spreads + rows.first);
    const float* means = layer.columns;
    undo_normalise_columns(out, gain, normal, layer.spreads, means,
                           means + aligned_columns(out.columns));
}

LayeredNetwork::ExtraSums LayeredNetwork::extra_sums(std::size_t layer, const Lanes& lanes) const {
    const std::size_t out = layer_outputs(layer);
    const std::size_t norm = normed(layer) ? LaneColumns::floats(lanes, out) : 0;
    return {{extras_, lanes, out},
            {extras_ + norm, lanes, out},
            {extras_ + 2 * norm, lanes, out, layer_inputs(layer)}};
}

/// Rows of the output become the gradient of what the norm gave, which residual and norm count.
void LayeredNetwork::backward_to_norm(std::size_t index, Rows rows, LaneTurn turn,
                                      const ExtraSums& sums, float scale) {
    if (!last(index)) undo_rows(index, rows, scale);
    if (residual(index)) residual_rows(index, rows, turn, sums.map);
    if (!normed(index)) return;
    if (turn.first) {
        sums.products.clear(turn.lane);
        sums.shifts.clear(turn.lane);
    }
    const Matrix part = view(index).out.part(rows.first, rows.count);
    sums.products.add_products(turn.lane, part, layers_[index].normal.part(rows.first, rows.count));
    sums.shifts.add(turn.lane, part);
}

/// Writes the gradients of gain and shift; their means per row are what batch statistics need.
void LayeredNetwork::finish_norm(std::size_t index, const ExtraSums& sums,
                                 std::span<float> gradient) {
    const Layer& layer = layers_[index];
    const Matrix& out = layer.view.out;
    sums.products.finish(place(gradient, layer.gain));
    sums.shifts.finish(place(gradient, layer.shift));
    const auto rows = static_cast<float>(out.rows);
    float* mean_products = layer.columns + aligned_columns(out.columns);
    for (std::size_t c = 0; c < out.columns; ++c) {
        layer.columns[c] = place(gradient, layer.shift)[c] / rows;
        mean_products[c] = place(gradient, layer.gain)[c] / rows;
    }
}

void LayeredNetwork::backward(std::size_t index, const sample::BatchKey& key,
                              std::span<float> gradient) {
    const Layer& layer = layers_[index];
    const Lanes lanes(layer.view.out.rows);
    const ExtraSums sums = extra_sums(index, lanes);
    const float scale = dropout_before(index + 1, key, Pass::train).scale;
    const auto over_lanes = [&](const auto& body) {
        parallel_chunks(lanes.rows, lanes.size, [&](const Chunk& lane) {
            for (std::size_t first = lane.begin; first < lane.end; first += chunk_rows) {
                body(Rows{first, std::min(chunk_rows, lane.end - first)},
                     LaneTurn{lane.index, first == lane.begin});
            }
        });
    };
    const bool in_two = normed(index) && norm_ == Norm::batch;
    if (in_two) {
        over_lanes(
            [&](Rows rows, LaneTurn turn) { backward_to_norm(index, rows, turn, sums, scale); });
        finish_norm(index, sums, gradient);
    }
    over_lanes([&](Rows rows, LaneTurn turn) {
        if (!in_two) backward_to_norm(index, rows, turn, sums, scale);
        if (normed(index)) undo_norm(index, rows);
        backward_rows(index, rows, turn);
    });
    if (normed(index) && !in_two) finish_norm(index, sums, gradient);
    finish_backward(index, gradient);
    if (!layer.mapped) return;
    if (sparse_input(index)) return sparse_gradient(layer.skip, {}, place(gradient, layer.map));
    const LaneSums::Stretch whole{0, layer_inputs(index), place(gradient, layer.map)};
    sums.map.finish(std::span(&whole, 1), nullptr);
}

/// The batch's own statistics take the place of a gradient of the running ones.
void LayeredNetwork::write_statistics(float share, std::span<float> gradient) const {
    if (norm_ != Norm::batch) return;
    for (std::size_t l = 0; l + 1 < layers(); ++l) {
        const Layer& layer = layers_[l];
        const std::size_t columns = layer.view.out.columns;
        for (std::size_t c = 0; c < columns; ++c) {
            place(gradient, layer.mean)[c] = layer.columns[c] * share;
            place(gradient, layer.variance)[c] =
                layer.columns[aligned_columns(columns) + c] * share;
        }
    }
}

/// What flows out of the first layer, through the dropout of its input.
void LayeredNetwork::give_row_gradients(const sample::Batch& batch) {
    const std::size_t columns = options().inputs;
    const std::size_t sources = batch.vertices.size();
    RUDDER_CHECK(row_gradients_.size() == sources * columns);
    const Layer& first = layers_.front();
    const Dropout dropout = dropout_before(0, batch.key, Pass::train);
    parallel_chunks(sources, chunk_rows, [&](const Chunk& chunk) {
        const Rows rows{chunk.begin, chunk.end - chunk.begin};
        const Matrix gradient = scratch_rows(Scratch::gradient, rows.count, columns);
        source_gradient(0, rows, {}, gradient);
        if (residual(0) && rows.first < first.skip.rows) {
            const std::size_t count = std::min(rows.count, first.skip.rows - rows.first);
            add_rows(gradient.part(0, count), first.skip.part(rows.first, count));
        }
        if (dropout.drops()) {
            const auto vertices = std::span(batch.vertices).subspan(rows.first, rows.count);
            drop(gradient, dropout, vertices, gradient);
        }
        for (std::size_t r = 0; r < rows.count; ++r) {
            std::copy_n(gradient.row(r), columns,
                        row_gradients_.data() + (rows.first + r) * columns);
        }
    });
}

BatchResult LayeredNetwork::train(const sample::Batch& batch, const InputRows& rows,
                                  const SeedTargets& targets, float weight,
                                  std::span<float> gradient, FunctionRef<void(std::size_t)> ready) {
    RUDDER_CHECK(gradient.size() == weights().size());
    if (batch.seeds == 0) {
        std::ranges::fill(gradient, 0.F);
        std::ranges::fill(row_gradients_, 0.F);
        for (std::size_t b = 0; b < buckets().size(); ++b)
            ready(b);
        return {};
    }
    check(batch, rows);
    const PassPlan places = begin(batch, Pass::train);
    forward(batch, rows, places, Pass::train);
    // The part's share of the step, whose seeds (of links: groups) all count the same.
    const std::size_t counted = pairs_ ? targets.pairs.size() / targets.pairs.group : batch.seeds;
    write_statistics(weight * static_cast<float>(counted), gradient);
    const LossSums total = loss(targets, weight, places, gradient);
    const std::size_t head = pair_parameters_.any() ? 1 : 0;
    if (head != 0) ready(0);
    if (sparse_input(0)) columns_->fill(view(0).sparse);
    for (std::size_t b = 0; b < layers(); ++b) {
        backward(layers() - 1 - b, batch.key, gradient);
        ready(head + b);
    }
    if (options().row_gradients) give_row_gradients(batch);
    return {static_cast<float>(total.loss), total.correct, total.answers};
}

}  // namespace rudder::nn
