// A step as programs with a loop of their own get it: batches, rows, targets and lists of edges.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/raw_vector.hpp"
#include "rudder/graph/topology.hpp"
#include "sample/look_ahead.hpp"
#include "train/steps/seed_targets.hpp"

#include "typed_step.hpp"

namespace rudder::train {

/// One own part of a step.
struct LoadedBatch {
    std::span<const float> rows;  ///< the features of its vertices, row by row
    nn::SeedTargets targets;      ///< of its seeds
    /// Edges of all blocks as positions among its vertices, those to the seeds first, the input
    /// side's last: the sources of all of them, then the destinations.
    RawVector<std::int64_t> edges;
    /// Of its seeds, as Schedule::positions; of links, among all of their role, part after part.
    RawVector<std::int64_t> positions;
    /// Of each edge, where it is asked for: which entry of the graph's rows it is. Of entries that
    /// name one neighbour several times, each is named once before any is again.
    RawVector<std::int64_t> edge_numbers;
    /// Of links, by their positions among the vertices (of several types: among those of their
    /// type): the sources of all pairs, then their
    /// targets; the links first, then what was drawn beside the first of them, and so on.
    RawVector<std::int64_t> pairs;

    /// What `rows` and `targets` are of; only who fills the batch needs them.
    Array<float> memory;
    SeedTargetReader reader;
    SeedPairReader pair_reader;
    std::vector<LocalId> places;  ///< of links, among those of the part

    /// In a graph of several types, in the place of `rows`, `edges` and `edge_numbers`.
    LoadedTypes types;
};

/// A step that is its holders' own for as long as there are any.
struct LoadedStep {
    sample::SampledStep sampled;
    std::vector<LoadedBatch> batches;  ///< by own part, as those of `sampled`
};

/// Writes the edges of a sampled batch into a loaded one.
void list_edges(const sample::Batch& batch, LoadedBatch& loaded);
/// Writes their numbers; `graph` is the one they were drawn from, its rows in ascending order.
void number_edges(const graph::TopologyView& graph, const sample::Batch& batch,
                  LoadedBatch& loaded);
/// Writes the pairs of a batch of links, `group` for each link.
void list_pairs(const sample::Batch& batch, std::uint32_t group, LoadedBatch& loaded);

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
