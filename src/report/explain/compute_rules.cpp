// Findings about computing, parts, threads, evaluation and the schedule.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "rudder/core/text.hpp"

#include "rules.hpp"

namespace rudder::report {

namespace {

/// A rank that takes so many times as long for an edge as the others is slow.
constexpr double slow_factor = 1.3;
/// A part of so many times the mean edges is large.
constexpr double skewed_factor = 1.2;
/// Computing that takes so many times the CPU time of all that the run does has no core meanwhile.
constexpr double shared_factor = 1.5;
/// What a further thread adds to the first, of a thread's work.
constexpr double thread_yield = 0.7;
/// Steps of an epoch that are enough for all that is done once per epoch.
constexpr double enough_steps = 20;
constexpr double few_steps_below = 10;
constexpr double tiny_batch = 64;
constexpr double usual_batch = 1000;

std::string step_ms(double seconds) {
    return fmt::format("{:.2f} ms", seconds * 1e3);
}

double median_of(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + std::ssize(values) / 2;
    std::ranges::nth_element(values, middle);
    return *middle;
}

double per_edge(const RankWork& pace) {
    return pace.compute / std::max(pace.edges, 1.0);
}

double longest(const std::vector<RankWork>& pace) {
    double most = 0;
    for (const RankWork& one : pace)
        most = std::max(most, one.compute);
    return most;
}

/// The rank that takes longest for an edge, and what the others take.
struct Slowest {
    const RankWork* rank = nullptr;
    double factor = 1;
    double usual = 0;  ///< seconds per edge of the others
};

Slowest slowest_per_edge(const ExplainedRun& run) {
    Slowest found;
    if (run.pace.size() < 2) return found;
    found.rank = &*std::ranges::max_element(run.pace, {}, per_edge);
    std::vector<double> others;
    for (const RankWork& one : run.pace)
        if (&one != found.rank) others.push_back(per_edge(one));
    found.usual = median_of(std::move(others));
    found.factor = found.usual > 0 ? per_edge(*found.rank) / found.usual : 1;
    return found;
}

/// Ranks as if the slow one were as fast as the others.
std::vector<RankWork> even_speed(const ExplainedRun& run) {
    std::vector<RankWork> pace = run.pace;
    const Slowest slow = slowest_per_edge(run);
    if (slow.rank == nullptr || slow.factor < slow_factor) return pace;
    RankWork& one = pace[static_cast<std::size_t>(slow.rank - run.pace.data())];
    one.compute = one.edges * slow.usual;
    return pace;
}

/// How many times as many steps the largest part's seeds make as even parts would, in batches of
/// the same size.
double more_steps(const ExplainedRun& run) {
    if (!run.seeds || !run.train_balance || run.batch <= 0) return 1;
    const double even = std::max(1.0, std::ceil(*run.seeds / *run.train_balance / run.batch));
    return std::max(1.0, std::ceil(*run.seeds / run.batch) / even);
}

/// What a rank computes that has its share of the edges of an epoch in so many times fewer steps: a
/// straight line through the mean rank and the one of most edges.
double even_compute(const std::vector<RankWork>& pace, const RankWork& mean, double fewer) {
    const RankWork& most = *std::ranges::max_element(pace, {}, &RankWork::edges);
    const double slope = (most.compute - mean.compute) / (most.edges - mean.edges);
    const double compute = mean.compute + std::max(0.0, slope) * (fewer - 1) * mean.edges;
    return std::max(compute, mean.compute);
}

}  // namespace

double uneven_compute(const ExplainedRun& run) {
    double mean = 0;
    const std::vector<RankWork> pace = even_speed(run);
    for (const RankWork& one : pace)
        mean += one.compute / static_cast<double>(pace.size());
    return std::max(0.0, longest(run.pace) - mean);
}

Confidence confidence_in(const ExplainedRun& run, bool direct) {
    constexpr double few = 10;
    constexpr double many = 50;
    if (run.steps < few) return Confidence::low;
    return direct && run.steps >= many ? Confidence::high : Confidence::medium;
}

namespace {

/// Seconds of a step in which cores worked for a rank, at most; none where that is not known.
std::optional<double> worked_seconds(const ExplainedRun& run) {
    // A rank that is made slow computes without working.
    if (run.cpu <= 0 || run.steps <= 0 || run.made_slow) return {};
    return run.cpu / run.steps / run.machine_ranks;
}

bool shares_cores(const ExplainedRun& run) {
    const auto worked = worked_seconds(run);
    return worked && run.step.compute >= shared_factor * *worked;
}

/// What a rule says that compares ranks by how long they compute: not much where they wait for
/// cores meanwhile.
Confidence confidence_in_compute(const ExplainedRun& run) {
    return shares_cores(run) ? Confidence::low : confidence_in(run, true);
}

}  // namespace

Evidence step_evidence(const ExplainedRun& run, std::string_view key, double seconds) {
    return {fmt::format("seconds.{}", key), seconds * 1e3,
            fmt::format("{} of a step, {}", step_ms(seconds), format_percent(run.share(seconds))),
            run.totals};
}

Evidence plain_evidence(std::string metric, double value, std::string file) {
    std::string text = std::abs(value) < 1e15 && value == std::floor(value)
                           ? fmt::format("{:.0f}", value)
                           : fmt::format("{:.3g}", value);
    return {std::move(metric), value, std::move(text), std::move(file)};
}

double gain_of_step(const ExplainedRun& run, double seconds) {
    const double of_steps = run.share(seconds);
    const double steps = run.total > 0 ? run.steps * run.step.step / run.total : 1;
    return std::clamp(of_steps * std::min(steps, 1.0), 0.0, 1.0);
}

void set_gain(const ExplainedRun& run, Finding& finding, double left) {
    const double work = run.busy().value_or(0) * run.step.step;
    if (work > left) {
        finding.evidence.push_back({"seconds.cpu of a step / cores", work * 1e3,
                                    fmt::format("{} of a step", step_ms(work)), "summary.json"});
    }
    finding.gain = gain_of_step(run, run.step.step - std::max(left, run.least_step()));
}

MaybeFinding find_slow_host(const ExplainedRun& run) {
    const Slowest slow = slowest_per_edge(run);
    if (slow.rank == nullptr || slow.factor < slow_factor) return {};
    const double saved = longest(run.pace) - longest(even_speed(run));
    if (run.own_share(saved) < worth_a_word) return {};
    Finding found{.cause = cause::slow_host};
    found.text = fmt::format(
        "One slow host: {} takes {:.2f} times as long for an edge as the others, which wait for "
        "it.",
        slow.rank->name, slow.factor);
    found.evidence.push_back(
        {fmt::format("seconds.compute of {}", slow.rank->name), slow.rank->compute * 1e3,
         fmt::format("{} of a step", step_ms(slow.rank->compute)), "metrics.jsonl"});
    found.evidence.push_back(plain_evidence(fmt::format("edges per step of {}", slow.rank->name),
                                            std::round(slow.rank->edges), "metrics.jsonl"));
    found.evidence.push_back(step_evidence(run, "wait_ranks", run.step.wait_ranks));
    found.change = fmt::format(
        "see what else runs on the host of {} and how fast its cores are; leave it out, or give it "
        "smaller parts",
        slow.rank->name);
    set_gain(run, found, run.step.step - saved);
    found.formula =
        "step - max(step - saved, wire, work), saved = longest compute of a rank - longest with "
        "its edges at the others' median seconds per edge, work = CPU time of a step / cores";
    found.confidence = confidence_in_compute(run);
    return found;
}

MaybeFinding find_skewed_parts(const ExplainedRun& run) {
    if (run.pace.size() < 2) return {};
    const std::vector<RankWork> pace = even_speed(run);
    const auto count = static_cast<double>(pace.size());
    RankWork mean;
    for (const RankWork& one : pace) {
        mean.edges += one.edges / count;
        mean.compute += one.compute / count;
    }
    const RankWork& most = *std::ranges::max_element(pace, {}, &RankWork::edges);
    if (mean.edges <= 0 || most.edges < skewed_factor * mean.edges) return {};
    if (run.own_share(longest(pace) - mean.compute) < worth_a_word) return {};
    Finding found{.cause = cause::skewed_parts};
    found.text = fmt::format(
        "Skewed parts: {} has {:.2f} times the mean edges of a step, and all others wait for it.",
        most.name, most.edges / mean.edges);
    found.evidence.push_back(plain_evidence(fmt::format("edges per step of {}", most.name),
                                            std::round(most.edges), "metrics.jsonl"));
    found.evidence.push_back(
        plain_evidence("edges per step, mean over ranks", std::round(mean.edges), "metrics.jsonl"));
    if (run.train_balance) {
        found.evidence.push_back(
            plain_evidence("partition.train_balance", *run.train_balance, "run.json"));
    }
    found.evidence.push_back(step_evidence(run, "wait_ranks", run.step.wait_ranks));
    found.change = "rudder partition --method metis --balance vertices,train,edges --slack 0.02";
    // Even parts have fewer steps, each of full batches on all ranks.
    const double fewer = more_steps(run);
    const double step = run.step.step - longest(pace) + even_compute(pace, mean, fewer);
    set_gain(run, found, step / fewer);
    found.formula = fmt::format(
        "step - max((step - longest compute of a rank + compute of an even part's batch) / {:.3g}, "
        "wire, work), {:.3g} = steps of an epoch / those of even parts, work = CPU time of a step "
        "/ cores",
        fewer, fewer);
    found.confidence = confidence_in_compute(run);
    return found;
}

MaybeFinding find_one_thread(const ExplainedRun& run) {
    if (run.threads != 1 || run.cores < 2 * run.machine_ranks) return {};
    const double threads = std::floor(run.cores / run.machine_ranks);
    const double faster = 1 + thread_yield * (threads - 1);
    const double saved = run.step.compute * (1 - 1 / faster);
    if (run.own_share(saved) < worth_a_word) return {};
    Finding found{.cause = cause::one_thread};
    found.text = fmt::format(
        "One thread: each rank computes with 1 of {:.0f} cores that it could "
        "have, {} of its time.",
        threads, format_percent(run.share(run.step.compute)));
    found.evidence.push_back(plain_evidence("threads", run.threads, "summary.json"));
    found.evidence.push_back(plain_evidence("cores", run.cores, "run.json"));
    found.evidence.push_back(step_evidence(run, "compute", run.step.compute));
    found.change = fmt::format("--threads {:.0f}", threads);
    // Threads that do not add all of their work take it from what runs beside computing.
    const double lost =
        run.busy() ? run.step.compute * (threads / faster - 1) * run.machine_ranks / run.cores : 0;
    set_gain(run, found, std::max(run.step.step - saved, run.least_step() + lost));
    found.formula = fmt::format(
        "step - max(step - saved, work + lost), saved = compute x (1 - 1 / yield), yield = 1 + {} "
        "x ({:.0f} - 1), work = CPU time of a step / cores, lost = compute x ({:.0f} / yield - 1) "
        "x ranks / cores",
        thread_yield, threads, threads);
    found.confidence = confidence_in(run, false);
    return found;
}

MaybeFinding find_shared_cores(const ExplainedRun& run) {
    const auto known = worked_seconds(run);
    if (!known || !shares_cores(run)) return {};
    const double worked = *known;
    const double saved = run.step.compute - worked;
    if (run.own_share(saved) < worth_a_word) return {};
    Finding found{.cause = cause::shared_cores};
    found.text = fmt::format(
        "Shared cores: of {} in which a rank computes in a step, cores worked for it {} at most.",
        step_ms(run.step.compute), step_ms(worked));
    found.evidence.push_back(step_evidence(run, "compute", run.step.compute));
    found.evidence.push_back({"seconds.cpu of a step and rank", worked * 1e3,
                              fmt::format("{} for all that a rank does", step_ms(worked)),
                              "summary.json"});
    found.evidence.push_back(plain_evidence("cores", run.cores, "run.json"));
    const double wanted = run.machine_ranks * std::max(1.0, run.threads);
    found.change =
        run.cores > 0 && wanted > run.cores
            ? fmt::format("fewer ranks or --threads: {:.0f} threads compute on {:.0f} cores",
                          wanted, run.cores)
            : "see what else runs on the machine; ask for cores that the run has to itself";
    set_gain(run, found, run.step.step - saved);
    found.formula =
        "step - max(step - (compute - CPU time of a step and rank), wire, work), work = CPU time "
        "of a step / cores: no less, since ranks that wait for cores are waited for";
    found.confidence = confidence_in(run, true);
    return found;
}

MaybeFinding find_evaluation(const ExplainedRun& run) {
    constexpr double steps_at_least = 2;
    constexpr double less_often = 10;
    if (run.total <= 0 || run.evaluations <= 0) return {};
    const double share = run.evaluation / run.total;
    const bool each_step = run.steps / run.evaluations <= steps_at_least;
    // With auto its share is bounded but for the first second, which is free.
    const double least = each_step ? worth_a_word / 3 : 3 * worth_a_word;
    if (run.auto_evaluation || share < least) return {};
    Finding found{.cause = cause::evaluation};
    found.text = fmt::format(
        "Evaluation each step, or nearly: {:.0f} evaluations in {:.0f} steps take {} of the run.",
        run.evaluations, run.steps, format_percent(share));
    found.evidence.push_back(plain_evidence("evaluations", run.evaluations, "summary.json"));
    found.evidence.push_back(plain_evidence("steps", run.steps, "summary.json"));
    found.evidence.push_back(plain_evidence("seconds.evaluation", run.evaluation, "summary.json"));
    found.change = "--eval-every auto, or every 10 epochs";
    found.gain = share * (1 - 1 / less_often);
    found.formula =
        fmt::format("seconds.evaluation / seconds.total x (1 - 1 / {:.0f})", less_often);
    found.confidence = confidence_in(run, true);
    return found;
}

MaybeFinding find_tiny_batches(const ExplainedRun& run) {
    constexpr double many_steps = 100;
    if (run.batch <= 0 || run.batch > tiny_batch || run.steps_per_epoch < many_steps) return {};
    const double times = std::min(usual_batch / run.batch, run.steps_per_epoch / enough_steps);
    const bool idle_wire = run.wire().value_or(0) < 0.5 * run.step.step;
    const double computing = std::min(run.empty_compute.value_or(0), run.step.compute);
    const double fixed = computing + run.step.wait_gradients + run.step.wait_ranks + run.step.rest +
                         (idle_wire ? run.step.wait_rows : 0);
    const double saved = fixed * (1 - 1 / times);
    if (times < 2 || run.share(saved) < worth_a_word) return {};
    Finding found{.cause = cause::tiny_batches};
    found.text = fmt::format(
        "Tiny batches: {:.0f} seeds of a part per step, {:.0f} steps per epoch, and {} of a step "
        "pass in what every step costs, however small.",
        run.batch, run.steps_per_epoch, format_percent(run.share(fixed)));
    found.evidence.push_back(plain_evidence("batch", run.batch, "config.toml"));
    found.evidence.push_back(
        plain_evidence("steps_per_epoch", run.steps_per_epoch, "summary.json"));
    if (run.empty_compute) {
        found.evidence.push_back({"seconds.compute without rows, by those of all steps",
                                  computing * 1e3, step_ms(computing), "metrics.jsonl"});
    }
    found.evidence.push_back(step_evidence(run, "wait_gradients", run.step.wait_gradients));
    found.evidence.push_back(step_evidence(run, "wait_ranks", run.step.wait_ranks));
    found.evidence.push_back(step_evidence(run, "rest", run.step.rest));
    found.change = fmt::format("--batch {:.0f} (another training: look at the accuracy, too)",
                               std::floor(run.batch * times));
    found.gain = gain_of_step(run, saved);
    found.formula = fmt::format("{}wait_gradients + wait_ranks + rest{}) x (1 - 1 / {:.3g})",
                                run.empty_compute ? "(compute without rows + " : "at least (",
                                idle_wire ? " + wait_rows" : "", times);
    found.confidence = std::min(Confidence::medium, confidence_in(run, false));
    return found;
}

MaybeFinding find_few_steps(const ExplainedRun& run) {
    if (run.steps_per_epoch <= 0 || run.steps_per_epoch >= few_steps_below || run.epochs < 1)
        return {};
    const double between = std::max(0.0, run.total - run.steps * run.step.step - run.evaluation);
    Finding found{.cause = cause::few_steps};
    found.text = fmt::format(
        "Too few steps per epoch: {:.0f}, so that weights change seldom, and what is done once per "
        "epoch, evaluation apart, takes {} of the run.",
        run.steps_per_epoch, format_percent(run.total > 0 ? between / run.total : 0));
    found.evidence.push_back(
        plain_evidence("steps_per_epoch", run.steps_per_epoch, "summary.json"));
    if (run.batch > 0) found.evidence.push_back(plain_evidence("batch", run.batch, "config.toml"));
    // A batch may be larger than the part has seeds.
    const double seeds = run.seeds.value_or(run.batch * run.steps_per_epoch);
    const double smaller = std::max(1.0, std::floor(seeds / enough_steps));
    found.change =
        run.batch > 0
            ? fmt::format("--batch {:.0f}: about {:.0f} steps per epoch", smaller, enough_steps)
            : fmt::format("a --batch that gives about {:.0f} steps per epoch", enough_steps);
    if (run.total > 0) found.gain = between / run.total * (1 - run.steps_per_epoch / enough_steps);
    found.formula = fmt::format(
        "(total - steps - evaluation) / total x (1 - steps_per_epoch / {:.0f})", enough_steps);
    found.confidence = confidence_in(run, false);
    return found;
}

}  // namespace rudder::report
