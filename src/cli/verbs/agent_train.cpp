// rudder agent train KIND TABLE... --out FILE
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

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

struct FitForm {
    steer::FitTask task;
    bool faithful = false;
    std::optional<steer::LabelKind> label;
    bool ceiling = false;
    bool force = false;
};

std::span<const Setting<FitForm>> fit_table() {
    using O = FitForm;
    static const std::array table{
        setting<O, &O::task, &steer::FitTask::margin>(
            "margin", "Fit only to decisions whose answers differ by this share of the rows")
            .limit(0, 1),
        setting<O, &O::faithful>("faithful", "Use the published features and label"),
        setting<O, &O::label>("label", "Label (default: by --faithful)").among([] {
            return std::vector{to_string(steer::LabelKind::counterfactual),
                               to_string(steer::LabelKind::paper)};
        }),
        setting<O, &O::ceiling>(
            "ceiling",
            "Also estimate what these features allow: the best of all kinds,\n"
            "each host of the test graph answered by a model of its other hosts"),
        setting<O, &O::task, &steer::FitTask::seed>("seed", "Random seed"),
        setting<O, &O::force>("force", "Replace an existing model"),
    };
    return table;
}

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
            app.add_option("KIND", form_.task.kind, "Classifier: lr, svm, rf, xgb, mlp or tabnet");
        offer(*kind->required(), steer::classifier_kinds);
        app.add_option("TABLE", tables_, "Sample tables of 'agent collect' (CSV or NPZ)")
            ->required();
        app.add_option("--out", out_, "Model file to write")->required();
        app.add_option("--test", form_.task.test,
                       "Graph held out for testing; may be repeated\n"
                       "(default: fit to all graphs, and test on the same)")
            ->allow_extra_args(false);
        app.add_option("--policy", policies_, "Use only samples of this policy; may be repeated")
            ->allow_extra_args(false);
        bind_options(app, fit_table(), form_);
    }

    int run(const Context& context) override;

private:
    void check();
    [[nodiscard]] steer::SampleTable read() const;

    FitForm form_;
    std::vector<std::string> tables_;
    std::vector<std::string> policies_;
    std::string out_;
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
    if (std::ranges::find(steer::classifier_kinds, form_.task.kind) ==
        steer::classifier_kinds.end()) {
        throw usage_error(fmt::format("unknown classifier '{}'", form_.task.kind), "KIND",
                          fmt::format("use one of {}", join(steer::classifier_kinds, ", ")));
    }
    const bool faithful = form_.faithful;
    form_.task.features = faithful ? steer::FeatureSet::faithful : steer::FeatureSet::repaired;
    form_.task.label =
        form_.label.value_or(faithful ? steer::LabelKind::paper : steer::LabelKind::counterfactual);
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
    steer::FittedModel made = steer::fit_model(table, task);
    const steer::Model& model = fitted.model = std::move(made.model);
    const auto classifier = steer::make_classifier(model, "agent train");
    const auto scored = [&](steer::Side side) {
        return steer::score(*classifier, steer::rows_of(table, task, model, side));
    };
    fitted.train = scored(steer::Side::train_all);
    fitted.test = scored(steer::Side::test);
    if (task.margin > 0) fitted.beyond_margin = scored(steer::Side::test_beyond_margin);
    if (!made.gain.empty()) {
        fitted.importance_kind = "gain";
        fitted.importance = std::move(made.gain);
    } else if (task.kind == "lr" || task.kind == "svm") {
        // Features have spread 1, so a weight says how much its feature moves the answer.
        fitted.importance_kind = "weight";
        for (std::size_t c = 0; c < model.mean.size(); ++c)
            fitted.importance.push_back(std::abs(static_cast<double>(model.arrays[0].values[c])));
    } else {
        fitted.importance_kind = "permutation";
        const bool tested = fitted.test.samples != 0;
        fitted.importance = steer::permutation_importance(
            *classifier,
            steer::rows_of(table, task, model, tested ? steer::Side::test : steer::Side::train_all),
            task.seed);
    }
    return fitted;
}

Json ceiling_json(const steer::Ceiling& ceiling) {
    Json json = to_json(ceiling.scores);
    json["by"] = ceiling.by;
    json["fitted_to"] = ceiling.inside ? "other hosts of the test graphs" : "training graphs";
    return json;
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
            fmt::format("{:.3f}", s.majority),
            fmt::format("{:.3f}", s.balanced),
            fmt::format("{:.3f}", s.auc),
            fmt::format("{:.3f}", s.brier),
            fmt::format("{:.3f}", s.calibration),
            s.label_accuracy ? fmt::format("{:.3f}", *s.label_accuracy) : ""};
}

void print(const Fitted& fitted, const steer::FitTask& task,
           const std::optional<steer::Ceiling>& ceiling) {
    Table table({"on", "samples", "label 1", "says 1", "accuracy", "majority", "balanced", "AUC",
                 "Brier", "calibration error", "label accuracy"});
    table.add(cells("training graphs", fitted.train));
    if (fitted.test.samples != 0) table.add(cells("test graphs", fitted.test));
    if (fitted.beyond_margin.samples != 0)
        table.add(cells("test beyond margin", fitted.beyond_margin));
    if (ceiling)
        table.add(cells(fmt::format("ceiling, estimated ({})", ceiling->by), ceiling->scores));
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
    if (form_.ceiling && form_.task.test.empty())
        throw usage_error("--ceiling requires --test", "--ceiling", "give --test GRAPH");
    const steer::SampleTable table = read();
    Fitted fitted = fit(table, form_.task);
    std::optional<steer::Ceiling> ceiling;
    if (form_.ceiling) ceiling = steer::estimate_ceiling(table, form_.task, fitted.test);
    Json report = report_json(fitted, form_.task);
    if (ceiling) report["ceiling"] = ceiling_json(*ceiling);
    fitted.model.report = report.dump();
    steer::write_model(fitted.model, out_, form_.force);
    context.json ? print_json(report) : print(fitted, form_.task, ceiling);
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_agent_train_verb() {
    return std::make_unique<AgentTrainVerb>();
}

}  // namespace rudder::cli
