// Means of costs, and how sure they are.
#pragma once

#include <cstdint>

namespace rudder::steer {

/// Mean and spread of numbers that come one by one (Welford: no loss of digits where the numbers
/// are large and their differences small).
class Spread {
public:
    void add(double x) noexcept;
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] double mean() const noexcept { return mean_; }
    /// Standard error of the mean; infinite with fewer than two.
    [[nodiscard]] double error() const noexcept;

private:
    std::uint64_t count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
};

/// Compares two sequences of costs, pairwise by step: their difference, and how sure it is.
class PairedCosts {
public:
    void add(double cost, double reference) noexcept;
    void clear() noexcept { *this = {}; }
    [[nodiscard]] std::uint64_t count() const noexcept { return differences_.count(); }
    /// Mean of cost - reference.
    [[nodiscard]] double difference() const noexcept { return differences_.mean(); }
    /// Standard error of that mean.
    [[nodiscard]] double error() const noexcept { return differences_.error(); }
    [[nodiscard]] double reference() const noexcept;  ///< its mean
    /// Whether cost is higher by more than `share` of the reference and `sigmas` standard errors.
    [[nodiscard]] bool worse(double share, double sigmas) const noexcept;
    [[nodiscard]] bool better(double share, double sigmas) const noexcept;

private:
    Spread differences_;
    double reference_sum_ = 0;
};

}  // namespace rudder::steer
