// How large the parts of a partition are, and how much of the halo of each belongs to which other.
#pragma once

#include <optional>
#include <vector>

#include "rudder/partition/partitioned_dataset.hpp"

namespace rudder::partition {

/// By part.
struct PartSizes {
    std::vector<VertexId> vertices;
    std::vector<VertexId> train;
    std::vector<EdgeIndex> edges;
    /// By owner: vertices of its halo; empty where there are more than `most_matrix_parts`.
    std::vector<std::vector<VertexId>> halo_from;
};
inline constexpr PartId most_matrix_parts = 64;

/// From the parts' manifests and, by search, their halos, which are sorted by owner: nothing else
/// is read. Nothing where a part cannot be opened here, or there are more than 1024.
[[nodiscard]] std::optional<PartSizes> part_sizes(const PartitionedDataset& data);

}  // namespace rudder::partition
