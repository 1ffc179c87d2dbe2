// What the buffers that an agent steers have done, as observations show it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/steer/observation.hpp"

namespace rudder::steer {

class HelmCounts {
public:
    /// The accounts of the real buffer after a step. What the step added.
    Rows step(const Rows& accounts);
    void timed(const Seconds& seconds, std::span<const std::uint64_t> rows_by_owner);
    /// Of other buffers, in a step that is counted here.
    void elsewhere(Rows rows, Seconds seconds);
    /// Seconds of stall since it was asked last.
    [[nodiscard]] double take_stall();
    /// What an observation shows, since it did so last.
    void show(Observation& seen);

private:
    Rows accounts_;    ///< of the real buffer
    Rows marked_;      ///< at the last observation
    Rows others_;      ///< of other buffers that follow, since the last observation
    Rows all_others_;  ///< since the start
    Seconds seconds_;  ///< since the last observation
    double stall_ = 0;
    std::vector<std::uint64_t> rows_by_owner_;
};

}  // namespace rudder::steer
