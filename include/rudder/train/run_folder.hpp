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

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_; }
    /// Appends lines to metrics.jsonl.
    void append(std::span<const StepRecord> records);
    void finish(const Json& summary);

private:
    std::filesystem::path folder_;
    std::optional<File> metrics_;
};

}  // namespace rudder
