#include "rudder/steer/helm.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "core/cpu_meter.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/span.hpp"

#include "helm_state.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<std::string_view, 3> mode_names{"async", "sync", "inline"};
constexpr std::array<std::string_view, 3> scope_names{"rank", "host", "job"};

}  // namespace

AgentMode agent_mode(std::string_view name) {
    const auto found = std::ranges::find(mode_names, name);
    if (found == mode_names.end() || name == "inline") {
        throw usage_error(fmt::format("unknown mode '{}'", name), "--agent-mode",
                          "known are async, sync");
    }
    return static_cast<AgentMode>(found - mode_names.begin());
}

AgentScope agent_scope(std::string_view name) {
    const auto found = std::ranges::find(scope_names, name);
    if (found == scope_names.end()) {
        throw usage_error(fmt::format("unknown scope '{}'", name), "--agent-scope",
                          "known are rank, host, job");
    }
    return static_cast<AgentScope>(found - scope_names.begin());
}

std::string_view to_string(AgentScope scope) noexcept {
    return scope_names[static_cast<std::size_t>(scope)];
}

Helm::State::State(HelmOptions given)
    : o(std::move(given)), now(o.facts.start), built_in(o.facts.built_in) {
    totals.agent = o.agent.text();
    if (o.follower) return;
    o.facts.repeatable = o.mode != AgentMode::async;
    // Else it is within the answer, and counted there.
    if (!o.facts.repeatable) o.facts.refit_cpu = &cpu;
    agent = o.make ? o.make(o.facts) : make_agent(o.agent, o.facts);
}

Helm::Helm(HelmOptions options) : state_(std::make_unique<State>(std::move(options))) {
    State& s = *state_;
    if (s.agent != nullptr && s.o.mode != AgentMode::inline_call)
        s.task = Executor::current().spawn("agent", [state = state_.get()] { state->work(); });
}

Helm::~Helm() {
    try {
        stop();
    } catch (...) {
        if (state_->task.valid()) state_->task.cancel();
    }
}

void Helm::stop() {
    State& s = *state_;
    s.box.close();
    if (!s.task.valid()) return;
    s.agent->cancel();
    s.task.cancel();
    s.task.join();
    s.task = {};
}

void Helm::start(const buffer::PolicyFacts& facts, const buffer::BufferControl& control) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    const std::uint64_t first = control.buffer().next_step();
    s.next_question = first;
    s.changed_at = first;
    s.now.policy = control.policy();
    s.o.facts.limits.slots = control.slots();
    s.now.capacity = std::min<std::uint64_t>(s.now.capacity, control.slots());
    if (s.o.follower) return;
    s.shadows.emplace(facts, s.o.sample, control.slots(), first);
    s.judge.emplace(*s.shadows, s.built_in,
                    Judge::Rules{s.o.horizon, s.o.set_horizon, s.o.judged_at_once});
    s.harm.emplace(s.o.facts.cost);
    s.shadows->open("~twin", s.now);
    // As long as both would do the same, one is enough.
    if (s.now.policy != s.built_in) s.fork_built_in();
}

std::uint64_t Helm::horizon() const {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    return s.shadows ? s.shadows->horizon() : 0;
}

void Helm::published(std::uint64_t step, std::span<const buffer::RowKey> rows) {
    State& s = *state_;
    if (s.o.follower) return;
    const CpuMeter meter(s.cpu);
    Monitor::Lock lock(s.monitor);
    s.shadows->publish(step, rows);
}

void Helm::prepare(std::uint64_t step) {
    State& s = *state_;
    if (s.agent == nullptr) return;
    const auto observation = s.question(step);
    if (observation == nullptr) return;
    if (s.o.mode == AgentMode::inline_call) {
        s.reply = s.answer_to(*observation);
        return;
    }
    const Duration now = Executor::current().now();
    const auto deadline = std::chrono::duration_cast<Duration>(
        std::chrono::duration<double>(std::min(s.o.deadline, 1e9)));
    s.box.ask(observation, now + deadline);
    if (s.o.mode == AgentMode::sync) s.reply = s.box.wait();
}

