// What data sets are, in the JSON that other programs read.
#pragma once

#include "rudder/core/json_fwd.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/partition/summary.hpp"

namespace rudder::run {

/// The keys of design section 10 for a data set.
[[nodiscard]] Json dataset_json(const graph::DatasetInfo& info);
/// For a partitioned one: those of its data set, and its figures.
[[nodiscard]] Json partition_json(const graph::DatasetInfo& info,
                                  const partition::PartitionSummary& summary);

}  // namespace rudder::run
