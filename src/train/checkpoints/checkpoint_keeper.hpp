// Writes checkpoints beside training, and keeps the last few and the best.
#pragma once

#include <filesystem>

#include "core/executor/executor.hpp"
#include "rudder/core/function_ref.hpp"

#include "checkpoint.hpp"

namespace rudder::train {

/// When checkpoints are due: every so many epochs, or seconds; neither: never.
struct CheckpointRhythm {
    std::uint32_t epochs = 0;
    double seconds = 0;

    /// Reads "2", "300s" or "0" (never); a usage Error otherwise.
    [[nodiscard]] static CheckpointRhythm parse(const std::string& text);
};

/// What became of a run's checkpoints.
struct CheckpointReport {
    std::uint64_t written = 0;          ///< by this process
    std::uint64_t failed = 0;           ///< that it could not write, of them and of best weights
    std::optional<std::uint64_t> last;  ///< step of the last one that is there
    std::optional<std::uint64_t> best;  ///< step of the weights that count as best
    std::string error;                  ///< of the last that failed
};

/// Lives on rank 0. One checkpoint is written at a time, in a task of its own. A disk that is full
/// costs the checkpoint, not the run: one warning, and the old ones stay.
class CheckpointKeeper {
public:
    /// Keeps the `keep` last ones.
    explicit CheckpointKeeper(std::filesystem::path run, std::size_t keep = 2);
    /// Waits for what is being written.
    ~CheckpointKeeper();
    CheckpointKeeper(CheckpointKeeper&&) = delete;

    /// Memory for the next one: that of the one before, which is waited for. What is in it is to be
    /// written over.
    [[nodiscard]] Checkpoint take();
    /// Gives memory back that `take` is to find.
    void keep(Checkpoint memory);
    /// Hands one over to be written; waits first for the one before.
    void write(Checkpoint checkpoint);
    /// The checkpoint of that step is the best so far; false where there is none.
    bool best(std::uint64_t step);
    /// Hands over weights that are the best so far and have no checkpoint, to be written likewise.
    void write_best(Checkpoint checkpoint);
    /// Waits for what is being written.
    void wait();
    /// Likewise.
    [[nodiscard]] CheckpointReport report();

private:
    void put_away(std::string_view what, std::uint64_t step, FunctionRef<void()> write);
    void remove_old() const;

    std::filesystem::path run_;
    std::size_t keep_;
    bool in_folder_ = false;  ///< the folder is a run's, and is not made anew where it was removed
    Checkpoint memory_;       ///< of the task's, while it writes
    Checkpoint best_;         ///< likewise
    Task writing_;
    CheckpointReport report_;
    bool warned_ = false;
};

}  // namespace rudder::train
