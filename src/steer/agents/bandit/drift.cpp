#include "drift.hpp"

#include <algorithm>
#include <cmath>

namespace rudder::steer {

namespace {

constexpr double slack = 0.75;     ///< sigmas that a sample may be off
constexpr double threshold = 6.5;  ///< sigmas in all: three clear samples in a row
constexpr double memory = 1.0 / 16;

}  // namespace

void Drift::reset() noexcept {
    count_ = 0;
    spread_ = 0;
    up_ = down_ = 0;
}

bool Drift::add(double cost) {
    const double x = std::log(std::max(cost, 1e-12));
    if (count_ < learned_from) {
        // The level is a running mean, its spread that of the samples seen so far.
        const double off = count_ == 0 ? 0 : std::abs(x - level_);
        ++count_;
        level_ = count_ == 1 ? x : level_ + (x - level_) / static_cast<double>(count_);
        spread_ = std::max(spread_, off / 2);
        recent_ = level_;
        return false;
    }
    const double sigma = std::max(1.25 * spread_, least_);
    const double z = std::clamp((x - level_) / sigma, -3.0, 3.0);
    up_ = std::max(0.0, up_ + z - slack);
    down_ = std::max(0.0, down_ - z - slack);
    recent_ += 0.5 * (x - recent_);
    if (up_ > threshold || down_ > threshold) {
        ratio_ = std::exp(recent_ - level_);
        reset();
        return true;
    }
    spread_ += memory * (std::min(std::abs(x - level_), 3 * sigma) - spread_);
    level_ += memory * (z * sigma);
    return false;
}

}  // namespace rudder::steer
