// When a model that computes on this machine is asked again.
#pragma once

#include <atomic>
#include <cstdint>

namespace rudder::steer {

/// Keeps the CPU time of answers to a share of the run's time: the next question comes when the run
/// has lasted long enough for what all answers took so far and one more of mean size, and never
/// before `least` steps. `interval` may be called from another task than `answered`.
class QuestionPace {
public:
    /// Steps to the next question where it is not due yet: more than a run has.
    static constexpr std::uint64_t not_yet = std::uint64_t{1} << 40U;

    /// A share of 1 or more bounds nothing.
    QuestionPace(std::uint64_t least, double share) : least_(least), share_(share) {}

    /// An answer took this CPU time.
    void answered(double cpu_seconds) noexcept {
        cpu_ += cpu_seconds;
        answers_ += 1;
        if (share_ < 1) due_.store((cpu_ + cpu_ / answers_) / share_, std::memory_order_relaxed);
    }
    /// Steps between two questions, for a run that has lasted so long.
    [[nodiscard]] std::uint64_t interval(double run_seconds) const noexcept {
        return run_seconds >= due_.load(std::memory_order_relaxed) ? least_ : not_yet;
    }

private:
    std::uint64_t least_;
    double share_;
    double cpu_ = 0;
    double answers_ = 0;
    std::atomic<double> due_{0};  ///< seconds from the start of the run
};

}  // namespace rudder::steer
