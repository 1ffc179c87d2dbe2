// A training pass on a device: its memory, and layer by layer forward.
#include "device_network.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

#include "core/span.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/nn/loss.hpp"

namespace rudder::nn {

LaneDropout DeviceNetwork::dropout_before(std::size_t layer, const sample::BatchKey& key) const {
    const double rate = layer == 0 ? options_.input_dropout : options_.dropout;
    if (layer == layers_.size() || rate <= 0) return {};
    const Dropout dropout({.purpose = Purpose::dropout,
                           .seed = options_.seed,
                           .epoch = key.epoch,
                           .step = key.step,
                           .layer = static_cast<std::uint32_t>(layer)},
                          rate);
    return {{dropout.key[0], dropout.key[1]}, dropout.threshold, dropout.scale};
}

void DeviceNetwork::check(const sample::Batch& batch, const InputRows& rows,
                          const SeedTargets& targets) const {
    RUDDER_CHECK(batch.blocks.size() == layers_.size());
    RUDDER_CHECK(batch.blocks.back().destinations == batch.seeds);
    RUDDER_CHECK(batch.blocks.front().sources == batch.vertices.size());
    RUDDER_CHECK(rows.holds(batch.vertices.size(), options_.inputs));
    RUDDER_CHECK(rows.is_sparse() == options_.sparse.has_value());
    RUDDER_CHECK(!wants_degrees() || batch.degrees.size() == batch.vertices.size());
    const std::size_t outputs = batch.seeds * options_.outputs;
    switch (options_.objective) {
        case Objective::classes:
            RUDDER_CHECK(targets.classes.size() == batch.seeds);
            for (const std::int32_t label : targets.classes)
                RUDDER_CHECK(label < 0 || static_cast<std::uint64_t>(label) < options_.outputs);
            break;
        case Objective::multilabel:
            RUDDER_CHECK(targets.multilabel.size() == outputs);
            break;
        case Objective::regression:
            RUDDER_CHECK(targets.regression.size() == outputs);
            break;
        case Objective::links:
            RUDDER_CHECK(false);
    }
}

// ---- memory
// --------------------------------------------------------------------------------------

std::size_t DeviceNetwork::target_bytes(std::size_t seeds) const noexcept {
    switch (options_.objective) {
        case Objective::classes:
            return seeds * sizeof(std::int32_t);
        case Objective::multilabel:
            return seeds * options_.outputs;
        case Objective::regression:
        case Objective::links:
            break;
    }
    return seeds * options_.outputs * sizeof(float);
}

void DeviceNetwork::size_layers(const sample::Batch& batch) const {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        const sample::Block& block = batch.blocks[l];
        layers_[l] = {};
        layers_[l].block.destinations = block.destinations;
        layers_[l].block.sources = block.sources;
        layers_[l].block.edges = block.edges();
        layers_[l].inputs = layer_inputs(l);
        layers_[l].outputs = layer_outputs(l);
    }
}

PassPlaces DeviceNetwork::lay_out_pass(const sample::Batch& batch, Stretches& memory) const {
    PassPlaces places;
    std::size_t partial = 0;
    std::size_t through = 0;
    const std::size_t rows = batch.vertices.size();
    if (options_.sparse) places.input = memory.take<float>(rows * options_.inputs);
    if (options_.input_dropout > 0) places.dropped = memory.take<float>(rows * options_.inputs);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        DeviceLayer& layer = layers_[l];
        FinishPlaces& finish = finishes_[l];
        const std::size_t destinations = layer.block.destinations;
        const std::size_t elements = destinations * layer.outputs;
        convolution_->lay_out(l, layer, memory);
        layer.out = memory.take<float>(elements);
        finish = {};
        if (normed(l)) {
            finish.normal = memory.take<float>(elements);
            finish.spreads = memory.take<float>(std::max(destinations, layer.outputs));
            finish.means = memory.take<float>(layer.outputs);
            finish.others = memory.take<float>(layer.outputs);
        }
        if (residual(l)) finish.skip = memory.take<float>(destinations * layer.inputs);
        if (mapped(l)) finish.mapped = memory.take<float>(elements);
        partial = std::max({partial, convolution_->partial_floats(layer),
                            DeviceSteps::partial_floats(destinations, layer.outputs)});
        if (l > 0) through = std::max(through, std::size_t{layer.block.sources} * layer.inputs);
    }
    places.through = memory.take<float>(through);
    places.partial = memory.take<float>(partial);
    places.outcomes = memory.take<SeedOutcome>(batch.seeds);
    places.class_weights = memory.take<float>(options_.class_weights.size());
    places.targets = memory.take<std::byte>(target_bytes(batch.seeds));
    return places;
}

