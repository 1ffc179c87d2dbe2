#include "rudder/steer/collect.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_set>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"
#include "rudder/steer/helm.hpp"

namespace rudder {

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

/// What became of one answer over the horizon.
struct Tried {
    double rows = 0;           ///< fetched
    double first_fetched = 0;  ///< of the published window after the step, per step
    double first_hit_rate = 0;
    std::vector<RowKey> left;  ///< rows that left in the step itself
};

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

/// Steers by chance and labels on the way.
class Collector final : public BufferPilot {
public:
    Collector(const HostTrace& trace, HelmOptions helm, const CollectOptions& options)
        : trace_(trace),
          options_(options),
          every_(helm.facts.built_in.whole("every")),
          helm_(with_agent(std::move(helm), options, seen_)) {}

    void start(const PolicyFacts& facts, const BufferControl& control) override {
        helm_.start(facts, control);
    }
    void published(std::uint64_t step, std::span<const RowKey> rows) override {
        helm_.published(step, rows);
    }
    void prepare(std::uint64_t step) override { helm_.prepare(step); }
    Decision before(std::uint64_t step, BufferControl& control) override;
    void after(std::uint64_t step, const RowAccounts& accounts) override;

    SampleTable table;

private:
    static HelmOptions with_agent(HelmOptions helm, const CollectOptions& options, Seen& seen) {
        helm.make = [&options, &seen](const AgentFacts& facts) {
            return std::make_unique<ChanceAgent>(options.seed, facts.seed, seen);
        };
        return helm;
    }
    [[nodiscard]] Tried attempt(const IdBuffer& buffer, std::uint64_t step, bool replace) const;
    [[nodiscard]] std::span<const RowKey> rows_of(std::uint64_t step) const {
        return trace_.step(step - trace_.header().first_step);
    }
    /// How many of some rows the steps [from, to) need, per step.
    [[nodiscard]] double frequency(const std::unordered_set<RowKey>& rows, std::uint64_t from,
                                   std::uint64_t to) const;
    void label(const IdBuffer& buffer, std::uint64_t step);
    /// Drawn, since steps at a fixed distance would always meet the built-in rule alike.
    [[nodiscard]] bool chosen(std::uint64_t step) const {
        const RandomStream stream({.purpose = Purpose::steer, .seed = options_.seed, .layer = 1});
        Draws draws(stream, (trace_.header().host << 40) + step);
        return draws.below(options_.stride) == 0;
    }

