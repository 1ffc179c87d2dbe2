#include "nn/reference.hpp"

#include <torch/torch.h>

#include "rudder/nn/dropout.hpp"

namespace rudder::testing {

namespace {

torch::Tensor copy(std::span<const float> values, std::vector<std::int64_t> shape) {
    auto tensor = torch::empty(shape, torch::kFloat32);
    std::copy(values.begin(), values.end(), tensor.data_ptr<float>());
    return tensor;
}

std::vector<float> flat(const torch::Tensor& tensor) {
    const auto whole = tensor.detach().contiguous();
    const float* data = whole.data_ptr<float>();
    return {data, data + whole.numel()};
}

std::int64_t wide(std::size_t value) {
    return static_cast<std::int64_t>(value);
}

torch::Tensor mean(const Block& block, const torch::Tensor& table) {
    auto from = torch::empty({wide(block.neighbours.size())}, torch::kLong);
    auto to = torch::empty({wide(block.neighbours.size())}, torch::kLong);
    auto count = torch::zeros({wide(block.destinations), 1});
    for (std::uint32_t d = 0; d < block.destinations; ++d) {
        for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
            from.data_ptr<std::int64_t>()[e] = block.neighbours[e];
            to.data_ptr<std::int64_t>()[e] = d;
        }
        count.data_ptr<float>()[d] =
            static_cast<float>(std::max(1U, block.offsets[d + 1] - block.offsets[d]));
    }
    const auto sums = torch::zeros({wide(block.destinations), table.size(1)})
                          .index_add(0, to, table.index_select(0, from));
    return sums / count;
}

torch::Tensor mask_of(const NetworkOptions& options, const Batch& batch, std::size_t layer,
                      std::int64_t rows, std::int64_t columns, double rate) {
    const Dropout dropout({Purpose::dropout, options.seed, batch.key.epoch, batch.key.step,
                           static_cast<std::uint32_t>(layer)},
                          rate);
    auto mask = torch::zeros({rows, columns});
    for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
            if (dropout.keeps(batch.vertices[static_cast<std::size_t>(r)],
                              static_cast<std::uint64_t>(c)))
                mask.data_ptr<float>()[r * columns + c] = dropout.scale;
    return mask;
}

torch::Tensor loss_of(const NetworkOptions& options, const torch::Tensor& scores,
                      const SeedTargets& targets) {
    namespace F = torch::nn::functional;
    if (options.objective == Objective::classes) {
        auto labels = torch::empty({scores.size(0)}, torch::kLong);
        for (std::size_t i = 0; i < targets.classes.size(); ++i)
            labels.data_ptr<std::int64_t>()[i] = targets.classes[i];
        return F::cross_entropy(
            scores, labels, F::CrossEntropyFuncOptions().ignore_index(-1).reduction(torch::kSum));
    }
    if (options.objective == Objective::multilabel) {
        const std::vector<float> y(targets.multilabel.begin(), targets.multilabel.end());
        return F::binary_cross_entropy_with_logits(
                   scores, copy(y, {scores.size(0), scores.size(1)}),
                   F::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kSum)) /
               scores.size(1);
    }
    return F::mse_loss(scores, copy(targets.regression, {scores.size(0), scores.size(1)}),
                       F::MSELossFuncOptions().reduction(torch::kSum)) /
           scores.size(1);
}

}  // namespace

Reference torch_sage(const NetworkOptions& options, std::span<const Parameter> parameters,
                     std::span<const float> weights, const Batch& batch,
                     std::span<const float> rows, const SeedTargets& targets, float weight) {
    std::vector<torch::Tensor> tensors;
    for (const Parameter& p : parameters)
        tensors.push_back(copy(weights.subspan(p.offset, p.size), p.shape).requires_grad_());
    auto h = copy(rows, {wide(batch.vertices.size()), wide(options.inputs)});
    if (options.input_dropout > 0)
        h = h * mask_of(options, batch, 0, h.size(0), h.size(1), options.input_dropout);
    for (std::size_t l = 0; l < batch.blocks.size(); ++l) {
        const Block& block = batch.blocks[l];
        const auto own = h.slice(0, 0, block.destinations);
        h = torch::mm(own, tensors[3 * l].t()) + torch::mm(mean(block, h), tensors[3 * l + 1].t()) +
            tensors[3 * l + 2];
        if (l + 1 == batch.blocks.size()) break;
        h = torch::relu(h);
        if (options.dropout > 0)
            h = h * mask_of(options, batch, l + 1, h.size(0), h.size(1), options.dropout);
    }
    Reference reference;
    reference.scores = flat(h);
    const auto loss = loss_of(options, h, targets) * weight;
    reference.loss = loss.item<float>();
    loss.backward();
    for (const auto& tensor : tensors) {
        const auto part = flat(tensor.grad());
        reference.gradient.insert(reference.gradient.end(), part.begin(), part.end());
    }
    return reference;
}

std::vector<float> torch_mean(const Block& block, std::span<const float> table,
                              std::size_t columns) {
    return flat(mean(block, copy(table, {wide(block.sources), wide(columns)})));
}

std::vector<float> torch_mean_backward(const Block& block, std::span<const float> gradient,
                                       std::size_t columns) {
    auto table = torch::zeros({wide(block.sources), wide(columns)}).requires_grad_();
    mean(block, table).backward(copy(gradient, {wide(block.destinations), wide(columns)}));
    return flat(table.grad());
}

std::vector<float> torch_optimise(const OptimiserOptions& options,
                                  std::span<const Parameter> parameters, std::vector<float> weights,
                                  const std::vector<std::vector<float>>& gradients, double rate) {
    namespace optim = torch::optim;
    std::vector<torch::Tensor> all;
    std::vector<torch::Tensor> decaying;
    std::vector<torch::Tensor> others;
    for (const Parameter& p : parameters) {
        all.push_back(copy(std::span(weights).subspan(p.offset, p.size), p.shape));
        all.back().requires_grad_();
        (p.decays ? decaying : others).push_back(all.back());
    }
    std::vector<std::unique_ptr<optim::Optimizer>> optimisers;
    const auto add = [&](const std::vector<torch::Tensor>& tensors, double decay) {
        if (tensors.empty()) return;
        if (options.name == "adam")
            optimisers.push_back(std::make_unique<optim::Adam>(
                tensors, optim::AdamOptions(rate).weight_decay(decay)));
        if (options.name == "adamw")
            optimisers.push_back(std::make_unique<optim::AdamW>(
                tensors, optim::AdamWOptions(rate).weight_decay(decay)));
        if (options.name == "sgd")
            optimisers.push_back(std::make_unique<optim::SGD>(
                tensors, optim::SGDOptions(rate).momentum(options.momentum).weight_decay(decay)));
    };
    add(decaying, options.weight_decay);
    add(others, 0);
    for (const auto& gradient : gradients) {
        for (std::size_t i = 0; i < all.size(); ++i)
            all[i].mutable_grad() =
                copy(std::span(gradient).subspan(parameters[i].offset, parameters[i].size),
                     parameters[i].shape);
        if (options.clip > 0) torch::nn::utils::clip_grad_norm_(all, options.clip);
        for (const auto& optimiser : optimisers)
            optimiser->step();
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto part = flat(all[i]);
        std::copy(part.begin(), part.end(),
                  weights.begin() + static_cast<std::ptrdiff_t>(parameters[i].offset));
    }
    return weights;
}

}  // namespace rudder::testing
