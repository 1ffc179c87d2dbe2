// Findings that only a profile can show: the late stage of making rows ready, and slowed computing.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/text.hpp"

#include "rules.hpp"

namespace rudder::report {

namespace {

constexpr double profiled_at_least = 5;  ///< steps, for anything to be said
constexpr const char* profile_file = "profile.json";

Evidence profile_evidence(std::string metric, double seconds, std::string_view of) {
    return {std::move(metric), seconds * 1e3, fmt::format("{:.2f} ms{}", seconds * 1e3, of),
            profile_file};
}

/// Seconds of a profiled step as the same share of the run's: a profile is of one epoch.
double in_the_run(const ExplainedRun& run, double seconds) {
    return seconds / run.profile->step * run.step.step;
}

/// A stage that takes longer than all that goes on beside it, so that steps wait for it.
struct LateStage {
    std::string_view cause;
    std::string_view span;  ///< of the profile
    StageTimes times;
    double then = 0;  ///< steps that are in this stage at a time after the change; 0: it is gone
    std::string text;
    std::string change;
};

/// Nothing where steps do not wait for it.
MaybeFinding late_stage(const ExplainedRun& run, const LateStage& stage) {
    const ProfileTimes& seen = *run.profile;
    if (stage.times.waited < worth_a_word * seen.step) return {};
    const double least = std::max(seen.step - stage.times.waited,
                                  stage.then > 0 ? stage.times.work / stage.then : 0);
    Finding found{.cause = stage.cause};
    found.text = stage.text;
    found.evidence.push_back(profile_evidence(
        fmt::format("stall, waiting for {}", stage.span), stage.times.waited,
        fmt::format(" of a step, {}", format_percent(stage.times.waited / seen.step))));
    found.evidence.push_back(
        profile_evidence(std::string(stage.span), stage.times.work, " for one step"));
    found.evidence.push_back(profile_evidence("stall", seen.stall, " of a step"));
    found.change = stage.change;
    found.gain = gain_of_step(run, in_the_run(run, std::max(0.0, seen.step - least)));
    found.formula =
        stage.then > 0
            ? fmt::format(
                  "step - max(step - waiting for {0}, {0} of one step / {1:.0f} at a time), "
                  "in the profiled epoch",
                  stage.span, stage.then)
            : fmt::format("waiting for {} in the profiled epoch", stage.span);
    found.confidence = std::min(Confidence::medium, confidence_in(run, false));
    return found;
}

bool profiled(const ExplainedRun& run) {
    return run.profile && run.profile->steps >= profiled_at_least && run.profile->step > 0;
}

}  // namespace

MaybeFinding find_slow_sampling(const ExplainedRun& run) {
    if (!profiled(run)) return {};
    LateStage stage{.cause = cause::slow_sampling, .span = "sample"};
    stage.times = run.profile->sampling;
    const double at_once =
        run.sample_tasks > 0 ? run.sample_tasks : std::max(1.0, std::floor(run.threads / 4));
    stage.then = 2 * at_once;
    const double cores = run.cores > 0 ? std::floor(run.cores / run.machine_ranks) : stage.then;
    stage.text = fmt::format(
        "Slow sampling: steps wait {:.2f} ms for batches that are not drawn yet, {:.0f} at a time.",
        stage.times.waited * 1e3, at_once);
    stage.change = cores >= stage.then
                       ? fmt::format("--sample-tasks {:.0f}", stage.then)
                       : fmt::format(
                             "--sample-tasks {:.0f} on a machine with as many cores for "
                             "each rank, or a smaller --fanout (another training)",
                             stage.then);
    return late_stage(run, stage);
}

MaybeFinding find_slow_assembling(const ExplainedRun& run) {
    if (!profiled(run)) return {};
    LateStage stage{.cause = cause::slow_assembling, .span = "fetch"};
    stage.times = run.profile->assembling;
    const double at_once = std::max(1.0, std::round(run.in_flight.value_or(2)));
    stage.then = 2 * at_once;
    stage.text = fmt::format(
        "Slow assembling: rows are there, and steps wait {:.2f} ms until they are copied together, "
        "{:.0f} steps at a time.",
        stage.times.waited * 1e3, at_once);
    stage.change = fmt::format("--in-flight {:.0f}", stage.then);
    return late_stage(run, stage);
}

MaybeFinding find_slow_policy(const ExplainedRun& run) {
    if (!profiled(run)) return {};
    LateStage stage{.cause = cause::slow_policy, .span = "buffer"};
    stage.times = run.profile->policy;
    stage.text = fmt::format(
        "Slow policy: steps wait {:.2f} ms for the turn of {}, which is one step at a time.",
        stage.times.waited * 1e3, run.policy);
    stage.change = "a policy whose turn is shorter, such as --policy lru, or a smaller --buffer";
    return late_stage(run, stage);
}

MaybeFinding find_evaluation_beside(const ExplainedRun& run) {
    if (!profiled(run) || run.profile->beside <= 0 || run.profile->beside >= 1) return {};
    const ProfileTimes& seen = *run.profile;
    const double evaluated =
        run.epochs > 0 && run.evaluations > 0 ? std::min(1.0, run.evaluations / run.epochs) : 1;
    const double saved = (seen.compute_beside - seen.compute_alone) * seen.beside * evaluated;
    if (saved < worth_a_word * seen.step) return {};
    Finding found{.cause = cause::evaluation_beside};
    found.text = fmt::format(
        "Evaluation during training: {} of the steps of an evaluated epoch compute during it, and "
        "take {:.2f} times as long for it.",
        format_percent(seen.beside), seen.compute_beside / seen.compute_alone);
    found.evidence.push_back(
        profile_evidence("compute during evaluate", seen.compute_beside, " of a step"));
    found.evidence.push_back(profile_evidence("compute without", seen.compute_alone, " of a step"));
    found.evidence.push_back(plain_evidence("evaluations", run.evaluations, "summary.json"));
    found.change = "--eval-every auto, or every 10 epochs";
    constexpr double less_often = 10;
    found.gain = gain_of_step(run, in_the_run(run, saved * (1 - 1 / less_often)));
    found.formula = fmt::format(
        "(compute during evaluate - compute without) x share of steps during it x evaluations / "
        "epochs x (1 - 1 / {:.0f})",
        less_often);
    found.confidence = std::min(Confidence::medium, confidence_in(run, false));
    return found;
}

}  // namespace rudder::report
