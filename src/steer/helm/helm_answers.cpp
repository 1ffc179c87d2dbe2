// What becomes of answers: checked, applied at their step, taken back if they do harm.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/field_parts.hpp"
#include "rudder/core/error.hpp"

#include "helm_state.hpp"

namespace rudder::steer {

namespace {

bool takes_decisions(const Setting& setting) {
    return setting.policy.info().takes_decisions && !buffer::has_own_signal(setting.policy);
}

}  // namespace

/// Looks for an answer, or for the end of the time it had.
void Helm::State::receive(std::uint64_t step) {
    const auto came = questions->take();
    if (!came) return;
    const Reply given = came->reply.value_or(Reply{});
    OpenRecord& record = records.note(*came->question, given, step);
    if (!came->reply) {
        records.close(record, DecisionStatus::late, "no answer within the deadline");
        ++records.totals.late;
        fail(step);
    } else if (!given.failure.empty()) {
        records.close(record, DecisionStatus::invalid, given.failure);
        ++records.totals.invalid;
        fail(step);
    } else {
        recover(step);
        wants_clock = given.answer.wants_clock;
        accept({given.answer, record.number, step}, record, step);
    }
}

void Helm::State::accept(PendingAnswer answer, OpenRecord& record, std::uint64_t step) {
    const Action& action = answer.answer.action;
    if (!o.deferred || action.kind == ActionKind::keep) {
        pending.add(std::move(answer));
        return;
    }
    try {
        // Others must be able to read it, and it must be possible here.
        static_cast<void>(unpack(pack({action, 0, o.facts.limits.slots})));
        static_cast<void>(with_changes(now, action.knobs, o.facts.limits, "knobs"));
    } catch (const Error& error) {
        records.close(record, DecisionStatus::refused, error.what());
        ++records.totals.refused;
        fail(step);
        return;
    }
    pending.add_outgoing(std::move(answer));
}

void Helm::State::apply_due(std::uint64_t step) {
    while (auto answer = pending.take(step))
        apply(*answer, step);
}

void Helm::State::apply(PendingAnswer& answer, std::uint64_t step) {
    OpenRecord* record = records.find(answer.record);
    const Action& action = answer.answer.action;
    // What the guard puts in place says nothing about the agent.
    const bool of_guard = answer.record == 0 && !o.follower;
    order.decision = {};
    try {
        if (action.kind == ActionKind::set) {
            change(action, record, step);
        } else {
            decide(action, record);
        }
    } catch (const Error& error) {
        keep_division(action);
        if (of_guard) {
            alarms.emplace_back(error.what());
            return;
        }
        ++records.totals.refused;
        if (record != nullptr) records.close(*record, DecisionStatus::refused, error.what());
        fail(step);
        return;
    }
    if (of_guard) return;
    action.kind == ActionKind::keep ? ++records.totals.kept : ++records.totals.applied;
    guard.succeeded();
    for (const ShadowOrder& wish : answer.answer.shadows) {
        try {
            shadows->follow(wish);
        } catch (const Error& error) {
            // The run's own buffer is not concerned.
            if (record != nullptr) record->record.problem += error.what();
        }
    }
}

/// All ranks divide their gradients as an order says, whatever becomes of the rest of it.
void Helm::State::keep_division(const Action& action) {
    if (!o.deferred && !o.follower) return;
    for (const KnobChange& change : action.knobs) {
        const auto* groups = std::get_if<double>(&change.value);
        if (change.id == KnobId::buckets && groups != nullptr)
            now.buckets = static_cast<std::uint64_t>(*groups);
    }
}

/// Yes or no to replacing in this step.
void Helm::State::decide(const Action& action, OpenRecord* record) {
    const bool yes = action.kind == ActionKind::replace;
    if (yes && !(action.fraction >= 0 && action.fraction <= 1)) {
        throw usage_error(fmt::format("invalid fraction of the buffer: {}", action.fraction),
                          "fraction", "give a number from 0 to 1");
    }
    if (!takes_decisions(now)) {
        if (!yes) return;
        throw usage_error(fmt::format("policy '{}' replaces by its own rule", now.policy.text()),
                          "action", "answer keep or set");
    }
    order.decision = {yes, yes ? action.fraction : 1};
    if (!shadows) return;
    const auto number = record == nullptr ? std::nullopt : std::optional(record->number);
    if (shadows->decide(number, order.decision)) {
        record->judged = true;
        record->record.alternative = yes ? Action::keep() : Action::replace(Reason::none);
    }
}

void Helm::State::change(const Action& action, OpenRecord* record, std::uint64_t step) {
    const Setting next = with_changes(now, action.knobs, o.facts.limits, "knobs");
    if (next == now) return;
    if (next.policy != now.policy) buffer::check_policy(next.policy, facts);
    const auto number = record == nullptr ? std::nullopt : std::optional(record->number);
    if (shadows && shadows->change(number, next)) {
        record->judged = true;
        record->record.alternative = Action::keep();
    }
    put(next, step, now);
    put_record = number.value_or(0);
    if (record != nullptr && guard.overrules()) records.watch(*record);
}

void Helm::State::put(const Setting& setting, std::uint64_t step, std::optional<Setting> undoable) {
    if (shadows) shadows->set(setting);
    buffer::BufferChange change;
    if (setting.policy != now.policy) change.policy = setting.policy;
    if (setting.capacity != now.capacity) {
        change.capacity = static_cast<buffer::SlotId>(
            std::min<std::uint64_t>(setting.capacity, o.facts.limits.slots));
    }
    if (change.policy || change.capacity) order.changes.push_back(std::move(change));
    const auto times = part_of<buffer::TimeKnobs>(setting);
    if (times != part_of<buffer::TimeKnobs>(now)) order.times = times;
    guard.changed(step, std::move(undoable));
    before_put = now;
    put_record = 0;
    now = setting;
    changed_at = step;
}

void Helm::State::put_everywhere(const Setting& setting, Reason why, std::uint64_t step) {
    if (!o.deferred) {
        put(setting, step);
        return;
    }
    std::vector<KnobChange> changes{{KnobId::policy, setting.policy.text()},
                                    {KnobId::capacity, static_cast<double>(setting.capacity)},
                                    {KnobId::bulk, static_cast<double>(setting.bulk)}};
    for (const Knob& k : all_knobs()) {
        if (k.id <= KnobId::bulk) continue;
        const auto wanted = knob_value(setting, k.id);
        if (wanted == knob_value(now, k.id)) continue;
        KnobChange& change = changes.emplace_back();
        change.id = k.id;
        change.value = *wanted;
    }
    pending.add_outgoing({Answer{.action = Action::set(std::move(changes), why)}, 0, step});
}

Setting Helm::State::fallback() const {
    Setting setting = o.facts.start;
    setting.policy = o.facts.built_in;
    setting.capacity = std::min(setting.capacity, o.facts.limits.slots);
    return setting;
}

/// Does what the guard says about harm.
void Helm::State::take_back(std::uint64_t step) {
    const bool busy = o.deferred && !pending.empty();
    const auto finding = guard.find(step, now, fallback(), takes_decisions(now), busy);
    if (!finding) return;
    if (!finding->back_to) {
        suspend(step);
        return;
    }
    put_everywhere(*finding->back_to, Reason::was_worse, step);
    records.undone(finding->reason);
    infos.push_back(
        fmt::format("agent '{}': took a change back: {}", o.agent.text(), finding->reason));
}

void Helm::State::overruled(std::uint64_t step, const buffer::Overruled& what) {
    const bool refused = what.kind == buffer::Overruled::Kind::refused;
    // What acts on time alone was done.
    const Setting ids = refused ? before_put : fallback();
    now.policy = ids.policy;
    now.capacity = ids.capacity;
    changed_at = step;
    guard.changed(step);
    if (shadows) refused ? shadows->set(now) : shadows->go_back();
    if (!refused) {
        records.undone(what.reason);
        infos.push_back(fmt::format("agent '{}': the built-in rule took over: {}", o.agent.text(),
                                    what.reason));
        if (o.agent.decides() && !o.follower) guard.suspend(step, what.reason);
        return;
    }
    if (OpenRecord* record = records.find(put_record); record != nullptr && put_record != 0) {
        records.close(*record, DecisionStatus::refused, what.reason);
        --records.totals.applied;
        ++records.totals.refused;
    }
}

void Helm::State::limited(std::uint64_t step, buffer::SlotId most) {
    o.facts.limits.slots = most;
    if (guard.overrules()) now.policy = o.facts.built_in;
    now.capacity =
        std::min(guard.overrules() ? fallback().capacity : now.capacity, std::uint64_t{most});
    changed_at = step;
    guard.changed(step);
    if (shadows) shadows->limit(now, fallback());
}

/// One failure more; the third in a row puts the built-in rule in place.
void Helm::State::fail(std::uint64_t step) {
    if (!o.follower && guard.failed(step)) suspend(step);
}

void Helm::State::suspend(std::uint64_t step) {
    put_everywhere(fallback(), Reason::was_worse, step);
    alarms.push_back(suspension_text(o.agent.text(), guard.breaker(), o.facts.built_in));
}

/// The agent answers again: what it steers is put back.
void Helm::State::recover(std::uint64_t step) {
    if (!guard.recovered() || !o.agent.decides()) return;
    Setting setting = o.facts.start;
    setting.capacity = std::min(setting.capacity, o.facts.limits.slots);
    put_everywhere(setting, Reason::good_enough, step);
}

/// What was to take effect at a step that does not come.
void Helm::State::give_up() {
    while (const auto answer = pending.give_up()) {
        OpenRecord* record = records.find(answer->record);
        if (record == nullptr) continue;
        records.close(*record, DecisionStatus::late, "the run ended before its step");
        ++records.totals.late;
    }
}

}  // namespace rudder::steer
