// How probable it is that sampling includes a vertex.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "rudder/core/id_array.hpp"
#include "rudder/graph/topology.hpp"

namespace rudder::buffer {

/// Vertex inclusion probabilities of SALIENT++: for each vertex the probability that a batch reads
/// its row. `seed_probability` is, by vertex, that of being a seed of the batch (batch size over
/// training vertices of the part; 0 elsewhere); `fanout` is input side first, -1 means all
/// neighbours. A vertex u is reached over an edge of row v with probability
/// t(v) = min(1, fanout / degree(v)) if v is in the batch, edges taken as independent; each layer
/// draws anew for all vertices that the layers before it gathered:
///
///     p_0 = seed_probability,   1 - p_{l+1}(u) = (1 - p_l(u)) prod over v reading u (1 - t(v)
///     p_l(v))
///
/// Rows of the graph list what a vertex reads from. Not parallel: it runs once.
[[nodiscard]] std::vector<double> inclusion_probabilities(const graph::TopologyView& graph,
                                                          std::span<const double> seed_probability,
                                                          std::span<const std::int32_t> fanout);

/// The same estimated from presampled batches: how many of `batches` contained each vertex, over
/// `batches`.
[[nodiscard]] std::vector<double> presampled_inclusion(std::span<const std::uint32_t> counts,
                                                       std::uint64_t batches);

/// The probability that a host's step needs each row of its halo, from those of its parts' batches
/// (each by vertex): 1 - prod over parts (1 - p).
[[nodiscard]] std::vector<double> halo_inclusion(std::span<const VertexId> halo,
                                                 std::span<const std::vector<double>> of_part);

}  // namespace rudder::buffer
