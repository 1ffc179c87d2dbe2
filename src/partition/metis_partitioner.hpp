// METIS, k-way with one constraint per thing to balance, called in a child process.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "partitioner.hpp"

namespace rudder::partition {

constexpr std::uint64_t index_limit = std::numeric_limits<std::int32_t>::max();  ///< of METIS
constexpr const char* other_method = "give --method ldg (or fennel), which has no such limit";

/// Whether METIS has a process of its own. Under a sanitizer it has none: a lock of the sanitizer's
/// that some other thread holds at the moment of the fork would stay locked in the child for ever.
/// There it is called here, once at a time, since its draws are those of the process.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool metis_has_processes = false;
#else
constexpr bool metis_has_processes = true;
#endif

/// The bytes METIS takes for a graph, about: 70 per arc (measured: 69 to 78), 64 per vertex and
/// constraint.
[[nodiscard]] std::uint64_t metis_bytes(VertexId vertices, EdgeIndex arcs, std::size_t constraints);

/// Why METIS cannot divide such a graph with `available` bytes of memory, if it cannot: its index
/// has 32 bits.
[[nodiscard]] std::optional<std::string> metis_refusal(VertexId vertices, EdgeIndex arcs,
                                                       std::size_t constraints,
                                                       std::uint64_t available);

/// One call of METIS.
struct MetisCall {
    graph::TopologyView graph;              ///< both ways, no self loops, no duplicates, ids narrow
    std::span<const std::int32_t> weights;  ///< constraints per vertex, row by row; empty: all 1
    std::size_t constraints = 1;
    PartId parts = 2;
    double slack = 0.05;
    std::uint64_t seed = 0;
    int iterations = 20;  ///< of refinement, per level
};

/// Calls METIS in a child process; the part of each vertex, some parts possibly empty. The caller
/// has asked metis_refusal. A child that dies is an Error of kind `failed`.
[[nodiscard]] Array<PartId> call_metis(const MetisCall& call);

}  // namespace rudder::partition
