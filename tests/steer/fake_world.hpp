// A run that is nothing but formulas: rows and seconds of a step follow from the setting.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "rudder/core/random.hpp"
#include "rudder/steer/agent_spec.hpp"

#include "hand_made.hpp"

namespace rudder::test {

/// Asks an agent as the helm would in replay, and does what it says at once.
class FakeWorld {
public:
    using Formula = std::function<double(const steer::Setting&, std::uint64_t step)>;

    steer::Setting setting;
    steer::KnobLimits limits{.slots = 1000, .window = 256, .sample_threads = 1, .fetch_threads = 1};
    steer::CostKind cost = steer::CostKind::rows;
    std::uint64_t steps = 1000;
    Formula rows = [](const steer::Setting&, std::uint64_t) { return 1000.0; };
    Formula seconds = [](const steer::Setting&, std::uint64_t) { return 0.01; };
    double rows_noise = 0.02;     ///< common to all shadows; a tenth of it is each one's own
    double seconds_noise = 0.02;  ///< of one step
    /// Puts something else in place after an answer took effect, if given.
    std::function<void(FakeWorld&, std::uint64_t step)> meddle{};

    // What came of it.
    std::vector<steer::Setting> history;  ///< of the real buffer, by step
    std::vector<steer::Answer> answers;
    std::vector<std::uint64_t> asked;  ///< the step of each answer
    std::vector<bool> replaced;        ///< by step
    double fetched = 0;
    std::size_t most_shadows = 0;

    explicit FakeWorld(const char* policy, std::uint64_t seed = 0)
        : stream_({Purpose::test, seed}), draws_(stream_, 0) {
        setting.policy = buffer::PolicySpec::parse(policy);
        setting.capacity = 1000;
        twin_.name = "~twin";
        twin_.setting = built_in_.setting = setting;
    }

    [[nodiscard]] steer::AgentFacts facts() const {
        steer::AgentFacts facts;
        facts.seed = 3;
        facts.start = setting;
        facts.built_in = buffer::built_in_rule(setting.policy);
        facts.limits = limits;
        facts.cost = cost;
        facts.steps = steps;
        facts.steps_per_epoch = 100;
        return facts;
    }

    void run(steer::Agent& agent) {
        twin_.setting = setting;
        built_in_.setting = setting;
        built_in_.setting.policy = buffer::built_in_rule(setting.policy);
        std::uint64_t next = 0;
        for (std::uint64_t step = 0; step < steps; ++step) {
            bool replace = false;
            if (step >= next) {
                next = step + agent.interval();
                const steer::Answer answer = agent.decide(observe(step));
                apply(answer, step);
                replace = answer.action.kind == steer::ActionKind::replace;
                answers.push_back(answer);
                asked.push_back(step);
                if (meddle) meddle(*this, step);
                twin_.setting = setting;
            }
            advance(step);
            replaced.push_back(replace);
        }
    }

    [[nodiscard]] std::string notes() const {
        std::string text;
        for (std::size_t i = 0; i < answers.size(); ++i) {
            if (!answers[i].note.empty())
                text += std::to_string(asked[i]) + ": " + answers[i].note + '\n';
        }
        return text;
    }
    /// Steps from `first` on until the real buffer had that policy for good (or for a while).
    [[nodiscard]] std::uint64_t until(
        std::uint64_t first, const std::function<bool(const steer::Setting&)>& good) const {
        for (std::uint64_t step = first; step < history.size(); ++step) {
            bool held = true;
            for (std::uint64_t i = step; i < std::min<std::uint64_t>(history.size(), step + 40);
                 ++i)
                held = held && good(history[i]);
            if (held) return step - first;
        }
        return history.size();
    }

private:
    /// A shadow, which may be ahead of the run.
    struct Beside {
        steer::ShadowReading reading;
        std::uint64_t ahead = 0;
        std::uint64_t next = 0;
    };

    double gauss() {
        const double u = std::max(1e-12, draws_.uniform());
        return std::sqrt(-2 * std::log(u)) * std::cos(2 * 3.14159265358979 * draws_.uniform());
    }

