// Keeps agents from doing harm: validation, undoing, and a circuit breaker.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "rudder/steer/observation.hpp"

namespace rudder::steer {

/// Opens after three failures in a row; while open, the built-in rule holds. Tries again after a
/// pause that doubles each time it fails again.
class Breaker {
public:
    static constexpr std::uint32_t most_failures = 3;
    static constexpr std::uint64_t first_pause = 64;  ///< steps
    static constexpr std::uint64_t longest_pause = 4096;

    /// Whether the agent may be asked at this step.
    [[nodiscard]] bool closed(std::uint64_t step) const noexcept { return step >= open_until_; }
    void succeeded() noexcept;
    /// True if this failure opened it.
    bool failed(std::uint64_t step) noexcept;
    [[nodiscard]] std::uint32_t openings() const noexcept { return openings_; }

private:
    std::uint32_t failures_ = 0;
    std::uint32_t openings_ = 0;
    std::uint64_t pause_ = first_pause;
    std::uint64_t open_until_ = 0;
};

/// Compares two sequences of costs, pairwise by step: their difference, and how sure it is.
class PairedCosts {
public:
    void add(double cost, double reference) noexcept;
    void clear() noexcept { *this = {}; }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    /// Mean of cost - reference.
    [[nodiscard]] double difference() const noexcept { return mean_; }
    /// Standard error of that mean.
    [[nodiscard]] double error() const noexcept;
    [[nodiscard]] double reference() const noexcept;  ///< its mean
    /// Whether cost is higher by more than `share` of the reference and `sigmas` standard errors.
    [[nodiscard]] bool worse(double share, double sigmas) const noexcept;
    [[nodiscard]] bool better(double share, double sigmas) const noexcept;

private:
    std::uint64_t count_ = 0;
    double mean_ = 0;
    double squares_ = 0;
    double reference_sum_ = 0;
};

}  // namespace rudder::steer
