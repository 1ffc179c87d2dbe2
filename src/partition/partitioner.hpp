// Partitioners: what they are given and return, and which there are.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/array.hpp"
#include "rudder/core/progress.hpp"
#include "rudder/core/types.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/split.hpp"
#include "rudder/graph/topology.hpp"
#include "rudder/partition/options.hpp"

namespace rudder::partition {

/// What a partitioner looks at.
struct PartitionInput {
    /// The graph with every edge stored both ways, without self loops or duplicates.
    graph::TopologyView graph;
    /// The graph as it is stored, whose rows are what "edges" balances. May be the same.
    graph::TopologyView stored;
    /// The role of each vertex; empty means none has one.
    std::span<const graph::Role> roles;
    /// Of a graph of several types those of its vertices; else none.
    std::span<const graph::VertexType> types{};

    [[nodiscard]] VertexId vertices() const noexcept { return graph.vertices(); }
};

/// The part of each vertex, and what a person should know about it.
struct Assignment {
    Array<PartId> parts;
    std::vector<std::string> warnings;
};

/// Divides a graph by options that have passed check_options. Every part has a vertex; the result
/// depends on the input and the options alone, never on the number of threads.
using Partitioner = Assignment(const PartitionInput& input, const PartitionOptions& options,
                               Progress& progress);
Partitioner assign_metis;
Partitioner assign_ldg;
Partitioner assign_fennel;
Partitioner assign_random;
Partitioner assign_hash;

/// The methods there are, the default first.
[[nodiscard]] std::span<const std::string_view> partitioner_names() noexcept;
/// The one of that name; a usage Error that lists them otherwise.
[[nodiscard]] Partitioner* partitioner(std::string_view name);

/// Checks the options and divides the graph with the method they name.
[[nodiscard]] Assignment assign_parts(const PartitionInput& input, const PartitionOptions& options,
                                      Progress& progress = Progress::none());

}  // namespace rudder::partition
