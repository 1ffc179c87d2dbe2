// A training pass on a device: layer by layer forward, the loss, and all of it backwards.
#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/span.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "rudder/nn/loss.hpp"

#include "device_learning.hpp"
#include "device_pass.hpp"

namespace rudder::nn {

namespace {

/// Norm and residual of a layer in the present pass.
struct FinishPlaces {
    float* normal = nullptr;   ///< normalised rows
    float* spreads = nullptr;  ///< by row or column
    float* means = nullptr;    ///< of columns
    float* others = nullptr;   ///< variances, then means of products
    float* skip = nullptr;     ///< gradient of the input through the residual
    float* mapped = nullptr;   ///< the residual's map of the input
};

/// Where a pass has its memory besides the layers' own.
struct PassPlaces {
    float* input = nullptr;  ///< whole rows of a sparse input, or rows after dropout
    float* dropped = nullptr;
    float* through = nullptr;  ///< the gradient of a layer's input before it is undone
    float* partial = nullptr;
    SeedOutcome* outcomes = nullptr;
    float* class_weights = nullptr;
    std::byte* targets = nullptr;
};

class DeviceNetwork final : public Network {
public:
    DeviceNetwork(const std::shared_ptr<Device>& device, const NetworkOptions& options)
        : host_(make_network(options)),
          options_(options),
          weights_(std::make_shared<DeviceWeights>(device, *host_)),
          steps_(weights_),
          convolution_(options.model == "gat" || options.model == "gatv2"
                           ? make_device_attention(steps_, options)
                           : make_device_products(steps_, options)),
          batches_(device),
          memory_(device, DeviceMemory::Where::device, "activations"),
          pinned_(device, DeviceMemory::Where::pinned, "targets"),
          layers_(static_cast<std::size_t>(options.layers)),
          finishes_(layers_.size()) {}

    [[nodiscard]] const std::shared_ptr<DeviceWeights>& device_weights() const { return weights_; }

    // What the CPU's network says and does.
    [[nodiscard]] std::span<float> weights() noexcept override { return host_->weights(); }
    [[nodiscard]] std::span<const Parameter> parameters() const noexcept override {
        return host_->parameters();
    }
    [[nodiscard]] std::span<const Bucket> buckets() const noexcept override {
        return host_->buckets();
    }
    void absorb_statistics(std::span<float> gradient) override {
        host_->absorb_statistics(gradient);
    }
    [[nodiscard]] bool wants_degrees() const noexcept override { return host_->wants_degrees(); }
    void predict(const sample::Batch& batch, const InputRows& rows,
                 std::span<float> scores) override {
        host_->predict(batch, rows, scores);
    }
    [[nodiscard]] std::size_t layers() const noexcept override { return host_->layers(); }
    [[nodiscard]] std::size_t layer_inputs(std::size_t layer) const noexcept override {
        return host_->layer_inputs(layer);
    }
    [[nodiscard]] std::size_t layer_outputs(std::size_t layer) const noexcept override {
        return host_->layer_outputs(layer);
    }
    void infer_layer(std::size_t layer, const sample::Block& block,
                     std::span<const std::uint32_t> degrees, const InputRows& sources,
                     std::span<float> out) override {
        host_->infer_layer(layer, block, degrees, sources, out);
    }
    [[nodiscard]] std::size_t layer_reads(std::size_t layer) const noexcept override {
        return host_->layer_reads(layer);
    }
    [[nodiscard]] bool maps_rows(std::size_t layer) const noexcept override {
        return host_->maps_rows(layer);
    }
    void map_rows(std::size_t layer, const InputRows& input, std::span<float> out) override {
        host_->map_rows(layer, input, out);
    }
    void infer_rows(std::size_t layer, const sample::Block& block, const LayerRows& rows,
                    std::span<float> out) override {
        host_->infer_rows(layer, block, rows, out);
    }
    [[nodiscard]] bool sums_rows(std::size_t layer) const noexcept override {
        return host_->sums_rows(layer);
    }
    [[nodiscard]] InferenceBytes inference_bytes(std::size_t layer) const override {
        return host_->inference_bytes(layer);
    }

