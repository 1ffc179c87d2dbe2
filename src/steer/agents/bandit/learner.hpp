// The bandit: tries settings on shadows and on the clock, and takes what is better.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "choice.hpp"
#include "drift.hpp"
#include "duel.hpp"
#include "timed_trial.hpp"
#include "wager.hpp"

namespace rudder::steer {

/// Remembers how choices compared. A choice that lost is tried again after a pause that doubles
/// with each defeat: what was true may not stay so, but shadows and trials are not free.
class Evidence {
public:
    /// Steps from one look to the next: after the first defeat, and at most.
    Evidence(std::uint64_t first_pause, std::uint64_t longest_pause)
        : first_pause_(first_pause), longest_pause_(longest_pause) {}

    static constexpr std::uint64_t after_harm = 4096;  ///< the guard took it back

    struct Finding {
        std::uint64_t step = 0;
        std::uint64_t pause = 0;
        double difference = 0;  ///< of the cost of what was done then
    };

    void lost(const std::string& key, std::uint64_t step, double difference) {
        Finding& finding = found_[key];
        finding.pause = finding.pause == 0 ? first_pause_ : 2 * finding.pause;
        if (finding.pause > longest_pause_) finding.pause = longest_pause_;
        finding.step = step;
        finding.difference = difference;
    }
    void harmed(const std::string& key, std::uint64_t step) { found_[key] = {step, after_harm, 0}; }
    [[nodiscard]] const Finding* find(const std::string& key) const {
        const auto found = found_.find(key);
        return found == found_.end() ? nullptr : &found->second;
    }
    [[nodiscard]] bool due(const std::string& key, std::uint64_t step) const {
        const Finding* finding = find(key);
        return finding == nullptr || step >= finding->step + finding->pause;
    }
    /// All of it may be wrong now.
    void forget() { found_.clear(); }

private:
    std::uint64_t first_pause_;
    std::uint64_t longest_pause_;
    std::map<std::string, Finding> found_;
};

/// Local search by paired sequential tests. Of the choices beside the present one, as many as may
/// be begin together as shadows, beside one that goes on as the run does. All of them run ahead of
/// the run, over steps that are drawn already: so what is surely better is known before most of the
/// steps that show it are taken. The best is taken, and the search goes on from there. The real run
/// is in a trial setting only for what shadows cannot see (time), and only for a stated share of
/// its steps. When the cost changes for good, all that was learned is in doubt. The chance of ever
/// taking what is no better is at most `wrong_on_ids` of shadows and `wrong_on_time` of the clock,
/// in a whole run.
class Bandit final : public Agent {
public:
    Bandit(const AgentSpec& spec, const AgentFacts& facts);

    [[nodiscard]] std::uint64_t interval() const noexcept override { return interval_; }
    [[nodiscard]] Answer decide(const Observation& seen) override;
    [[nodiscard]] std::string learned() const override;

private:
    // learner.cpp: what is in place, and what is done.
    void begin(const Observation& seen, Answer& answer);
    void overruled(const Observation& seen, Answer& answer);
    void watch(const Observation& seen, Answer& answer);
    void watch_rows(const Observation& seen, Answer& answer);
    void put(const Choice& choice, Reason why, Answer& answer);
    void say(std::string text);

    // learner_trials.cpp: how it is found out.
    void feed_duels(const Observation& seen, Answer& answer);
    bool promote(const Observation& seen, Answer& answer);
    void drop_losers(const Observation& seen, Answer& answer);
    void open_duels(const Observation& seen, Answer& answer);
    void close_duels(Answer& answer);
    [[nodiscard]] std::vector<Choice> next_batch(const Observation& seen) const;
    [[nodiscard]] bool fills_soon(const Observation& seen) const;
    void take_time(const Observation& seen);
    void follow_trial(const Observation& seen, Answer& answer);
    void start_trial(const Observation& seen, Answer& answer);
    void end_trial(const Observation& seen, Answer& answer);
    [[nodiscard]] bool pays(const Duel& duel, const Observation& seen) const;
    [[nodiscard]] bool in_budget(const Observation& seen) const;
    [[nodiscard]] bool ending(const Observation& seen) const;

    static constexpr double wrong_on_ids = 0.01;
    static constexpr double wrong_on_time = 0.04;

    Choices choices_;
    std::uint64_t seed_;
    std::uint64_t interval_;
    double budget_;  ///< share of steps that may be in a trial setting
    std::size_t most_duels_;
    std::uint64_t every_ = 16;  ///< to begin with, where it says when to replace
    buffer::PolicySpec built_in_;

    bool begun_ = false;
    std::uint64_t first_step_ = 0;
    Choice now_;                 ///< the best that is known
    Setting placed_;             ///< what the run should be in: now_'s, or that of a trial
    std::vector<Duel> duels_;    ///< of one batch
    std::string champion_;       ///< the shadow that they are compared with; empty: no batch
    double fetched_before_ = 0;  ///< rows in the buffer's past when the batch began
    bool tested_ = false;        ///< the buffer was full in some of its steps
    std::uint64_t named_ = 0;
    std::uint64_t settled_at_ = 0;   ///< step from which the twin is worth comparing with
    std::uint64_t unseen_from_ = 0;  ///< step that no shadow of a batch before has taken
    ErrorBudget errors_on_ids_{wrong_on_ids};
    Evidence on_ids_{256, 1024};
    Drift rows_drift_{0.03};
    double drift_rows_ = 0;  ///< of a block that is not complete
    std::uint64_t drift_steps_ = 0;

    std::optional<TimedTrial> trial_;
    ErrorBudget errors_on_time_{wrong_on_time};
    Evidence on_time_{512, 4096};  ///< trials of the real run cost more than shadows
    Drift time_drift_{0.03};
    std::deque<StepTimes> times_;   ///< under now_, newest last
    bool timed_now_ = false;        ///< the newest is of this observation
    bool settling_ = true;          ///< the next sample is of a change
    std::optional<Choice> onward_;  ///< the same change once more, after it paid
    std::uint64_t trial_steps_ = 0;
    std::uint64_t rests_until_ = 0;  ///< step; no trial on the clock before it
    std::uint64_t fresh_until_ = 0;  ///< step; until then it has much to learn
    bool boldly_ = true;             ///< nothing has been taken on the clock since then

    std::vector<std::string> said_;  ///< in this answer
    std::deque<std::string> taken_;  ///< changes, for the end
    std::uint64_t tried_ = 0;
    std::uint64_t timed_ = 0;
    std::uint64_t overruled_ = 0;
    std::uint64_t phases_ = 0;
};

}  // namespace rudder::steer
