// From a data set to a partitioned one, on disk.
#pragma once

#include <filesystem>
#include <optional>
#include <span>

#include "core/staging.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/partition/partitioned_dataset.hpp"

#include "partitioner.hpp"

namespace rudder::partition {

/// The graph as partitioners want it: the data set's own where that has every edge both ways and
/// neither self loops nor duplicates, else a copy that is made so.
class PartitionGraph {
public:
    explicit PartitionGraph(const graph::Dataset& data);
    [[nodiscard]] graph::TopologyView view() const { return made_ ? made_->view() : stored_; }

private:
    graph::TopologyView stored_;
    std::optional<graph::Topology> made_;
};

/// Divides a data set into parts and writes the partitioned one to the folder `out`, whole or not
/// at all.
PartitionSummary partition_dataset(const graph::Dataset& data, const std::filesystem::path& out,
                                   const PartitionOptions& options, Existing existing,
                                   Progress& progress = Progress::none());

/// The same with an assignment made elsewhere: `assignment` has the part of each vertex, and is
/// checked. Of the options, `parts`, `cluster_size` and `seed` count.
PartitionSummary partition_dataset(const graph::Dataset& data, std::span<const PartId> assignment,
                                   const std::filesystem::path& out,
                                   const PartitionOptions& options, Existing existing,
                                   Progress& progress = Progress::none());

}  // namespace rudder::partition
