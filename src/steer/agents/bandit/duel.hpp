// A contest on shadows: one that does something else, against the one that does what is done.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "choice.hpp"
#include "wager.hpp"

namespace rudder::steer {

enum class TrialVerdict : std::uint8_t { open, better, worse, no_better };

/// A sequential test of paired costs. Both follow the same ids in the same steps, so differences
/// carry little noise; where one fetches earlier than the other, they are paired by the steps that
/// they fetch for. Of every block of steps the difference, relative to what was known of the
/// champion's cost before it and clipped, goes into a wager that the challenger is no better: it
/// has won when that is won, however often one looks. What the change itself costs in the first
/// steps is kept apart.
class Duel {
public:
    static constexpr std::uint64_t settles = 8;  ///< steps in which a change works itself out

    /// `level`: the chance that one that is no better wins; `looked_at`: steps to come at which
    /// somebody looked before who it is up to was chosen, so that they are no evidence.
    Duel(std::string name, Choice challenger, const Choice& champion, double level,
         std::uint64_t looked_at = 0);

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] const Choice& challenger() const noexcept { return challenger_; }

    /// Rows that each of them fetched in the next step; while the buffer is `filling`, nothing can
    /// be better, and the step does not count.
    void add(double challenger, double champion, bool filling = false);
    [[nodiscard]] TrialVerdict verdict() const;
    /// Open, and more than half of the way to winning.
    [[nodiscard]] bool close_to_winning() const;
    /// Enough was seen to say roughly how it compares.
    [[nodiscard]] bool roughly_known() const;

    /// Of the champion's cost: below 0 where the challenger costs less.
    [[nodiscard]] double difference() const noexcept { return difference_; }
    /// Rows per step that it saves, and rows that changing cost.
    [[nodiscard]] double saves() const noexcept { return -difference_ * reference_; }
    [[nodiscard]] double transition() const noexcept { return transition_; }
    [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }

private:
    struct Sample {
        double cost = 0;
        double reference = 0;
    };
    void pair(const Sample& step, bool filling);
    void end_block();
    void sum_up();
    /// The number of blocks that take so many steps.
    [[nodiscard]] std::size_t blocks(std::uint64_t steps) const { return steps / block_; }

    std::string name_;
    Choice challenger_;
    std::uint64_t block_;   ///< steps of one sample
    std::uint64_t period_;  ///< steps after which the two can be compared
    std::uint64_t warm_;    ///< steps until it counts
    bool cold_;             ///< has to learn first: is given more time
    bool further_;          ///< looks further ahead: what it keeps pays later
    // Rows that are not paired yet, and steps of each that have nobody to be paired with.
    std::deque<double> ours_;
    std::deque<double> theirs_;
    std::uint64_t skip_ours_ = 0;
    std::uint64_t skip_theirs_ = 0;
    std::uint64_t steps_ = 0;
    std::uint64_t paired_ = 0;
    std::uint64_t in_block_ = 0;
    std::uint64_t in_period_ = 0;
    Sample sum_;
    Sample all_;
    std::vector<Sample> samples_;
    double level_;
    Wager better_;      ///< that it is no better
    Wager worse_;       ///< that it is no worse
    Scale scale_;       ///< of the differences
    double known_ = 0;  ///< the champion's cost per step, before the block under way
    double transition_ = 0;
    double difference_ = 0;
    double reference_ = 0;
};

}  // namespace rudder::steer
