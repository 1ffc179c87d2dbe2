#include "sample_collector.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_set>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"
#include "steer/helm/helm_options.hpp"

#include "attempt.hpp"
#include "features.hpp"

namespace rudder::steer {

namespace {

constexpr std::uint64_t stretch = 64;  ///< steps with one probability
constexpr std::size_t window = 4;      ///< steps before and after that the published label looks at

/// What the agent saw before a step, and what it said.
struct Seen {
    std::uint64_t step = 0;
    bool replaced = false;
    std::vector<double> repaired;
    std::vector<double> faithful;
};

/// Decides by chance and keeps the features of what it was shown.
class ChanceAgent final : public Agent {
public:
    ChanceAgent(std::uint64_t seed, std::uint64_t host, Seen& seen)
        : seed_(seed), host_(host), seen_(seen) {}

    [[nodiscard]] Answer decide(const Observation& observation) override {
        const auto repaired = repaired_.make(observation);
        const auto faithful = faithful_.make(observation);
        const bool yes = decided_by_chance(seed_, host_, observation.step);
        seen_ = {observation.step,
                 yes,
                 {repaired.begin(), repaired.end()},
                 {faithful.begin(), faithful.end()}};
        return {.action = yes ? Action::replace(Reason::chance) : Action::keep(Reason::chance)};
    }

private:
    std::uint64_t seed_;
    std::uint64_t host_;
    Seen& seen_;
    FeatureMaker repaired_{FeatureSet::repaired};
    FeatureMaker faithful_{FeatureSet::faithful};
};

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double hit_share(const Attempt& attempt) {
    const Rows rows = attempt.rows();
    return share(rows.hit, rows.needed);
}

/// A sample whose horizon has not ended.
struct OpenSample {
    Sample sample;
    Seen seen;
    Attempt with;
    Attempt without;
    std::unordered_set<buffer::RowKey> left;  ///< by replacing
    std::uint64_t steps = 0;                  ///< taken so far
    std::uint64_t uses_after = 0;             ///< of those that left, in the steps after
    double uses_before = 0;                   ///< per step
    double hit_rate_before = 0;               ///< of the window before
    double fetched_before = 0;                ///< per step of it
};

std::uint64_t uses(const std::unordered_set<buffer::RowKey>& of,
                   std::span<const buffer::RowKey> rows) {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(rows, [&](buffer::RowKey row) { return of.contains(row); }));
}

}  // namespace

struct SampleCollector::State {
    State(const HelmOptions& helm, const CollectOptions& wanted)
        : options(wanted),
          host(helm.facts.rank),
          every(helm.facts.built_in.whole("every")),
          policy(helm.facts.start.policy.text()),
          halo(helm.halo) {}

    void open(const StepView& now);
    void go_on(OpenSample& one, const StepView& now) const;
    void note_window(OpenSample& one) const;
    void close(OpenSample& one);

    CollectOptions options;
    std::uint32_t host;
    std::uint64_t every;  ///< of the built-in rule
    std::string policy;
    std::uint64_t halo;
    Seen seen;

    std::deque<std::vector<buffer::RowKey>> past_rows;  ///< of the last steps, the newest last
    std::array<Rows, window + 1> past{};                ///< after the last steps, the newest last
    std::deque<OpenSample> under_way;                   ///< by step
    SampleTable table;
};

/// The published collection always replaces and compares with the window before.
void SampleCollector::State::open(const StepView& now) {
    Attempt with(now.buffer);
    Attempt without(now.buffer);
    std::unordered_set<buffer::RowKey> left;
    for (const buffer::Placed& placed : with.advance({true, 1}).leave)
        left.insert(placed.row);
    without.advance({});
    OpenSample& one = under_way.emplace_back(OpenSample{
        .sample = {}, .seen = seen, .with = std::move(with), .without = std::move(without)});
    one.left = std::move(left);
    one.steps = 1;
    one.sample.host = host;
    one.sample.buffer = share(now.buffer.residents().capacity(), halo);
    one.sample.step = now.step;
    one.sample.replaced = seen.replaced;
    const std::size_t taken = past_rows.size();
    const Rows last = past.back() - past[window - taken];
    one.hit_rate_before = share(last.hit, last.needed);
    one.fetched_before = share(last.fetched(), std::max<std::uint64_t>(1, taken));
    std::uint64_t before = 0;
    for (const auto& earlier : past_rows)
        before += uses(one.left, earlier);
    one.uses_before = share(before, taken);
    note_window(one);
}

void SampleCollector::State::go_on(OpenSample& one, const StepView& now) const {
    const buffer::Decision rule{(now.step + 1) % every == 0, 1};
    one.with.advance(rule);
    one.without.advance(rule);
    if (one.steps <= window) one.uses_after += uses(one.left, now.rows);
    ++one.steps;
    note_window(one);
}

