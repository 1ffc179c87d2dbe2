// When a model that computes on this machine is asked again.
#pragma once

#include <atomic>
#include <cstdint>

namespace rudder::steer {

/// Keeps the CPU time of answers, and of the shadows that run for them, to a share of the run's
/// time: the next question comes when the run has lasted long enough for all that was spent so far
/// and for one more question of mean size, and never before `least` steps. Where shadows run, they
/// do so in rounds: they begin when a question is due, run for some windows, and rest again once
/// the next question is not due. `interval` may be called from another task than the rest.
class QuestionPace {
public:
    /// Steps to the next question where it is not due yet: more than a run has.
    static constexpr std::uint64_t not_yet = std::uint64_t{1} << 40U;
    /// Windows of `least` steps that shadows run before a question: in the first they find their
    /// feet, the second is shown.
    static constexpr int windows = 2;

    /// What whoever is asked does.
    enum class Turn : std::uint8_t {
        ask,    ///< puts the question
        begin,  ///< lets shadows begin
        watch,  ///< waits for them
        rest    ///< ends them: they have taken what there was for the question
    };

    /// A share of 1 or more bounds nothing: then no shadow rests. `shadows`: there are some.
    QuestionPace(std::uint64_t least, double share, bool shadows = false)
        : least_(least), share_(share), rounds_(shadows && share < 1) {}

    /// Steps between two questions, for a run that has lasted so long, whose shadows took so much.
    [[nodiscard]] std::uint64_t interval(double run_seconds,
                                         double shadow_seconds = 0) const noexcept {
        const bool resting = window_.load(std::memory_order_relaxed) == 0;
        return !resting || due(run_seconds, shadow_seconds) ? least_ : not_yet;
    }
    /// What is to be done now. The first question waits for nobody.
    [[nodiscard]] Turn turn(double run_seconds, double shadow_seconds) noexcept {
        const int window = window_.load(std::memory_order_relaxed);
        if (!rounds_ || answers_.load(std::memory_order_relaxed) == 0) return Turn::ask;
        if (window > windows) {  // they have run since the last question
            if (due(run_seconds, shadow_seconds)) return Turn::ask;
            window_.store(0, std::memory_order_relaxed);
            return Turn::rest;
        }
        window_.store(window + 1, std::memory_order_relaxed);
        if (window == 0) return Turn::begin;
        return window < windows ? Turn::watch : Turn::ask;
    }
    /// An answer, or the failure to give one, took this CPU time.
    void answered(double cpu_seconds) noexcept {
        add(cpu_seconds);
        answers_.store(answers_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    /// After an answer: whether shadows are to rest until the next round, or (again) run.
    [[nodiscard]] bool rests(double run_seconds, double shadow_seconds) noexcept {
        if (!rounds_) return false;
        const bool rest = !due(run_seconds, shadow_seconds);
        if (rest || window_.load(std::memory_order_relaxed) == 0)
            window_.store(rest ? 0 : 1, std::memory_order_relaxed);
        return rest;
    }
    /// Whatever was done in another turn took this.
    void add(double cpu_seconds) noexcept {
        cpu_.store(cpu_.load(std::memory_order_relaxed) + cpu_seconds, std::memory_order_relaxed);
    }

private:
    [[nodiscard]] bool due(double run_seconds, double shadow_seconds) const noexcept {
        const double answers = answers_.load(std::memory_order_relaxed);
        if (answers == 0 || share_ >= 1) return true;
        const double spent = cpu_.load(std::memory_order_relaxed) + shadow_seconds;
        return run_seconds * share_ >= spent + spent / answers;
    }

    std::uint64_t least_;
    double share_;
    bool rounds_;
    std::atomic<double> cpu_{0};
    std::atomic<double> answers_{0};
    std::atomic<int> window_{0};  ///< of a round; 0: shadows rest
};

}  // namespace rudder::steer
