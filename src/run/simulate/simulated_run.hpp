// Simulated runs and their folders.
#pragma once

#include <filesystem>
#include <string>

#include "core/staging.hpp"
#include "rudder/core/progress.hpp"
#include "train/summary.hpp"

#include "scenario.hpp"

namespace rudder::run {

/// The partition that a job runs on: its own, or one that is made and kept in `cache`, where it is
/// found again by what it was made of. More ranks than vertices, or ranks that do not divide the
/// parts, are refused by the scenario's place.
[[nodiscard]] std::filesystem::path simulated_parts(const Scenario& scenario,
                                                    const SimulatedJob& job,
                                                    const std::filesystem::path& cache,
                                                    Progress& progress);
/// Beside an output: where what scenarios are run on is kept.
[[nodiscard]] std::filesystem::path simulate_cache(const std::filesystem::path& out);

/// The cluster of a job: its profile, and what it says itself of the network.
[[nodiscard]] train::ClusterModel cluster_of(const Scenario& scenario, const SimulatedJob& job);

/// About how many seconds of one core a job takes.
[[nodiscard]] double job_seconds(const SimulatedJob& job, double train_vertices);

/// What a job came to.
struct SimulatedSummary {
    train::Summary summary;
    double receive_skew = 1;
    double step_seconds = 0;  ///< on the clock, on average
};

/// Simulates a job and writes its folder: as that of a run, without losses and checkpoints. The
/// same job gives the same bytes.
[[nodiscard]] SimulatedSummary simulate_job(const Scenario& scenario, const SweptJob& job,
                                            const std::filesystem::path& parts,
                                            const std::filesystem::path& out, Existing existing);

}  // namespace rudder::run
