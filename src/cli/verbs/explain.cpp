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
        std::string words;  ///< of a language model; empty: plain text

        [[nodiscard]] std::string text() const {
            return report::explanation_text(run, findings, words);
        }
        [[nodiscard]] Json json() const {
            Json value = report::explanation_json(run, findings);
            if (!words.empty()) value["words"] = words;
            return value;
        }
    };
    [[nodiscard]] static Explained explain(const std::string& folder);
    void find_words(Explained& explained) const;

    std::string run_;
    std::string other_;
    bool llm_ = false;
    train::TrainOptions options_;
};

ExplainVerb::Explained ExplainVerb::explain(const std::string& folder) {
    const report::RunData data = report::read_run(folder, report::ReadDepth::averages);
    Explained explained{report::explained_run(data), {}, {}};
    if (!explained.run.timed()) {
        throw input_error("the run has recorded no steps, so that nothing can be said about it",
                          folder, "wait for its first step, or train again");
    }
    explained.findings = report::findings_of(explained.run);
    return explained;
}

/// Those of the language model, where one is wanted and its words can be used.
void ExplainVerb::find_words(Explained& explained) const {
    if (!llm_ || explained.findings.empty()) return;
    try {
        explained.words = report::worded_by(options_.steer.llm, explained.findings);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::failed) throw;
        log::warning(
            fmt::format("the language model's words are not used: {} ({}); the findings "
                        "of {} are in plain text",
                        error.problem(), error.where(), explained.run.name));
    }
}

int ExplainVerb::run(const Context& context) {
    Explained first = explain(run_);
    if (other_.empty()) {
        find_words(first);
        context.json ? print_json(first.json()) : print_text(first.text());
        return 0;
    }
    Explained second = explain(other_);
    find_words(first);
    find_words(second);
    const report::RunDifference difference = report::difference_of(first.run, second.run);
    if (context.json) {
        print_json({{"runs", Json::array({first.json(), second.json()})},
                    {"difference", report::difference_json(difference)}});
        return 0;
    }
    print_text(fmt::format("{}\n{}:\n{}\n{}:\n{}",
                           report::difference_text(first.run, second.run, difference), run_,
                           first.text(), other_, second.text()));
    return 0;
}

}  // namespace

std::unique_ptr<Verb> make_explain_verb() {
    return std::make_unique<ExplainVerb>();
}

}  // namespace rudder::cli
