#include "explained_run.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "comm/link_model.hpp"
#include "core/step_time.hpp"
#include "report/run/read_parts.hpp"
#include "rudder/buffer/knobs.hpp"
#include "rudder/buffer/policy_spec.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::report {

namespace {

double as_double(std::uint64_t count) {
    return static_cast<double>(count);
}

/// One of two sources, the first that knows.
double known_number(const Facts& first, const Facts& second, std::string_view path) {
    if (const auto number = first.number(path)) return *number;
    return second.number(path).value_or(0);
}

std::string known_text(const Facts& first, const Facts& second, std::string_view path) {
    const std::string text = first.text(path);
    return text.empty() ? second.text(path) : text;
}

std::optional<double> number_setting(const ExplainedRun& run, std::string_view key) {
    return parse_double(run.setting(key));
}

/// What follows from policy, link and hosts.
void derive_setup(ExplainedRun& run, bool made_hosts) {
    // Modelled links are of one machine, and so are hosts that were made by --ranks-per-host.
    const bool one_machine = !run.link.empty() || made_hosts;
    run.machine_ranks = one_machine ? run.ranks : std::max(1.0, run.ranks / run.hosts);
    try {
        if (!run.policy.empty()) {
            const auto horizon = buffer::horizon_of(buffer::PolicySpec::parse(run.policy));
            run.window = as_double(horizon);
        }
        if (!run.link.empty()) {
            const comm::LinkModel link = comm::parse_link_schedule(run.link).first;
            run.modelled = LinkFacts{to_seconds(link.delay), link.bytes_per_second};
        }
    } catch (const Error&) {
        // A policy or a link of another version or program: nothing follows from it.
    }
}

bool has_buffer(const std::string& policy, double rows) {
    return rows > 0 && !policy.starts_with("none");
}

/// "6,000 vertices and 117,690 edges in 2 parts by metis, which cut 10.1 %"; empty: not told.
std::string partition_words(const Facts& card) {
    const auto number = [&](std::string_view name) {
        return card.number(fmt::format("partition.{}", name));
    };
    const auto parts = number("parts");
    const auto cut = number("cut");
    if (!parts || !cut) return {};
    const auto count = [&](std::string_view name) {
        return format_count(static_cast<std::uint64_t>(number(name).value_or(0)));
    };
    return fmt::format("{} vertices and {} edges in {:.0f} parts by {}, which cut {:.1f} %",
                       count("vertices"), count("edges"), *parts, card.text("partition.method"),
                       100 * *cut);
}

void read_setup(const RunData& from, ExplainedRun& run) {
    const Facts& s = from.summary;
    run.version = from.run.text("version");
    run.host = from.run.text("host");
    run.partition = partition_words(from.run);
    run.ranks = std::max(1.0, known_number(s, from.run, "ranks"));
    run.hosts = std::max(1.0, known_number(s, from.run, "hosts"));
    run.link = known_text(s, from.run, "link");
    run.cores = from.run.number("cores").value_or(0);
    run.threads = s.number("threads").value_or(number_setting(run, "threads").value_or(0));
    run.batch = number_setting(run, "batch").value_or(0);
    run.epochs = s.number("epochs").value_or(0);
    run.steps_per_epoch = known_number(s, from.run, "steps_per_epoch");
    run.evaluations = s.number("evaluations").value_or(0);
    run.auto_evaluation = run.setting("eval-every") == "auto";
    run.made_slow = !run.setting("slow").empty();
    run.sample_tasks = number_setting(run, "sample-tasks").value_or(0);
    run.policy = known_text(s, from.run, "policy");
    run.agent = known_text(s, from.run, "agent.name");
    run.excess = s.number("agent.excess");
    run.buffered = has_buffer(run.policy, s.number("buffer_rows").value_or(1));
    run.in_flight = number_setting(run, "in-flight");
    run.train_balance = from.run.number("partition.train_balance");
    const auto trained = from.run.number("partition.train");
    const auto parts = from.run.number("partition.parts");
    // Links and edges are other seeds than vertices, and how many they are does not stand there.
    const std::string task = run.setting("task");
    const bool of_vertices = task.empty() || task == "vertex";
    if (trained && parts && *parts > 0 && run.train_balance && of_vertices)
        run.seeds = *trained / *parts * *run.train_balance;
    derive_setup(run, number_setting(run, "ranks-per-host").value_or(0) > 0);
}

/// Computing of a step without rows: where the straight line through all steps, computing over rows
/// that they need, begins. Each rank has its own mean and all the same slope. None where that is
/// not known well, since steps need about as many rows or computing takes any time.
std::optional<double> empty_compute(const std::vector<RankTotals>& ranks) {
    constexpr double least_lines = 50;
    constexpr double largest_error = 0.15;  ///< standard error over the mean of computing
    double squares = 0;
    double products = 0;
    double computed_squares = 0;
    double lines = 0;
    double rows = 0;
    double compute = 0;
    for (const RankTotals& rank : ranks) {
        if (rank.lines == 0) continue;
        const auto count = static_cast<double>(rank.lines);
        const auto sum = static_cast<double>(rank.rows.needed);
        const double seconds = rank.seconds.compute;
        squares += rank.rows_squared - sum * sum / count;
        products += rank.rows_computed - sum * seconds / count;
        computed_squares += rank.computed_squared - seconds * seconds / count;
        lines += count;
        rows += sum;
        compute += seconds;
    }
    // What is left of sums of large squares may be nothing but their rounding.
    constexpr double rounding = 1e-9;
    if (lines < least_lines || compute <= 0 || squares <= rounding * rows * rows / lines)
        return std::nullopt;
    const double slope = std::max(0.0, products / squares);
    const double left = std::max(0.0, computed_squares - slope * products) / lines;
    const double mean = rows / lines;
    const double error = std::sqrt(left * (1 / lines + mean * mean / squares));
    if (!(error <= largest_error * compute / lines)) return std::nullopt;
    return std::max(0.0, compute / lines - slope * mean);
}

/// What all ranks' steps came to.
struct StepSums {
    Seconds seconds;
    double lines = 0;  ///< steps, counted on each rank
};

StepSums read_ranks(const std::vector<RankTotals>& by_rank, std::uint64_t ranks_per_group,
                    ExplainedRun& run) {
    StepSums sums;
    for (std::size_t g = 0; g < by_rank.size(); ++g) {
        const RankTotals& rank = by_rank[g];
        sums.seconds += rank.seconds;
        const double count = as_double(rank.lines);
        sums.lines += count;
        if (count == 0) continue;
        const std::size_t first = g * ranks_per_group;
        run.pace.push_back({ranks_per_group == 1
                                ? fmt::format("rank {}", g)
                                : fmt::format("ranks {} to {}", first, first + ranks_per_group - 1),
                            rank.seconds.compute / count, as_double(rank.edges) / count});
    }
    run.empty_compute = empty_compute(by_rank);
    return sums;
}

/// The mean step, and without `total` the time of the run by it.
void set_times(ExplainedRun& run, const StepSums& sums, std::optional<double> total,
               double evaluation) {
    if (sums.lines <= 0) return;
    run.step = with_all_parts(sums.seconds);
    for (const StepPart& part : step_parts)
        run.step.*part.seconds /= sums.lines;
    run.step.step /= sums.lines;
    run.step.fetch /= sums.lines;
    run.step.stall /= sums.lines;
    run.step.reduce /= sums.lines;
    run.total = total.value_or(run.step.step * run.steps);
    run.evaluation = evaluation;
}

void read_times(const RunData& from, ExplainedRun& run) {
    const Facts& s = from.summary;
    StepSums sums = read_ranks(from.metrics.by_rank, from.metrics.ranks_per_group, run);
    run.steps = s.number("steps").value_or(sums.lines / run.ranks);
    if (const auto told = summary_seconds(s)) sums = {*told, run.steps * run.ranks};
    set_times(run, sums, s.number("seconds.total"), s.number("seconds.evaluation").value_or(0));
    run.cpu = s.number("seconds.cpu").value_or(0) * run.machine_ranks / run.ranks;
}

void read_traffic(const RunData& from, ExplainedRun& run) {
    const Facts& s = from.summary;
    if (const auto hit = s.number("rows.hit")) {
        run.remote = *hit + s.number("rows.demand").value_or(0);
        run.fetched = s.number("rows.demand").value_or(0) +
                      s.number("rows.replacement").value_or(0) + s.number("rows.ahead").value_or(0);
    } else {
        for (const RankTotals& rank : from.metrics.by_rank) {
            run.remote += as_double(rank.rows.hit + rank.rows.demand);
            run.fetched += as_double(rank.rows.fetched());
        }
    }
    run.learned = s.number("rows.learned").value_or(0);
    run.row_bytes = s.number("row_bytes").value_or(0);
    run.feature_bytes = s.number("bytes.features").value_or(0);
    run.wire_bytes = std::max(0.0, s.number("bytes.received_total").value_or(0) -
                                       s.number("bytes.evaluation").value_or(0));
}

}  // namespace

