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
    buffer::RowAccounts step(const buffer::RowAccounts& accounts);
    void timed(const StretchSeconds& seconds, std::span<const std::uint64_t> rows_by_owner);
    /// Of other buffers, in a step that is counted here.
    void elsewhere(buffer::RowAccounts rows, StretchSeconds seconds);
    /// Seconds of stall since it was asked last.
    [[nodiscard]] double take_stall();
    /// What an observation shows, since it did so last.
    void show(Observation& seen);

private:
    buffer::RowAccounts accounts_;    ///< of the real buffer
    buffer::RowAccounts marked_;      ///< at the last observation
    buffer::RowAccounts others_;      ///< of other buffers that follow, since the last observation
    buffer::RowAccounts all_others_;  ///< since the start
    StretchSeconds seconds_;          ///< since the last observation
    double stall_ = 0;
    std::vector<std::uint64_t> rows_by_owner_;
};

}  // namespace rudder::steer
