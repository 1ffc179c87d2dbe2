// Fitting a kind by its name, and the ceiling: what the features of a graph seem to allow.
#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/error.hpp"

#include "fit.hpp"
#include "forest.hpp"

namespace rudder::steer {

namespace {

/// The samples of the test graphs alone, each of their hosts as a graph of its own.
SampleTable hosts_as_graphs(const SampleTable& table, const FitTask& task) {
    SampleTable inside;
    inside.horizon = table.horizon;
    inside.policies = table.policies;
    for (std::size_t i = 0; i < table.samples.size(); ++i) {
        Sample sample = table.samples[i];
        const std::string& graph = table.graphs[sample.graph];
        if (std::ranges::find(task.test, graph) == task.test.end()) continue;
        const std::string name = fmt::format("{}, host {}", graph, sample.host);
        const auto found = std::ranges::find(inside.graphs, name);
        sample.graph = static_cast<std::uint32_t>(found - inside.graphs.begin());
        if (found == inside.graphs.end()) inside.graphs.push_back(name);
        inside.samples.push_back(sample);
        std::ranges::copy(table.features(FeatureSet::repaired, i),
                          std::back_inserter(inside.repaired));
        std::ranges::copy(table.features(FeatureSet::faithful, i),
                          std::back_inserter(inside.faithful));
    }
    return inside;
}

/// Each graph answered by a model of the others.
FitScores cross_validated(const SampleTable& inside, FitTask task) {
    std::vector<double> all;
    FitData told;
    for (const std::string& name : inside.graphs) {
        task.test = {name};
        const Model model = fit_model(inside, task).model;
        const FitData test = rows_of(inside, task, model, Side::test);
        const auto classifier = make_classifier(model, "agent train");
        std::ranges::copy(answers(*classifier, test), std::back_inserter(all));
        std::ranges::copy(test.y, std::back_inserter(told.y));
        std::ranges::copy(test.gained, std::back_inserter(told.gained));
    }
    return score(all, told.y, told.gained);
}

}  // namespace

FittedModel fit_model(const SampleTable& table, const FitTask& task) {
    FittedModel fitted{begin_model(table, task), {}};
    if (task.kind == "mlp" || task.kind == "tabnet") {
        fit_neural(fitted.model, table, task);
        return fitted;
    }
    const FitData data = rows_of(table, task, fitted.model, Side::train_all);
    if (task.kind == "rf") {
        fit_forest(fitted.model, data, task.seed, fitted.gain);
    } else if (task.kind == "xgb") {
        fit_boosted(fitted.model, data, task.seed, fitted.gain);
    } else {
        fit_linear(fitted.model, data);
    }
    return fitted;
}

Ceiling estimate_ceiling(const SampleTable& table, const FitTask& task, const FitScores& tested,
                         std::span<const std::string_view> kinds) {
    const SampleTable inside = hosts_as_graphs(table, task);
    if (inside.graphs.size() < 2) {
        throw input_error("the test graph has samples of one host, so none of it is left to fit to",
                          "--ceiling", "collect them from a run of several hosts, or leave it out");
    }
    Ceiling best{tested, task.kind, false};
    for (const std::string_view kind : kinds) {
        FitTask one = task;
        one.kind = kind;
        const FitScores scores = cross_validated(inside, one);
        if (scores.balanced > best.scores.balanced) best = {scores, std::string(kind), true};
    }
    return best;
}

}  // namespace rudder::steer
