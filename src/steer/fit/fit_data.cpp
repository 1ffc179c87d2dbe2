// Rows of samples for fitting and testing, split by graph.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "fit.hpp"

namespace rudder::steer {

namespace {

bool in_test(const SampleTable& table, const FitTask& task, const Sample& sample) {
    return std::ranges::find(task.test, table.graphs[sample.graph]) != task.test.end();
}

bool belongs(const SampleTable& table, const FitTask& task, const Sample& sample, Side side) {
    const bool test = in_test(table, task, sample);
    if (side == Side::test) return test;
    const double apart = std::abs(sample.rows_with - sample.rows_without);
    if (apart < task.margin * sample.rows_without) return false;
    if (test || side == Side::test_beyond_margin) return test && side == Side::test_beyond_margin;
    const bool held = sample.host % 5 == 3;
    return side == Side::train_all || held == (side == Side::held_out);
}

void check_test(const SampleTable& table, const FitTask& task) {
    for (const std::string& name : task.test) {
        if (std::ranges::find(table.graphs, name) != table.graphs.end()) continue;
        std::string known;
        for (const std::string& graph : table.graphs)
            known += fmt::format("{}{}", known.empty() ? "" : ", ", graph);
        throw usage_error(fmt::format("no table has samples of graph '{}'", name), "--test",
                          fmt::format("the tables have {}", known));
    }
    if (!task.test.empty() && table.graphs.size() <= task.test.size()) {
        throw input_error(
            fmt::format("the tables have samples of {} alone, so nothing is left to fit to",
                        table.graphs.size() == 1 ? "one graph" : "test graphs"),
            "--test", "add a table of another graph, or leave --test out");
    }
}

void check_labels(const FitData& data, const FitTask& task) {
    const auto ones = std::ranges::count(data.y, 1);
    if (data.y.empty()) {
        throw input_error(fmt::format("the tables have no {} label", to_string(task.label)),
                          "TABLE", "collect them again with 'rudder agent collect'");
    }
    if (ones == 0 || static_cast<std::size_t>(ones) == data.y.size()) {
        throw input_error(fmt::format("every {} label of the training graphs is {}",
                                      to_string(task.label), ones == 0 ? 0 : 1),
                          "TABLE", "collect more, with other policies or buffer sizes");
    }
}

/// Both classes count alike.
void balance(FitData& data) {
    const double count = static_cast<double>(data.rows());
    const double ones = static_cast<double>(std::ranges::count(data.y, 1));
    for (std::size_t i = 0; i < data.rows(); ++i) {
        const double of_class = data.y[i] != 0 ? ones : count - ones;
        data.weight[i] = of_class > 0 ? static_cast<float>(count / (2 * of_class)) : 1;
    }
}

}  // namespace

FitData rows_of(const SampleTable& table, const FitTask& task, const Model& model, Side side) {
    FitData data;
    data.columns = model.mean.size();
    std::vector<float> row(data.columns);
    for (std::size_t i = 0; i < table.samples.size(); ++i) {
        const auto label = table.label(task.label, i);
        if (!label || !belongs(table, task, table.samples[i], side)) continue;
        standardise(model, table.features(task.features, i), row);
        data.x.insert(data.x.end(), row.begin(), row.end());
        data.y.push_back(*label ? 1 : 0);
        const Sample& sample = table.samples[i];
        data.gained.push_back(gained_as_published(sample.hit_change, sample.fetch_change) ? 1 : 0);
    }
    data.weight.assign(data.rows(), 1);
    // As published, xgb, mlp and tabnet are not balanced.
    const bool published = task.features == FeatureSet::faithful;
    if (!published || task.kind == "lr" || task.kind == "svm" || task.kind == "rf") balance(data);
    return data;
}

Model begin_model(const SampleTable& table, const FitTask& task) {
    check_test(table, task);
    Model model;
    model.kind = task.kind;
    model.features = task.features;
    model.label = task.label;
    const std::size_t columns = feature_names(task.features).size();
    std::vector<double> sum(columns, 0);
    std::vector<double> squares(columns, 0);
    double count = 0;
    for (std::size_t i = 0; i < table.samples.size(); ++i) {
        if (!belongs(table, task, table.samples[i], Side::train_all)) continue;
        const auto features = table.features(task.features, i);
        for (std::size_t c = 0; c < columns; ++c) {
            sum[c] += features[c];
            squares[c] += features[c] * features[c];
        }
        ++count;
    }
    for (std::size_t c = 0; c < columns; ++c) {
        const double mean = sum[c] / std::max(1.0, count);
        const double variance = squares[c] / std::max(1.0, count) - mean * mean;
        // A feature that never changed says nothing; whatever it is later is cut at the limit.
        const bool constant = !(variance > 1e-12 * (1 + mean * mean));
        model.mean.push_back(static_cast<float>(mean));
        model.spread.push_back(constant ? 1.0F : static_cast<float>(std::sqrt(variance)));
    }
    check_labels(rows_of(table, task, model, Side::train_all), task);
    return model;
}

}  // namespace rudder::steer
