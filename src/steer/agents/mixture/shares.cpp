#include "shares.hpp"

#include <algorithm>
#include <cmath>

namespace rudder::steer {

Shares::Shares(std::size_t members)
    : weights_(members, 1.0 / static_cast<double>(members)),
      rate_(std::sqrt(8 * std::log(std::max(2.0, static_cast<double>(members))) / horizon)) {}

void Shares::add(std::span<const double> costs, double steps) {
    const auto [least, most] = std::ranges::minmax(costs);
    // Forgets slowly, so that one odd step neither blinds it nor makes it jump.
    range_ = std::max(range_ * std::pow(1 - 1 / horizon, steps), most - least);
    if (range_ <= 0) return;
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
        weights_[i] *= std::exp(-rate_ * steps * (costs[i] - least) / range_);
        sum += weights_[i];
    }
    const double share = std::min(0.5, dealt * steps);
    const auto n = static_cast<double>(weights_.size());
    for (double& weight : weights_)
        weight = (1 - share) * weight / sum + share / n;
}

std::size_t Shares::best() const noexcept {
    return static_cast<std::size_t>(std::ranges::max_element(weights_) - weights_.begin());
}

}  // namespace rudder::steer
