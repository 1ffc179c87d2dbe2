#include "helm.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/cpu_meter.hpp"
#include "core/log.hpp"

#include "helm_state.hpp"
#include "shadows.hpp"

namespace rudder::steer {

Rows HelmCounts::step(const Rows& accounts) {
    return accounts - std::exchange(accounts_, accounts);
}

void HelmCounts::timed(const Seconds& seconds, std::span<const std::uint64_t> rows_by_owner) {
    seconds_ += seconds;
    stall_ += seconds.stall;
    rows_by_owner_.resize(std::max(rows_by_owner_.size(), rows_by_owner.size()), 0);
    for (std::size_t r = 0; r < rows_by_owner.size(); ++r)
        rows_by_owner_[r] += rows_by_owner[r];
}

void HelmCounts::elsewhere(Rows rows, Seconds seconds) {
    rows.steps = 0;  // the same steps as those of the buffer here
    seconds.steps = 0;
    others_ += rows;
    all_others_ += rows;
    seconds_ += seconds;
}

double HelmCounts::take_stall() {
    return std::exchange(stall_, 0);
}

void HelmCounts::show(Observation& seen) {
    seen.rows = accounts_ - marked_;
    seen.rows += std::exchange(others_, {});
    seen.total = accounts_;
    seen.total += all_others_;
    seen.rows_by_owner = std::exchange(rows_by_owner_, {});
    seen.seconds = std::exchange(seconds_, {});
    marked_ = accounts_;
}

Helm::State::State(HelmOptions given)
    : o(std::move(given)),
      guard(o.facts.cost, o.guarded && !o.agent.info().fixed),
      records(o),
      now(o.facts.start),
      clock_turn(o.clock_turn) {
    if (o.follower) return;
    o.facts.repeatable = o.mode != AgentMode::async;
    // Else it is within the answer, and counted there.
    if (!o.facts.repeatable) {
        o.facts.refit_cpu = &cpu;
        o.facts.shadow_cpu = &shadow_cpu;
    }
    questions.emplace(
        o.make ? o.make(o.facts) : make_agent(o.agent, o.facts),
        Questions::Terms{.mode = o.mode, .deadline = o.deadline, .twice = o.replies_twice}, cpu);
}

Helm::Helm(HelmOptions options) : state_(std::make_unique<State>(std::move(options))) {}

Helm::~Helm() = default;

void Helm::stop() {
    if (state_->questions) state_->questions->stop();
}

void Helm::start(const buffer::PolicyFacts& facts, const buffer::IdBuffer& buffer) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    const std::uint64_t first = buffer.next_step();
    const buffer::SlotId slots = buffer.residents().slots();
    if (s.questions) s.questions->start(first);
    s.facts = facts;
    s.changed_at = first;
    s.now.policy = buffer.spec();
    s.o.facts.limits.slots = slots;
    s.now.capacity = std::min<std::uint64_t>(s.now.capacity, slots);
    if (s.o.watch_class) s.rivals.emplace(facts, slots, first, s.scan);
    if (s.o.follower) return;
    s.shadows.emplace(s.o, facts, slots, first, s.now, s.fallback(), s.scan);
    s.shadows->meter(s.shadow_cpu);
}

std::uint64_t Helm::horizon() const {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    return s.shadows ? s.shadows->horizon() : 0;
}

void Helm::published(std::uint64_t step, std::span<const buffer::RowKey> rows) {
    State& s = *state_;
    if (!s.shadows && !s.rivals) return;
    const CpuMeter meter(s.cpu);
    Monitor::Lock lock(s.monitor);
    s.scan.publish(step, rows);
    if (s.rivals) s.rivals->published(step, rows);
}

/// Asks, if that is due and nothing that was answered is still to take effect.
void Helm::prepare(std::uint64_t step) {
    State& s = *state_;
    if (!s.questions || !s.questions->due(step)) return;
    std::shared_ptr<const Observation> question;
    {
        const CpuMeter meter(s.cpu);
        Monitor::Lock lock(s.monitor);
        if (!s.pending.empty() || !s.guard.breaker().closed(step)) return;
        question = std::make_shared<const Observation>(s.observe(step));
    }
    s.questions->ask(std::move(question));
}

Observation Helm::State::observe(std::uint64_t step) {
    Observation seen;
    seen.setting = now;
    seen.sequence = questions->next_sequence();
    seen.step = step;
    seen.steps = o.facts.steps;
    seen.steps_per_epoch = o.facts.steps_per_epoch;
    seen.row_bytes = o.row_bytes;
    seen.cost = o.facts.cost;
    seen.clock_turn = clock_turn;
    seen.limits = o.facts.limits;
    seen.halo = o.halo;
    seen.sizes = o.sizes;
    seen.takes_decisions = now.policy.info().takes_decisions && !buffer::has_own_signal(now.policy);
    seen.since_change = step - changed_at;
    counts.show(seen);
    shadows->show(seen);
    records.show(seen);
    return seen;
}

