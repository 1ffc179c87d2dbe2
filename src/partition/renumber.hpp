// New ids: each part owns one contiguous range, and inside it clusters lie together.
#pragma once

#include <vector>

#include "rudder/partition/book.hpp"

#include "partitioner.hpp"

namespace rudder::partition {

/// The order of the vertices in a partitioned data set.
struct Renumbering {
    PartitionBook book;
    Array<VertexId> original;                     ///< by new id
    Array<VertexId> renumbered;                   ///< by original id
    std::vector<std::vector<VertexId>> clusters;  ///< per part, offsets into it: 0 to its size
    TypeBook types;                               ///< of a graph of several
};

/// Orders the vertices by part, inside a part by type, then by cluster (of which a type has its
/// own), inside a cluster by original id. Clusters
/// of about `options.cluster_size` vertices come from METIS where that is the method and it is able
/// to, else from LDG. Every part has a vertex.
[[nodiscard]] Renumbering renumber(const graph::TopologyView& graph, std::span<const PartId> parts,
                                   const PartitionOptions& options,
                                   std::span<const graph::VertexType> types = {},
                                   Progress& progress = Progress::none());

}  // namespace rudder::partition