std::uint64_t DeviceNetwork::device_bytes(const sample::Batch& batch, std::uint64_t staged) const {
    Stretches inputs;
    static_cast<void>(lay_out(batch, needs(), inputs));
    const std::size_t largest = options_.sparse ? 2 * (1 + options_.sparse->largest) : 0;
    const std::size_t floats = options_.sparse ? largest : options_.inputs;
    size_layers(batch);
    Stretches pass;
    static_cast<void>(lay_out_pass(batch, pass));
    // The optimiser remembers up to two numbers for each weight.
    const std::size_t rows = batch.vertices.size() * floats * sizeof(float);
    return staged * DeviceMemory::grown(inputs.bytes() + rows) + DeviceMemory::grown(pass.bytes()) +
           2 * DeviceWeights::bytes(host_->weights().size());
}

/// Takes the memory of a pass, and makes the first layer's input.
void DeviceNetwork::begin(const sample::Batch& batch, const InputRows& rows,
                          const StagedBatch& staged) {
    size_layers(batch);
    Stretches counted;
    static_cast<void>(lay_out_pass(batch, counted));
    Stretches memory(memory_.fit(counted.bytes()));
    places_ = lay_out_pass(batch, memory);
    steps_.set_partial(places_.partial);
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        layers_[l].block = staged.inputs().blocks[l];
        layers_[l].degrees = staged.inputs().degrees;
        if (l > 0) layers_[l].input = layers_[l - 1].out;
    }
    const float* input = staged.rows();
    const std::size_t count = batch.vertices.size();
    if (rows.is_sparse()) {
        const auto stride = static_cast<std::uint32_t>(row_floats(rows, batch) / 2);
        device().run(ExpandRows{reinterpret_cast<const std::uint32_t*>(input), stride,
                                static_cast<std::uint32_t>(options_.inputs), places_.input},
                     count);
        input = places_.input;
    }
    if (const LaneDropout dropout = dropout_before(0, batch.key); dropout.threshold != 0) {
        FinishRows drop{};
        drop.x = input;
        drop.out = places_.dropped;
        drop.columns = static_cast<std::uint32_t>(options_.inputs);
        drop.dropout = dropout;
        drop.vertices = staged.inputs().vertices;
        device().run(drop, count);
        input = places_.dropped;
    }
    layers_.front().input = input;
}

// ---- forward
// -------------------------------------------------------------------------------------

void DeviceNetwork::norm_forward(std::size_t l) {
    const DeviceLayer& layer = layers_[l];
    const FinishPlaces& own = finishes_[l];
    const std::size_t rows = layer.block.destinations;
    const auto columns = static_cast<std::uint32_t>(layer.outputs);
    const float* gain = steps_.weight(l, "norm.weight");
    const float* shift = steps_.weight(l, "norm.bias");
    if (!by_columns()) {
        device().run(NormRows{layer.out, columns, gain, shift, own.normal, own.spreads}, rows);
        return;
    }
    const auto count = static_cast<float>(rows);
    steps_.sum_columns(ColumnSums{ColumnTerm::value, layer.out, nullptr, rows, columns, 1, nullptr},
                       own.means, count);
    steps_.sum_columns(ColumnSums{ColumnTerm::off, layer.out, own.means, rows, columns, 1, nullptr},
                       own.others);
    device().run(SpreadColumns{own.others, own.spreads, columns, count},
                 pieces_of(columns, warp_lanes));
    device().run(NormColumns{layer.out, columns, own.means, own.spreads, gain, shift, own.normal},
                 rows);
}

