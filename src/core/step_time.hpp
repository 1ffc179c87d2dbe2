// Where the time of a step went, in the words that every view of a run uses.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "rudder/core/seconds.hpp"

namespace rudder {

/// One of the parts that a step's time consists of.
struct StepPart {
    std::string_view words;
    std::string_view key;  ///< in `seconds` of metrics.jsonl and summary.json
    double Seconds::*seconds;
};

/// All of them: they add up to `step`.
inline constexpr std::array<StepPart, 6> step_parts{{
    {"computing", "compute", &Seconds::compute},
    {"waiting for rows", "wait_rows", &Seconds::wait_rows},
    {"gradients", "wait_gradients", &Seconds::wait_gradients},
    {"slower ranks", "wait_ranks", &Seconds::wait_ranks},
    {"agent", "wait_agent", &Seconds::wait_agent},
    {"rest", "rest", &Seconds::rest},
}};

/// Parts of less than this share of a step are not shown to people.
inline constexpr double least_shown_part = 0.005;

/// With all parts, also where an earlier version wrote it, which did not divide waits or tell the
/// rest.
[[nodiscard]] inline Seconds with_all_parts(Seconds seconds) noexcept {
    const double divided =
        seconds.wait_rows + seconds.wait_gradients + seconds.wait_ranks + seconds.wait_agent;
    if (divided <= 0) {
        seconds.wait_rows = seconds.stall;
        seconds.wait_gradients = seconds.reduce;
    }
    if (seconds.rest <= 0) {
        seconds.rest =
            std::max(0.0, seconds.step - seconds.compute - seconds.wait_rows -
                              seconds.wait_gradients - seconds.wait_ranks - seconds.wait_agent);
    }
    return seconds;
}

}  // namespace rudder
