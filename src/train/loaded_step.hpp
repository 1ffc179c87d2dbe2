// A step as programs with a loop of their own get it: batches, rows, targets and lists of edges.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/raw_vector.hpp"
#include "sample/look_ahead.hpp"
#include "train/steps/seed_targets.hpp"

namespace rudder::train {

/// One own part of a step.
struct LoadedBatch {
    std::span<const float> rows;  ///< the features of its vertices, row by row
    nn::SeedTargets targets;      ///< of its seeds
    /// Edges of all blocks as positions among its vertices, those to the seeds first, the input
    /// side's last: the sources of all of them, then the destinations.
    RawVector<std::int64_t> edges;
    RawVector<std::int64_t> positions;  ///< of its seeds, as Schedule::positions

    /// What `rows` and `targets` are of; only who fills the batch needs them.
    Array<float> memory;
    SeedTargetReader reader;
};

/// A step that is its holders' own for as long as there are any.
struct LoadedStep {
    sample::SampledStep sampled;
    std::vector<LoadedBatch> batches;  ///< by own part, as those of `sampled`
};

/// Writes the edges of a sampled batch into a loaded one.
void list_edges(const sample::Batch& batch, LoadedBatch& loaded);

/// Steps whose memory may be filled again. What it hands out comes back by itself once nobody holds
/// it, from any thread, and is freed instead where the pool is gone.
class StepPool : public std::enable_shared_from_this<StepPool> {
public:
    /// Keeps at most so many.
    explicit StepPool(std::size_t most) : most_(most) {}

    /// One to be filled: whatever it held before is still in it.
    [[nodiscard]] std::shared_ptr<LoadedStep> take();
    [[nodiscard]] std::size_t kept() const;

private:
    void give_back(std::unique_ptr<LoadedStep> step);

    std::size_t most_;
    mutable std::mutex mutex_;
    std::vector<std::unique_ptr<LoadedStep>> free_;
};

}  // namespace rudder::train
