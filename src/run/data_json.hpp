// What data sets are, in the JSON that other programs read.
#pragma once

#include "rudder/core/json_fwd.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/partition/partitioned_dataset.hpp"
#include "rudder/partition/summary.hpp"

namespace rudder::run {

/// The keys of design section 10 for a data set.
[[nodiscard]] Json dataset_json(const graph::DatasetInfo& info);
/// For a partitioned one: those of its data set, and its figures.
[[nodiscard]] Json partition_json(const graph::DatasetInfo& info,
                                  const partition::PartitionSummary& summary);

/// The same of one that is at hand, with the sizes of its parts and the halo between them
/// (`part_vertices`, `part_train`, `part_edges`, `halo_from`: rows of `halo` by their owner), as
/// far as its parts can be read here.
[[nodiscard]] Json partition_json(const partition::PartitionedDataset& data);

}  // namespace rudder::run
