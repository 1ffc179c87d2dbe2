// How the bandit finds out: duels on shadows, stretches on the clock.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "learner.hpp"

namespace rudder::steer {

namespace {

constexpr std::uint64_t too_late = 48;       ///< steps before the end
constexpr std::uint64_t credit = 1000;       ///< steps of which the budget may be spent at once
constexpr std::uint64_t rest = 48;           ///< steps after a trial on the clock
constexpr std::uint64_t shadows_ahead = 64;  ///< that shadows may be ahead of the run
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

void Bandit::feed_duels(const Observation& seen, Answer& answer) {
    if (duels_.empty()) return;
    const ShadowReading* champion = find(seen, champion_);
    if (champion == nullptr) {  // there is nothing to compare with
        close_duels(answer);
        return;
    }
    unseen_from_ = seen.step + std::min(champion->age, shadows_ahead);
    const bool filling = fetched_before_ + static_cast<double>(champion->total.fetched()) <
                         static_cast<double>(now_.setting.capacity);
    tested_ = tested_ || !filling;
    if (!tested_ && !fills_soon(seen)) {
        errors_on_ids_.put_back();
        close_duels(answer);
        return;
    }
    for (Duel& duel : duels_) {
        const ShadowReading* reading = find(seen, duel.name());
        // They began together, and take the same steps.
        if (reading == nullptr || reading->by_step.size() != champion->by_step.size()) continue;
        for (std::size_t i = 0; i < reading->by_step.size(); ++i)
            duel.add(reading->by_step[i], champion->by_step[i], filling);
    }
}

/// Before the buffer is full all settings fetch the same: whether it will be as far ahead as
/// shadows see, if rows keep coming as they did.
bool Bandit::fills_soon(const Observation& seen) const {
    if (seen.rows.steps == 0) return true;
    const double rate =
        static_cast<double>(seen.rows.fetched()) / static_cast<double>(seen.rows.steps);
    return static_cast<double>(seen.total.fetched()) + rate * shadows_ahead >=
           static_cast<double>(now_.setting.capacity);
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
    // What it replaces has lost, and so have those that it is ahead of.
    on_ids_.lost(now_.key(), seen.step, -best->difference());
    for (const Duel& duel : duels_) {
        if (duel.roughly_known() && duel.difference() > best->difference())
            on_ids_.lost(duel.challenger().key(), seen.step, duel.difference());
    }
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
        const bool gone = find(seen, duel.name()) == nullptr;
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
    if (duels_.empty()) close_duels(answer);
}

void Bandit::close_duels(Answer& answer) {
    for (const Duel& duel : duels_)
        answer.shadows.push_back({ShadowOrder::Kind::close, duel.name(), std::nullopt});
    duels_.clear();
    if (champion_.empty()) return;
    answer.shadows.push_back({ShadowOrder::Kind::close, champion_, std::nullopt});
    champion_.clear();
}

/// As many as allowed, those first that nobody has tried.
std::vector<Choice> Bandit::next_batch(const Observation& seen) const {
    const std::vector<Choice> list = choices_.on_ids(now_, seen.limits);
    std::vector<Choice> batch;
    for (const bool untried : {true, false}) {
        for (const Choice& choice : list) {
            const std::string key = choice.key();
            if (batch.size() < most_duels_ && (on_ids_.find(key) == nullptr) == untried &&
                on_ids_.due(key, seen.step))
                batch.push_back(choice);
        }
        if (!batch.empty()) break;
    }
    return batch;
}

/// The next batch, once all of the one before are decided: its tests share their chance of error.
void Bandit::open_duels(const Observation& seen, Answer& answer) {
    // Right after a change the twin itself is finding its feet.
    if (trial_ || !duels_.empty() || ending(seen) || seen.step < settled_at_) return;
    if (!fills_soon(seen)) return;
    const std::vector<Choice> batch = next_batch(seen);
    if (batch.empty()) return;
    const double level = errors_on_ids_.take(batch.size());
    // Who is champion, and who is tried, was chosen by what shadows saw.
    const std::uint64_t looked_at = unseen_from_ - std::min(unseen_from_, seen.step);
    const auto open = [&](const std::string& name, const Choice& choice) {
        answer.shadows.push_back(
            {ShadowOrder::Kind::copy, name, choice.of_shadow(), 1, {}, shadows_ahead});
    };
    fetched_before_ = static_cast<double>(seen.total.fetched());
    tested_ = false;
    champion_ = fmt::format("now-{}", ++named_);
    open(champion_, now_);
    for (const Choice& choice : batch) {
        const Duel& duel =
            duels_.emplace_back(fmt::format("try-{}", ++named_), choice, now_, level, looked_at);
        open(duel.name(), choice);
        ++tried_;
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
