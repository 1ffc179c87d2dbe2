#include "report/prometheus_metrics.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>

#include <fmt/format.h>

#include "core/system.hpp"
#include "report/catalogue.hpp"

namespace rudder::report {

namespace {

/// Who fetched from whom is told up to so many ranks: it is a line for each pair.
constexpr std::size_t most_owners = 32;

enum Further : std::uint8_t { run, policy, step, planned, loss, owners, decided, cpu, start };

constexpr std::array<PrometheusInfo, 9> further{{
    {"rudder_run_info", "gauge", "version, data, model, policy, agent", "What runs; always 1"},
    {"rudder_policy_info", "gauge", "rank, policy", "The policy of a rank's buffer now; always 1"},
    {"rudder_steps_done", "gauge", "", "Steps done, up to now"},
    {"rudder_steps_planned", "gauge", "", "Steps of the whole run"},
    {"rudder_last_loss", "gauge", "", "Loss of the last step, up to now"},
    {"rudder_owner_bytes_total", "counter", "rank, owner",
     "Bytes of feature rows that a rank received, by the rank that owns them; up to 32 ranks"},
    {"rudder_decisions_total", "counter", "status",
     "Decisions of agents by what became of them; kept: those that were to change nothing"},
    {"process_cpu_seconds_total", "counter", "", "CPU time of the first rank's process"},
    {"process_start_time_seconds", "gauge", "", "When the run was started, since 1970"},
}};

void append_head(std::string& text, std::string_view name, std::string_view type,
                 std::string_view help) {
    fmt::format_to(std::back_inserter(text), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                   type);
}

void append_head(std::string& text, Further index) {
    append_head(text, further[index].name, further[index].type, further[index].help);
}

void append_sample(std::string& text, std::string_view name, std::string_view labels,
                   double value) {
    fmt::format_to(std::back_inserter(text), "{}{}{}{} {}\n", name, labels.empty() ? "" : "{",
                   labels, labels.empty() ? "" : "}", value);
}

void append_sample(std::string& text, Further index, std::string_view labels, double value) {
    append_sample(text, further[index].name, labels, value);
}

double now_seconds() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
}

}  // namespace

std::vector<PrometheusInfo> further_prometheus_metrics() {
    return {further.begin(), further.end()};
}

std::string prometheus_escape(std::string_view value) {
    std::string text;
    for (const char c : value) {
        if (c == '\\') {
            text += "\\\\";
        } else if (c == '"') {
            text += "\\\"";
        } else if (c == '\n') {
            text += "\\n";
        } else {
            text += c;
        }
    }
    return text;
}

struct PrometheusMetrics::State {
    std::string info;  ///< labels of the run
    double started = now_seconds();
    std::shared_ptr<RunProgress> progress = std::make_shared<RunProgress>();

    mutable std::mutex mutex;  // guards what follows
    std::vector<std::array<double, metric_count>> ranks;
    std::vector<std::optional<buffer::PolicySpec>> policies;  ///< of ranks
    std::vector<double> bytes_by_owner;                       ///< rank by rank
    std::size_t owners = 0;
    std::optional<train::EpochRecord> epoch;
    std::array<std::uint64_t, steer::decision_statuses> decisions{};  ///< by status
    std::uint64_t kept = 0;  ///< decisions to keep, which change nothing
    RunWatch watch;

    explicit State(const RunPlan& plan) : watch(plan) {}

    void append_steps(std::string& text) const;
    void append_epoch(std::string& text) const;
    void append_further(std::string& text) const;
    void append_owners(std::string& text) const;
};

PrometheusMetrics::PrometheusMetrics(std::size_t ranks,
                                     const std::vector<std::pair<std::string, std::string>>& info,
                                     const RunPlan& plan)
    : state_(std::make_unique<State>(plan)) {
    state_->progress->planned = plan.steps;
    state_->ranks.resize(ranks);
    state_->policies.resize(ranks);
    for (const auto& [name, value] : info) {
        fmt::format_to(std::back_inserter(state_->info), "{}{}=\"{}\"",
                       state_->info.empty() ? "" : ",", name, prometheus_escape(value));
    }
}

PrometheusMetrics::~PrometheusMetrics() = default;

const std::shared_ptr<RunProgress>& PrometheusMetrics::progress() const noexcept {
    return state_->progress;
}

void PrometheusMetrics::steps(std::span<const train::StepRecord> steps) {
    if (steps.empty()) return;
    const auto catalogue = metric_catalogue();
    State& s = *state_;
    const std::scoped_lock lock(s.mutex);
    s.watch.records(steps);
    const bool owners = steps.front().bytes_by_owner.size() <= most_owners;
    if (owners && s.bytes_by_owner.empty()) {
        s.owners = steps.front().bytes_by_owner.size();
        s.bytes_by_owner.resize(s.ranks.size() * s.owners);
    }
    for (const train::StepRecord& step : steps) {
        if (step.rank >= s.ranks.size()) continue;
        auto& values = s.ranks[step.rank];
        const auto now = metric_values(step);
        for (std::size_t m = 0; m < metric_count; ++m)
            values[m] = now[m] + (catalogue[m].momentary() ? 0 : values[m]);
        auto& policy = s.policies[step.rank];
        if (!step.buffered) {
            policy.reset();
        } else if (policy != step.knobs.policy) {
            policy = step.knobs.policy;
        }
        if (!owners) continue;
        for (std::size_t o = 0; o < s.owners; ++o) {
            s.bytes_by_owner[step.rank * s.owners + o] +=
                static_cast<double>(step.bytes_by_owner[o]);
        }
    }
}

