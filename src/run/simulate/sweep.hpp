// What the runs of a sweep came to, side by side.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "simulated_run.hpp"

namespace rudder::run {

struct SweptRun {
    SweptJob job;
    SimulatedSummary made;
};

/// The figures of a run beside what is swept: names, and values as text.
[[nodiscard]] std::vector<std::string> sweep_figures();
[[nodiscard]] std::vector<std::string> sweep_figures(const SweptRun& run);
/// A line for each run.
[[nodiscard]] std::string sweep_csv(const Scenario& scenario, std::span<const SweptRun> runs);
/// What a step of each goes to.
[[nodiscard]] std::string sweep_svg(const Scenario& scenario, std::span<const SweptRun> runs);
[[nodiscard]] Json sweep_json(std::span<const SweptRun> runs);

}  // namespace rudder::run