/// The next question, if one is due and none is open.
std::shared_ptr<const Observation> Helm::State::question(std::uint64_t step) {
    const CpuMeter meter(cpu);
    Monitor::Lock lock(monitor);
    if (step < next_question || asked != nullptr || !outgoing.empty() || !due.empty())
        return nullptr;
    if (!breaker.closed(step)) return nullptr;
    next_question = step + std::max<std::uint64_t>(1, agent->interval());
    asked = std::make_shared<const Observation>(observe(step));
    return asked;
}

Observation Helm::State::observe(std::uint64_t step) {
    Observation seen;
    seen.setting = now;
    seen.sequence = ++sequence;
    seen.step = step;
    seen.steps = o.facts.steps;
    seen.steps_per_epoch = o.facts.steps_per_epoch;
    seen.rows = since(accounts, marked);
    seen.rows += std::exchange(others, {});
    seen.total = accounts;
    seen.total += all_others;
    seen.rows_by_owner = std::exchange(rows_by_owner, {});
    seen.row_bytes = o.row_bytes;
    seen.seconds = std::exchange(seconds, {});
    seen.cost = o.facts.cost;
    seen.limits = o.facts.limits;
    seen.halo = o.halo;
    seen.sizes = o.sizes;
    seen.takes_decisions = now.policy.info().takes_decisions && !buffer::has_own_signal(now.policy);
    seen.since_change = step - changed_at;
    if (seen.takes_decisions) {
        // Of the twin: the real buffer may not be looked at now.
        const auto rows = static_cast<double>(shadows->find("~twin")->buffer->replaceable());
        seen.candidates = static_cast<std::uint64_t>(std::llround(rows * shadows->scale()));
    }
    for (const auto& shadow : shadows->all()) {
        if (shadow->name == "~twin") {
            seen.twin = reading(*shadow);
        } else if (shadow->name == "~built-in") {
            seen.built_in = reading(*shadow);
        } else if (!shadow->name.starts_with('~')) {
            seen.shadows.push_back(reading(*shadow));
        }
    }
    if (shadows->find("~built-in") == nullptr) seen.built_in = seen.twin;
    if (!history.empty()) {
        history.back().hit_rate_after = seen.hit_rate();
        history.back().rows_after =
            static_cast<double>(seen.rows.fetched()) /
            static_cast<double>(std::max<std::uint64_t>(1, seen.rows.steps));
    }
    seen.history.assign(history.begin(), history.end());
    marked = accounts;
    return seen;
}

ShadowReading Helm::State::reading(Shadow& shadow) const {
    ShadowReading read;
    read.name = shadow.name;
    read.setting = shadow.setting;
    read.age = shadows->next_step() - shadow.opened;
    read.rows = scaled(since(shadow.counted(), shadow.marked), shadows->scale());
    read.total = scaled(since(shadow.counted(), shadow.base), shadows->scale());
    shadow.marked = shadow.counted();
    return read;
}

/// Asks the agent, on the calling task.
Reply Helm::State::answer_to(const Observation& observation) {
    const CpuMeter meter(cpu);
    const Span span("agent");
    const Duration start = Executor::current().now();
    Reply given{.sequence = observation.sequence, .answer = {}, .failure = {}, .seconds = 0};
    try {
        given.answer = agent->decide(observation);
    } catch (const Cancelled&) {
        throw;
    } catch (const std::exception& error) {
        given.failure = error.what();
        if (given.failure.empty()) given.failure = "failed without a word";
    }
    given.seconds = to_seconds(Executor::current().now() - start);
    return given;
}

/// The agent's task.
void Helm::State::work() {
    while (const auto observation = box.take())
        box.reply(answer_to(*observation));
}

buffer::Decision Helm::before(std::uint64_t step, buffer::BufferControl& control) {
    State& s = *state_;
    const CpuMeter meter(s.cpu);
    Monitor::Lock lock(s.monitor);
    if (control.capacity() != s.now.capacity)
        control.set_capacity(static_cast<buffer::SlotId>(s.now.capacity));
    if (s.agent != nullptr) s.receive(step, control);
    if (s.harm) s.guard(step, control);
    return s.apply_due(step, control);
}

