// Runs made of facts alone: a healthy one, and causes that can be planted in it.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/step_time.hpp"

#include "explain/findings.hpp"

namespace rudder::test {

/// Steps of 10 ms on four hosts that leave nothing to wish for.
inline report::ExplainedRun healthy() {
    report::ExplainedRun run;
    run.name = "run";
    run.settings = {{"batch", "1000"}, {"eval-every", "auto"}, {"in-flight", "2"}};
    run.auto_evaluation = true;
    run.ranks = run.hosts = run.machine_ranks = 4;
    run.cores = 8;
    run.threads = 2;
    run.batch = 1000;
    run.steps = 200;
    run.epochs = 5;
    run.steps_per_epoch = 40;
    run.evaluations = 2;
    run.policy = "window:16";
    run.agent = "bandit";
    run.buffered = true;
    run.window = 16;
    run.in_flight = 2;
    run.link = "100us,1gbit";
    run.modelled = report::LinkFacts{1e-4, 1e9 / 8};
    run.total = 2.2;
    run.evaluation = 0.1;
    run.step = {.step = 0.010,
                .compute = 0.008,
                .wait_rows = 0.0005,
                .wait_gradients = 0.0006,
                .wait_ranks = 0.0005,
                .rest = 0.0004};
    for (int rank = 0; rank < 4; ++rank)
        run.pace.push_back({"rank " + std::to_string(rank), 0.008, 2000});
    run.remote = 1e6;
    run.fetched = 3e5;
    run.row_bytes = 400;
    run.feature_bytes = 1.2e8;
    run.wire_bytes = 2e8;
    return run;
}

/// The causes that are found, in their order.
inline std::vector<std::string> causes(const report::ExplainedRun& run) {
    std::vector<std::string> all;
    for (const report::Finding& one : report::findings_of(run))
        all.emplace_back(one.cause);
    return all;
}

/// The step is what its parts are, and the run what its steps are, with evaluation and the start.
inline void settle(report::ExplainedRun& run) {
    run.step.step = 0;
    for (const StepPart& part : step_parts)
        run.step.step += run.step.*part.seconds;
    run.total = run.steps * run.step.step + run.evaluation + 0.1;
    if (run.profile) run.profile->step = run.step.step;
}

/// Steps that are longer by what they wait for the network.
inline void wait_for_rows(report::ExplainedRun& run, double seconds) {
    run.step.wait_rows += seconds;
    if (run.profile) {
        run.profile->stall += seconds;
        run.profile->network += seconds;
    }
    settle(run);
}

/// Of a healthy run: all is made ready in time.
inline report::ProfileTimes healthy_profile() {
    return {.steps = 40,
            .step = 0.010,
            .stall = 0.0005,
            .sampling = {0.0001, 0.004},
            .policy = {0, 0.001},
            .assembling = {0.0001, 0.002},
            .network = 0.0003,
            .compute_alone = 0.008,
            .compute_beside = 0.009,
            .beside = 0.1};
}

/// That of the run, with all it waits for by now.
inline report::ProfileTimes& profile_of(report::ExplainedRun& run) {
    if (!run.profile) {
        run.profile = healthy_profile();
        run.profile->network += run.step.wait_rows - run.profile->stall;
        run.profile->stall = run.step.wait_rows;
        run.profile->compute_alone = run.step.compute;
    }
    return *run.profile;
}

/// Steps that are longer by what they wait for a stage of making rows ready.
inline void wait_for_stage(report::ExplainedRun& run,
                           report::StageTimes report::ProfileTimes::*stage) {
    constexpr double late = 0.003;
    (profile_of(run).*stage).waited += late;
    run.profile->stall += late;
    run.step.wait_rows += late;
    settle(run);
}

using Plant = std::function<void(report::ExplainedRun&)>;

/// Any two can be planted one after the other.
inline const std::map<std::string, Plant>& plants() {
    static const std::map<std::string, Plant> all{
        {"slow link",
         [](report::ExplainedRun& run) {
             run.modelled->rate /= 10;
             // What is not looked ahead for is not hidden behind computing.
             const bool ahead = run.window.value_or(0) > 1;
             wait_for_rows(run, std::max(0.0, *run.wire() - (ahead ? run.step.step : 0)));
         }},
        {"one slow host",
         [](report::ExplainedRun& run) {
             const double longer = 2 * run.pace[2].compute;
             run.pace[2].compute += longer;
             run.step.compute += longer / 4;
             run.step.wait_ranks += longer * 3 / 4;
             settle(run);
         }},
        {"skewed parts",
         [](report::ExplainedRun& run) {
             for (const std::size_t i : {0U, 1U, 3U}) {
                 run.pace[i].compute /= 2;
                 run.pace[i].edges /= 2;
                 run.step.compute -= run.pace[i].compute / 4;
                 run.step.wait_ranks += run.pace[i].compute / 4;
             }
             settle(run);
         }},
        {"no look-ahead",
         [](report::ExplainedRun& run) {
             run.window = 0;
             run.in_flight = 1;
             wait_for_rows(run, 0.006);
         }},
        {"no buffer",
         [](report::ExplainedRun& run) {
             run.buffered = false;
             run.policy = "none";
             run.window = 0;
             wait_for_rows(run, 0.004);
         }},
        {"one thread", [](report::ExplainedRun& run) { run.threads = 1; }},
        {"shared cores", [](report::ExplainedRun& run) { run.cpu = 0.01 * run.total; }},
        {"evaluation each step",
         [](report::ExplainedRun& run) {
             run.auto_evaluation = false;
             run.evaluations = 200;
             run.evaluation = 4;
             settle(run);
         }},
        {"tiny batches",
         [](report::ExplainedRun& run) {
             run.batch = 4;
             run.steps_per_epoch = 5000;
             run.wire_bytes /= 5;
             for (report::RankWork& one : run.pace) {
                 one.compute /= 8;
                 one.edges /= 8;
             }
             run.step.compute /= 8;
             run.step.wait_ranks /= 8;
             run.step.wait_gradients += 0.001;
             settle(run);
         }},
        {"agent that steps wait for",
         [](report::ExplainedRun& run) {
             run.step.wait_agent = 0.002;
             settle(run);
         }},
        {"slow sampling",
         [](report::ExplainedRun& run) { wait_for_stage(run, &report::ProfileTimes::sampling); }},
        {"slow assembling",
         [](report::ExplainedRun& run) { wait_for_stage(run, &report::ProfileTimes::assembling); }},
        {"slow policy",
         [](report::ExplainedRun& run) { wait_for_stage(run, &report::ProfileTimes::policy); }},
        {"evaluation during training",
         [](report::ExplainedRun& run) {
             report::ProfileTimes& profile = profile_of(run);
             profile.beside = 0.5;
             profile.compute_beside = 2.5 * profile.compute_alone;
             run.evaluations = std::max(run.evaluations, run.epochs);
             settle(run);
         }},
        {"agent that costs rows", [](report::ExplainedRun& run) { run.excess = 0.3; }},
        {"too few steps per epoch", [](report::ExplainedRun& run) { run.steps_per_epoch = 2; }},
        {"one host",
         [](report::ExplainedRun& run) {
             run.hosts = 1;
             run.remote = run.fetched = 0;
             run.link.clear();
             run.modelled.reset();
         }},
    };
    return all;
}

}  // namespace rudder::test
