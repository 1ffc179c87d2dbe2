// The kinds of classifiers, each with a way to make it, and what they share.
#pragma once

#include <cmath>
#include <memory>
#include <string>

#include "classifier.hpp"

namespace rudder::steer {

using MakeClassifier = std::unique_ptr<Classifier>(const Model& model, const std::string& where);
MakeClassifier make_linear;
MakeClassifier make_trees;
MakeClassifier make_mlp;
MakeClassifier make_tabnet;

[[nodiscard]] inline double sigmoid(double x) noexcept {
    return 1 / (1 + std::exp(-x));
}

/// The floats of an array with exactly this shape; an input Error otherwise.
[[nodiscard]] std::span<const float> floats(const Model& model, const std::string& name,
                                            const std::vector<std::uint64_t>& shape,
                                            const std::string& where);
/// The whole numbers of a flat array.
[[nodiscard]] std::span<const std::int32_t> wholes(const Model& model, const std::string& name,
                                                   const std::string& where);
/// Refuses a model whose arrays do not fit together.
[[noreturn]] void refuse_model(const std::string& what, const std::string& where);

}  // namespace rudder::steer
