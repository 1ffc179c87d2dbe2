#include "buffer_steps.hpp"

#include <algorithm>
#include <utility>

#include "core/cpu_meter.hpp"
#include "core/span.hpp"

namespace rudder::buffer {

BufferSteps::BufferSteps(const store::FeatureStore& store, LiveBufferOptions options,
                         std::size_t ranks, StepQueue& queue, StepTurns& turns,
                         BufferClocks& clocks)
    : options_(std::move(options)),
      ranks_(ranks),
      queue_(queue),
      turns_(turns),
      clocks_(clocks),
      buffer_(options_.policy, facts(), options_.slots, options_.slots, options_.first_step),
      known_(options_.first_step),
      limit_(options_.slots),
      slots_(store, options_.slots) {
    extra_.by_owner.assign(ranks_, 0);
    carry_out(buffer_.fill());
    if (options_.count_floor) begin_floor();
    if (options_.pilot != nullptr) {
        options_.pilot->start(facts(), buffer_.ids());
        if (const auto terms = options_.pilot->guard_terms()) buffer_.guard(*terms);
    }
    note_knobs(true);
}

PolicyFacts BufferSteps::facts() const {
    return {&queue_.numbering(),
            options_.facts.degree,
            options_.facts.inclusion,
            {},
            options_.last_step};
}

void BufferSteps::begin_floor() {
    floor_.emplace(options_.floor_slots);
    if (!options_.past) return;
    std::vector<RowKey> rows;
    options_.past([&](std::span<const VertexId> ids) {
        rows.resize(ids.size());
        queue_.numbering().number(ids, rows);
        floor_->step(rows, queue_.numbering().size());
    });
}

void BufferSteps::announce() {
    for (const std::span<const RowKey> rows : queue_.rows_from(known_)) {
        buffer_.publish(known_, rows);
        if (options_.pilot != nullptr) {
            const CpuMeter meter(clocks_.piloting);
            options_.pilot->published(known_, rows);
        }
        ++known_;
    }
}

void BufferSteps::obey_limit(std::uint64_t number) {
    const SlotId most = limit_;
    if (most >= buffer_.most()) return;
    slots_.give_back(most);
    buffer_.cut(most, [this](const StepPlan& plan) { carry_out(plan); });
    if (options_.pilot != nullptr) options_.pilot->limited(number, most);
    note_knobs(true);
}

PilotOrder BufferSteps::obey_pilot(std::uint64_t number) {
    PilotOrder order;
    if (options_.pilot == nullptr) return order;
    {
        const CpuMeter meter(clocks_.piloting);
        order = options_.pilot->before(number, buffer_.ids());
    }
    for (const BufferChange& change : order.changes)
        buffer_.change(change, [this](const StepPlan& plan) { carry_out(plan); });
    count_guard();
    return order;
}

/// What was done for the account since is the pilot's work.
void BufferSteps::count_guard() {
    const std::uint64_t all = buffer_.nanoseconds();
    clocks_.piloting += all - std::exchange(guarding_, all);
}

bool BufferSteps::see_further(std::uint64_t number, std::uint64_t before) {
    if (options_.pilot == nullptr) return true;
    note_knobs(false);
    const std::uint64_t now = steps_ahead();
    if (now <= before) return true;
    look_(number, now);
    return turns_.wait(number, now);
}

const StepPlan& BufferSteps::advance(std::uint64_t number, const PilotOrder& order) {
    BufferPilot* pilot = options_.pilot;
    if (pilot == nullptr) return buffer_.advance();
    buffer_.follow();
    const StepPlan& plan = buffer_.advance(order.decision);
    count_guard();
    const auto overruled = buffer_.take_overruled();
    {
        const CpuMeter meter(clocks_.piloting);
        if (overruled) pilot->overruled(number, *overruled);
        if (buffer_.guarded()) pilot->accounted(buffer_.account());
        pilot->after(number, buffer_.ids().accounts());
    }
    note_knobs(!order.changes.empty() || overruled);
    return plan;
}

bool BufferSteps::begin(std::uint64_t number, SharedStep& step, RowSlots::Sources& sources,
                        StepRows& rows) {
    if (!turns_.wait(number, steps_ahead())) return false;
    Duration for_pilot{0};
    if (options_.pilot != nullptr) {
        const Duration asked = Executor::current().now();
        const CpuMeter all(clocks_.bookkeeping);
        announce();
        const CpuMeter meter(clocks_.piloting);
        options_.pilot->prepare(number);
        for_pilot = Executor::current().now() - asked;
    }
    slots_.wait_for_room();
    // It may have taken a while.
    const std::uint64_t ahead = steps_ahead();
    if (!turns_.wait(number, ahead)) return false;
    PilotOrder order;
    {
        const Span span("policy", number);
        const CpuMeter meter(clocks_.bookkeeping);
        announce();
        obey_limit(number);
        order = obey_pilot(number);
    }
    if (!see_further(number, ahead)) return false;
    const Span span("policy", number);
    const CpuMeter meter(clocks_.bookkeeping);
    announce();
    const StepPlan& plan = advance(number, order);
    queue_.take(step);
    note(step.rows);
    sources.demand_by_owner.assign(ranks_, 0);
    slots_.note_uses(plan, number);
    slots_.plan_step(plan, step.rows, queue_.numbering(), sources);
    carry_out(plan);
    slots_.mark(number);
    rows = std::exchange(extra_, {});
    rows.counts.wasted = newly_wasted();
    rows.knobs = knobs();
    rows.times = order.times;
    rows.agent_seconds = to_seconds(for_pilot);
    extra_.by_owner.assign(ranks_, 0);
    for (std::size_t r = 0; r < ranks_; ++r)
        rows.by_owner[r] += sources.demand_by_owner[r];
    for (RankShare& share : step.shares) {
        const auto first = plan.slots.begin();
        share.counts.demand =
            static_cast<std::uint64_t>(std::count(first + share.begin, first + share.end, no_slot));
        share.counts.hit = share.end - share.begin - share.counts.demand;
        share.counts.needed = share.counts.local + share.counts.hit + share.counts.demand;
    }
    turns_.begun();
    return true;
}

void BufferSteps::carry_out(const StepPlan& plan) {
    slots_.plan_background(plan.replacement, queue_.numbering(), extra_.by_owner);
    slots_.plan_background(plan.ahead, queue_.numbering(), extra_.by_owner);
    extra_.counts.replacement += plan.replacement.size();
    extra_.counts.ahead += plan.ahead.size();
}

void BufferSteps::note(std::span<const RowKey> rows) {
    if (floor_) floor_->step(rows, queue_.numbering().size());
    if (!options_.record) return;
    recorded_.clear();
    for (const RowKey row : rows)
        recorded_.push_back(queue_.numbering().vertex(row));
    options_.record(recorded_);
}

void BufferSteps::note_knobs(bool changed) {
    const std::uint64_t pilot = options_.pilot == nullptr ? 0 : options_.pilot->horizon();
    Monitor::Lock lock(monitor_);
    if (changed) {
        knobs_.policy = buffer_.ids().spec();
        knobs_.capacity = buffer_.ids().residents().capacity();
    }
    ahead_ = std::max({horizon_of(buffer_.ids().spec()), buffer_.horizon(), pilot});
}

std::uint64_t BufferSteps::steps_ahead() const {
    Monitor::Lock lock(monitor_);
    return ahead_;
}

Knobs BufferSteps::knobs() const {
    Monitor::Lock lock(monitor_);
    return knobs_;
}

std::uint64_t BufferSteps::newly_wasted() {
    const std::uint64_t all = buffer_.ids().accounts().wasted;
    return all - std::exchange(reported_wasted_, all);
}

Rows BufferSteps::finish() {
    slots_.finish();
    Rows rest = extra_.counts;
    rest.wasted += newly_wasted() + buffer_.ids().unused();
    return rest;
}

std::uint64_t BufferSteps::floor() const {
    return floor_ ? floor_->fetched() : 0;
}

}  // namespace rudder::buffer
