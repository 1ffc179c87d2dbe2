// The metrics registry: every number of a run under one name, whoever shows it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rudder {

/// A count that only grows. Adding is one relaxed atomic add.
class Counter {
public:
    void add(std::uint64_t n) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t value() const noexcept {
        return value_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// A value that is set.
class Gauge {
public:
    void set(double value) noexcept { value_.store(value, std::memory_order_relaxed); }
    [[nodiscard]] double value() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<double> value_{0};
};

/// How often something ran and for how long in all.
class Timer {
public:
    void add(std::uint64_t nanoseconds) noexcept {
        count_.fetch_add(1, std::memory_order_relaxed);
        total_.fetch_add(nanoseconds, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint64_t count() const noexcept {
        return count_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] double seconds() const noexcept {
        return static_cast<double>(total_.load(std::memory_order_relaxed)) * 1e-9;
    }

private:
    std::atomic<std::uint64_t> count_{0};
    std::atomic<std::uint64_t> total_{0};
};

/// One line of a snapshot. A timer's value is its seconds, its count how often it ran.
struct MetricValue {
    enum class Kind { counter, gauge, timer };
    std::string name;
    Kind kind;
    double value;
    std::uint64_t count;
};

/// Owns metrics by name. References stay valid as long as the registry; looking one up takes a
/// lock, so hot code keeps the reference. A name has one kind; asking for another is a bug.
class MetricsRegistry {
public:
    MetricsRegistry();
    ~MetricsRegistry();
    MetricsRegistry(const MetricsRegistry&) = delete;
    MetricsRegistry& operator=(const MetricsRegistry&) = delete;

    Counter& counter(std::string_view name);
    Gauge& gauge(std::string_view name);
    Timer& timer(std::string_view name);
    /// All metrics, by name.
    [[nodiscard]] std::vector<MetricValue> snapshot() const;

    /// The registry of this process.
    [[nodiscard]] static MetricsRegistry& global();

private:
    struct State;
    State* state_;
};

}  // namespace rudder
