// rudder agent train KIND TABLE... --out FILE
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "steer/fit/fit.hpp"

#include "sample_archive.hpp"

namespace rudder::cli {

namespace {

class AgentTrainVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "agent train"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Fit a classifier to collected samples";
    }
    [[nodiscard]] std::string_view example() const override {
        return "rudder agent train lr samples.csv --out lr.model";
    }

    void define(CLI::App& app) override {
        CLI::Option* kind =
            app.add_option("KIND", task_.kind, "Classifier: lr, svm, rf, xgb, mlp or tabnet");
        offer(*kind->required(), steer::classifier_kinds);
        app.add_option("TABLE", tables_, "Sample tables of 'agent collect' (CSV or NPZ)")
            ->required();
        app.add_option("--out", out_, "Model file to write")->required();
        app.add_option("--test", task_.test,
                       "Graph held out for testing; may be repeated\n"
                       "(default: fit to all graphs, and test on the same)")
            ->allow_extra_args(false);
        app.add_option("--policy", policies_, "Use only samples of this policy; may be repeated")
            ->allow_extra_args(false);
        limit(app.add_option("--margin", task_.margin,
                             "Fit only to decisions whose answers differ by this share of the "
                             "rows"),
              "margin", SettingKind::real, {0, 1})
            .capture_default_str();
        app.add_flag("--faithful", faithful_, "Use the published features and label");
        CLI::Option* label = app.add_option(
            "--label", label_, "Label: counterfactual or paper (default: by --faithful)");
        offer(*label, std::array<std::string_view, 2>{to_string(steer::LabelKind::counterfactual),
                                                      to_string(steer::LabelKind::paper)});
        app.add_flag("--ceiling", ceiling_,
                     "Also what the best of lr, rf and xgb reaches on each host of the test\n"
                     "graph when fitted to its other hosts: what these features allow");
        limit(app.add_option("--seed", task_.seed, "Random seed"), "seed", SettingKind::integer,
              {0})
            .capture_default_str();
        app.add_flag("--force", force_, "Replace an existing model");
    }

    int run(const Context& context) override;

private:
    void check();
    [[nodiscard]] steer::SampleTable read() const;

    steer::FitTask task_;
    std::vector<std::string> tables_;
    std::vector<std::string> policies_;
    std::string out_;
    std::string label_;
    bool faithful_ = false;
    bool ceiling_ = false;
    bool force_ = false;
};

/// What was made and how well it does.
struct Fitted {
    steer::Model model;
    steer::FitScores train;
    steer::FitScores test;  ///< no samples: none was asked for
    steer::FitScores
        beyond_margin;  ///< those of the test whose answers differ by more than the margin
    std::vector<double> importance;
    std::string importance_kind;
};

void AgentTrainVerb::check() {
    if (std::ranges::find(steer::classifier_kinds, task_.kind) == steer::classifier_kinds.end()) {
        throw usage_error(fmt::format("unknown classifier '{}'", task_.kind), "KIND",
                          fmt::format("use one of {}", join(steer::classifier_kinds, ", ")));
    }
    task_.features = faithful_ ? steer::FeatureSet::faithful : steer::FeatureSet::repaired;
    task_.label = faithful_ ? steer::LabelKind::paper : steer::LabelKind::counterfactual;
    if (label_.empty()) return;
    task_.label = label_ == "paper" ? steer::LabelKind::paper : steer::LabelKind::counterfactual;
    if (label_ != to_string(task_.label)) {
        throw usage_error(fmt::format("unknown label '{}'", label_), "--label",
                          "use counterfactual or paper");
    }
}

steer::SampleTable AgentTrainVerb::read() const {
    steer::SampleTable all;
    for (const std::string& path : tables_)
        all.append(read_table(path), path);
    if (policies_.empty()) return all;
    steer::SampleTable chosen;
    chosen.graphs = all.graphs;
    chosen.policies = all.policies;
    chosen.horizon = all.horizon;
    for (std::size_t i = 0; i < all.samples.size(); ++i) {
        if (std::ranges::find(policies_, all.policies[all.samples[i].policy]) == policies_.end())
            continue;
        chosen.samples.push_back(all.samples[i]);
        std::ranges::copy(all.features(steer::FeatureSet::repaired, i),
                          std::back_inserter(chosen.repaired));
        std::ranges::copy(all.features(steer::FeatureSet::faithful, i),
                          std::back_inserter(chosen.faithful));
    }
    if (chosen.samples.empty()) {
        throw usage_error("no table has samples of that policy", "--policy",
                          "name one that was collected");
    }
    return chosen;
}

Fitted fit(const steer::SampleTable& table, const steer::FitTask& task) {
    Fitted fitted;
    steer::Model& model = fitted.model = steer::begin_model(table, task);
    const steer::FitData data = steer::rows_of(table, task, model, steer::Side::train_all);
    if (task.kind == "lr" || task.kind == "svm") {
        steer::fit_linear(model, data);
        // Features have spread 1, so a weight says how much its feature moves the answer.
        fitted.importance_kind = "weight";
        for (std::size_t c = 0; c < data.columns; ++c) {
            const float weight = model.arrays[0].values[c];
            fitted.importance.push_back(static_cast<double>(weight < 0 ? -weight : weight));
        }
    } else if (task.kind == "rf" || task.kind == "xgb") {
        steer::fit_trees(model, data, task.seed, fitted.importance);
        fitted.importance_kind = "gain";
    } else {
        steer::fit_neural(model, table, task);
    }
    const auto classifier = steer::make_classifier(model, "agent train");
    fitted.train = steer::score(steer::answers(*classifier, data), data.y);
    const steer::FitData test = steer::rows_of(table, task, model, steer::Side::test);
    fitted.test = steer::score(steer::answers(*classifier, test), test.y);
    if (task.margin > 0) {
        const steer::FitData beyond =
            steer::rows_of(table, task, model, steer::Side::test_beyond_margin);
        fitted.beyond_margin = steer::score(steer::answers(*classifier, beyond), beyond.y);
    }
    if (fitted.importance.empty()) {
        fitted.importance_kind = "permutation";
        fitted.importance =
            steer::permutation_importance(*classifier, test.rows() != 0 ? test : data, task.seed);
    }
    return fitted;
}