void PrometheusMetrics::epoch(const train::EpochRecord& epoch) {
    const std::scoped_lock lock(state_->mutex);
    state_->epoch = epoch;
    state_->watch.epoch(epoch.epoch, epoch.valid(), epoch.evaluation_seconds);
}

void PrometheusMetrics::decisions(std::span<const steer::DecisionRecord> decisions) {
    const std::scoped_lock lock(state_->mutex);
    for (const steer::DecisionRecord& decision : decisions) {
        const bool kept = decision.status == steer::DecisionStatus::applied &&
                          decision.action.kind == steer::ActionKind::keep;
        ++(kept ? state_->kept : state_->decisions[static_cast<std::size_t>(decision.status)]);
    }
    state_->watch.decisions(decisions);
}

void PrometheusMetrics::State::append_steps(std::string& text) const {
    const auto catalogue = metric_catalogue();
    for (std::size_t m = 0; m < metric_count; ++m) {
        const std::string name = prometheus_name(catalogue[m]);
        append_head(text, name, catalogue[m].momentary() ? "gauge" : "counter", catalogue[m].help);
        for (std::size_t rank = 0; rank < ranks.size(); ++rank)
            append_sample(text, name, fmt::format("rank=\"{}\"", rank), ranks[rank][m]);
    }
}

/// What is not known yet has no samples.
void PrometheusMetrics::State::append_epoch(std::string& text) const {
    std::string_view last;
    for (const EpochMetric& metric : epoch_metrics()) {
        if (metric.name != last) append_head(text, metric.name, "gauge", metric.help);
        last = metric.name;
        const auto value = epoch ? metric.value(*epoch) : std::nullopt;
        if (value) append_sample(text, metric.name, metric.labels, *value);
    }
}

void PrometheusMetrics::State::append_further(std::string& text) const {
    append_head(text, run);
    append_sample(text, run, info, 1);
    append_head(text, policy);
    for (std::size_t rank = 0; rank < policies.size(); ++rank) {
        if (!policies[rank]) continue;
        append_sample(text, policy,
                      fmt::format("rank=\"{}\",policy=\"{}\"", rank,
                                  prometheus_escape(policies[rank]->text())),
                      1);
    }
    const auto gauge = [&](Further index, double value) {
        append_head(text, index);
        append_sample(text, index, "", value);
    };
    gauge(step, static_cast<double>(progress->steps.load(std::memory_order_relaxed)));
    gauge(planned, static_cast<double>(progress->planned.load(std::memory_order_relaxed)));
    gauge(loss, progress->loss.load(std::memory_order_relaxed));
    append_owners(text);
    append_head(text, decided);
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        append_sample(
            text, decided,
            fmt::format("status=\"{}\"", to_string(static_cast<steer::DecisionStatus>(i))),
            static_cast<double>(decisions[i]));
    }
    append_sample(text, decided, "status=\"kept\"", static_cast<double>(kept));
    gauge(cpu, process_cpu_seconds());
    gauge(start, started);
}

void PrometheusMetrics::State::append_owners(std::string& text) const {
    append_head(text, Further::owners);
    for (std::size_t i = 0; i < bytes_by_owner.size(); ++i) {
        append_sample(text, Further::owners,
                      fmt::format("rank=\"{}\",owner=\"{}\"", i / owners, i % owners),
                      bytes_by_owner[i]);
    }
}

std::string PrometheusMetrics::text() const {
    std::string text;
    const std::scoped_lock lock(state_->mutex);
    state_->append_steps(text);
    state_->append_epoch(text);
    state_->append_further(text);
    return text;
}

Standing PrometheusMetrics::standing() const {
    const auto done = state_->progress->steps.load(std::memory_order_relaxed);
    const double loss = state_->progress->loss.load(std::memory_order_relaxed);
    const std::scoped_lock lock(state_->mutex);
    Standing standing = state_->watch.standing(now_seconds() - state_->started);
    if (done <= standing.step) return standing;
    // Steps that have not been collected yet.
    if (standing.seconds_left && standing.steps > standing.step) {
        const std::uint64_t left = standing.steps - std::min(done, standing.steps);
        *standing.seconds_left *=
            static_cast<double>(left) / static_cast<double>(standing.steps - standing.step);
    }
    if (standing.steps != 0 && standing.epochs != 0) {
        const std::uint64_t per_epoch =
            std::max<std::uint64_t>(1, standing.steps / standing.epochs);
        standing.epoch = (done - 1) / per_epoch + 1;
    }
    standing.step = done;
    standing.loss = loss;
    return standing;
}

}  // namespace rudder::report