std::optional<double> ExplainedRun::wire() const {
    if (!modelled || modelled->rate <= 0 || steps <= 0) return std::nullopt;
    return wire_bytes / hosts / steps / modelled->rate;
}

std::optional<double> ExplainedRun::busy() const {
    if (cpu <= 0 || cores <= 0 || total <= evaluation) return std::nullopt;
    // While training waits for evaluation, that has all threads.
    const double evaluating = threads > 0 ? std::min(cores, threads * machine_ranks) : cores;
    return std::clamp((cpu - evaluation * evaluating) / (cores * (total - evaluation)), 0.0, 1.0);
}

double ExplainedRun::least_step() const {
    return std::max(wire().value_or(0), busy().value_or(0) * step.step);
}

namespace {

/// Waiting for rows without the share that such seconds are of a profile's stalls.
double wait_without(const ExplainedRun& run, double seconds) {
    const double stall = run.profile->stall;
    if (stall <= 0) return run.step.wait_rows;
    return run.step.wait_rows * std::clamp(1 - seconds / stall, 0.0, 1.0);
}

}  // namespace

double ExplainedRun::wait_of_rows() const noexcept {
    return profile ? wait_without(*this, profile->sampling.waited) : step.wait_rows;
}

double ExplainedRun::wait_of_network() const noexcept {
    if (!profile) return step.wait_rows;
    return wait_without(
        *this, profile->sampling.waited + profile->policy.waited + profile->assembling.waited);
}