/// A kind fitted to the test graph itself, each host answered by a model of the others.
steer::FitScores ceiling_by(const std::string& kind, const steer::SampleTable& table,
                            const steer::FitTask& task) {
    steer::SampleTable inside = table;
    std::vector<std::string> names;
    for (steer::Sample& sample : inside.samples) {
        const bool test =
            std::ranges::find(task.test, table.graphs[sample.graph]) != task.test.end();
        const std::string name = test ? fmt::format("host {}", sample.host) : "others";
        const auto found = std::ranges::find(names, name);
        sample.graph = static_cast<std::uint32_t>(found - names.begin());
        if (found == names.end()) names.push_back(name);
    }
    inside.graphs = names;
    std::vector<double> all;
    std::vector<std::uint8_t> labels;
    for (const std::string& name : names) {
        if (name == "others") continue;
        steer::FitTask fold = task;
        fold.kind = kind;
        fold.test = {name, "others"};
        if (std::ranges::find(names, "others") == names.end()) fold.test = {name};
        steer::Model model = steer::begin_model(inside, fold);
        const steer::FitData data = steer::rows_of(inside, fold, model, steer::Side::train_all);
        std::vector<double> gain;
        kind == "lr" ? steer::fit_linear(model, data)
                     : steer::fit_trees(model, data, task.seed, gain);
        fold.test = {name};
        const steer::FitData test = steer::rows_of(inside, fold, model, steer::Side::test);
        const auto classifier = steer::make_classifier(model, "agent train");
        std::ranges::copy(steer::answers(*classifier, test), std::back_inserter(all));
        std::ranges::copy(test.y, std::back_inserter(labels));
    }
    return steer::score(all, labels);
}

/// The best of three kinds.
steer::FitScores ceiling_of(const steer::SampleTable& table, const steer::FitTask& task) {
    steer::FitScores best;
    for (const char* kind : {"lr", "rf", "xgb"}) {
        const steer::FitScores one = ceiling_by(kind, table, task);
        if (best.samples == 0 || one.balanced > best.balanced) best = one;
    }
    return best;
}

Json report_json(const Fitted& fitted, const steer::FitTask& task) {
    Json importance = Json::object();
    const auto names = steer::feature_names(task.features);
    for (std::size_t c = 0; c < names.size(); ++c)
        importance[std::string(names[c])] = fitted.importance[c];
    Json report{{"kind", task.kind},
                {"features", to_string(task.features)},
                {"label", to_string(task.label)},
                {"train", to_json(fitted.train)},
                {"importance", {{"kind", fitted.importance_kind}, {"by_feature", importance}}}};
    if (fitted.test.samples != 0) {
        report["test"] = to_json(fitted.test);
        report["test"]["graphs"] = task.test;
    }
    if (fitted.beyond_margin.samples != 0) {
        report["margin"] = task.margin;
        report["test_beyond_margin"] = to_json(fitted.beyond_margin);
    }
    return report;
}

std::vector<std::string> cells(const std::string& name, const steer::FitScores& s) {
    return {name,
            format_count(s.samples),
            fmt::format("{:.3f}", s.positives),
            fmt::format("{:.3f}", s.yes),
            fmt::format("{:.3f}", s.accuracy),
            fmt::format("{:.3f}", s.balanced),
            fmt::format("{:.3f}", s.auc),
            fmt::format("{:.3f}", s.brier),
            fmt::format("{:.3f}", s.calibration)};
}

void print(const Fitted& fitted, const steer::FitTask& task, const steer::FitScores& ceiling) {
    Table table({"on", "samples", "label 1", "says 1", "accuracy", "balanced", "AUC", "Brier",
                 "calibration error"});
    table.add(cells("training graphs", fitted.train));
    if (fitted.test.samples != 0) table.add(cells("test graphs", fitted.test));
    if (fitted.beyond_margin.samples != 0)
        table.add(cells("test beyond margin", fitted.beyond_margin));
    if (ceiling.samples != 0) table.add(cells("ceiling", ceiling));
    const auto names = steer::feature_names(task.features);
    std::vector<std::size_t> order(names.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
        return fitted.importance[a] > fitted.importance[b];
    });
    Table important({"feature", fitted.importance_kind});
    for (std::size_t i = 0; i < std::min<std::size_t>(8, order.size()); ++i) {
        important.add(
            {std::string(names[order[i]]), fmt::format("{:.4g}", fitted.importance[order[i]])});
    }
    print_text(table.text() + "\n" + important.text());
}

int AgentTrainVerb::run(const Context& context) {
    check();
    if (ceiling_ && task_.test.empty())
        throw usage_error("--ceiling requires --test", "--ceiling", "give --test GRAPH");
    const steer::SampleTable table = read();
    Fitted fitted = fit(table, task_);
    steer::FitScores ceiling;
    if (ceiling_) ceiling = ceiling_of(table, task_);
    Json report = report_json(fitted, task_);
    if (ceiling.samples != 0) report["ceiling"] = to_json(ceiling);
    fitted.model.report = report.dump();
    steer::write_model(fitted.model, out_, force_);
    context.json ? print_json(report) : print(fitted, task_, ceiling);
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_agent_train_verb() {
    return std::make_unique<AgentTrainVerb>();
}

}  // namespace rudder::cli
