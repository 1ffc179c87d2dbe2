// A contest on the clock: stretches of the real run, each of the side that a coin chose.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "rudder/core/random.hpp"

#include "choice.hpp"
#include "duel.hpp"
#include "wager.hpp"

namespace rudder::steer {

/// Seconds of a step, on average over a few: of the host that is steered, not of those it waits
/// for at the gradients.
struct StepTimes {
    double stall = 0;  ///< waiting for rows
    double own = 0;    ///< that, and computing
    double step = 0;   ///< all of it
};

/// Compares the time of steps under another choice with that under the present one. A coin chooses
/// the side of each stretch, whose length is drawn, too; so whatever else slows the run down, and
/// however that depends on the past, falls on either side alike, and a wager on the coin holds
/// (switchback experiments: Bojinov, Simchi-Levi and Zhao 2023; Ham and others 2022). What concerns
/// fetching is judged by the stall, threads by computing, too, groups of gradients by all of it.
class TimedTrial {
public:
    static constexpr std::size_t longest = 2;          ///< samples of a stretch
    static constexpr std::size_t most_stretches = 40;  ///< of both sides

    /// `before`: samples of the present choice, newest last; `level`: the chance that one that is
    /// no faster wins; `draws`: where coins come from.
    TimedTrial(Choice other, const Choice& present, const std::deque<StepTimes>& before,
               double level, std::uint64_t draws);

    [[nodiscard]] const Choice& other() const noexcept { return other_; }
    /// Whether the run is to be in the other choice now.
    [[nodiscard]] bool in_other() const noexcept { return in_other_; }
    /// Whether the next sample is of a change of sides.
    [[nodiscard]] bool changing() const noexcept { return changing_; }
    /// Belongs to the side the run is in; the first of a stretch is of the change. True at the end
    /// of a stretch: the run is to be in the side that `in_other` then says, unless there is a
    /// verdict.
    bool add(const StepTimes& times);
    [[nodiscard]] TrialVerdict verdict() const noexcept { return verdict_; }
    /// Of the time of a step: below 0 where the other is faster.
    [[nodiscard]] double difference() const noexcept { return difference_; }
    /// Samples of the present choice, and of the other, newest last.
    [[nodiscard]] const std::vector<StepTimes>& ours() const noexcept { return ours_.samples; }
    [[nodiscard]] const std::vector<StepTimes>& theirs() const noexcept { return theirs_.samples; }
    [[nodiscard]] std::size_t stretches() const noexcept { return stretches_; }

private:
    struct Side {
        std::vector<StepTimes> samples;
        std::vector<double> costs;  ///< what each is judged by
        double sum = 0;             ///< of the costs of stretches
        std::size_t stretches = 0;
        [[nodiscard]] double mean() const { return sum / static_cast<double>(stretches); }
    };
    [[nodiscard]] double cost_of(const StepTimes& times) const;
    [[nodiscard]] double middle() const;
    void end_stretch();
    void begin_stretch();
    void judge();

    Choice other_;
    double StepTimes::*judged_by_;
    Side ours_;
    Side theirs_;
    double step_ = 0;  ///< seconds of a whole one, before the trial
    double level_;
    RandomStream stream_;
    std::uint64_t drawn_ = 0;
    Wager better_;  ///< that the other is no faster
    Wager worse_;   ///< that it is no slower
    Scale scale_;
    bool in_other_ = true;
    bool changing_ = true;          ///< the next sample is of the change
    std::size_t samples_left_ = 1;  ///< of the stretch
    double in_stretch_ = 0;
    std::size_t taken_ = 0;  ///< samples of it
    std::size_t stretches_ = 0;
    TrialVerdict verdict_ = TrialVerdict::open;
    double difference_ = 0;
};

}  // namespace rudder::steer