void Helm::after(std::uint64_t /*step*/, const buffer::RowAccounts& accounts) {
    State& s = *state_;
    const CpuMeter meter(s.cpu);
    Monitor::Lock lock(s.monitor);
    const buffer::RowAccounts step = since(accounts, s.accounts);
    s.accounts = accounts;
    if (s.o.follower) return;
    const auto fetched = [&](std::string_view name) {
        const Shadow* shadow = s.shadows->find(name);
        return shadow == nullptr ? 0.0 : static_cast<double>(shadow->counted().fetched());
    };
    const double twin = fetched("~twin");
    const double built_in = fetched("~built-in");
    s.shadows->advance();
    const bool forked = s.shadows->find("~built-in") != nullptr;
    const double twin_rows = (fetched("~twin") - twin) * s.shadows->scale();
    const double built_in_rows =
        forked ? (fetched("~built-in") - built_in) * s.shadows->scale() : twin_rows;
    s.totals.twin_rows += twin_rows;
    s.totals.built_in_rows += built_in_rows;
    if (forked) s.harm->rows(twin_rows, built_in_rows);
    s.judge->advanced(static_cast<double>(step.hits), static_cast<double>(step.needed),
                      std::exchange(s.stall, 0));
    s.settle();
}

void Helm::timed(std::uint64_t step, const StretchSeconds& seconds,
                 std::span<const std::uint64_t> rows_by_owner) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    if (s.o.follower) return;
    s.seconds += seconds;
    s.stall += seconds.stall;
    s.rows_by_owner.resize(std::max(s.rows_by_owner.size(), rows_by_owner.size()), 0);
    for (std::size_t r = 0; r < rows_by_owner.size(); ++r)
        s.rows_by_owner[r] += rows_by_owner[r];
    if (s.harm) s.harm->step_seconds(step, seconds.step);
}

void Helm::elsewhere(const buffer::RowAccounts& rows, const StretchSeconds& seconds) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    buffer::RowAccounts more = rows;
    more.steps = 0;  // the same steps as those of the buffer here
    s.others += more;
    s.all_others += more;
    StretchSeconds also = seconds;
    also.steps = 0;
    s.seconds += also;
}

std::optional<Order> Helm::send(std::uint64_t effective_step) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    if (s.outgoing.empty()) return std::nullopt;
    PendingAnswer& pending = s.due.emplace_back(std::move(s.outgoing.front()));
    s.outgoing.pop_front();
    pending.effective_step = effective_step;
    if (OpenRecord* record = s.find(pending.record)) record->record.effective_step = effective_step;
    return Order{pending.answer.action, effective_step, s.o.facts.limits.slots};
}

void Helm::order(const Order& order) {
    State& s = *state_;
    if (!s.o.follower) return;  // it has kept what it sent
    Monitor::Lock lock(s.monitor);
    Answer answer;
    answer.action = order.action;
    for (KnobChange& change : answer.action.knobs) {
        if (change.id != KnobId::capacity || order.slots == 0) continue;
        if (double* rows = std::get_if<double>(&change.value)) {
            const auto slots = static_cast<double>(s.o.facts.limits.slots);
            *rows = std::min(std::round(*rows / static_cast<double>(order.slots) * slots), slots);
        }
    }
    s.due.push_back({std::move(answer), 0, order.effective_step});
}

HelmTotals Helm::totals() const {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    HelmTotals totals = s.totals;
    const MailCounts counts = s.box.counts();
    totals.late += counts.stale;
    totals.mailbox_seconds = counts.spent;
    totals.waited_seconds = counts.waited;
    totals.breaker_openings = s.breaker.openings();
    totals.cpu_seconds = static_cast<double>(s.cpu.load(std::memory_order_relaxed)) * 1e-9;
    return totals;
}

std::string Helm::learned() const {
    return state_->agent == nullptr ? std::string{} : state_->agent->learned();
}

}  // namespace rudder::steer
