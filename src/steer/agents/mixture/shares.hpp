// Weights of a mixture: multiplicative, with a fixed share.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rudder::steer {

/// Herbster and Warmuth's fixed share: each member's weight falls exponentially with what it cost
/// beyond the best, and a small share of all weight is dealt out evenly in each step, so that a
/// member that was bad for long can come back within the logarithm of that share. The rate follows
/// from the range of costs seen lately: losses lie in 0..1 whatever the unit.
class Shares {
public:
    static constexpr double dealt = 1.0 / 1024;  ///< of the weight, per step
    static constexpr double horizon = 64;        ///< steps over which the rate is best

    explicit Shares(std::size_t members);
    /// What each member cost in one step; `steps` such steps.
    void add(std::span<const double> costs, double steps);
    [[nodiscard]] std::span<const double> weights() const noexcept { return weights_; }
    [[nodiscard]] std::size_t best() const noexcept;

private:
    std::vector<double> weights_;
    double rate_;
    double range_ = 0;
};

}  // namespace rudder::steer
