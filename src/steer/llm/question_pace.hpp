// How many steps lie between two questions to a model that computes on this machine.
#pragma once

#include <atomic>
#include <cstdint>

#include "rudder/steer/observation.hpp"

namespace rudder::steer {

/// Lets the interval grow until the CPU time of answers is at most a share of the run's time: the
/// next question comes when the run has lasted long enough for what all answers took so far and
/// one more of mean size. `interval` may be called from another task than `answered`.
class QuestionPace {
public:
    /// The interval is never below `least`; a share of 1 or more leaves it there.
    QuestionPace(std::uint64_t least, double share) : least_(least), share_(share), now_(least) {}

    /// An answer took this CPU time. The steps that were seen say how long a step is; without
    /// times the interval stays.
    void answered(const Observation& seen, double cpu_seconds);
    [[nodiscard]] std::uint64_t interval() const noexcept {
        return now_.load(std::memory_order_relaxed);
    }

private:
    std::uint64_t least_;
    double share_;
    double cpu_ = 0;
    double answers_ = 0;
    double seconds_ = 0;  ///< of the steps seen
    double steps_ = 0;
    std::atomic<std::uint64_t> now_;
};

}  // namespace rudder::steer
