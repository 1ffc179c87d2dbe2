// A contest on the clock: alternating stretches of the real run.
#pragma once

#include <deque>
#include <vector>

#include "choice.hpp"
#include "duel.hpp"

namespace rudder::steer {

/// Compares the time of steps under another choice with that under the present one, in stretches
/// B A B A ..., by medians: the noise of a run has heavy tails. A difference far beyond the
/// noise is believed after the first stretch; a smaller one has to show again and again.
class TimedTrial {
public:
    static constexpr std::size_t stretch = 2;         ///< samples
    static constexpr std::size_t most_stretches = 4;  ///< of the other choice

    /// `before`: samples of the present choice, newest last.
    TimedTrial(Choice other, const std::deque<double>& before);

    [[nodiscard]] const Choice& other() const noexcept { return other_; }
    /// Whether the run is to be in the other choice now.
    [[nodiscard]] bool in_other() const noexcept { return in_other_; }
    /// Seconds per step; belongs to the side the run is in. True at the end of a stretch: the run
    /// is to change sides unless there is a verdict.
    bool add(double seconds);
    [[nodiscard]] TrialVerdict verdict() const noexcept { return verdict_; }
    /// Of the present choice's time: below 0 where the other is faster.
    [[nodiscard]] double difference() const noexcept { return difference_; }
    [[nodiscard]] double error() const noexcept { return error_; }
    /// Samples of the present choice, and of the other.
    [[nodiscard]] const std::vector<double>& ours() const noexcept { return ours_; }
    [[nodiscard]] const std::vector<double>& theirs() const noexcept { return theirs_; }
    [[nodiscard]] std::size_t stretches() const noexcept { return stretches_; }

private:
    void judge();

    Choice other_;
    std::vector<double> ours_;
    std::vector<double> theirs_;
    bool in_other_ = true;
    std::size_t in_stretch_ = 0;
    std::size_t stretches_ = 0;  ///< of the other choice, complete
    TrialVerdict verdict_ = TrialVerdict::open;
    double difference_ = 0;
    double error_ = 0;
};

}  // namespace rudder::steer
