// What a person reads after a training run, and before one.
#pragma once

#include <optional>
#include <string>

#include "report/explain/findings.hpp"
#include "rudder/train/trainer.hpp"
#include "train/summary.hpp"

namespace rudder::cli {

/// The closing lines, at most 20: the answer first, then where the time went, what the buffer
/// saved, and what limits the run, with what to try next, if that is known. `folder` is the run's,
/// empty: none. Lines are broken to fit in so many columns; 0: they are not.
[[nodiscard]] std::string summary_text(const train::Summary& summary,
                                       const std::optional<report::Finding>& finding,
                                       const std::string& folder, std::size_t columns = 0);

/// The regret of an agent, with its error where it is an estimate; "-": it is not known.
[[nodiscard]] std::string regret_text(const train::SummaryAgent& agent);

/// The plan for people.
[[nodiscard]] std::string plan_text(const train::TrainPlan& plan, int ranks);
/// What needs how much memory, the largest first, on one line.
[[nodiscard]] std::string plan_items(const train::TrainPlan& plan);

}  // namespace rudder::cli
