// Adds up what is told of a run, by whoever takes its steps or reads its folder.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rudder/train/records.hpp"
#include "steer/log/decision_log.hpp"

#include "standing.hpp"

namespace rudder::report {

/// What is known before the first step.
struct RunPlan {
    std::string name{};  ///< of several runs, which this is
    std::uint64_t epochs = 0;
    std::uint64_t steps = 0;  ///< 0: not known
    std::uint64_t ranks = 1;
    std::string policy{};
    std::string agent{};
};

/// What counts of a step of a rank.
struct WatchedStep {
    std::uint64_t step = 0;
    std::uint64_t epoch = 0;  ///< counted from 0
    std::uint64_t rank = 0;
    double loss = 0;
    Seconds seconds{};
    Rows rows{};
    std::uint64_t bytes = 0;
};

/// Looks at no clock: times are those of the steps, so that a file says the same as the run; who
/// knows the time that passed says so. A step costs well under a microsecond.
class RunWatch {
public:
    explicit RunWatch(RunPlan plan);

    /// A step of rank 0 that is done; `steps` has the whole run.
    void step(const train::StepRecord& record, std::uint64_t steps);
    /// Steps of all ranks, in the order of step and rank; those of rank 0 may have been told.
    void records(std::span<const train::StepRecord> records);
    /// The same, one by one.
    void step(const WatchedStep& step);
    /// The policy that rank 0 has now.
    void policy(std::string text) { now_.policy = std::move(text); }
    void decisions(std::span<const steer::DecisionRecord> decisions);
    /// An epoch, counted from 0, and what is known of it.
    void epoch(std::uint64_t epoch, std::optional<double> valid, double evaluation_seconds);

    /// `elapsed`: seconds that the steps seen so far took by the clock, all that lies between them
    /// included; without it the time to go is by the steps and evaluation alone.
    [[nodiscard]] Standing standing(std::optional<double> elapsed = {}) const;
    /// Of rank 0.
    [[nodiscard]] std::uint64_t steps_seen() const noexcept { return steps_seen_; }

private:
    /// Sums over a stretch of a rank's steps.
    struct Stretch {
        std::uint64_t steps = 0;
        std::uint64_t bytes = 0;
        Seconds seconds;
        Rows rows;
    };
    struct RankStretches {
        Stretch before;  ///< the last whole stretch
        Stretch now;
    };
    void note_policy(const train::StepRecord& record);
    void note_loss(double loss);
    void add_rank(const WatchedStep& step);

    Standing now_;
    std::vector<RankStretches> ranks_;
    std::optional<buffer::PolicySpec> policy_;
    std::uint64_t steps_seen_ = 0;  ///< of rank 0: a run may have been gone on with
    std::uint64_t steps_per_point_ = 1;
    std::uint64_t in_point_ = 0;
    double point_sum_ = 0;
};

}  // namespace rudder::report
