#include "rudder/nn/flat_network.hpp"

#include <algorithm>

#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"

namespace rudder::nn {

FlatNetwork::FlatNetwork(NetworkOptions options) : options_(std::move(options)) {}

std::size_t FlatNetwork::add_parameter(std::string name, std::vector<std::int64_t> shape,
                                       double bound, bool decays) {
    std::size_t size = 1;
    for (const std::int64_t extent : shape)
        size *= static_cast<std::size_t>(extent);
    parameters_.push_back({std::move(name), std::move(shape), size_, size, decays});
    bounds_.push_back(bound);
    begins_.push_back(0);
    size_ += size;
    return parameters_.size() - 1;
}

std::size_t FlatNetwork::add_constant(std::string name, std::vector<std::int64_t> shape,
                                      float value, bool trained) {
    const std::size_t index = add_parameter(std::move(name), std::move(shape), 0, false);
    begins_.back() = value;
    parameters_.back().trained = trained;
    return index;
}

void FlatNetwork::end_layer() {
    buckets_.insert(buckets_.begin(), {layer_begin_, size_ - layer_begin_});
    layer_begin_ = size_;
}

void FlatNetwork::seal() {
    weights_ = Array<float>::uninitialised(size_);
    constexpr std::size_t draws_per_chunk = 4096;
    for (std::size_t p = 0; p < parameters_.size(); ++p) {
        const RandomStream stream({.purpose = Purpose::initialise,
                                   .seed = options_.seed,
                                   .layer = static_cast<std::uint32_t>(p)});
        float* values = weights_.data() + parameters_[p].offset;
        if (bounds_[p] == 0) {
            std::fill_n(values, parameters_[p].size, begins_[p]);
            continue;
        }
        parallel_chunks(parameters_[p].size, draws_per_chunk, [&](const Chunk& chunk) {
            for (std::size_t e = chunk.begin; e < chunk.end; ++e) {
                const double unit = static_cast<double>(stream.block(e / 4, 0)[e % 4]) * 0x1.0p-32;
                values[e] = static_cast<float>((2 * unit - 1) * bounds_[p]);
            }
        });
    }
}

std::span<const float> FlatNetwork::weights_of(std::size_t parameter) const noexcept {
    return weights_.span().subspan(parameters_[parameter].offset, parameters_[parameter].size);
}

std::span<float> FlatNetwork::weights_of(std::size_t parameter) noexcept {
    return weights_.span().subspan(parameters_[parameter].offset, parameters_[parameter].size);
}

std::size_t FlatNetwork::layer_inputs(std::size_t layer) const noexcept {
    return layer == 0 ? options_.inputs : options_.hidden;
}

std::size_t FlatNetwork::layer_outputs(std::size_t layer) const noexcept {
    if (layer + 1 != layers()) return options_.hidden;
    return options_.pairs ? options_.pairs->width : options_.outputs;
}

}  // namespace rudder::nn
