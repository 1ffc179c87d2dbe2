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

std::string_view trimmed(std::string_view text) {
    const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && space(text.front()))
        text.remove_prefix(1);
    while (!text.empty() && space(text.back()))
        text.remove_suffix(1);
    return text;
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

void read_setup(const ExplainSources& from, ExplainedRun& run) {
    const Facts& s = from.summary;
    run.ranks = std::max(1.0, known_number(s, from.run, "ranks"));
    run.hosts = std::max(1.0, known_number(s, from.run, "hosts"));
    run.link = known_text(s, from.run, "link");
    // Modelled links are of one machine, and so are hosts that were made by --ranks-per-host.
    const bool made = !run.link.empty() || number_setting(run, "ranks-per-host").value_or(0) > 0;
    run.machine_ranks = made ? run.ranks : std::max(1.0, run.ranks / run.hosts);
    run.cores = from.run.number("cores").value_or(0);
    run.threads = s.number("threads").value_or(number_setting(run, "threads").value_or(0));
    run.batch = number_setting(run, "batch").value_or(0);
    run.epochs = s.number("epochs").value_or(0);
    run.steps_per_epoch = known_number(s, from.run, "steps_per_epoch");
    run.evaluations = s.number("evaluations").value_or(0);
    run.policy = known_text(s, from.run, "policy");
    run.agent = known_text(s, from.run, "agent.name");
    run.excess = s.number("agent.excess");
    run.buffered = s.number("buffer_rows").value_or(1) > 0 && !run.policy.starts_with("none");
    run.in_flight = number_setting(run, "in-flight");
    run.train_balance = from.run.number("partition.train_balance");
    try {
        if (!run.policy.empty()) {
            const auto horizon = buffer::horizon_of(buffer::PolicySpec::parse(run.policy));
            run.window = static_cast<double>(horizon);
        }
        if (!run.link.empty()) {
            const comm::LinkModel link = comm::parse_link_schedule(run.link).first;
            run.modelled = LinkFacts{to_seconds(link.delay), link.bytes_per_second};
        }
    } catch (const Error&) {
        // A policy or a link of another version or program: nothing follows from it.
    }
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

void read_times(const ExplainSources& from, ExplainedRun& run) {
    const Facts& s = from.summary;
    Seconds seconds;
    double lines = 0;
    for (std::size_t g = 0; g < from.by_rank.size(); ++g) {
        const RankTotals& rank = from.by_rank[g];
        seconds += rank.seconds;
        const auto count = static_cast<double>(rank.lines);
        lines += count;
        if (count == 0) continue;
        const std::size_t first = g * from.ranks_per_group;
        run.pace.push_back(
            {from.ranks_per_group == 1
                 ? fmt::format("rank {}", g)
                 : fmt::format("ranks {} to {}", first, first + from.ranks_per_group - 1),
             rank.seconds.compute / count, static_cast<double>(rank.edges) / count});
    }
    run.empty_compute = empty_compute(from.by_rank);
    run.steps = s.number("steps").value_or(lines / run.ranks);
    if (const auto told = summary_seconds(s)) {
        seconds = *told;
        lines = run.steps * run.ranks;
    }
    if (lines <= 0) return;
    run.step = with_all_parts(seconds);
    for (const StepPart& part : step_parts)
        run.step.*part.seconds /= lines;
    run.step.step /= lines;
    run.step.fetch /= lines;
    run.step.stall /= lines;
    run.step.reduce /= lines;
    run.total = s.number("seconds.total").value_or(run.step.step * run.steps);
    run.evaluation = s.number("seconds.evaluation").value_or(0);
    run.cpu = s.number("seconds.cpu").value_or(0) * run.machine_ranks / run.ranks;
}

void read_traffic(const ExplainSources& from, ExplainedRun& run) {
    const Facts& s = from.summary;
    if (const auto hit = s.number("rows.hit")) {
        run.remote = *hit + s.number("rows.demand").value_or(0);
        run.fetched = s.number("rows.demand").value_or(0) +
                      s.number("rows.replacement").value_or(0) + s.number("rows.ahead").value_or(0);
    } else {
        for (const RankTotals& rank : from.by_rank) {
            run.remote += static_cast<double>(rank.rows.hit + rank.rows.demand);
            run.fetched += static_cast<double>(rank.rows.fetched());
        }
    }
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

std::map<std::string, std::string, std::less<>> settings_of(std::string_view config) {
    std::map<std::string, std::string, std::less<>> all;
    for (const std::string_view line : split(config, '\n')) {
        const std::size_t at = line.find('=');
        if (at == std::string_view::npos || line.starts_with('#')) continue;
        std::string_view value = trimmed(line.substr(at + 1));
        const bool quoted = value.size() >= 2 && (value.front() == '\'' || value.front() == '"');
        if (quoted && value.back() == value.front()) value = value.substr(1, value.size() - 2);
        all.emplace(trimmed(line.substr(0, at)), value);
    }
    return all;
}

Facts facts_of_json(const Json& value) {
    return flat_facts(value);
}

ExplainedRun explained_run(const ExplainSources& from) {
    ExplainedRun run;
    run.name = from.name;
    if (!from.summary.number("steps")) run.totals = "metrics.jsonl";
    run.settings = settings_of(from.config);
    run.profile = from.profile;
    read_setup(from, run);
    read_times(from, run);
    read_traffic(from, run);
    return run;
}

ExplainedRun explained_run(const RunData& run) {
    ExplainedRun explained =
        explained_run(ExplainSources{.name = run.path.string(),
                                     .summary = run.summary,
                                     .run = run.run,
                                     .config = run.config,
                                     .by_rank = run.metrics.by_rank,
                                     .ranks_per_group = run.metrics.ranks_per_group,
                                     .profile = run.profile});
    explained.missing = run.missing;
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
