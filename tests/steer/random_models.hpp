// Models with drawn weights, of the sizes the fitted ones have.
#pragma once

#include <cmath>
#include <string>

#include <fmt/format.h>

#include "rudder/core/random.hpp"
#include "steer/classifiers/classifier.hpp"

namespace rudder::test {

inline std::vector<float> drawn(Draws& draws, std::size_t count, double bound) {
    std::vector<float> values(count);
    for (float& value : values)
        value = static_cast<float>((2 * draws.uniform() - 1) * bound);
    return values;
}

/// Appends a random tree of at most this depth.
inline void grow(steer::Model& model, Draws& draws, std::size_t depth) {
    auto& left = model.arrays[0].wholes;
    auto& right = model.arrays[1].wholes;
    auto& feature = model.arrays[2].wholes;
    auto& split = model.arrays[3].values;
    const std::size_t root = left.size();
    model.arrays[4].wholes.push_back(static_cast<std::int32_t>(root));
    struct Open {
        std::size_t at;
        std::size_t depth;
    };
    const auto node = [&] {
        left.push_back(-1);
        right.push_back(-1);
        feature.push_back(0);
        split.push_back(static_cast<float>(draws.uniform() - 0.5));
        return left.size() - 1;
    };
    std::vector<Open> open{{node(), 0}};
    while (!open.empty()) {
        const Open at = open.back();
        open.pop_back();
        if (at.depth == depth || (at.depth > 2 && draws.below(8) == 0)) continue;
        feature[at.at] = static_cast<std::int32_t>(draws.below(model.mean.size()));
        const std::size_t l = node();
        const std::size_t r = node();
        left[at.at] = static_cast<std::int32_t>(l - root);
        right[at.at] = static_cast<std::int32_t>(r - root);
        open.push_back({l, at.depth + 1});
        open.push_back({r, at.depth + 1});
    }
}

/// Any of the six kinds.
inline steer::Model random_model(const std::string& kind, std::uint64_t seed,
                                 steer::FeatureSet set = steer::FeatureSet::repaired) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 7);
    steer::Model model;
    model.kind = kind;
    model.features = set;
    const std::size_t n = steer::feature_names(set).size();
    model.mean = drawn(draws, n, 1);
    model.spread.assign(n, 0.5F);
    const auto put = [&](const std::string& name, std::vector<std::uint64_t> shape, double bound) {
        std::size_t size = 1;
        for (const std::uint64_t extent : shape)
            size *= extent;
        model.arrays.push_back({name, std::move(shape), drawn(draws, size, bound), {}});
    };
    if (kind == "lr" || kind == "svm") {
        put("weights", {n + 1}, 1);
    } else if (kind == "rf" || kind == "xgb") {
        for (const char* name : {"left", "right", "feature", "split", "roots"})
            model.arrays.push_back({name, {}, {}, {}});
        const std::size_t trees = kind == "rf" ? 300 : 500;
        for (std::size_t t = 0; t < trees; ++t)
            grow(model, draws, kind == "rf" ? 12 : 6);
        for (steer::ModelArray& array : model.arrays)
            array.shape = {std::max(array.values.size(), array.wholes.size())};
        for (float& value : model.arrays[3].values)
            value /= kind == "rf" ? static_cast<float>(trees) : 10.0F;
        model.arrays.push_back({"sum", {2}, {0.25F, kind == "rf" ? 0.0F : 1.0F}, {}});
    } else if (kind == "mlp") {
        std::size_t inputs = n;
        std::size_t k = 0;
        for (const std::size_t width : {128U, 128U, 64U, 32U}) {
            put(fmt::format("layer.{}.weights", k), {width, inputs},
                2 / std::sqrt(static_cast<double>(inputs)));
            put(fmt::format("layer.{}.bias", k++), {width}, 0.1);
            inputs = width;
        }
        put("last", {inputs + 1}, 0.5);
    } else {
        put("input.factor", {n}, 1);
        put("input.shift", {n}, 0.1);
        put("shared.0", {256, n}, 0.5);
        put("shared.1", {256, 128}, 0.2);
        for (std::size_t s = 0; s <= 5; ++s) {
            for (std::size_t k = 0; k < 4; ++k) {
                put(fmt::format("step.{}.factor.{}", s, k), {256}, 1);
                put(fmt::format("step.{}.shift.{}", s, k), {256}, 0.3);
            }
            put(fmt::format("step.{}.own.0", s), {256, 128}, 0.2);
            put(fmt::format("step.{}.own.1", s), {256, 128}, 0.2);
            if (s == 0) continue;
            put(fmt::format("step.{}.attend", s), {n, 64}, 0.5);
            put(fmt::format("step.{}.attend.factor", s), {n}, 1);
            put(fmt::format("step.{}.attend.shift", s), {n}, 0.5);
        }
        put("last", {65}, 0.3);
    }
    return model;
}

}  // namespace rudder::test