    const HostTrace& trace_;
    const CollectOptions& options_;
    std::uint64_t every_;  ///< of the built-in rule
    Seen seen_;
    Helm helm_;
    std::array<RowAccounts, window + 1> past_{};  ///< after the last steps, the newest last
};

Tried Collector::attempt(const IdBuffer& buffer, std::uint64_t step, bool replace) const {
    const auto copy = buffer.clone();
    const RowAccounts start = copy->accounts();
    Tried tried;
    for (std::uint64_t k = 0; k < options_.horizon; ++k) {
        if (k != 0) copy->publish(step + k, rows_of(step + k));
        const bool now = k == 0 ? replace : (step + k + 1) % every_ == 0;
        const StepPlan& plan = copy->advance({now, 1});
        if (k == 0) {
            for (const Placed& placed : plan.leave)
                tried.left.push_back(placed.row);
        }
        if (k == std::min<std::uint64_t>(window, options_.horizon) - 1) {
            const RowAccounts& end = copy->accounts();
            tried.first_fetched =
                static_cast<double>(end.fetched() - start.fetched()) / static_cast<double>(k + 1);
            tried.first_hit_rate = share(end.hits - start.hits, end.needed - start.needed);
        }
    }
    tried.rows = static_cast<double>(copy->accounts().fetched() - start.fetched());
    return tried;
}

double Collector::frequency(const std::unordered_set<RowKey>& rows, std::uint64_t from,
                            std::uint64_t to) const {
    if (to <= from) return 0;
    std::uint64_t uses = 0;
    for (std::uint64_t step = from; step < to; ++step) {
        for (const RowKey row : rows_of(step))
            uses += rows.contains(row) ? 1U : 0U;
    }
    return static_cast<double>(uses) / static_cast<double>(to - from);
}

void Collector::label(const IdBuffer& buffer, std::uint64_t step) {
    const Tried with = attempt(buffer, step, true);
    const Tried without = attempt(buffer, step, false);
    Sample sample;
    sample.host = static_cast<std::uint32_t>(trace_.header().host);
    sample.buffer = share(buffer.residents().capacity(), trace_.halo());
    sample.step = step;
    sample.replaced = seen_.replaced;
    sample.rows_with = with.rows;
    sample.rows_without = without.rows;
    sample.label = with.rows < without.rows;
    // The published collection always replaces and compares with the window before.
    const std::uint64_t first = trace_.header().first_step;
    const std::uint64_t taken = std::min<std::uint64_t>(window, step - first);
    const RowAccounts& now = past_.back();
    const RowAccounts& then = past_[window - taken];
    const std::unordered_set<RowKey> left(with.left.begin(), with.left.end());
    sample.hit_change =
        100 * (with.first_hit_rate - share(now.hits - then.hits, now.needed - then.needed));
    sample.frequency_change =
        frequency(left, step + 1,
                  step + 1 + std::min<std::uint64_t>(window, options_.horizon - 1)) -
        frequency(left, step - taken, step);
    sample.fetch_change = with.first_fetched -
                          share(now.fetched() - then.fetched(), std::max<std::uint64_t>(1, taken));
    table.samples.push_back(sample);
    table.repaired.insert(table.repaired.end(), seen_.repaired.begin(), seen_.repaired.end());
    table.faithful.insert(table.faithful.end(), seen_.faithful.begin(), seen_.faithful.end());
}

Decision Collector::before(std::uint64_t step, BufferControl& control) {
    const Decision decision = helm_.before(step, control);
    const std::uint64_t index = step - trace_.header().first_step;
    if (seen_.step == step && !seen_.repaired.empty() && chosen(step) &&
        index + options_.horizon <= trace_.steps()) {
        label(control.buffer(), step);
    }
    return decision;
}

void Collector::after(std::uint64_t step, const RowAccounts& accounts) {
    helm_.after(step, accounts);
    std::rotate(past_.begin(), past_.begin() + 1, past_.end());
    past_.back() = accounts;
    static_cast<void>(helm_.take_records(false));
}

/// As in a replay of agents, but nothing is judged on the sample: labels are exact.
HelmOptions helm_options(const HostTrace& trace, const PolicySpec& policy, std::uint64_t slots,
                         const CollectOptions& options) {
    HelmOptions helm{.agent = AgentSpec::parse("always")};
    AgentFacts& facts = helm.facts;
    facts.seed = trace.header().host;
    facts.start.policy = policy;
    facts.start.capacity = slots;
    facts.built_in = built_in_rule(policy);
    facts.limits.slots = slots;
    facts.steps = trace.header().first_step + trace.steps();
    facts.steps_per_epoch = trace.header().steps_per_epoch;
    helm.mode = AgentMode::inline_call;
    helm.sample = options.sample;
    helm.judged_at_once = 0;
    helm.rank = static_cast<std::uint32_t>(trace.header().host);
    helm.row_bytes = trace.header().row_bytes;
    helm.halo = trace.halo();
    return helm;
}

}  // namespace

bool decided_by_chance(std::uint64_t seed, std::uint64_t host, std::uint64_t step) {
    constexpr std::array<double, 7> probabilities{0.01, 0.03, 0.06, 0.12, 0.25, 0.5, 0.9};
    const RandomStream stream({.purpose = Purpose::steer, .seed = seed});
    Draws of_stretch(stream, (host << 32) + step / stretch);
    const double p = probabilities[of_stretch.below(probabilities.size())];
    Draws of_step(stream, (std::uint64_t{1} << 63) + (host << 40) + step);
    return of_step.uniform() < p;
}

SampleTable collect(const Trace& trace, const std::string& graph, const PolicySpec& policy,
                    const BufferSize& size, const CollectOptions& options) {
    if (!policy.info().takes_decisions || has_own_signal(policy)) {
        throw usage_error(fmt::format("policy '{}' takes no decisions", policy.text()), "--policy",
                          "use scored or scored-faithful, without every");
    }
    std::vector<SampleTable> parts(trace.size());
    parallel_chunks(trace.size(), 1, [&](const Chunk& chunk) {
        const HostTrace& host = *trace[chunk.index];
        const std::uint64_t slots = std::min(size.of(host.halo()), host.distinct());
        Collector collector(host, helm_options(host, policy, slots, options), options);
        static_cast<void>(replay_host(host, policy, size.of(host.halo()), &collector));
        parts[chunk.index] = std::move(collector.table);
    });
    SampleTable table;
    table.horizon = options.horizon;
    for (SampleTable& part : parts) {
        part.graphs = {graph};
        part.policies = {policy.text()};
        part.horizon = options.horizon;
        table.append(part, graph);
    }
    return table;
}

}  // namespace rudder
