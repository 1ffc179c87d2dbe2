// Runs on simulated ranks in which something costs time on purpose: time is exact there.
#pragma once

#include <string>
#include <vector>

#include "core/executor/executor.hpp"
#include "report/explain/findings.hpp"
#include "train/fixture.hpp"

namespace rudder::test {

inline constexpr int planted_ranks = 4;

/// A run as it is planted.
struct Planted {
    train::TrainOptions options;
    double rate = 125e6;  ///< of the link, bytes per second
    int ranks_per_host = 1;
    bool skewed = false;  ///< half of the vertices in one part
    int threads = 2;      ///< of each rank; the second adds 0.7 of the first
    /// That all ranks share, with computing and what is done beside it; 0: each has its own, and
    /// nobody counts what they do.
    int cores = 0;
    /// What a core does for each step of a rank in the policy's turn, while another step computes.
    Duration beside{0};
};

/// Nothing limits it: a batch takes 0.2 ms and 8 us for each of its rows.
[[nodiscard]] Planted healthy_plant();
[[nodiscard]] report::ExplainedRun run_plant(const Planted& plant);
[[nodiscard]] std::vector<std::string> causes_in(const std::vector<report::Finding>& findings);
/// What is predicted is what was measured, within 30 %; both are in the test's properties.
void expect_gain(const report::Finding& finding, double measured);

}  // namespace rudder::test
