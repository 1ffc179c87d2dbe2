// The same networks in plain torch with autograd, for comparison; torch stays behind this header.
#pragma once

#include <span>
#include <vector>

#include "rudder/nn/network.hpp"
#include "rudder/nn/optimiser.hpp"

namespace rudder::testing {

struct Reference {
    std::vector<float> scores;
    std::vector<float> gradient;  ///< flat, as the network's
    float loss = 0;
};

/// Forward, loss and backward by torch, with the network's weights; dropout by the mask `Dropout`
/// says, elementwise. In place of the gradient of running statistics are those of the batch, as the
/// network gives them; with `running` the running ones are used, and nothing is dropped.
Reference torch_network(const NetworkOptions& options, std::span<const Parameter> parameters,
                        std::span<const float> weights, const Batch& batch,
                        std::span<const float> rows, const SeedTargets& targets, float weight,
                        bool running = false);

/// index_select, index_add_, division: the mean over a block.
std::vector<float> torch_mean(const Block& block, std::span<const float> table,
                              std::size_t columns);
/// Its gradient with respect to the table, for a gradient of the means.
std::vector<float> torch_mean_backward(const Block& block, std::span<const float> gradient,
                                       std::size_t columns);

/// Weights after steps of torch's optimiser over the given gradients.
std::vector<float> torch_optimise(const OptimiserOptions& options,
                                  std::span<const Parameter> parameters, std::vector<float> weights,
                                  const std::vector<std::vector<float>>& gradients, double rate);

}  // namespace rudder::testing
