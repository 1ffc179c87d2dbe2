#include "learner.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace rudder::steer {

namespace {

constexpr std::uint64_t asked_every = 4;  ///< steps
constexpr std::uint64_t drift_block = 4;  ///< steps of one sample of the cost
constexpr std::uint64_t settles = 64;     ///< steps in which an empty buffer fills
constexpr std::uint64_t fresh_for = 256;  ///< steps after the start or a change of the run
constexpr std::size_t most_remembered = 12;

}  // namespace

Bandit::Bandit(const AgentSpec& spec, const AgentFacts& facts)
    : choices_(spec),
      seed_(facts.seed),
      interval_(choices_.decides() ? 1 : asked_every),
      budget_(spec.number("budget")),
      most_duels_(spec.whole("shadows")),
      built_in_(facts.built_in) {
    if (built_in_.given("every")) every_ = built_in_.whole("every");
}

Answer Bandit::decide(const Observation& seen) {
    Answer answer;
    said_.clear();
    begin(seen, answer);
    take_time(seen);
    watch(seen, answer);
    if (trial_) {
        follow_trial(seen, answer);
    } else {
        feed_duels(seen, answer);
        if (answer.action.kind == ActionKind::keep && !promote(seen, answer)) {
            drop_losers(seen, answer);
            start_trial(seen, answer);
        }
        open_duels(seen, answer);
    }
    if (answer.action.kind == ActionKind::keep) {
        answer.action = now_.replaces(seen.step) ? Action::replace(Reason::rule)
                                                 : Action::keep(Reason::good_enough);
    }
    for (const std::string& text : said_)
        answer.note += answer.note.empty() ? text : "; " + text;
    return answer;
}

/// What is in place is what the run says, whatever was asked for.
void Bandit::begin(const Observation& seen, Answer& answer) {
    if (begun_ && seen.setting != placed_) overruled(seen, answer);
    const bool decides = choices_.decides() && seen.takes_decisions;
    if (!begun_) {
        begun_ = true;
        first_step_ = seen.step;
        fresh_until_ = seen.step + fresh_for;
        now_ = {seen.setting, decides, every_};
        placed_ = seen.setting;
        if (seen.takes_decisions && !choices_.decides()) {
            // Nobody would tell it to replace: it starts as the built-in rule does.
            Choice own = now_;
            own.setting.policy = built_in_;
            put(own, Reason::rule, answer);
            now_ = own;
        }
    }
    now_.decides = decides;
}

/// Somebody took a change back, or did not make it.
void Bandit::overruled(const Observation& seen, Answer& answer) {
    const Choice wanted = trial_ && trial_->in_other() ? trial_->other() : now_;
    const Choice found{seen.setting, now_.decides, now_.every};
    say(fmt::format("{} was not kept: continues with {}", difference_text(found, wanted),
                    text_of(seen.setting)));
    (trial_ ? on_time_ : on_ids_).harmed(wanted.key(), seen.step);
    ++overruled_;
    trial_.reset();
    onward_.reset();
    close_duels(answer);
    now_.setting = seen.setting;
    placed_ = seen.setting;
    settling_ = true;
    times_.clear();
    rows_drift_.reset();
    time_drift_.reset();
}

/// Looks for a change of the run itself.
void Bandit::watch(const Observation& seen, Answer& answer) {
    if (seen.step < first_step_ + settles) return;
    if (!trial_) watch_rows(seen, answer);
    if (!timed_now_ || !time_drift_.add(times_.back().own)) return;
    say(fmt::format("a step takes {:.2f} times as long: tries all again", time_drift_.ratio()));
    ++phases_;
    on_time_.forget();
    errors_on_time_.begin_phase();
    fresh_until_ = seen.step + fresh_for;
    boldly_ = true;
    rests_until_ = seen.step;
    close_duels(answer);
    // It took three samples to notice: the last of them are of what is now.
    while (times_.size() > 3)
        times_.pop_front();
    if (!trial_) return;
    trial_.reset();  // its stretches are of two runs
    put(now_, Reason::phase_changed, answer);
}

void Bandit::watch_rows(const Observation& seen, Answer& answer) {
    drift_rows_ += static_cast<double>(seen.twin.rows.fetched());
    drift_steps_ += seen.twin.rows.steps;
    if (drift_steps_ < drift_block) return;
    const double rows = std::exchange(drift_rows_, 0) / static_cast<double>(drift_steps_);
    drift_steps_ = 0;
    if (!rows_drift_.add(rows + 1)) return;
    say(fmt::format("a step fetches {:.2f} times the rows it did: tries all again",
                    rows_drift_.ratio()));
    ++phases_;
    on_ids_.forget();
    errors_on_ids_.begin_phase();
    close_duels(answer);
}

void Bandit::put(const Choice& choice, Reason why, Answer& answer) {
    const auto changes = changes_between(placed_, choice.setting);
    if (changes.empty()) return;
    answer.action = Action::set(changes, why);
    placed_ = choice.setting;
    settling_ = true;
}

void Bandit::say(std::string text) {
    said_.push_back(std::move(text));
}

std::string Bandit::learned() const {
    std::string text = fmt::format(
        "tried {} settings on shadows and {} on the clock ({} steps in a trial); {} changes taken, "
        "{} not kept; the run changed {} times\n",
        tried_, timed_, trial_steps_, taken_.size(), overruled_, phases_);
    const std::size_t first = taken_.size() > most_remembered ? taken_.size() - most_remembered : 0;
    for (std::size_t i = first; i < taken_.size(); ++i)
        text += taken_[i] + '\n';
    text += fmt::format("ends with {}", text_of(now_.setting));
    if (now_.decides) text += now_.every == 0 ? ", never" : fmt::format(", every:{}", now_.every);
    return text;
}

}  // namespace rudder::steer
