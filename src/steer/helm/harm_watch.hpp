// Notices, by means of costs, when steering costs more than the built-in rule would.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "rudder/steer/observation.hpp"

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

/// Compares the twin with the built-in rule in blocks of steps, and the time of steps after a
/// change with that before it.
class HarmWatch {
public:
    static constexpr std::uint64_t block = 32;  ///< steps
    static constexpr double tolerated = 0.01;   ///< of the rows
    static constexpr double tolerated_time = 0.03;
    static constexpr double sigmas = 3;

    explicit HarmWatch(CostKind cost) : cost_(cost) {}

    /// A change takes effect at this step.
    void changed(std::uint64_t step);
    /// Rows that the twin and the built-in rule fetched in a step.
    void rows(double twin, double built_in);
    void step_seconds(std::uint64_t step, double seconds);

    /// What was found wrong at the end of a block, once.
    [[nodiscard]] std::optional<std::string> verdict();
    /// Blocks that ended without a complaint since the last change; 0: the first is not over.
    [[nodiscard]] std::uint64_t good_blocks() const noexcept { return good_; }

private:
    [[nodiscard]] bool faster() const;

    CostKind cost_;
    PairedCosts rows_;
    std::deque<double> recent_;  ///< seconds of the last steps
    Spread before_;
    Spread after_;
    std::uint64_t change_ = 0;
    bool timing_ = false;
    std::uint64_t good_ = 0;
    std::optional<std::string> verdict_;
};

}  // namespace rudder::steer
