#include "member.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/executor/executor.hpp"
#include "rudder/core/error.hpp"

namespace rudder::steer {

namespace {

constexpr std::size_t longest_member_history = 16;

const ShadowReading* find(const std::vector<ShadowReading>& list, std::string_view name) {
    const auto found = std::ranges::find(list, name, &ShadowReading::name);
    return found == list.end() ? nullptr : &*found;
}

/// Keeps what was counted before.
void renew(ShadowReading& kept, const ShadowReading& read) {
    const Rows before = kept.rows;
    std::vector<double> by_step = std::move(kept.by_step);
    by_step.insert(by_step.end(), read.by_step.begin(), read.by_step.end());
    kept = read;
    kept.rows += before;
    kept.by_step = std::move(by_step);
}

}  // namespace

Member::Member(std::string shadow, const AgentSpec& spec, const AgentFacts& facts)
    : shadow_(std::move(shadow)), text_(spec.text()), agent_(make_agent(spec, facts)) {}

std::string Member::inner(std::string_view name) const {
    return fmt::format("{}/{}", shadow_, name);
}

double Member::cost(const Observation& seen) const {
    const ShadowReading* read = find(seen.shadows, shadow_);
    if (read == nullptr || read->rows.steps == 0 || read->rows.steps != seen.twin.rows.steps)
        return -1;
    return static_cast<double>(read->rows.fetched()) / static_cast<double>(read->rows.steps);
}

/// Adds what this observation shows of its own world.
void Member::collect(const Observation& seen) {
    const ShadowReading* own = find(seen.shadows, shadow_);
    // Until its shadow has begun, the real buffer stands in for it.
    const ShadowReading& read = own == nullptr ? seen.twin : *own;
    Observation fresh = seen;
    fresh.rows = view_.rows;
    fresh.rows += read.rows;
    fresh.total = read.total;
    fresh.seconds = view_.seconds;
    fresh.seconds += seen.seconds;
    fresh.twin = std::move(view_.twin);
    renew(fresh.twin, read);
    fresh.twin.name = "~twin";
    fresh.built_in = std::move(view_.built_in);
    renew(fresh.built_in, seen.built_in);
    fresh.shadows.clear();
    const std::string front = inner("");
    for (const ShadowReading& shadow : seen.shadows) {
        if (!shadow.name.starts_with(front)) continue;
        const std::string name = shadow.name.substr(front.size());
        ShadowReading kept;
        if (const ShadowReading* before = find(view_.shadows, name)) {
            kept.rows = before->rows;
            kept.by_step = before->by_step;
        }
        renew(kept, shadow);
        kept.name = name;
        fresh.shadows.push_back(std::move(kept));
    }
    fresh.history = std::move(view_.history);
    view_ = std::move(fresh);
}

void Member::ask(const Observation& seen, Answer& answer) {
    using enum ShadowOrder::Kind;
    action_ = Action::keep();
    if (!std::exchange(opened_, true)) {
        setting_ = seen.setting;
        changed_ = seen.step;
        answer.shadows.push_back({copy, shadow_, setting_});
    }
    collect(seen);
    if (last_ && seen.step < *last_ + std::max<std::uint64_t>(1, agent_->interval())) return;
    last_ = seen.step;
    view_.sequence = ++sequence_;
    view_.setting = setting_;
    view_.twin.setting = setting_;
    view_.takes_decisions =
        setting_.policy.info().takes_decisions && !buffer::has_own_signal(setting_.policy);
    view_.since_change = seen.step - changed_;
    try {
        act(seen, answer);
    } catch (const Cancelled&) {
        throw;
    } catch (const std::exception& error) {
        action_ = Action::keep();
        answer.note +=
            fmt::format("{}{}: {}", answer.note.empty() ? "" : "; ", text_, error.what());
    }
    view_.rows = view_.twin.rows = view_.built_in.rows = {};
    view_.seconds = {};
    view_.twin.by_step.clear();
    for (ShadowReading& shadow : view_.shadows) {
        shadow.rows = {};
        shadow.by_step.clear();
    }
}

void Member::act(const Observation& seen, Answer& answer) {
    using enum ShadowOrder::Kind;
    const double before = view_.hit_rate();
    if (!view_.history.empty()) view_.history.back().hit_rate_after = before;
    Answer said = agent_->decide(view_);
    answer.wants_clock = answer.wants_clock || said.wants_clock;
    if (said.action.kind == ActionKind::set) {
        const Setting next = with_changes(setting_, said.action.knobs, seen.limits, text_);
        if (next != setting_) {
            changed_ = seen.step;
            setting_ = next;
            answer.shadows.push_back({set, shadow_, setting_});
        }
    } else if (said.action.kind == ActionKind::replace && view_.takes_decisions) {
        answer.shadows.push_back({replace, shadow_, std::nullopt, said.action.fraction});
    }
    action_ = std::move(said.action);
    if (action_.kind != ActionKind::keep) {
        PastDecision& past = view_.history.emplace_back();
        past.step = seen.step;
        past.action = action_;
        past.status = "applied";
        past.hit_rate_before = before;
        if (view_.history.size() > longest_member_history)
            view_.history.erase(view_.history.begin());
    }
    for (ShadowOrder& order : said.shadows) {
        order.name = inner(order.name);
        order.from = order.from.empty() ? shadow_ : inner(order.from);
        answer.shadows.push_back(std::move(order));
    }
    if (!said.note.empty())
        answer.note += fmt::format("{}{}: {}", answer.note.empty() ? "" : "; ", text_, said.note);
}

}  // namespace rudder::steer
