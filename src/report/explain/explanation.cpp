#include "explanation.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/step_time.hpp"
#include "rudder/core/text.hpp"

namespace rudder::report {

namespace {

/// What a step's time consists of, for people.
std::string times_text(const ExplainedRun& run) {
    std::string text = fmt::format("A step takes {:.2f} ms:\n", run.step.step * 1e3);
    for (const StepPart& part : step_parts) {
        const double seconds = run.step.*part.seconds;
        if (seconds <= least_shown_part * run.step.step) continue;
        text += fmt::format("  {:<18}{:>9.2f} ms  {:>4}\n", part.words, seconds * 1e3,
                            format_percent(run.share(seconds)));
    }
    text += fmt::format("The run took {:.1f} s: {:.0f} steps of {:.0f} {}", run.total, run.steps,
                        run.ranks, run.ranks == 1 ? "rank" : "ranks");
    if (run.evaluation > 0)
        text += fmt::format(", {:.1f} s of waiting for evaluation", run.evaluation);
    return text + ".\n";
}

std::string gain_text(const Finding& finding) {
    if (!finding.gain) return finding.formula;
    return fmt::format("about {} of the run: {}", format_percent(*finding.gain), finding.formula);
}

}  // namespace

std::string finding_text(const Finding& finding) {
    std::string text = finding.text + "\n";
    for (const Evidence& one : finding.evidence)
        text += fmt::format("   seen     {} {} ({})\n", one.metric, one.text, one.file);
    text += fmt::format("   change   {}\n", finding.change);
    text += fmt::format("   gain     {}\n", gain_text(finding));
    text += fmt::format("   sure     {}\n", to_string(finding.confidence));
    return text;
}

std::string explanation_text(const ExplainedRun& run, const std::vector<Finding>& findings,
                             const std::string& words) {
    std::string text = words;
    for (std::size_t i = 0; words.empty() && i < findings.size(); ++i)
        text += fmt::format("{}. {}", i + 1, finding_text(findings[i]));
    if (findings.empty()) {
        text = run.timed()
                   ? "Nothing found that limits this run.\n"
                   : "The run has recorded no steps, so that nothing can be said about it.\n";
    }
    if (run.timed()) text += "\n" + times_text(run);
    for (const std::string& sentence : run.missing)
        text += sentence + "\n";
    return text;
}

Json finding_json(const Finding& finding) {
    Json evidence = Json::array();
    for (const Evidence& one : finding.evidence) {
        evidence.push_back(
            {{"metric", one.metric}, {"value", one.value}, {"text", one.text}, {"file", one.file}});
    }
    return {{"cause", finding.cause},
            {"text", finding.text},
            {"evidence", std::move(evidence)},
            {"change", finding.change},
            {"gain", finding.gain ? Json(*finding.gain) : Json()},
            {"formula", finding.formula},
            {"confidence", to_string(finding.confidence)}};
}

Json explanation_json(const ExplainedRun& run, const std::vector<Finding>& findings) {
    Json list = Json::array();
    for (const Finding& finding : findings)
        list.push_back(finding_json(finding));
    Json times = {{"step", run.step.step}};
    for (const StepPart& part : step_parts)
        times[std::string(part.key)] = run.step.*part.seconds;
    return {{"run", run.name},
            {"findings", std::move(list)},
            {"times", std::move(times)},
            {"missing", run.missing},
            {"seconds", {{"total", run.total}, {"evaluation", run.evaluation}}}};
}

}  // namespace rudder::report
