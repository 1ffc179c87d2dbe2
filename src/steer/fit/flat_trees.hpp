// Trees side by side in flat arrays, as a model holds them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "steer/classifiers/classifier.hpp"

namespace rudder::steer {

struct FlatTrees {
    std::vector<std::int32_t> left, right;  ///< children, counted from the tree's root; leaves -1
    std::vector<std::int32_t> feature;
    std::vector<float> split;         ///< rows below it go left; of leaves, what they answer
    std::vector<std::int32_t> roots;  ///< where each tree begins

    /// What a model keeps of them. Its answer is `base` and the leaves' values, summed up, or with
    /// `logistic` the sigmoid of that.
    [[nodiscard]] std::vector<ModelArray> arrays(float base, bool logistic) && {
        const std::uint64_t nodes = left.size();
        const std::uint64_t trees = roots.size();
        return {{"left", {nodes}, {}, std::move(left)},
                {"right", {nodes}, {}, std::move(right)},
                {"feature", {nodes}, {}, std::move(feature)},
                {"split", {nodes}, std::move(split), {}},
                {"roots", {trees}, {}, std::move(roots)},
                {"sum", {2}, {base, logistic ? 1.0F : 0.0F}, {}}};
    }
};

}  // namespace rudder::steer
