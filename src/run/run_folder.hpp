// The folder a run leaves behind: its options, the lock of who writes it, its summary.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "core/staging.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/json_fwd.hpp"

namespace rudder::run {

/// The lock of a run: metrics.jsonl, open.
struct RunLock {
    File file;
    bool held;  ///< false: this file system has no locks
};

/// A run's folder on rank 0 while the run goes on; what happens in it is written by others. While
/// this lives, metrics.jsonl is locked (flock), so that readers can tell a run that goes on from
/// one that was killed. The summary comes last, in one piece: a folder without one is of a run that
/// has not finished.
class RunFolder {
public:
    /// Refuses (usage Error) an output that exists, unless it may be replaced; even then a run that
    /// another process is writing. Touches nothing.
    static void check(const std::filesystem::path& folder, Existing existing);

    /// Makes the folder with its config.toml; what stood there before is removed, unless another
    /// process is writing it (usage Error).
    RunFolder(const std::filesystem::path& folder, Existing existing, const std::string& config);
    /// Goes on in a folder after `step` steps: decisions.jsonl is cut back to them and gets those
    /// of `open_decisions` (its lines that a checkpoint keeps) that it lacks, and the new options
    /// take the place of the old. What was left half-written is removed. A usage Error where
    /// another process writes it.
    [[nodiscard]] static RunFolder reopen(const std::filesystem::path& folder,
                                          const std::string& config, std::uint64_t step,
                                          std::span<const std::string> open_decisions = {});
    /// The summary of a run that has finished, if it has.
    [[nodiscard]] static std::optional<std::string> finished(const std::filesystem::path& folder);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return folder_; }
    /// An Error where somebody has removed the folder meanwhile.
    void expect_there() const;
    /// The same.
    void finish(const Json& summary);

private:
    RunFolder() = default;

    std::filesystem::path folder_;
    std::optional<RunLock> lock_;
};

/// Of a file of JSON lines with a key "step", keeps those of steps before `step`, in their order. A
/// line that was cut short is dropped, too; a file that is not there stays so. The old file stays
/// whole until the new one takes its place. Lines of `more` whose step and rank have none are
/// added, and all are then in the order of steps.
void cut_lines(const std::filesystem::path& file, std::uint64_t step,
               std::span<const std::string> more = {});

}  // namespace rudder::run
