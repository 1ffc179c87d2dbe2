// The losses of a pass on a device, and all of it backwards.
#include <algorithm>

#include "device_network.hpp"

namespace rudder::nn {

// ---- loss
// ----------------------------------------------------------------------------------------

void DeviceNetwork::loss(const sample::Batch& batch, const SeedTargets& targets, float weight) {
    const std::size_t bytes = target_bytes(batch.seeds);
    const std::size_t weights = options_.class_weights.size() * sizeof(float);
    const std::size_t outcomes = batch.seeds * sizeof(SeedOutcome);
    std::byte* const pinned = pinned_.fit(std::max(bytes + weights, outcomes) + 64);
    const auto copy = [&](const auto& values) {
        std::ranges::copy(std::as_bytes(values), pinned + weights);
    };
    std::ranges::copy(std::as_bytes(std::span(options_.class_weights)), pinned);
    float* const scores = layers_.back().out;
    const auto columns = static_cast<std::uint32_t>(options_.outputs);
    const float share = weight / static_cast<float>(options_.outputs);
    if (weights != 0) device().upload(places_.class_weights, pinned, weights);
    const auto upload = [&] { device().upload(places_.targets, pinned + weights, bytes); };
    switch (options_.objective) {
        case Objective::classes:
            copy(targets.classes);
            upload();
            device().run(
                ClassLoss{scores, columns, reinterpret_cast<const std::int32_t*>(places_.targets),
                          weights == 0 ? nullptr : places_.class_weights, weight, places_.outcomes},
                batch.seeds);
            break;
        case Objective::multilabel:
            copy(targets.multilabel);
            upload();
            device().run(MultilabelLoss{scores, columns,
                                        reinterpret_cast<const std::uint8_t*>(places_.targets),
                                        share, places_.outcomes},
                         batch.seeds);
            break;
        case Objective::regression:
        case Objective::links:
            copy(targets.regression);
            upload();
            device().run(
                SquaredLoss{scores, columns, reinterpret_cast<const float*>(places_.targets), share,
                            places_.outcomes},
                batch.seeds);
            break;
    }
}

// ---- backward
// ------------------------------------------------------------------------------------

/// Rows of a hidden layer's output become the gradient before its activation.
void DeviceNetwork::undo_layer(std::size_t l, float scale) {
    const DeviceLayer& layer = layers_[l];
    const DeviceLayer& above = layers_[l + 1];
    const bool skips = residual(l + 1);
    if (convolution_->undoes_rectifier() && !skips)
        return convolution_->source_gradient(l + 1, above, layer.out, scale, layer.out);
    convolution_->source_gradient(l + 1, above, nullptr, 1, places_.through);
    UndoRows undo{};
    undo.gradient = places_.through;
    if (skips) {
        undo.skip = finishes_[l + 1].skip;
        undo.skips = above.block.destinations;
    }
    undo.active = layer.out;
    undo.out = layer.out;
    undo.columns = static_cast<std::uint32_t>(layer.outputs);
    undo.exponential = exponential();
    undo.scale = scale;
    device().run(undo, layer.block.destinations);
}

void DeviceNetwork::residual_back(std::size_t l) {
    const DeviceLayer& layer = layers_[l];
    const std::size_t rows = layer.block.destinations;
    float* const skip = finishes_[l].skip;
    if (mapped(l)) {
        steps_.weight_gradient(layer.out, layer.input, steps_.gradient(l, "residual.weight"), rows,
                               layer.outputs, layer.inputs);
        if (l > 0) {
            steps_.multiply(layer.out, steps_.weight(l, "residual.weight"), skip, rows,
                            layer.inputs, layer.outputs);
        }
    } else if (l > 0) {
        steps_.scale(layer.out, skip, rows * layer.outputs, 1);
    }
}

/// From the gradient after the norm to that before it, and the gradients of gain and shift.
void DeviceNetwork::norm_back(std::size_t l) {
    const DeviceLayer& layer = layers_[l];
    const FinishPlaces& own = finishes_[l];
    const std::size_t rows = layer.block.destinations;
    const auto columns = static_cast<std::uint32_t>(layer.outputs);
    const float* gain = steps_.weight(l, "norm.weight");
    const auto count = static_cast<float>(rows);
    // The pass's means and variances are in the gradient already.
    steps_.sum_columns(
        ColumnSums{ColumnTerm::product, layer.out, own.normal, rows, columns, 1, nullptr},
        own.others, count, steps_.gradient(l, "norm.weight"));
    steps_.sum_columns(ColumnSums{ColumnTerm::value, layer.out, nullptr, rows, columns, 1, nullptr},
                       own.means, count, steps_.gradient(l, "norm.bias"));
    if (by_columns()) {
        device().run(UndoNormColumns{layer.out, columns, gain, own.normal, own.spreads, own.means,
                                     own.others},
                     rows);
    } else {
        device().run(UndoNormRows{layer.out, columns, gain, own.normal, own.spreads}, rows);
    }
}

void DeviceNetwork::backward(std::size_t l, const sample::BatchKey& key) {
    if (!last(l)) undo_layer(l, dropout_before(l + 1, key).scale);
    if (residual(l)) residual_back(l);
    if (normed(l)) norm_back(l);
    convolution_->backward(l, layers_[l]);
}

}  // namespace rudder::nn
