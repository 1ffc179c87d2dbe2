// The same networks and optimisers in double precision, slow and obvious, for comparison.
#pragma once

#include <span>
#include <vector>

#include "rudder/nn/network.hpp"
#include "rudder/nn/optimiser.hpp"

namespace rudder::testing {

struct Reference {
    std::vector<float> scores;
    std::vector<float> gradient;  ///< flat, as the network's
    std::vector<float> rows;      ///< the gradient of the input rows
    double loss = 0;
};

/// Forward, loss and backward with the network's weights; dropout by the mask `Dropout` says,
/// elementwise. In place of the gradient of running statistics are those of the batch, as the
/// network gives them; with `running` the running ones are used, and nothing is dropped.
Reference reference_network(const nn::NetworkOptions& options,
                            std::span<const nn::Parameter> parameters,
                            std::span<const float> weights, const sample::Batch& batch,
                            std::span<const float> rows, const nn::SeedTargets& targets,
                            float weight, bool running = false);

/// The mean over a block's neighbours.
std::vector<float> reference_mean(const sample::Block& block, std::span<const float> table,
                                  std::size_t columns);
/// Its gradient with respect to the table, for a gradient of the means.
std::vector<float> reference_mean_backward(const sample::Block& block,
                                           std::span<const float> gradient, std::size_t columns);

/// Weights after steps of the optimiser, as its paper and PyTorch's documentation have it.
std::vector<float> reference_optimise(const nn::OptimiserOptions& options,
                                      std::span<const nn::Parameter> parameters,
                                      const std::vector<float>& weights,
                                      const std::vector<std::vector<float>>& gradients,
                                      double rate);

}  // namespace rudder::testing
