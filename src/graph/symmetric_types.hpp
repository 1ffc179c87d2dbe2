// What edges carry the two ways, in a graph of several types.
#pragma once

#include "rudder/graph/dataset.hpp"

namespace rudder::graph {

/// As carries_symmetric: the entries of a type, and those of the type that goes back for it (or of
/// the same type between vertices of one), carry the same, in the same order.
[[nodiscard]] bool types_carry_symmetric(const TopologyView& graph, const EdgeData& data,
                                         const GraphTypes& types);

}  // namespace rudder::graph