void DeviceNetwork::forward(std::size_t l, const sample::BatchKey& key,
                            const std::uint64_t* vertices) {
    const DeviceLayer& layer = layers_[l];
    const FinishPlaces& own = finishes_[l];
    const std::size_t rows = layer.block.destinations;
    convolution_->forward(l, layer);
    FinishRows finish{};
    finish.x = layer.out;
    finish.out = layer.out;
    finish.columns = static_cast<std::uint32_t>(layer.outputs);
    finish.bias = steps_.weight(l, convolution_->bias());
    if (last(l)) return device().run(finish, rows);
    if (normed(l)) {
        device().run(finish, rows);
        finish.bias = nullptr;
        norm_forward(l);
    }
    if (residual(l)) {
        finish.residual = layer.input;
        if (mapped(l)) {
            steps_.multiply_transposed(layer.input, steps_.weight(l, "residual.weight"), own.mapped,
                                       rows, layer.outputs, layer.inputs);
            finish.residual = own.mapped;
        }
    }
    finish.activation = exponential() ? LaneActivation::exponential : LaneActivation::rectifier;
    finish.dropout = dropout_before(l + 1, key);
    finish.vertices = vertices;
    device().run(finish, rows);
}

/// The batch's own statistics take the place of a gradient of the running ones.
void DeviceNetwork::write_statistics(float share) {
    for (std::size_t l = 0; l < layers_.size(); ++l) {
        if (!normed(l) || !by_columns()) continue;
        const std::size_t columns = layers_[l].outputs;
        steps_.scale(finishes_[l].means, steps_.gradient(l, "norm.running_mean"), columns, share);
        steps_.scale(finishes_[l].others, steps_.gradient(l, "norm.running_var"), columns, share);
    }
}

void DeviceNetwork::await(std::uint64_t step) {
    const Span span("waiting for the GPU", step);
    const auto before = std::chrono::steady_clock::now();
    device().finish();
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

BatchResult DeviceNetwork::train(const sample::Batch& batch, const InputRows& rows,
                                 const SeedTargets& targets, float weight,
                                 std::span<float> gradient, FunctionRef<void(std::size_t)> ready) {
    RUDDER_CHECK(gradient.size() == weights_->size());
    if (batch.seeds == 0) return host_->train(batch, rows, targets, weight, gradient, ready);
    check(batch, rows, targets);
    static_cast<void>(weights_->values());  // there before the pass
    StagedBatch& staged = batches_.take(batch, rows, row_floats(rows, batch), needs());
    staged.await();
    begin(batch, rows, staged);
    for (std::size_t l = 0; l < layers_.size(); ++l)
        forward(l, batch.key, staged.inputs().vertices);
    write_statistics(weight * static_cast<float>(batch.seeds));
    loss(batch, targets, weight);
    for (std::size_t l = layers_.size(); l-- > 0;)
        backward(l, batch.key);
    // Targets were read before the outcomes take their place.
    auto* const outcomes = reinterpret_cast<SeedOutcome*>(pinned_.data());
    device().download(weights_->staging(), weights_->gradient(), gradient.size_bytes());
    device().download(outcomes, places_.outcomes, batch.seeds * sizeof(SeedOutcome));
    await(batch.key.step);
    batches_.give_back(staged);
    std::copy_n(weights_->staging(), gradient.size(), gradient.data());
    for (std::size_t b = 0; b < buckets().size(); ++b)
        ready(b);
    LossSums total;
    for (std::size_t s = 0; s < batch.seeds; ++s)
        total.add({outcomes[s].loss, outcomes[s].correct, outcomes[s].answers});
    return {static_cast<float>(total.loss), total.correct, total.answers};
}

std::string refusal_on_device(const NetworkOptions& options) {
    constexpr std::array<std::string_view, 4> models{"sage", "gcn", "gat", "gatv2"};
    if (options.types) return "graphs of several types are not trained on a GPU";
    if (std::ranges::find(models, options.model) == models.end()) {
        return fmt::format("model '{}' is not trained on a GPU: known there are {}", options.model,
                           join(models, ", "));
    }
    if (options.pairs) return "links and edges are not trained on a GPU";
    if (options.edge_inputs != 0) return "features of edges are not read on a GPU";
    return {};
}

DeviceLearning make_device_learning(const std::shared_ptr<Device>& device,
                                    const NetworkOptions& options,
                                    const OptimiserOptions& optimiser) {
    RUDDER_CHECK(refusal_on_device(options).empty());
    auto network = std::make_unique<DeviceNetwork>(device, options);
    auto steps = make_device_optimiser(network->device_weights(), optimiser, network->parameters());
    return {std::move(network), std::move(steps)};
}

}  // namespace rudder::nn
