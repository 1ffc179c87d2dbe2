// The widths of ids: global vertices and edges are 64-bit, ids inside one part or block 32-bit.
#pragma once

#include <cstdint>

namespace rudder {

/// A vertex of the whole graph.
using VertexId = std::uint64_t;
/// A vertex inside one part or one block: own vertices first, then the halo.
using LocalId = std::uint32_t;
/// A position in an array of edges.
using EdgeIndex = std::uint64_t;
/// A part of a partitioned graph.
using PartId = std::uint32_t;

}  // namespace rudder
