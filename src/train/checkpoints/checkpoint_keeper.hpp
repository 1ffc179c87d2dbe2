// Writes checkpoints beside training, and keeps the last few and the best.
#pragma once

#include <filesystem>

#include "core/executor/executor.hpp"

#include "checkpoint.hpp"

namespace rudder::train {

/// When checkpoints are due: every so many epochs, or seconds; neither: never.
struct CheckpointRhythm {
    std::uint32_t epochs = 0;
    double seconds = 0;

    /// Reads "2", "300s" or "0" (never); a usage Error otherwise.
    [[nodiscard]] static CheckpointRhythm parse(const std::string& text);
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
    /// The checkpoint of that step is the best so far, once it is written.
    void best(std::uint64_t step);
    /// Waits for what is being written.
    void wait();

private:
    void put_away();
    void remove_old() const;

    std::filesystem::path run_;
    std::size_t keep_;
    Checkpoint memory_;  ///< of the task's, while it writes
    Task writing_;
    bool warned_ = false;
};

}  // namespace rudder::train