    /// Of the host: what waits there for its upload.
    [[nodiscard]] std::uint64_t activation_bytes(const sample::Batch& batch) const override {
        Stretches counted;
        static_cast<void>(lay_out(batch, needs(), counted));
        return DeviceMemory::grown(counted.bytes());
    }
    [[nodiscard]] std::uint64_t device_bytes(const sample::Batch& batch,
                                             std::uint64_t staged) const override;
    void rows_begin(std::span<std::byte> memory) override {
        // Rows that cannot be pinned are uploaded all the same, more slowly.
        if (device().pin(memory)) {
            const std::scoped_lock lock(pins_mutex_);
            pins_.insert(memory.data());
        }
    }
    void rows_end(std::span<std::byte> memory) noexcept override {
        const std::scoped_lock lock(pins_mutex_);
        if (pins_.erase(memory.data()) != 0) device().unpin(memory.data());
    }
    [[nodiscard]] DeviceTimes take_device_times() override {
        const DeviceSeconds seconds = device().take_seconds();
        return {seconds.upload, seconds.kernels, std::exchange(waited_, 0),
                batches_.take_ahead()};
    }
    void weights_written() noexcept override { weights_->forget(); }
    void stage(const sample::Batch& batch, const InputRows& rows) override {
        if (batch.seeds != 0) batches_.stage(batch, rows, row_floats(rows, batch), needs());
    }
    BatchResult train(const sample::Batch& batch, const InputRows& rows, const SeedTargets& targets,
                      float weight, std::span<float> gradient,
                      FunctionRef<void(std::size_t)> ready) override;

private:
    [[nodiscard]] Device& device() const noexcept { return weights_->device(); }
    [[nodiscard]] bool last(std::size_t layer) const noexcept {
        return layer + 1 == layers_.size();
    }
    [[nodiscard]] bool normed(std::size_t layer) const noexcept {
        return options_.norm != "none" && !last(layer);
    }
    [[nodiscard]] bool by_columns() const noexcept { return options_.norm == "batch"; }
    [[nodiscard]] bool residual(std::size_t layer) const noexcept {
        return options_.residual && !last(layer);
    }
    [[nodiscard]] bool mapped(std::size_t layer) const noexcept {
        return residual(layer) && layer_inputs(layer) != layer_outputs(layer);
    }
    [[nodiscard]] bool exponential() const noexcept { return !convolution_->undoes_rectifier(); }
    [[nodiscard]] bool attends() const noexcept { return exponential(); }
    [[nodiscard]] InputNeeds needs() const noexcept {
        return {.vertices = options_.dropout > 0 || options_.input_dropout > 0,
                .degrees = host_->wants_degrees(),
                .first_transposed = attends()};
    }
    [[nodiscard]] static std::size_t row_floats(const InputRows& rows, const sample::Batch& batch) {
        return batch.vertices.empty() ? 0 : rows.floats() / batch.vertices.size();
    }
    [[nodiscard]] LaneDropout dropout_before(std::size_t layer, const sample::BatchKey& key) const;
    void check(const sample::Batch& batch, const InputRows& rows, const SeedTargets& targets) const;
    [[nodiscard]] std::size_t target_bytes(std::size_t seeds) const noexcept;

    void size_layers(const sample::Batch& batch) const;
    PassPlaces lay_out_pass(const sample::Batch& batch, Stretches& memory) const;
    void begin(const sample::Batch& batch, const InputRows& rows, const StagedBatch& staged);
    void forward(std::size_t layer, const sample::BatchKey& key, const std::uint64_t* vertices);
    void norm_forward(std::size_t layer);
    void write_statistics(float share);
    void loss(const sample::Batch& batch, const SeedTargets& targets, float weight);
    void backward(std::size_t layer, const sample::BatchKey& key);
    void undo_layer(std::size_t layer, float scale);
    void residual_back(std::size_t layer);
    void norm_back(std::size_t layer);
    void await(std::uint64_t step);

    std::unique_ptr<Network> host_;
    NetworkOptions options_;
    std::shared_ptr<DeviceWeights> weights_;
    DeviceSteps steps_;
    std::unique_ptr<DeviceConvolution> convolution_;
    StagedBatches batches_;
    DeviceMemory memory_;
    DeviceMemory pinned_;
    // Of the present pass; plans count with them, too.
    mutable std::vector<DeviceLayer> layers_;
    mutable std::vector<FinishPlaces> finishes_;
    PassPlaces places_;
    double waited_ = 0;
    std::mutex pins_mutex_;
    std::set<const std::byte*> pins_;
};

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
    return staged * DeviceMemory::grown(inputs.bytes() + rows) +
           DeviceMemory::grown(pass.bytes()) + 2 * DeviceWeights::bytes(host_->weights().size());
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
    steps_.sum_columns(
        ColumnSums{ColumnTerm::value, layer.out, nullptr, rows, columns, 1, nullptr}, own.means,
        count);
    steps_.sum_columns(ColumnSums{ColumnTerm::off, layer.out, own.means, rows, columns, 1, nullptr},
                       own.others);
    device().run(SpreadColumns{own.others, own.spreads, columns, count},
                 pieces_of(columns, warp_lanes));
    device().run(
        NormColumns{layer.out, columns, own.means, own.spreads, gain, shift, own.normal}, rows);
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
            device().run(ClassLoss{scores, columns,
                                   reinterpret_cast<const std::int32_t*>(places_.targets),
                                   weights == 0 ? nullptr : places_.class_weights, weight,
                                   places_.outcomes},
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
            device().run(SquaredLoss{scores, columns,
                                     reinterpret_cast<const float*>(places_.targets), share,
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
    steps_.sum_columns(
        ColumnSums{ColumnTerm::value, layer.out, nullptr, rows, columns, 1, nullptr}, own.means,
        count, steps_.gradient(l, "norm.bias"));
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

void DeviceNetwork::await(std::uint64_t step) {
    const Span span("waiting for the GPU", step);
    const auto before = std::chrono::steady_clock::now();
    device().finish();
    waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

BatchResult DeviceNetwork::train(const sample::Batch& batch, const InputRows& rows,
                                 const SeedTargets& targets, float weight,
                                 std::span<float> gradient,
                                 FunctionRef<void(std::size_t)> ready) {
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

}  // namespace

std::string refusal_on_device(const NetworkOptions& options) {
    constexpr std::array<std::string_view, 4> models{"sage", "gcn", "gat", "gatv2"};
    if (options.types) return "graphs of several types are not trained on a GPU";
    if (std::ranges::find(models, options.model) == models.end()) {
        return fmt::format("model '{}' is not trained on a GPU: known there are {}", options.model,
                           join(models, ", "));
    }
    if (options.pairs) return "links and edges are not trained on a GPU";
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
