// The network on a device: what a training pass has and does.
#pragma once

#include <mutex>
#include <set>
#include <utility>

#include "device_learning.hpp"
#include "device_pass.hpp"

namespace rudder::nn {

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
        return {seconds.upload, seconds.kernels, std::exchange(waited_, 0), batches_.take_ahead()};
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

}  // namespace rudder::nn