/// What the published label says of the first steps.
void SampleCollector::State::note_window(OpenSample& one) const {
    if (one.steps != std::min<std::uint64_t>(window, options.horizon)) return;
    one.sample.hit_change = 100 * (hit_share(one.with) - one.hit_rate_before);
    one.sample.fetch_change = share(one.with.fetched(), one.steps) - one.fetched_before;
}

void SampleCollector::State::close(OpenSample& one) {
    Sample& sample = one.sample;
    sample.frequency_change =
        share(one.uses_after, std::min<std::uint64_t>(window, options.horizon - 1)) -
        one.uses_before;
    sample.rows_with = static_cast<double>(one.with.fetched());
    sample.rows_without = static_cast<double>(one.without.fetched());
    sample.label = one.with.fetched() < one.without.fetched();
    table.samples.push_back(sample);
    table.repaired.insert(table.repaired.end(), one.seen.repaired.begin(), one.seen.repaired.end());
    table.faithful.insert(table.faithful.end(), one.seen.faithful.begin(), one.seen.faithful.end());
}

SampleCollector::SampleCollector(HelmOptions helm, const CollectOptions& options)
    : Collector(options, helm.facts.rank) {
    check_collectable(helm.facts.start.policy);
    state_ = std::make_unique<State>(helm, options);
    helm.mode = AgentMode::inline_call;
    helm.sample = options.sample;
    helm.judged_at_once = 0;
    helm.make = [&s = *state_](const AgentFacts&) {
        return std::make_unique<ChanceAgent>(s.options.seed, s.host, s.seen);
    };
    steer_by(std::move(helm));
}

SampleCollector::~SampleCollector() = default;

void SampleCollector::tell(std::uint64_t step, std::span<const buffer::RowKey> rows) {
    for (OpenSample& one : state_->under_way) {
        one.with.publish(step, rows);
        one.without.publish(step, rows);
    }
}

void SampleCollector::try_step(const StepView& now) {
    State& s = *state_;
    for (OpenSample& one : s.under_way)
        s.go_on(one, now);
    if (s.seen.step == now.step && !s.seen.repaired.empty() && drawn(now.step)) s.open(now);
    while (!s.under_way.empty() && s.under_way.front().steps == s.options.horizon) {
        s.close(s.under_way.front());
        s.under_way.pop_front();
    }
}

void SampleCollector::taken(std::span<const buffer::RowKey> rows, const Rows& accounts) {
    State& s = *state_;
    s.past_rows.emplace_back(rows.begin(), rows.end());
    if (s.past_rows.size() > window) s.past_rows.pop_front();
    std::rotate(s.past.begin(), s.past.begin() + 1, s.past.end());
    s.past.back() = accounts;
}

SampleTable SampleCollector::take_samples() {
    SampleTable table = std::exchange(state_->table, {});
    table.graphs = {""};
    table.policies = {state_->policy};
    table.horizon = state_->options.horizon;
    return table;
}

bool decided_by_chance(std::uint64_t seed, std::uint64_t host, std::uint64_t step) {
    constexpr std::array<double, 7> probabilities{0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 0.9};
    const RandomStream stream({.purpose = Purpose::steer, .seed = seed});
    Draws of_stretch(stream, (host << 32) + step / stretch);
    const double p = probabilities[of_stretch.below(probabilities.size())];
    Draws of_step(stream, (std::uint64_t{1} << 63) + (host << 40) + step);
    return of_step.uniform() < p;
}

void check_collectable(const buffer::PolicySpec& policy) {
    if (policy.info().takes_decisions && !buffer::has_own_signal(policy)) return;
    throw usage_error(fmt::format("policy '{}' takes no decisions", policy.text()), "--policy",
                      "use scored or scored-faithful, without every");
}

SampleTable collect(const buffer::Trace& trace, const std::string& graph,
                    const buffer::PolicySpec& policy, const buffer::BufferSize& size,
                    const CollectOptions& options) {
    check_collectable(policy);
    std::vector<SampleTable> parts(trace.size());
    parallel_chunks(trace.size(), 1, [&](const Chunk& chunk) {
        const buffer::HostTrace& host = *trace[chunk.index];
        const std::uint64_t slots = std::min(size.of(host.halo()), host.distinct());
        SampleCollector collector(
            replay_helm_options(AgentSpec::parse("always"), host, policy, slots), options);
        static_cast<void>(buffer::replay_host(host, policy, size.of(host.halo()), &collector));
        parts[chunk.index] = collector.take_samples();
    });
    SampleTable table;
    table.horizon = options.horizon;
    for (SampleTable& part : parts) {
        part.graphs = {graph};
        table.append(part, graph);
    }
    return table;
}

}  // namespace rudder::steer
