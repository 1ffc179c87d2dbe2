// What the user calls the vertices of a partitioned data set, in the order its data set had.
#pragma once

#include "graph/vertex_ids.hpp"
#include "rudder/partition/partitioned_dataset.hpp"

namespace rudder::partition {

/// Reads them from all parts, which must be at hand; none where the data set has none. They take
/// the memory that they take on disk.
[[nodiscard]] graph::VertexIds original_vertex_ids(const PartitionedDataset& data);
/// Those of one type of several.
[[nodiscard]] graph::VertexIds original_vertex_ids(const PartitionedDataset& data,
                                                   std::size_t type);

}  // namespace rudder::partition
