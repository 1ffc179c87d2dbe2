// Small partitioned data sets to train on, and runs of the trainer on any body.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "comm/simulated_cluster.hpp"
#include "rudder/graph/targets.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/train/trainer.hpp"
#include "steer/log/decision_log.hpp"

namespace rudder::test {

/// What to make: planted communities whose features carry the class.
struct SmallGraph {
    VertexId vertices = 300;
    double degree = 8;
    std::uint64_t classes = 4;
    std::uint64_t width = 12;  ///< of features; 0: there are none
    graph::TargetKind targets = graph::TargetKind::classes;
    ElementType type = ElementType::f32;
    /// Features are bags of words instead, as many at most in a row, that carry the class; 0: not.
    std::uint64_t words = 0;
    std::uint64_t most_of_a_word = 3;  ///< as often it is in a bag, at most
    bool row_normalise = false;
    bool carried = false;  ///< edges have weights (some 0) and times, vertices have times
    /// Columns of features that edges have: in those of the classes of both ends 1, in others 0,
    /// and something of no meaning everywhere. 0: none.
    std::uint64_t edge_width = 0;
    /// Of edges, planted by the classes of their vertices; some edges have none.
    graph::TargetKind edge_targets = graph::TargetKind::none;
    bool edge_split = false;  ///< edges have roles; some have none
    bool directed = false;    ///< only the entries of higher rows are there
    PartId parts = 4;
    std::uint64_t seed = 1;
    std::int32_t untrained_class = -1;  ///< its training vertices are for validation instead
    /// What the classes' features are like; default: by the seed.
    std::optional<std::uint64_t> feature_seed{};
    std::vector<std::string> names{};     ///< of the classes, by number
    std::vector<std::int32_t> numbers{};  ///< of the planted classes; empty: as planted
    bool split = true;                    ///< there are roles
    /// The role of a vertex of a part; default: every second is trained on, the others tested.
    std::function<graph::Role(PartId part, VertexId v)> role;
    /// The part of a vertex; default: in turn.
    std::function<PartId(VertexId v)> part;
};

/// Makes it below `folder`.
[[nodiscard]] partition::PartitionedDataset make_parts(const std::filesystem::path& folder,
                                                       const SmallGraph& graph);

/// Options that suit such a graph.
[[nodiscard]] train::TrainOptions small_options();

/// One rank of a run, and what its trainer was left with.
struct Trained {
    train::TrainResult result;
    std::vector<float> weights;
};

/// On one rank, without messages.
[[nodiscard]] Trained train_alone(const partition::PartitionedDataset& data,
                                  const train::TrainOptions& options);
/// On simulated ranks; by rank.
[[nodiscard]] std::vector<Trained> train_simulated(const partition::PartitionedDataset& data,
                                                   const train::TrainOptions& options,
                                                   const comm::SimulationOptions& cluster);

/// One stretch of a run on some simulated ranks, each a host: from the last checkpoint of `run` to
/// the end, or to an interrupt after `stop_after` steps (0: none), with a checkpoint each
/// `every_epochs` (0: none is due). By rank.
[[nodiscard]] std::vector<Trained> stretch(const partition::PartitionedDataset& data,
                                           const train::TrainOptions& options,
                                           const std::filesystem::path& run, int ranks,
                                           std::uint64_t stop_after,
                                           std::uint32_t every_epochs = 1);

/// The same on a cluster as given, whose faults may end it with an Error; `observer` watches rank
/// 0.
[[nodiscard]] std::vector<Trained> stretch(
    const partition::PartitionedDataset& data, const train::TrainOptions& options,
    const std::filesystem::path& run, comm::SimulatedCluster& machines, std::uint64_t stop_after,
    const std::function<std::unique_ptr<train::TrainObserver>()>& observer = {},
    std::uint32_t every_epochs = 1);

/// Fails unless all sums of the accounts of a finished run hold (design section 10).
void expect_closed(const train::TrainResult& result);

}  // namespace rudder::test
