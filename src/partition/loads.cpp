#include "loads.hpp"

#include <cmath>
#include <limits>

namespace rudder::partition {

Loads::Loads(const PartitionInput& input, const PartitionOptions& options) : loads_(options.parts) {
    const BalanceSet balance = balance_of(options);
    active_ = {balance.vertices, balance.train, balance.edges};
    totals_ = {input.vertices(),
               static_cast<std::uint64_t>(std::ranges::count(input.roles, graph::Role::train)),
               input.stored.edges()};
    const std::uint64_t parts = options.parts;
    for (std::size_t c = 0; c < balance_kinds; ++c) {
        limits_[c] = std::numeric_limits<std::uint64_t>::max();
        active_[c] = active_[c] && totals_[c] != 0;
        if (!active_[c]) continue;
        const double mean = static_cast<double>(totals_[c]) / static_cast<double>(parts);
        const std::uint64_t whole = totals_[c] / parts + (totals_[c] % parts != 0 ? 1 : 0);
        limits_[c] =
            std::max(whole, static_cast<std::uint64_t>(std::floor((1 + options.slack) * mean)));
        per_mean_[c] = 1 / mean;
    }
}

void Loads::count(const PartitionInput& input, std::span<const PartId> parts) {
    clear();
    for (VertexId v = 0; v < parts.size(); ++v)
        add(parts[v], weights_of(input, v));
}

double Loads::imbalance(std::size_t kind) const {
    if (totals_[kind] == 0) return 1;
    std::uint64_t most = 0;
    for (const Weights& load : loads_)
        most = std::max(most, load[kind]);
    return static_cast<double>(most) * static_cast<double>(loads_.size()) /
           static_cast<double>(totals_[kind]);
}

double Loads::relief(PartId p, PartId q, const Weights& w) const noexcept {
    double sum = 0;
    for (std::size_t c = 0; c < balance_kinds; ++c) {
        if (per_mean_[c] == 0) continue;
        sum += excess(c, loads_[p][c]) - excess(c, loads_[p][c] - w[c]);
        sum -= excess(c, loads_[q][c] + w[c]) - excess(c, loads_[q][c]);
    }
    return sum;
}

}  // namespace rudder::partition
