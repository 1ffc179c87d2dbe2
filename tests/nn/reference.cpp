#include "nn/reference.hpp"

#include <map>

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
        auto how = F::CrossEntropyFuncOptions().ignore_index(-1).reduction(torch::kSum);
        if (!options.class_weights.empty())
            how.weight(copy(options.class_weights, {scores.size(1)}));
        return F::cross_entropy(scores, labels, how);
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

using Tensors = std::map<std::string, torch::Tensor>;

/// Who reads whom in a block, with or without everyone reading itself first.
struct Pairs {
    torch::Tensor from;
    torch::Tensor to;

    Pairs(const Block& block, bool self) {
        std::vector<std::int64_t> sources;
        std::vector<std::int64_t> destinations;
        for (std::uint32_t d = 0; d < block.destinations; ++d) {
            if (self) {
                sources.push_back(d);
                destinations.push_back(d);
            }
            for (std::uint32_t e = block.offsets[d]; e < block.offsets[d + 1]; ++e) {
                sources.push_back(block.neighbours[e]);
                destinations.push_back(d);
            }
        }
        from = torch::tensor(sources, torch::kLong);
        to = torch::tensor(destinations, torch::kLong);
    }
};

torch::Tensor sage(const Tensors& p, const std::string& layer, const Block& block,
                   const torch::Tensor& h) {
    return torch::mm(h.slice(0, 0, block.destinations), p.at(layer + "self.weight").t()) +
           torch::mm(mean(block, h), p.at(layer + "neigh.weight").t()) + p.at(layer + "neigh.bias");
}

torch::Tensor gcn(const Tensors& p, const std::string& layer, const Block& block,
                  const torch::Tensor& h, const Batch& batch) {
    const Pairs pairs(block, false);
    auto degree = torch::empty({wide(block.sources)});
    auto scale = torch::empty({wide(block.destinations)});
    for (std::uint32_t s = 0; s < block.sources; ++s)
        degree.data_ptr<float>()[s] = static_cast<float>(batch.degrees[s]);
    for (std::uint32_t d = 0; d < block.destinations; ++d) {
        const std::uint32_t sampled = block.offsets[d + 1] - block.offsets[d];
        scale.data_ptr<float>()[d] =
            static_cast<float>(batch.degrees[d]) / static_cast<float>(std::max(1U, sampled));
    }
    const auto norm = (degree + 1).rsqrt();
    const auto of_edge = norm.index_select(0, pairs.from) * norm.index_select(0, pairs.to) *
                         scale.index_select(0, pairs.to);
    const auto own = norm.slice(0, 0, block.destinations);
    const auto z = torch::mm(h, p.at(layer + "weight").t());
    const auto sums =
        (z.slice(0, 0, block.destinations) * (own * own).unsqueeze(1))
            .index_add(0, pairs.to, z.index_select(0, pairs.from) * of_edge.unsqueeze(1));
    return sums + p.at(layer + "bias");
}

/// Softmax of the scores (pairs x heads) by destination, weighted sum, heads joined.
torch::Tensor attend(const NetworkOptions& options, const Pairs& pairs, const Block& block,
                     const torch::Tensor& scores, const torch::Tensor& values, bool last,
                     const torch::Tensor& bias) {
    const auto raised = scores.exp();
    const auto sums =
        torch::zeros({wide(block.destinations), scores.size(1)}).index_add(0, pairs.to, raised);
    const auto alpha = raised / sums.index_select(0, pairs.to);
    const auto out =
        torch::zeros({wide(block.destinations), wide(options.heads), values.size(2)})
            .index_add(0, pairs.to, values.index_select(0, pairs.from) * alpha.unsqueeze(2));
    return (last ? out.mean(1) : out.flatten(1)) + bias;
}

torch::Tensor gat(const NetworkOptions& options, const Tensors& p, const std::string& layer,
                  const Block& block, const torch::Tensor& h, bool last) {
    const Pairs pairs(block, true);
    const auto z =
        torch::mm(h, p.at(layer + "weight").t()).view({h.size(0), wide(options.heads), -1});
    const auto source = (z * p.at(layer + "att_src")).sum(2);
    const auto destination = (z * p.at(layer + "att_dst")).sum(2);
    const auto scores = torch::leaky_relu(
        source.index_select(0, pairs.from) + destination.index_select(0, pairs.to), 0.2);
    return attend(options, pairs, block, scores, z, last, p.at(layer + "bias"));
}

