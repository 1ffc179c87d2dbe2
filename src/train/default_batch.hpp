// The batch of runs that were not told one.
#pragma once

#include <cstdint>
#include <optional>

#include "rudder/partition/partitioned_dataset.hpp"

#include "types.hpp"

namespace rudder::train {

/// Seeds per part and step: such that the largest part has about 20 steps per epoch, but at least
/// 32 and at most 1000. By what the partition says of itself alone, so that it is the same on any
/// number of ranks.
[[nodiscard]] std::uint64_t default_batch(const graph::DatasetInfo& info,
                                          const partition::PartitionSummary& summary);
/// The same of links: a mean part's.
[[nodiscard]] std::uint64_t default_link_batch(const graph::DatasetInfo& info,
                                               const partition::PartitionSummary& summary,
                                               const std::optional<TypedLinks>& typed = {});
/// The same of edges with targets.
[[nodiscard]] std::uint64_t default_edge_batch(const graph::DatasetInfo& info,
                                               const partition::PartitionSummary& summary);

}  // namespace rudder::train
