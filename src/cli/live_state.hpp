// What the live view knows of a run so far.
#pragma once

#include <chrono>
#include <span>
#include <string>

#include "rudder/train/records.hpp"

#include "live_frame.hpp"

namespace rudder::cli {

/// Adds up what is told of a run. A step costs well under a microsecond.
class LiveState {
public:
    using Clock = std::chrono::steady_clock;

    LiveState(std::string title, std::uint32_t epochs, int ranks, Clock::time_point start);

    void step(const train::StepRecord& record, std::uint64_t steps, Clock::time_point now);
    void decisions(std::span<const steer::DecisionRecord> decisions);
    void epoch(const train::EpochRecord& record);

    [[nodiscard]] LiveFacts facts(Clock::time_point now) const;

private:
    /// Sums over a stretch of time.
    struct Stretch {
        Clock::time_point begin{};
        std::uint64_t steps = 0;
        std::uint64_t bytes = 0;
        Seconds seconds;
        Rows rows;
    };
    void note_loss(double loss);

    LiveFacts facts_;
    Clock::time_point start_;
    std::uint64_t steps_here_ = 0;  ///< of this process: a run may have been gone on with
    Stretch before_;                ///< the last whole stretch
    Stretch now_;
    std::uint64_t steps_per_point_ = 1;
    std::uint64_t in_point_ = 0;
    double point_sum_ = 0;
};

}  // namespace rudder::cli
