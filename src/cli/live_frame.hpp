// The lines of the live view, as wide as the screen allows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rudder/train/records.hpp"
#include "steer/log/decision_log.hpp"

#include "terminal.hpp"

namespace rudder::cli {

/// What the live view shows.
struct LiveFacts {
    std::string title;  ///< of several runs, which this is; may be empty
    std::uint64_t steps_done = 0;
    std::uint64_t steps = 0;
    std::uint32_t epoch = 0;  ///< counted from 0
    std::uint32_t epochs = 0;
    double seconds_left = 0;
    double loss = 0;
    std::vector<double> losses;   ///< so far, a few points
    std::optional<double> valid;  ///< share of right answers, of the last evaluation
    std::uint32_t valid_epoch = 0;
    // Of the last seconds, of the rank that shows it.
    int ranks = 1;
    Rows rows;
    double bytes_per_second = 0;
    double steps_per_second = 0;
    double stall = 0;      ///< share of the time
    std::string decision;  ///< the agent's last, with its effect; may be empty
};

/// At most five lines, none as wide as the screen, no more than it has rows; what does not fit is
/// left out, the least important first.
[[nodiscard]] std::vector<std::string> live_frame(const LiveFacts& facts, const ScreenLook& look);

/// An agent's decision in a few words: what, why, and what came of it.
[[nodiscard]] std::string decision_text(const steer::DecisionRecord& record);

/// "3:07".
[[nodiscard]] std::string clock_text(double seconds);

}  // namespace rudder::cli
