// The readers of the single files of a run's folder.
#pragma once

#include <filesystem>
#include <vector>

#include "report/run_data.hpp"
#include "rudder/core/json_fwd.hpp"

namespace rudder::report {

/// The most buckets a series is read into.
inline constexpr std::size_t most_buckets = 512;

[[nodiscard]] Facts flat_facts(const Json& value);
/// An input Error if the file is no JSON.
[[nodiscard]] Facts read_facts(const std::filesystem::path& file);

[[nodiscard]] MetricsData read_metrics(const std::filesystem::path& file);

/// What epochs.jsonl says, and how many of its lines could not be read.
struct EpochFile {
    std::vector<EpochData> epochs;
    std::uint64_t damaged = 0;
    bool cut = false;
};
[[nodiscard]] EpochFile read_epochs(const std::filesystem::path& file);

[[nodiscard]] DecisionData read_run_decisions(const std::filesystem::path& file);

/// Whether another process holds the lock of whoever writes a run.
[[nodiscard]] bool is_being_written(const std::filesystem::path& metrics);

}  // namespace rudder::report
