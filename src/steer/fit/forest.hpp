// A random forest as published: scikit-learn's, with its defaults.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fit.hpp"

namespace rudder::steer {

/// Gini's impurity and trees of any depth. Each tree has as many rows as there are, drawn with
/// replacement, of which both classes weigh alike (`balanced_subsample`); an answer is the mean of
/// the shares of class 1 in the leaves.
struct ForestOptions {
    std::size_t trees = 300;
    std::size_t leaf = 5;   ///< different rows that a leaf has at least
    std::size_t tried = 0;  ///< features per split; 0: the root of their number
    bool bootstrap = true;  ///< false: every tree has every row once
};

/// rf: fills the model's arrays, as those of xgb, and `gain` by feature (what splits take from the
/// impurity, over all trees). The same for any number of threads.
void fit_forest(Model& model, const FitData& data, std::uint64_t seed, std::vector<double>& gain,
                const ForestOptions& options = {});

}  // namespace rudder::steer
