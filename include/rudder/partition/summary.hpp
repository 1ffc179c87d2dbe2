// What a partition says of itself, in its manifest and on standard output.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "rudder/core/json_fwd.hpp"
#include "rudder/core/types.hpp"
#include "rudder/partition/options.hpp"

namespace rudder::partition {

/// The figures of a partition. Ratios are the largest part's over the mean.
struct PartitionSummary {
    PartId parts = 1;
    double cut = 0;  ///< share of the stored arcs whose ends are in different parts; 0 without arcs
    double balance = 1;                ///< vertices
    double train_balance = 1;          ///< training vertices; 1 where there are none
    double edge_balance = 1;           ///< stored arcs; 1 where there are none
    std::vector<double> type_balance;  ///< vertices of each type, in a graph of several
    std::vector<VertexId> halo;        ///< rows per part
    std::string method;                ///< "given" for an existing assignment
    BalanceSet balanced;               ///< what was to be balanced
    double slack = 0.05;
    std::uint32_t passes = 1;
    StreamOrder order = StreamOrder::random;
    std::uint64_t seed = 0;
    VertexId cluster_size = 256;
    std::vector<std::string> warnings;
};

/// The summary as keys of a manifest, and back (an input Error naming `where` if it does not hold).
void describe(const PartitionSummary& summary, Json& manifest);
[[nodiscard]] PartitionSummary partition_summary(const Json& manifest, const std::string& where);

/// What one part adds to the figures.
struct PartFigures {
    VertexId vertices = 0;
    VertexId train = 0;
    EdgeIndex edges = 0;
    EdgeIndex crossing = 0;  ///< arcs from the halo
    VertexId halo = 0;
    std::vector<VertexId> types{};  ///< vertices of each type, in a graph of several
};

/// Fills in parts, cut, the balances and the halo.
void set_figures(PartitionSummary& summary, const std::vector<PartFigures>& parts);

}  // namespace rudder::partition
