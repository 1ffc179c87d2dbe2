// What becomes of answers: checked, applied at their step, taken back if they do harm.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/log.hpp"
#include "rudder/core/error.hpp"

#include "helm_state.hpp"

namespace rudder::steer {

namespace {

constexpr std::size_t most_shadows = 8;  ///< that an agent may have

/// Room for a larger step number is left.
constexpr std::size_t longest_order = Order::most_bytes - 20;

bool same_ids(const Setting& a, const Setting& b) {
    return a.policy == b.policy && a.capacity == b.capacity;
}

bool same_times(const Setting& a, const Setting& b) {
    return a.bulk == b.bulk && a.sample_threads == b.sample_threads &&
           a.fetch_threads == b.fetch_threads;
}

bool takes_decisions(const Setting& setting) {
    return setting.policy.info().takes_decisions && !buffer::has_own_signal(setting.policy);
}

}  // namespace

/// Looks for an answer, or for the end of the time it had.
void Helm::State::receive(std::uint64_t step, buffer::BufferControl& control) {
    if (asked == nullptr) return;
    if (!reply && o.mode != AgentMode::inline_call) reply = box.poll();
    if (reply) {
        take(*std::exchange(reply, std::nullopt), step, control);
    } else if (o.mode != AgentMode::inline_call && !box.open()) {
        OpenRecord& record = note(*std::exchange(asked, nullptr), {}, step);
        close(record, DecisionStatus::late, "no answer within the deadline");
        ++totals.late;
        fail(step, control);
    }
}

void Helm::State::take(Reply given, std::uint64_t step, buffer::BufferControl& control) {
    OpenRecord& record = note(*std::exchange(asked, nullptr), given, step);
    if (!given.failure.empty()) {
        close(record, DecisionStatus::invalid, given.failure);
        ++totals.invalid;
        fail(step, control);
        return;
    }
    recover(step, control);
    PendingAnswer pending{std::move(given.answer), record.number, step};
    if (!o.deferred || pending.answer.action.kind == ActionKind::keep) {
        due.push_back(std::move(pending));
        return;
    }
    try {
        check_to_send(pending.answer.action);
    } catch (const Error& error) {
        close(record, DecisionStatus::refused, error.what());
        ++totals.refused;
        fail(step, control);
        return;
    }
    outgoing.push_back(std::move(pending));
}

/// Others must be able to read it, and it must be possible here.
void Helm::State::check_to_send(const Action& action) const {
    const std::string text = to_text({action, 0, o.facts.limits.slots});
    if (text.size() > longest_order)
        throw usage_error("the action is too long to be sent", "action", "change fewer knobs");
    static_cast<void>(parse_order(text));
    static_cast<void>(with_changes(now, action.knobs, o.facts.limits, "knobs"));
}

buffer::Decision Helm::State::apply_due(std::uint64_t step, buffer::BufferControl& control) {
    buffer::Decision decision;
    while (!due.empty() && due.front().effective_step <= step) {
        PendingAnswer pending = std::move(due.front());
        due.pop_front();
        decision = apply(pending, step, control);
    }
    return decision;
}

buffer::Decision Helm::State::apply(PendingAnswer& pending, std::uint64_t step,
                                    buffer::BufferControl& control) {
    OpenRecord* record = find(pending.record);
    const Action& action = pending.answer.action;
    buffer::Decision decision;
    try {
        if (action.kind == ActionKind::set) {
            change(action, record, step, control);
        } else {
            decision = decide(action, record);
        }
    } catch (const Error& error) {
        ++totals.refused;
        if (record != nullptr) close(*record, DecisionStatus::refused, error.what());
        fail(step, control);
        return {};
    }
    action.kind == ActionKind::keep ? ++totals.kept : ++totals.applied;
    breaker.succeeded();
    for (const ShadowOrder& order : pending.answer.shadows) {
        try {
            follow(order);
        } catch (const Error& error) {
            // The run's own buffer is not concerned.
            if (record != nullptr) record->record.problem += error.what();
        }
    }
    return decision;
}

/// Yes or no to replacing in this step.
buffer::Decision Helm::State::decide(const Action& action, OpenRecord* record) {
    const bool yes = action.kind == ActionKind::replace;
    if (yes && !(action.fraction >= 0 && action.fraction <= 1)) {
        throw usage_error(fmt::format("{} is no fraction of the buffer", action.fraction),
                          "fraction", "give a number from 0 to 1");
    }
    if (!takes_decisions(now)) {
        if (!yes) return {};
        throw usage_error(fmt::format("policy '{}' replaces by its own rule", now.policy.text()),
                          "action", "answer keep or set");
    }
    const buffer::Decision taken{yes, yes ? action.fraction : 1};
    if (shadows) {
        Shadow& twin = *shadows->find("~twin");
        if (record != nullptr && judge->free()) {
            judge->replacing(record->number, twin, taken);
            record->judged = true;
            record->record.alternative = yes ? Action::keep() : Action::replace(Reason::none);
        }
        twin.decision = taken;
    }
    return taken;
}

void Helm::State::change(const Action& action, OpenRecord* record, std::uint64_t step,
                         buffer::BufferControl& control) {
    const Setting next = with_changes(now, action.knobs, o.facts.limits, "knobs");
    if (next == now) return;
    const Setting before = now;
    if (shadows) {
        fork_built_in();
        if (record != nullptr && !same_ids(now, next) && judge->free()) {
            judge->setting(record->number, *shadows->find("~twin"), next);
            record->judged = true;
            record->record.alternative = Action::keep();
        }
    }
    put(next, step, control);
    before_change = before;
    if (record != nullptr) record->watched = true;
}

/// Puts a setting in place: in the real buffer, its twin, and whatever else has knobs. What cannot
/// be is refused by the real buffer before anything has changed.
void Helm::State::put(const Setting& setting, std::uint64_t step, buffer::BufferControl& control) {
    if (setting.policy != now.policy) control.set_policy(setting.policy);
    if (setting.capacity != now.capacity) {
        control.set_capacity(static_cast<buffer::SlotId>(
            std::min<std::uint64_t>(setting.capacity, control.slots())));
    }
    if (shadows) shadows->set(*shadows->find("~twin"), setting);
    if (harm) harm->changed(step, !same_ids(now, setting), !same_times(now, setting));
    now = setting;
    changed_at = step;
    if (o.apply) o.apply(now);
}

/// The same in all buffers that are steered, at one step.
void Helm::State::put_everywhere(const Setting& setting, Reason why, std::uint64_t step,
                                 buffer::BufferControl& control) {
    if (!o.deferred) {
        put(setting, step, control);
        return;
    }
    std::vector<KnobChange> changes{{KnobId::policy, setting.policy.text()},
                                    {KnobId::capacity, static_cast<double>(setting.capacity)},
                                    {KnobId::bulk, static_cast<double>(setting.bulk)}};
    if (setting.sample_threads != now.sample_threads)
        changes.push_back({KnobId::sample_threads, static_cast<double>(setting.sample_threads)});
    if (setting.fetch_threads != now.fetch_threads)
        changes.push_back({KnobId::fetch_threads, static_cast<double>(setting.fetch_threads)});
    outgoing.push_back({Answer{.action = Action::set(std::move(changes), why)}, 0, step});
}

void Helm::State::follow(const ShadowOrder& order) {
    if (order.name.empty() || order.name.starts_with('~')) {
        throw usage_error(fmt::format("'{}' is no name of a shadow", order.name), "shadows",
                          "begin it with a letter");
    }
    using enum ShadowOrder::Kind;
    const auto of_agent = std::ranges::count_if(
        shadows->all(), [](const auto& shadow) { return !shadow->name.starts_with('~'); });
    Shadow* known = shadows->find(order.name);
    const bool opens = order.kind == open || order.kind == copy;
    if (opens && known == nullptr && of_agent >= static_cast<std::ptrdiff_t>(most_shadows)) {
        throw usage_error(fmt::format("more than {} shadows", most_shadows), "shadows",
                          "close one first");
    }
    if (opens && order.setting) {
        if (order.kind == open) {
            shadows->open(order.name, *order.setting);
        } else {
            const Shadow* from = shadows->find(order.from.empty() ? "~twin" : order.from);
            if (from == nullptr) {
                throw usage_error(fmt::format("no shadow '{}' to copy", order.from), "shadows",
                                  "open it first");
            }
            Shadow& made = shadows->copy(order.name, *from);
            shadows->set(made, *order.setting);
        }
        return;
    }
    if (known == nullptr) return;
    if (order.kind == set && order.setting) shadows->set(*known, *order.setting);
    if (order.kind == replace) known->decision = {true, order.fraction};
    if (order.kind == close) shadows->close(order.name);
}

/// The built-in rule runs beside the real buffer from the moment they may differ.
void Helm::State::fork_built_in() {
    if (shadows->find("~built-in") != nullptr) return;
    Shadow& made = shadows->copy("~built-in", *shadows->find("~twin"));
    shadows->set(made, fallback());
}

Setting Helm::State::fallback() const {
    Setting setting = o.facts.start;
    setting.policy = built_in;
    setting.capacity = std::min(setting.capacity, o.facts.limits.slots);
    return setting;
}

/// Takes a change back that costs more than the built-in rule.
void Helm::State::guard(std::uint64_t step, buffer::BufferControl& control) {
    const auto verdict = harm->verdict();
    if (!verdict || o.agent.info().fixed || fallen) return;
    // Something else is about to change everywhere.
    if (o.deferred && (!outgoing.empty() || !due.empty())) return;
    const bool recent = before_change && harm->good_blocks() == 0;
    const Setting target = recent ? *before_change : fallback();
    if (takes_decisions(now) && (target == now || !recent)) {
        // Its single decisions are to blame, not a setting.
        blame(step, control);
        return;
    }
    if (target == now) return;
    put_everywhere(target, Reason::was_worse, step, control);
    before_change.reset();
    ++totals.undone;
    const auto last = std::find_if(open.rbegin(), open.rend(),
                                   [](const OpenRecord& record) { return record.watched; });
    if (last != open.rend()) close(*last, DecisionStatus::undone, *verdict);
    log::info(fmt::format("{}: took a change back: {}", o.agent.text(), *verdict));
}

/// Decisions did harm over a block of steps. The third such block in a row opens the breaker: each
/// answer by itself was valid, so they do not count as failures of the agent to answer.
void Helm::State::blame(std::uint64_t step, buffer::BufferControl& control) {
    if (harm->good_blocks() != good_before) harmful = 0;
    good_before = harm->good_blocks();
    if (++harmful < Breaker::most_failures) return;
    harmful = 0;
    for (std::uint32_t i = 0; i < Breaker::most_failures && !fallen; ++i)
        fail(step, control);
}

/// One failure more; the third in a row puts the built-in rule in place.
void Helm::State::fail(std::uint64_t step, buffer::BufferControl& control) {
    if (o.follower || !breaker.failed(step)) return;
    fallen = true;
    put_everywhere(fallback(), Reason::was_worse, step, control);
    before_change.reset();
    log::warning(fmt::format("{}: {} failures in a row; the built-in rule {} holds for now",
                             o.agent.text(), Breaker::most_failures, built_in.text()));
}

/// The agent answers again: what it steers is put back.
void Helm::State::recover(std::uint64_t step, buffer::BufferControl& control) {
    if (!fallen) return;
    fallen = false;
    if (o.agent.decides()) {
        Setting setting = o.facts.start;
        setting.capacity = std::min(setting.capacity, o.facts.limits.slots);
        put_everywhere(setting, Reason::good_enough, step, control);
    }
}

}  // namespace rudder::steer
