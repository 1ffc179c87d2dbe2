// Fitting classifiers to samples, and how well they answer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "steer/samples/sample_table.hpp"

namespace rudder::steer {

/// Samples as fitting takes them: standardised features, labels, weights.
struct FitData {
    std::size_t columns = 0;
    std::vector<float> x;  ///< rows x columns
    std::vector<std::uint8_t> y;
    std::vector<float> weight;  ///< by row
    /// Whether hits rose by more than fetching did after replacing: what the paper's label accuracy
    /// compares answers with, whatever the label.
    std::vector<std::uint8_t> gained;

    [[nodiscard]] std::size_t rows() const noexcept { return y.size(); }
    [[nodiscard]] std::span<const float> row(std::size_t i) const {
        return std::span(x).subspan(i * columns, columns);
    }
};

/// What is to be fitted.
struct FitTask {
    std::string kind = "xgb";
    FeatureSet features = FeatureSet::repaired;
    LabelKind label = LabelKind::counterfactual;
    std::vector<std::string> test;  ///< graphs that are kept out; none: fits to all
    /// Fits only to decisions whose two answers differ by more than this share of the rows; what is
    /// below is mostly decided by which rows happen to be drawn.
    double margin = 0;
    std::uint64_t seed = 42;
};

/// Rows of a table for one side, standardised by the model. Rows of every fifth host of a graph
/// (of the first, with `held_out`) are for early stopping.
enum class Side : std::uint8_t { train, held_out, train_all, test, test_beyond_margin };
[[nodiscard]] FitData rows_of(const SampleTable& table, const FitTask& task, const Model& model,
                              Side side);
/// An empty model with mean and spread of the training rows. An input Error where the table lacks
/// the label, one of its two values, or, where a test graph is asked for, a second graph; a usage
/// Error where the test graph is not in the table.
[[nodiscard]] Model begin_model(const SampleTable& table, const FitTask& task);

/// lr and svm, by LIBLINEAR: balanced, C = 1.
void fit_linear(Model& model, const FitData& data);
/// xgb (500 trees, depth 6, rate 0.05, subsample 0.8), by XGBoost, which is loaded now; a failed
/// Error says how to get it. Fills `gain` by feature.
void fit_boosted(Model& model, const FitData& data, std::uint64_t seed, std::vector<double>& gain);
/// mlp and tabnet; every fifth host is held out for early stopping.
void fit_neural(Model& model, const SampleTable& table, const FitTask& task);

/// A model, and what its features were worth where fitting tells (rf, xgb).
struct FittedModel {
    Model model;
    std::vector<double> gain;  ///< by feature; else empty
};
/// Fits the kind that the task names to the graphs that are no test graphs. Errors as those of
/// begin_model and of what fits.
[[nodiscard]] FittedModel fit_model(const SampleTable& table, const FitTask& task);

/// How well probabilities agree with labels.
struct FitScores {
    std::uint64_t samples = 0;
    double positives = 0;  ///< share
    double yes = 0;        ///< share of answers that say replace
    double accuracy = 0;
    double majority = 0;  ///< accuracy of always giving the more frequent answer
    double balanced = 0;  ///< mean of the two classes' recall
    double auc = 0.5;     ///< area under the ROC curve; ties count half
    double brier = 0;
    struct Bin {
        std::uint64_t count = 0;
        double predicted = 0;  ///< mean
        double observed = 0;   ///< share of label 1
    };
    std::array<Bin, 10> bins{};  ///< by predicted probability
    double calibration = 0;      ///< mean of |predicted - observed| over samples
    /// The paper's: share of answers that agree with FitData::gained, where that is known.
    std::optional<double> label_accuracy;
};
[[nodiscard]] FitScores score(std::span<const double> probability, std::span<const std::uint8_t> y,
                              std::span<const std::uint8_t> gained = {});
[[nodiscard]] Json to_json(const FitScores& scores);
/// The answers of a classifier to all rows.
[[nodiscard]] std::vector<double> answers(Classifier& classifier, const FitData& data);
[[nodiscard]] FitScores score(Classifier& classifier, const FitData& data);

/// An estimate, from below, of the balanced accuracy that the features allow on the test graphs.
struct Ceiling {
    FitScores scores;
    std::string by;       ///< the kind that reached it
    bool inside = false;  ///< fitted to the test graphs, each host answered by the others' model
};
/// The best, by balanced accuracy, of every kind fitted inside the test graphs and of the `tested`
/// model itself: what was reached is allowed. An input Error where a test graph has one host.
[[nodiscard]] Ceiling estimate_ceiling(const SampleTable& table, const FitTask& task,
                                       const FitScores& tested,
                                       std::span<const std::string_view> kinds = classifier_kinds);
/// What shuffling each feature takes from the balanced accuracy.
[[nodiscard]] std::vector<double> permutation_importance(Classifier& classifier,
                                                         const FitData& data, std::uint64_t seed);

}  // namespace rudder::steer
