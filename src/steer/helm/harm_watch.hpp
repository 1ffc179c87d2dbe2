// Notices, by means of costs, when steering costs more than the built-in rule would.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "rudder/steer/observation.hpp"
#include "steer/agents/bandit/wager.hpp"

namespace rudder::steer {

/// Mean of numbers that come one by one, without loss of digits where they are large and differ by
/// little.
class Mean {
public:
    void add(double x) noexcept { value_ += (x - value_) / static_cast<double>(++count_); }
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] double value() const noexcept { return value_; }  ///< 0 without numbers

private:
    std::uint64_t count_ = 0;
    double value_ = 0;
};

/// Compares two sequences of costs, pairwise: their difference, and how sure it is that the first
/// is higher. Differences, relative to what was known of the reference before and clipped, go into
/// an alarm against the hypothesis that the first is no higher.
class PairedCosts {
public:
    void add(double cost, double reference) noexcept;
    void clear() noexcept { *this = {}; }
    /// Means are of what follows; the alarm goes on.
    void begin_block() noexcept;

    // Of the block.
    [[nodiscard]] std::uint64_t count() const noexcept { return difference_.count(); }
    /// Mean of cost - reference.
    [[nodiscard]] double difference() const noexcept { return difference_.value(); }
    [[nodiscard]] double reference() const noexcept { return reference_.value(); }  ///< its mean
    /// Whether cost is higher by more than `share` of the reference, and the alarm has gone off:
    /// without reason at most once in `rarely` pairs, on average.
    [[nodiscard]] bool worse(double share, double rarely) const noexcept;

private:
    Mean difference_;
    Mean reference_;
    Mean known_;  ///< reference, of all pairs
    Scale scale_{1, 0.01, 0.1};
    Alarm alarm_;
};

/// Compares the twin with the built-in rule in blocks of steps, and the time of steps after a
/// change with that before it.
class HarmWatch {
public:
    static constexpr std::uint64_t block = 32;  ///< steps
    static constexpr std::uint64_t paired = 2;  ///< steps whose rows are compared as one number
    static constexpr double tolerated = 0.01;   ///< of the rows
    static constexpr double tolerated_time = 0.03;
    static constexpr double rarely = 1600;        ///< pairs to one complaint without reason
    static constexpr double wrongly = 0.01;       ///< chance to call a change slow that is not
    static constexpr double fast_wrongly = 0.05;  ///< chance to call one fast that is not

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
    std::uint64_t in_pair_ = 0;  ///< steps, and their rows
    double twin_ = 0;
    double built_in_ = 0;
    std::deque<double> recent_;  ///< seconds of the last steps
    Mean before_;
    Mean after_;
    Scale time_scale_{1, 0.01, 0.3};
    Wager slow_;  ///< that steps take no longer than is tolerated, after the change
    Wager fast_;  ///< that they are not shorter
    std::uint64_t change_ = 0;
    bool timing_ = false;
    std::uint64_t good_ = 0;
    std::optional<std::string> verdict_;
};

}  // namespace rudder::steer
