#include "sum_bytes.hpp"

#include <numeric>

namespace rudder::train {

SumBytes::SumBytes(const ClusterModel& cluster, std::span<const std::uint64_t> contributions,
                   std::span<const SummedVector> vectors)
    : cluster_(cluster),
      contributions_(contributions.begin(), contributions.end()),
      owned_(index(cluster.hosts()), 0),
      received_(index(cluster.ranks), 0) {
    const auto ranks = static_cast<std::uint64_t>(cluster.ranks);
    const std::uint64_t all =
        std::accumulate(contributions.begin(), contributions.end(), std::uint64_t{0});
    const std::uint64_t on_host = static_cast<std::uint64_t>(cluster.ranks_per_host);
    const auto hosts = static_cast<std::uint64_t>(cluster.hosts());
    const bool two = cluster.network.sums == SumRoute::two_level;
    for (const SummedVector& vector : vectors) {
        for (std::uint64_t r = 0; r < ranks; ++r) {
            const std::uint64_t piece = vector.floats * (r + 1) / ranks - vector.floats * r / ranks;
            const auto rank = static_cast<int>(r);
            owned_[index(cluster.host_of(rank))] += piece * vector.width;
            received_[r] +=
                ((all - contributions_[r]) * piece + vector.floats - piece) * vector.width;
        }
        messages_ += two ? hosts - 1 + 2 * (on_host - 1) : ranks - 1;
    }
}

std::uint64_t SumBytes::to_all(int from, int to) const {
    const auto copies =
        cluster_.network.sums == SumRoute::two_level
            ? std::uint64_t{1}
            : static_cast<std::uint64_t>(cluster_.end_rank(to) - cluster_.first_rank(to));
    return owned_[index(from)] * copies;
}

}  // namespace rudder::train
