#include "default_batch.hpp"

#include <algorithm>
#include <cmath>

namespace rudder::train {

std::uint64_t default_batch(const graph::DatasetInfo& info,
                            const partition::PartitionSummary& summary) {
    constexpr double steps = 20;
    constexpr double least = 32;
    constexpr double most = 1000;
    const double mean = static_cast<double>(info.split.train) / static_cast<double>(summary.parts);
    const double largest = std::round(mean * summary.train_balance);
    return static_cast<std::uint64_t>(std::clamp(std::ceil(largest / steps), least, most));
}

}  // namespace rudder::train