torch::Tensor gatv2(const NetworkOptions& options, const Tensors& p, const std::string& layer,
                    const Block& block, const torch::Tensor& h, bool last) {
    const Pairs pairs(block, true);
    const auto map = [&](const torch::Tensor& from, const std::string& side) {
        return (torch::mm(from, p.at(layer + side + ".weight").t()) + p.at(layer + side + ".bias"))
            .view({from.size(0), wide(options.heads), -1});
    };
    const auto left = map(h, "left");
    const auto right = map(h.slice(0, 0, block.destinations), "right");
    const auto sums = left.index_select(0, pairs.from) + right.index_select(0, pairs.to);
    const auto scores = (torch::leaky_relu(sums, 0.2) * p.at(layer + "att")).sum(2);
    return attend(options, pairs, block, scores, left, last, p.at(layer + "bias"));
}

/// Norm, residual and activation of a hidden layer; the batch's statistics go to `statistics`.
torch::Tensor between(const NetworkOptions& options, const Tensors& p, const std::string& layer,
                      const torch::Tensor& before, torch::Tensor out, bool running,
                      Tensors& statistics) {
    const auto norm = layer + "norm.";
    if (options.norm == "layer")
        out = torch::layer_norm(out, {out.size(1)}, p.at(norm + "weight"), p.at(norm + "bias"));
    if (options.norm == "batch") {
        statistics[norm + "running_mean"] = out.mean(0).detach();
        statistics[norm + "running_var"] = out.var(0, out.size(0) > 1).detach();
        out = torch::batch_norm(out, p.at(norm + "weight"), p.at(norm + "bias"),
                                running ? p.at(norm + "running_mean").detach() : torch::Tensor(),
                                running ? p.at(norm + "running_var").detach() : torch::Tensor(),
                                !running, 0.1, 1e-5, false);
    }
    if (options.residual) {
        const auto own = before.slice(0, 0, out.size(0));
        const auto map = p.find(layer + "residual.weight");
        out = out + (map == p.end() ? own : torch::mm(own, map->second.t()));
    }
    return options.model.starts_with("gat") ? torch::elu(out) : torch::relu(out);
}

torch::Tensor convolve(const NetworkOptions& options, const Tensors& p, const std::string& layer,
                       const Batch& batch, const Block& block, const torch::Tensor& h, bool last) {
    if (options.model == "gcn") return gcn(p, layer, block, h, batch);
    if (options.model == "gat") return gat(options, p, layer, block, h, last);
    if (options.model == "gatv2") return gatv2(options, p, layer, block, h, last);
    return sage(p, layer, block, h);
}

}  // namespace

Reference torch_network(const NetworkOptions& options, std::span<const Parameter> parameters,
                        std::span<const float> weights, const Batch& batch,
                        std::span<const float> rows, const SeedTargets& targets, float weight,
                        bool running) {
    torch::set_num_threads(1);  // small tensors, and cores that others use
    Tensors tensors;
    Tensors statistics;
    for (const Parameter& p : parameters)
        tensors[p.name] = copy(weights.subspan(p.offset, p.size), p.shape).requires_grad_();
    auto h = copy(rows, {wide(batch.vertices.size()), wide(options.inputs)});
    if (options.input_dropout > 0 && !running)
        h = h * mask_of(options, batch, 0, h.size(0), h.size(1), options.input_dropout);
    for (std::size_t l = 0; l < batch.blocks.size(); ++l) {
        const std::string layer = "layers." + std::to_string(l) + ".";
        const bool last = l + 1 == batch.blocks.size();
        const auto out = convolve(options, tensors, layer, batch, batch.blocks[l], h, last);
        h = last ? out : between(options, tensors, layer, h, out, running, statistics);
        if (!last && options.dropout > 0 && !running)
            h = h * mask_of(options, batch, l + 1, h.size(0), h.size(1), options.dropout);
    }
    Reference reference;
    reference.scores = flat(h);
    const auto loss = loss_of(options, h, targets) * weight;
    reference.loss = loss.item<float>();
    loss.backward();
    for (const Parameter& p : parameters) {
        const auto part =
            p.trained ? flat(tensors[p.name].grad())
                      : flat(statistics[p.name] * (weight * static_cast<float>(batch.seeds)));
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
