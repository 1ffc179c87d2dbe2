#include "default_batch.hpp"

#include <algorithm>
#include <cmath>

namespace rudder::train {

namespace {

/// Of the part that has most seeds.
std::uint64_t batch_of(double largest) {
    constexpr double steps = 20;
    constexpr double least = 32;
    constexpr double most = 1000;
    return static_cast<std::uint64_t>(std::clamp(std::ceil(largest / steps), least, most));
}

}  // namespace

std::uint64_t default_batch(const graph::DatasetInfo& info,
                            const partition::PartitionSummary& summary) {
    const double mean = static_cast<double>(info.split.train) / static_cast<double>(summary.parts);
    return batch_of(std::round(mean * summary.train_balance));
}

std::uint64_t default_link_batch(const graph::DatasetInfo& info,
                                 const partition::PartitionSummary& summary,
                                 const std::optional<TypedLinks>& typed) {
    const EdgeIndex edges = typed ? info.types.edges[typed->edges.type].edges : info.edges;
    const bool twice = typed ? typed->symmetric : info.symmetric;
    const double links = static_cast<double>(edges) / (twice ? 2 : 1);
    constexpr double trained = 0.8;
    return batch_of(std::round(trained * links / static_cast<double>(summary.parts)));
}

std::uint64_t default_edge_batch(const graph::DatasetInfo& info,
                                 const partition::PartitionSummary& summary) {
    constexpr double trained = 0.8;
    const double entries = info.edge_split
                               ? static_cast<double>(info.edge_split->train)
                               : trained * static_cast<double>(info.edge_targets.labelled);
    const double edges = entries / (info.symmetric ? 2 : 1);
    return batch_of(std::round(edges / static_cast<double>(summary.parts)));
}

}  // namespace rudder::train
