// How the bandit finds out: duels on shadows, stretches on the clock.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "learner.hpp"

namespace rudder::steer {

namespace {

constexpr std::uint64_t too_late = 48;  ///< steps before the end
constexpr std::uint64_t credit = 1000;  ///< steps of which the budget may be spent at once
constexpr std::uint64_t rest = 48;      ///< steps after a trial on the clock
constexpr std::size_t most_times = 8;
constexpr std::size_t least_times = 2;

/// "3.1 % fewer rows".
std::string compared(double difference, std::string_view unit) {
    const std::string_view how =
        unit == "rows" ? (difference < 0 ? "fewer" : "more") : (difference < 0 ? "less" : "more");
    return fmt::format("{:.1f} % {} {}", 100 * std::abs(difference), how, unit);
}

const ShadowReading* find(const Observation& seen, const std::string& name) {
    const auto found = std::ranges::find(seen.shadows, name, &ShadowReading::name);
    return found == seen.shadows.end() ? nullptr : &*found;
}

/// Of one step, on average.
StepTimes step_times(const Seconds& seconds) {
    const auto steps = static_cast<double>(seconds.steps);
    return {seconds.stall / steps, seconds.own() / steps, seconds.step / steps};
}

void keep_newest(std::deque<StepTimes>& times, const std::vector<StepTimes>& from) {
    const auto count = static_cast<std::ptrdiff_t>(std::min(from.size(), most_times));
    times.assign(from.end() - count, from.end());
}

/// The same change again, as far as it goes: what doubled doubles, what halved halves.
std::optional<Choice> again(const Choice& before, const Choice& after,
                            const std::vector<Choice>& list) {
    const auto was = changes_between(before.setting, after.setting);
    if (was.size() != 1 || was[0].id == KnobId::policy) return std::nullopt;
    const bool up = std::get<double>(was[0].value) >
                    std::get<double>(knob_value(before.setting, was[0].id).value_or(0.0));
    for (const Choice& choice : list) {
        const auto is = changes_between(after.setting, choice.setting);
        if (is.size() != 1 || is[0].id != was[0].id) continue;
        if ((std::get<double>(is[0].value) > std::get<double>(was[0].value)) == up) return choice;
    }
    return std::nullopt;
}

}  // namespace

bool Bandit::ending(const Observation& seen) const {
    return seen.steps != 0 && seen.steps_left() < too_late;
}

void Bandit::feed_duels(const Observation& seen) {
    for (Duel& duel : duels_) {
        const ShadowReading* reading = find(seen, duel.name());
        // One that began in the middle has not seen the same steps.
        if (reading == nullptr || reading->rows.steps != seen.twin.rows.steps) continue;
        duel.add(static_cast<double>(reading->rows.fetched()),
                 static_cast<double>(seen.twin.rows.fetched()), reading->rows.steps);
    }
}

/// Surely better, and what the change costs comes back in time.
bool Bandit::pays(const Duel& duel, const Observation& seen) const {
    if (duel.verdict() != TrialVerdict::better) return false;
    const double back = duel.saves() * static_cast<double>(seen.steps_left());
    return seen.steps == 0 || back > duel.transition();
}

/// Takes the best of those that pay; one that looks better still is waited for if it has not far
/// to go.
bool Bandit::promote(const Observation& seen, Answer& answer) {
    const Duel* best = nullptr;
    for (const Duel& duel : duels_) {
        if (!pays(duel, seen)) continue;
        if (best == nullptr || duel.difference() < best->difference()) best = &duel;
    }
    if (best == nullptr) return false;
    const bool wait = std::ranges::any_of(duels_, [&](const Duel& duel) {
        return duel.close_to_winning() && duel.difference() < best->difference();
    });
    if (wait && !ending(seen)) return false;
    const std::string text = fmt::format(
        "{}: {} than {} over {} steps: took it", difference_text(now_, best->challenger()),
        compared(best->difference(), "rows"), now_.of_shadow().policy.text(), best->steps());
    say("tried " + text);
    taken_.push_back(fmt::format("step {}: {}", seen.step, text));
    // What it replaces has lost.
    on_ids_.lost(now_.key(), seen.step, -best->difference());
    const Choice next = best->challenger();
    put(next, Reason::shadow_better, answer);
    rows_drift_.reset();
    time_drift_.reset();
    answer.forecast = Forecast{.hit_rate = 1, .rows = -1};
    now_ = next;
    close_duels(answer);
    settled_at_ = seen.step + Duel::settles;
    times_.clear();
    onward_.reset();
    return true;
}

void Bandit::drop_losers(const Observation& seen, Answer& answer) {
    std::erase_if(duels_, [&](const Duel& duel) {
        const TrialVerdict verdict = duel.verdict();
        const bool gone = duel.steps() > 0 && find(seen, duel.name()) == nullptr;
        if (pays(duel, seen) && !gone) return false;  // waits for another
        // Better, but too late to pay: as good as lost.
        if (verdict == TrialVerdict::open && !gone && !ending(seen)) return false;
        on_ids_.lost(duel.challenger().key(), seen.step, duel.difference());
        if (verdict != TrialVerdict::open) {
            say(fmt::format("tried {}: {} over {} steps: left it",
                            difference_text(now_, duel.challenger()),
                            compared(duel.difference(), "rows"), duel.steps()));
        }
        answer.shadows.push_back({ShadowOrder::Kind::close, duel.name(), std::nullopt});
        return true;
    });
}

void Bandit::close_duels(Answer& answer) {
    for (const Duel& duel : duels_)
        answer.shadows.push_back({ShadowOrder::Kind::close, duel.name(), std::nullopt});
    duels_.clear();
}

/// As many as allowed while there is something nobody has tried; then one at a time.
void Bandit::open_duels(const Observation& seen, Answer& answer) {
    // Right after a change the twin itself is finding its feet.
    if (trial_ || ending(seen) || seen.step < settled_at_) return;
    const std::vector<Choice> list = choices_.on_ids(now_, seen.limits);
    const auto open = [&](const Choice& choice) {
        Duel& duel = duels_.emplace_back(fmt::format("try-{}", ++named_), choice, now_,
                                         errors_on_ids_.take());
        answer.shadows.push_back({ShadowOrder::Kind::copy, duel.name(), choice.of_shadow()});
        ++tried_;
    };
    const auto running = [&](const Choice& choice) {
        return std::ranges::find(duels_, choice, &Duel::challenger) != duels_.end();
    };
    for (const bool untried : {true, false}) {
        for (const Choice& choice : list) {
            const bool is_new = on_ids_.find(choice.key()) == nullptr;
            const std::size_t most = untried ? most_duels_ : std::min<std::size_t>(1, most_duels_);
            if (duels_.size() >= most) break;
            if (is_new != untried || running(choice)) continue;
            if (on_ids_.due(choice.key(), seen.step)) open(choice);
        }
    }
}

/// One sample of the clock; the first after a change is of the change.
void Bandit::take_time(const Observation& seen) {
    timed_now_ = false;
    if (seen.cost != CostKind::seconds || seen.seconds.steps == 0) return;
    if (trial_) {
        if (trial_->in_other()) trial_steps_ += seen.seconds.steps;
        if (trial_->in_other() || trial_->changing()) return;
    } else if (std::exchange(settling_, false)) {
        return;
    }
    timed_now_ = true;
    times_.push_back(step_times(seen.seconds));
    if (times_.size() > most_times) times_.pop_front();
}

/// Half of the budget is for the start and for changes of the run.
bool Bandit::in_budget(const Observation& seen) const {
    const std::uint64_t ahead =
        seen.steps == 0 ? credit : std::min<std::uint64_t>(credit, seen.steps_left());
    const auto steps = static_cast<double>(seen.step - first_step_ + ahead);
    const auto more = static_cast<double>((TimedTrial::longest + 1) * interval_);
    const double share = seen.step < fresh_until_ ? 1 : 0.5;
    return static_cast<double>(trial_steps_) + more <= share * budget_ * steps;
}

void Bandit::start_trial(const Observation& seen, Answer& answer) {
    const bool ready = seen.cost == CostKind::seconds && times_.size() >= least_times;
    const bool rests = seen.step < rests_until_ && !onward_;
    if (!ready || rests || !duels_.empty() || ending(seen) || !in_budget(seen)) return;
    const std::vector<Choice> list =
        choices_.on_time(now_, seen.limits, boldly_ && seen.step < fresh_until_);
    const Choice* chosen = onward_ ? &*onward_ : nullptr;
    for (const Choice& choice : list) {
        if (chosen == nullptr && on_time_.due(choice.key(), seen.step)) chosen = &choice;
    }
    if (chosen == nullptr) return;
    answer.wants_clock = true;
    if (!seen.clock_turn) return;  // another agent of the job tries something
    trial_.emplace(*chosen, now_, times_, errors_on_time_.take(), seed_ + ++timed_);
    onward_.reset();
    put(trial_->in_other() ? trial_->other() : now_, Reason::trying, answer);
    say(fmt::format("tries {}", difference_text(now_, trial_->other())));
}

void Bandit::follow_trial(const Observation& seen, Answer& answer) {
    answer.wants_clock = true;
    if (seen.seconds.steps == 0 || !trial_->add(step_times(seen.seconds))) return;
    if (trial_->verdict() != TrialVerdict::open) {
        end_trial(seen, answer);
    } else if (trial_->in_other() && !in_budget(seen)) {
        on_time_.lost(trial_->other().key(), seen.step, trial_->difference());
        say(fmt::format("tried {}: {} over {} stretches, and no more steps for trials: left it",
                        difference_text(now_, trial_->other()),
                        compared(trial_->difference(), "time"), trial_->stretches()));
        trial_.reset();
        answer.wants_clock = false;
        put(now_, Reason::was_worse, answer);
    } else {
        put(trial_->in_other() ? trial_->other() : now_, Reason::trying, answer);
    }
}

void Bandit::end_trial(const Observation& seen, Answer& answer) {
    const TimedTrial trial = std::move(*trial_);
    trial_.reset();
    answer.wants_clock = false;  // others have their turn
    rests_until_ = seen.step + rest;
    const std::string text =
        fmt::format("{}: {} over {} stretches", difference_text(now_, trial.other()),
                    compared(trial.difference(), "time"), trial.stretches());
    if (trial.verdict() == TrialVerdict::better) {
        say(fmt::format("tried {}: took it", text));
        taken_.push_back(fmt::format("step {}: {}: took it", seen.step, text));
        on_time_.lost(now_.key(), seen.step, -trial.difference());
        const auto list = choices_.on_time(trial.other(), seen.limits, /*boldly=*/false);
        onward_ = again(now_, trial.other(), list);
        now_ = trial.other();
        boldly_ = false;
        // What was timed of it is where the next trial starts from.
        keep_newest(times_, trial.theirs());
        put(now_, Reason::timed_better, answer);
        time_drift_.reset();
        return;
    }
    on_time_.lost(trial.other().key(), seen.step, trial.difference());
    say(fmt::format("tried {}: left it", text));
    put(now_, Reason::was_worse, answer);
}

}  // namespace rudder::steer