    static void count(steer::ShadowReading& shadow, double fetched) {
        Rows one{.steps = 1, .needed = 2000};
        one.demand = static_cast<std::uint64_t>(std::max(0.0, std::min(fetched, 2000.0)));
        one.hit = one.needed - one.demand;
        shadow.rows += one;
        shadow.total += one;
        shadow.by_step.push_back(static_cast<double>(one.demand));
        ++shadow.age;
    }

    /// Told to replace every so many steps is as good as a signal of its own.
    [[nodiscard]] steer::Setting told() const {
        steer::Setting effective = setting;
        if (!setting.policy.info().takes_decisions || buffer::has_own_signal(setting.policy))
            return effective;
        std::vector<std::size_t> last;
        for (std::size_t i = replaced.size(); i-- > 0 && last.size() < 2;) {
            if (replaced[i]) last.push_back(i);
        }
        if (last.size() == 2) effective.policy.set("every", static_cast<double>(last[0] - last[1]));
        return effective;
    }

    /// What all that take a step have in common.
    double common(std::uint64_t step) {
        while (common_.size() <= step)
            common_.push_back(1 + rows_noise * gauss());
        return common_[step];
    }

    double drawn(const steer::Setting& s, std::uint64_t step) {
        return rows(s, step) * common(step) * (1 + 0.1 * rows_noise * gauss());
    }

    /// Takes the step, and as those that are ahead do, up to four.
    void advance(Beside& shadow, std::uint64_t step) {
        const std::uint64_t until =
            std::min({shadow.next + 4, step + 1 + shadow.ahead, std::max(steps, step + 1)});
        while (shadow.next < std::max(until, step + 1)) {
            count(shadow.reading, drawn(shadow.reading.setting, shadow.next));
            ++shadow.next;
        }
    }

    void advance(std::uint64_t step) {
        const double real = drawn(told(), step);
        fetched += real;
        count(twin_, real);
        count(built_in_, drawn(built_in_.setting, step));
        for (Beside& shadow : shadows_)
            advance(shadow, step);
        timed_.steps += 1;
        const double took = seconds(setting, step) * (1 + seconds_noise * gauss());
        timed_.step += took;
        timed_.stall += took;
        history.push_back(setting);
    }

    steer::Observation observe(std::uint64_t step) {
        steer::Observation seen = observed(step);
        seen.steps = steps;
        seen.rows = twin_.rows;
        seen.total = twin_.total;
        seen.setting = setting;
        seen.limits = limits;
        seen.cost = cost;
        seen.takes_decisions =
            setting.policy.info().takes_decisions && !buffer::has_own_signal(setting.policy);
        seen.twin = twin_;
        seen.built_in = built_in_;
        for (const Beside& shadow : shadows_)
            seen.shadows.push_back(shadow.reading);
        if (cost == steer::CostKind::seconds) seen.seconds = timed_;
        twin_.rows = built_in_.rows = {};
        twin_.by_step.clear();
        built_in_.by_step.clear();
        timed_ = {};
        for (Beside& shadow : shadows_) {
            shadow.reading.rows = {};
            shadow.reading.by_step.clear();
        }
        return seen;
    }

    void apply(const steer::Answer& answer, std::uint64_t step) {
        if (answer.action.kind == steer::ActionKind::set)
            setting = steer::with_changes(setting, answer.action.knobs, limits, "test");
        using enum steer::ShadowOrder::Kind;
        for (const steer::ShadowOrder& order : answer.shadows) {
            const auto found = std::ranges::find(
                shadows_, order.name,
                [](const Beside& shadow) -> const auto& { return shadow.reading.name; });
            if (order.kind == open || order.kind == copy) {
                Beside& made = shadows_.emplace_back();
                made.reading.name = order.name;
                made.reading.setting = *order.setting;
                made.ahead = order.ahead;
                made.next = step;
            } else if (order.kind == set) {
                found->reading.setting = *order.setting;
            } else if (order.kind == close && found != shadows_.end()) {
                shadows_.erase(found);
            }
        }
        most_shadows = std::max(most_shadows, shadows_.size());
    }

    RandomStream stream_;
    Draws draws_;
    steer::ShadowReading twin_;
    steer::ShadowReading built_in_;
    std::vector<Beside> shadows_;
    std::vector<double> common_;  ///< by step
    Seconds timed_;
};

}  // namespace rudder::test
