#include "collector.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_set>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"
#include "steer/helm/helm_options.hpp"

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

/// A copy of the buffer that took one of both answers, and how it fares.
class Attempt {
public:
    /// All steps before `published` were published to the buffer.
    Attempt(const buffer::IdBuffer& buffer, std::uint64_t published)
        : copy_(buffer.clone()), start_(copy_->accounts()), published_(published) {}

    const buffer::StepPlan& advance(std::uint64_t step, std::span<const buffer::RowKey> rows,
                                    bool replace) {
        if (step >= published_) copy_->publish(step, rows);
        return copy_->advance({replace, 1});
    }
    [[nodiscard]] std::uint64_t fetched() const {
        return copy_->accounts().fetched() - start_.fetched();
    }
    [[nodiscard]] double hit_rate() const {
        return share(copy_->accounts().hit - start_.hit, copy_->accounts().needed - start_.needed);
    }

private:
    std::unique_ptr<buffer::IdBuffer> copy_;
    Rows start_;
    std::uint64_t published_;
};

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

struct Collector::State {
    State(HelmOptions given, const CollectOptions& wanted)
        : options(wanted),
          host(given.facts.rank),
          every(given.facts.built_in.whole("every")),
          policy(given.facts.start.policy.text()),
          halo(given.halo),
          helm(with_agent(std::move(given))) {}

    /// Nothing is judged on the sample: labels are exact.
    HelmOptions with_agent(HelmOptions given) {
        given.mode = AgentMode::inline_call;
        given.sample = options.sample;
        given.judged_at_once = 0;
        given.make = [this](const AgentFacts&) {
            return std::make_unique<ChanceAgent>(options.seed, host, seen);
        };
        return given;
    }
    /// Drawn, since steps at a fixed distance would always meet the built-in rule alike.
    [[nodiscard]] bool chosen(std::uint64_t step) const {
        const RandomStream stream({.purpose = Purpose::steer, .seed = options.seed, .layer = 1});
        Draws draws(stream, (host << 40) + step);
        return draws.below(options.stride) == 0;
    }
    void open(const buffer::IdBuffer& buffer, std::uint64_t step,
              std::span<const buffer::RowKey> rows);
    void go_on(OpenSample& one, std::uint64_t step, std::span<const buffer::RowKey> rows) const;
    void note_window(OpenSample& one) const;
    void close(OpenSample& one);

    CollectOptions options;
    std::uint64_t host;
    std::uint64_t every;  ///< of the built-in rule
    std::string policy;
    std::uint64_t halo;
    Seen seen;
    Helm helm;

    std::deque<std::span<const buffer::RowKey>> coming;  ///< steps next, next + 1, ...
    std::uint64_t published = 0;                         ///< the step after the last of them
    std::deque<std::vector<buffer::RowKey>> past_rows;   ///< of the last steps, the newest last
    std::array<Rows, window + 1> past{};                 ///< after the last steps, the newest last
    std::deque<OpenSample> under_way;                    ///< by step
    SampleTable table;
};

/// The published collection always replaces and compares with the window before.
void Collector::State::open(const buffer::IdBuffer& buffer, std::uint64_t step,
                            std::span<const buffer::RowKey> rows) {
    Attempt with(buffer, published);
    Attempt without(buffer, published);
    std::unordered_set<buffer::RowKey> left;
    for (const buffer::Placed& placed : with.advance(step, rows, true).leave)
        left.insert(placed.row);
    without.advance(step, rows, false);
    OpenSample& one = under_way.emplace_back(OpenSample{
        .sample = {}, .seen = seen, .with = std::move(with), .without = std::move(without)});
    one.left = std::move(left);
    one.steps = 1;
    one.sample.host = static_cast<std::uint32_t>(host);
    one.sample.buffer = share(buffer.residents().capacity(), halo);
    one.sample.step = step;
    one.sample.replaced = seen.replaced;
    const std::size_t taken = past_rows.size();
    const Rows& now = past.back();
    const Rows& then = past[window - taken];
    one.hit_rate_before = share(now.hit - then.hit, now.needed - then.needed);
    one.fetched_before = share(now.fetched() - then.fetched(), std::max<std::uint64_t>(1, taken));
    std::uint64_t before = 0;
    for (const auto& earlier : past_rows)
        before += uses(one.left, earlier);
    one.uses_before = share(before, taken);
    note_window(one);
}

void Collector::State::go_on(OpenSample& one, std::uint64_t step,
                             std::span<const buffer::RowKey> rows) const {
    const bool replaces = (step + 1) % every == 0;
    one.with.advance(step, rows, replaces);
    one.without.advance(step, rows, replaces);
    if (one.steps <= window) one.uses_after += uses(one.left, rows);
    ++one.steps;
    note_window(one);
}

/// What the published label says of the first steps.
void Collector::State::note_window(OpenSample& one) const {
    if (one.steps != std::min<std::uint64_t>(window, options.horizon)) return;
    one.sample.hit_change = 100 * (one.with.hit_rate() - one.hit_rate_before);
    one.sample.fetch_change = share(one.with.fetched(), one.steps) - one.fetched_before;
}

void Collector::State::close(OpenSample& one) {
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

Collector::Collector(HelmOptions helm, const CollectOptions& options) {
    check_collectable(helm.facts.start.policy);
    state_ = std::make_unique<State>(std::move(helm), options);
}

Collector::~Collector() = default;

void Collector::start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) {
    state_->published = buffer.next_step();
    state_->helm.start(facts, buffer);
}

std::uint64_t Collector::horizon() const {
    return state_->helm.horizon();
}

void Collector::published(std::uint64_t step, std::span<const buffer::RowKey> rows) {
    RUDDER_CHECK(step == state_->published);
    state_->coming.push_back(rows);
    ++state_->published;
    state_->helm.published(step, rows);
}

void Collector::prepare(std::uint64_t step) {
    state_->helm.prepare(step);
}

buffer::PilotOrder Collector::before(std::uint64_t step, const buffer::IdBuffer& buffer) {
    State& s = *state_;
    buffer::PilotOrder order = s.helm.before(step, buffer);
    const std::span<const buffer::RowKey> rows = s.coming.front();
    for (OpenSample& one : s.under_way)
        s.go_on(one, step, rows);
    if (s.seen.step == step && !s.seen.repaired.empty() && s.chosen(step))
        s.open(buffer, step, rows);
    while (!s.under_way.empty() && s.under_way.front().steps == s.options.horizon) {
        s.close(s.under_way.front());
        s.under_way.pop_front();
    }
    return order;
}

void Collector::limited(std::uint64_t step, buffer::SlotId most) {
    state_->helm.limited(step, most);
}

void Collector::after(std::uint64_t step, const Rows& accounts) {
    State& s = *state_;
    s.helm.after(step, accounts);
    static_cast<void>(s.helm.take_records(false));
    s.past_rows.emplace_back(s.coming.front().begin(), s.coming.front().end());
    if (s.past_rows.size() > window) s.past_rows.pop_front();
    s.coming.pop_front();
    std::rotate(s.past.begin(), s.past.begin() + 1, s.past.end());
    s.past.back() = accounts;
}

Helm& Collector::helm() noexcept {
    return state_->helm;
}

SampleTable Collector::take() {
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
        Collector collector(replay_helm_options(AgentSpec::parse("always"), host, policy, slots),
                            options);
        static_cast<void>(buffer::replay_host(host, policy, size.of(host.halo()), &collector));
        parts[chunk.index] = collector.take();
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