buffer::PilotOrder Helm::before(std::uint64_t step, const buffer::IdBuffer& buffer) {
    State& s = *state_;
    const CpuMeter meter(s.cpu);
    buffer::PilotOrder order;
    std::vector<std::string> infos;
    std::vector<std::string> alarms;
    {
        Monitor::Lock lock(s.monitor);
        if (buffer.residents().capacity() != s.now.capacity) {
            s.order.changes.push_back(
                {.policy = {}, .capacity = static_cast<buffer::SlotId>(s.now.capacity)});
        }
        if (s.questions) s.receive(step);
        if (!s.o.follower) s.take_back(step);
        s.apply_due(step);
        order = std::exchange(s.order, {});
        infos.swap(s.infos);
        alarms.swap(s.alarms);
    }
    for (const std::string& text : infos)
        log::info(text);
    for (const std::string& text : alarms)
        log::warning(text);
    return order;
}

std::optional<buffer::GuardTerms> Helm::guard_terms() const {
    const State& s = *state_;
    if (!s.guard.overrules()) return std::nullopt;
    const Setting fallback = s.fallback();
    return buffer::GuardTerms{.built_in = fallback.policy,
                              .capacity = static_cast<buffer::SlotId>(fallback.capacity),
                              .share = s.o.guard};
}

void Helm::overruled(std::uint64_t step, const buffer::Overruled& what) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    s.overruled(step, what);
}

void Helm::limited(std::uint64_t step, buffer::SlotId most) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    s.limited(step, most);
}

void Helm::accounted(const buffer::GuardAccount& account) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    const buffer::GuardAccount before = s.account.value_or(buffer::GuardAccount{});
    s.records.totals.twin_rows += static_cast<double>(account.fetched - before.fetched);
    s.records.totals.built_in_rows +=
        static_cast<double>(account.built_in) - static_cast<double>(before.built_in);
    s.account = account;
}

void Helm::after(std::uint64_t /*step*/, const Rows& accounts) {
    State& s = *state_;
    const CpuMeter meter(s.cpu);
    Monitor::Lock lock(s.monitor);
    const Rows step = s.counts.step(accounts);
    if (s.rivals) s.rivals->taken(step);
    if (s.o.follower) return;
    const ShadowRows rows = s.shadows->advance(step, s.counts.take_stall());
    if (!s.account) {
        s.records.totals.twin_rows += rows.twin;
        s.records.totals.built_in_rows += rows.built_in;
    }
    if (rows.apart) s.guard.rows(rows.twin, rows.built_in);
    s.records.settle(s.shadows->verdicts(), s.guard.held());
}

void Helm::timed(std::uint64_t step, const Seconds& seconds,
                 std::span<const std::uint64_t> rows_by_owner) {
    State& s = *state_;
    if (s.o.follower) return;
    Monitor::Lock lock(s.monitor);
    s.counts.timed(seconds, rows_by_owner);
    s.guard.step_seconds(step, seconds.own());
}

void Helm::elsewhere(const Rows& rows, const Seconds& seconds) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    s.counts.elsewhere(rows, seconds);
}

bool Helm::wants_clock() const {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    return s.wants_clock;
}

void Helm::give_clock(bool turn) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    s.clock_turn = turn;
}

std::optional<Order> Helm::send(std::uint64_t effective_step) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    const PendingAnswer* sent = s.pending.send(effective_step);
    if (sent == nullptr) return std::nullopt;
    if (OpenRecord* record = s.records.find(sent->record))
        record->record.effective_step = effective_step;
    return Order{sent->answer.action, effective_step, s.o.facts.limits.slots};
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
    s.pending.add({std::move(answer), 0, order.effective_step});
}

std::vector<DecisionRecord> Helm::take_records(bool all) {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    if (all) s.give_up();
    return s.records.take(all);
}

std::vector<DecisionRecord> Helm::open_records() const {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    return s.records.open();
}

HelmTotals Helm::totals() const {
    State& s = *state_;
    Monitor::Lock lock(s.monitor);
    HelmTotals totals = s.records.totals;
    const MailCounts counts = s.questions ? s.questions->counts() : MailCounts{};
    totals.late += counts.stale;
    totals.mailbox_seconds = counts.spent;
    totals.waited_seconds = counts.waited;
    totals.breaker_openings = s.guard.breaker().openings();
    totals.cpu_seconds = static_cast<double>(s.cpu.load(std::memory_order_relaxed)) * 1e-9;
    if (s.account) totals.cpu_seconds += s.account->cpu_seconds;
    return totals;
}

ClassRows Helm::class_rows() {
    State& s = *state_;
    const CpuMeter meter(s.cpu);
    Monitor::Lock lock(s.monitor);
    return s.rivals ? s.rivals->finish() : ClassRows{};
}

std::string Helm::learned() const {
    return state_->questions ? state_->questions->learned() : std::string{};
}

}  // namespace rudder::steer