std::string ExplainedRun::setting(std::string_view key) const {
    const auto found = settings.find(key);
    return found == settings.end() ? std::string() : found->second;
}

ExplainedRun explained_run(const EndedRun& from) {
    const train::Summary& s = from.summary;
    ExplainedRun run;
    run.name = from.name;
    run.profile = from.profile;
    run.ranks = as_double(s.ranks);
    run.hosts = as_double(s.hosts);
    run.link = s.link;
    run.cores = from.cores;
    run.threads = as_double(s.threads);
    run.batch = as_double(from.options.batch);
    run.epochs = as_double(s.epochs);
    run.steps_per_epoch = as_double(s.steps_per_epoch);
    run.evaluations = as_double(s.evaluations.value_or(0));
    run.auto_evaluation = !from.options.eval_every;
    run.made_slow = !from.options.slow.empty();
    run.sample_tasks = from.options.sample_tasks;
    run.policy = s.policy;
    run.agent = s.agent.name;
    run.excess = s.agent.excess;
    run.buffered = has_buffer(s.policy, as_double(s.buffer_rows));
    run.in_flight = as_double(from.options.in_flight);
    run.train_balance = from.train_balance;
    run.seeds = from.seeds;
    derive_setup(run, from.ranks_per_host > 0);
    StepSums sums = read_ranks(from.by_rank, 1, run);
    run.steps = as_double(s.steps);
    if (s.seconds.steps.step > 0) sums = {s.seconds.steps, run.steps * run.ranks};
    set_times(run, sums, s.seconds.total, s.seconds.evaluation);
    run.cpu = s.seconds.cpu * run.machine_ranks / run.ranks;
    const Rows& rows = s.rows.rows;
    run.remote = as_double(rows.hit + rows.demand);
    run.learned = as_double(s.rows.learned.value_or(0));
    run.fetched = as_double(rows.fetched());
    run.row_bytes = as_double(s.row_bytes);
    run.feature_bytes = as_double(s.bytes.kinds.features);
    run.wire_bytes =
        std::max(0.0, as_double(s.bytes.received_total) - as_double(s.bytes.kinds.evaluation));
    return run;
}

ExplainedRun explained_run(const RunData& run) {
    ExplainedRun explained;
    explained.name = run.path.string();
    if (!run.summary.number("steps")) explained.totals = "metrics.jsonl";
    explained.missing = run.missing;
    if (auto settings = settings_of(run.config)) {
        explained.settings = std::move(*settings);
    } else {
        explained.missing.emplace_back("config.toml is not valid TOML: the options are not known.");
    }
    explained.profile = run.profile;
    read_setup(run, explained);
    read_times(run, explained);
    read_traffic(run, explained);
    // Of a long file stretches are read: how far it got stands in its last line.
    if (run.metrics.lines != 0 && !run.summary.number("steps")) {
        explained.steps = static_cast<double>(run.metrics.last_step - run.metrics.first_step + 1);
        explained.total = explained.step.step * explained.steps;
    }
    // An agent may have changed the window: what steps had counts.
    if (run.metrics.lines != 0 && explained.buffered) {
        const Stat window = run.metrics.series.total(series_column("knobs.window"));
        if (window.count != 0) explained.window = window.mean();
        const Stat flight = run.metrics.series.total(series_column("knobs.in_flight"));
        if (flight.count != 0) explained.in_flight = flight.mean();
    }
    return explained;
}

}  // namespace rudder::report
