// The folder a run leaves behind: config.toml, metrics.jsonl, summary.json.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "rudder/core/file.hpp"
#include "rudder/core/json_fwd.hpp"
#include "rudder/core/staging.hpp"
#include "rudder/train/records.hpp"

namespace rudder {

/// A run's folder, written by rank 0 while the run goes on. The summary comes last, in one piece:
/// a folder without one is of a run that has not finished.
class RunFolder {
public:
    /// Refuses (usage Error) an output that exists, unless it may be replaced. Touches nothing.
    static void check(const std::filesystem::path& folder, Existing existing);

    /// Makes the folder with its config.toml; what stood there before is removed.
    RunFolder(const std::filesystem::path& folder, Existing existing, const std::string& config);
    /// Goes on in a folder after `step` steps: metrics.jsonl is cut back to what it had at the
    /// checkpoint, decisions.jsonl to the steps before, and the new options take the place of the
    /// old.
    /// epochs.jsonl begins anew: the checkpoint knows them.
    [[nodiscard]] static RunFolder reopen(const std::filesystem::path& folder,
                                          const std::string& config, std::uint64_t metrics_bytes,
                                          std::uint64_t step);
    /// The summary of a run that has finished, if it has.
    [[nodiscard]] static std::optional<std::string> finished(const std::filesystem::path& folder);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_; }
    /// Appends lines to metrics.jsonl.
    void append(std::span<const StepRecord> records);
    /// Appends a line to epochs.jsonl.
    void append_epoch(const Json& line);
    /// Appends lines to decisions.jsonl, which is there from the first on.
    void append(std::span<const DecisionLine> lines);
    void finish(const Json& summary);
    /// Bytes of metrics.jsonl so far.
    [[nodiscard]] std::uint64_t metrics_bytes() const noexcept { return metrics_bytes_; }

private:
    RunFolder() = default;

    std::filesystem::path folder_;
    std::optional<File> metrics_;
    std::optional<File> epochs_;
    std::optional<File> decisions_;
    std::uint64_t metrics_bytes_ = 0;
};

/// Of a file of JSON lines with a key "step", keeps those of steps before `step`, in their order. A
/// line that was cut short is dropped, too; a file that is not there stays so. The old file stays
/// whole until the new one takes its place.
void cut_lines(const std::filesystem::path& file, std::uint64_t step);

}  // namespace rudder
