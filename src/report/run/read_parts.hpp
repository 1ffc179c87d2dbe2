// The readers of the single files of a run's folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/run_data.hpp"
#include "rudder/core/json_fwd.hpp"

namespace rudder::report {

/// The most buckets a series is read into.
inline constexpr std::size_t most_buckets = 512;

[[nodiscard]] Facts flat_facts(const Json& value);
/// An input Error if the file is no JSON.
[[nodiscard]] Facts read_facts(const std::filesystem::path& file);

/// The seconds of all steps that a summary tells, with all parts; none: it tells nothing of steps.
[[nodiscard]] std::optional<Seconds> summary_seconds(const Facts& summary);

[[nodiscard]] MetricsData read_metrics(const std::filesystem::path& file,
                                       ReadDepth depth = ReadDepth::whole);

/// What epochs.jsonl says, and how many of its lines could not be read.
struct EpochFile {
    std::vector<EpochData> epochs;
    std::uint64_t damaged = 0;
    bool cut = false;
};
[[nodiscard]] EpochFile read_epochs(const std::filesystem::path& file);
/// One of its lines; none: it could not be read.
[[nodiscard]] std::optional<EpochData> epoch_of_line(std::string_view text);

[[nodiscard]] DecisionData read_run_decisions(const std::filesystem::path& file);

/// One line of decisions.jsonl, in words.
struct DecisionLine {
    DecisionText text;
    std::string agent;
};
/// Nothing where `line`, with `line_padding` readable bytes behind it, is no decision.
[[nodiscard]] std::optional<DecisionLine> read_decision(std::string_view line);

/// A step of profile.json of usual length, with at most a few ranks; nothing where none is whole.
/// An input Error if the file is no profile.
[[nodiscard]] std::optional<StepTimeline> read_timeline(const std::filesystem::path& file);

/// What steps of profile.json waited for; nothing where none is whole. An input Error if the file
/// is no profile.
[[nodiscard]] std::optional<ProfileTimes> read_profile_times(const std::filesystem::path& file);

/// Whether another process holds the lock of whoever writes a run.
[[nodiscard]] bool is_being_written(const std::filesystem::path& metrics);

}  // namespace rudder::report
