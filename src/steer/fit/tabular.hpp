// Small networks over rows of numbers: fitting the neural classifiers. Plain arrays in and out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "steer/classifiers/classifier.hpp"

namespace rudder::steer {

/// Rows with a label, 0 or 1, and a weight each. The memory is the caller's.
struct TabularData {
    std::size_t columns = 0;
    std::span<const float> x;  ///< rows x columns
    std::span<const std::uint8_t> y;
    std::span<const float> weight;

    [[nodiscard]] std::size_t rows() const noexcept { return y.size(); }
};

/// One array of a fitted network.
struct NamedArray {
    std::string name;
    std::vector<std::uint64_t> shape;
    std::vector<float> values;
};

/// As a model holds them.
[[nodiscard]] std::vector<ModelArray> model_arrays(std::vector<NamedArray> made);

/// Called after each epoch with the loss of the rows held out.
using EpochWatch = std::function<void(std::uint32_t epoch, double loss)>;

/// 128-128-64-32-1 with batch norm and dropout 0.1: AdamW 1e-4, weight decay 1e-3, batches of 128,
/// 10 epochs. The weights of the best epoch on `held_out` (if it has rows) are returned, batch norm
/// folded in: layer.K.weights, layer.K.bias, last (the bias last).
[[nodiscard]] std::vector<NamedArray> fit_mlp(const TabularData& train, const TabularData& held_out,
                                              std::uint64_t seed, const EpochWatch& watch = {});
/// TabNet (Arik and Pfister, AAAI 2021): n_d = n_a = 64, 5 steps, gamma 1.5, sparsemax, two shared
/// and two own gated layers, ghost batch norm; Adam 0.02, batches of 1024, 50 epochs, stopped after
/// 10 without a better one on `held_out`. Batch norms come as factors and shifts.
[[nodiscard]] std::vector<NamedArray> fit_tabnet(const TabularData& train,
                                                 const TabularData& held_out, std::uint64_t seed,
                                                 const EpochWatch& watch = {});

}  // namespace rudder::steer
