// rudder explain RUN [RUN2]
#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/train_settings.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "report/explain/explanation.hpp"
#include "report/explain/wording.hpp"
#include "report/run_data.hpp"
#include "rudder/core/error.hpp"

namespace rudder::cli {

namespace {

class ExplainVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "explain"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Say what limits a run and what to change, or why two runs differ";
    }
    [[nodiscard]] std::string_view example() const override { return "rudder explain run"; }

    void define(CLI::App& app) override {
        app.add_option("RUN", run_, "Folder of a run")->required();
        app.add_option("RUN2", other_, "Second run, to compare with the first");
        app.add_flag("--llm", llm_, "Let a language model order and word the findings");
        bind_train(app, {train::OptionGroup::llm_model, train::OptionGroup::llm}, options_,
                   HelpListing::all);
    }

    int run(const Context& context) override;

private:
    struct Explained {
        report::ExplainedRun run;
        std::vector<report::Finding> findings;
    };
    [[nodiscard]] static Explained explain(const std::string& folder);
    [[nodiscard]] std::string words_for(const std::vector<report::Finding>& findings) const;

    std::string run_;
    std::string other_;
    bool llm_ = false;
    train::TrainOptions options_;
};

ExplainVerb::Explained ExplainVerb::explain(const std::string& folder) {
    const report::RunData data = report::read_run(folder, report::ReadDepth::averages);
    Explained explained{report::explained_run(data), {}};
    if (!explained.run.timed()) {
        throw input_error("the run has recorded no steps, so that nothing can be said of it",
                          folder, "wait for its first step, or train again");
    }
    explained.findings = report::findings_of(explained.run);
    return explained;
}

/// Those of the language model, where one is wanted and its words can be used.
std::string ExplainVerb::words_for(const std::vector<report::Finding>& findings) const {
    if (!llm_ || findings.empty()) return {};
    try {
        return report::worded_by(options_.steer.llm, findings);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::failed) throw;
        log::warning(fmt::format("the language model's words are not used: {}", error.problem()));
        return {};
    }
}

int ExplainVerb::run(const Context& context) {
    const Explained first = explain(run_);
    const std::string words = words_for(first.findings);
    Json json = report::explanation_json(first.run, first.findings);
    if (!words.empty()) json["words"] = words;
    std::string text = report::explanation_text(first.run, first.findings, words);
    if (!other_.empty()) {
        const Explained second = explain(other_);
        const report::RunDifference difference = report::difference_of(first.run, second.run);
        json = {{"runs", Json::array({std::move(json),
                                      report::explanation_json(second.run, second.findings)})},
                {"difference", report::difference_json(difference)}};
        text = fmt::format("{}\n{}:\n{}\n{}:\n{}",
                           report::difference_text(first.run, second.run, difference), run_, text,
                           other_, report::explanation_text(second.run, second.findings));
    }
    context.json ? print_json(json) : print_text(text);
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_explain_verb() {
    return std::make_unique<ExplainVerb>();
}

}  // namespace rudder::cli
