// What bench says to people and to programs.
#pragma once

#include <string>

#include "rudder/core/json_fwd.hpp"
#include "run/step_work.hpp"

namespace rudder::cli {

/// A planned run, what its steps take, and what would shorten them.
struct BenchPlan {
    std::string parts;
    std::uint64_t threads = 1;
    run::StepWork work;
    run::StepEstimate estimate;
    std::vector<run::Advice> advice;
};

[[nodiscard]] std::string profile_text(const MachineProfile& profile);
[[nodiscard]] Json profile_json(const MachineProfile& profile);
[[nodiscard]] std::string bench_plan_text(const BenchPlan& plan);
[[nodiscard]] Json bench_plan_json(const BenchPlan& plan);

}  // namespace rudder::cli
