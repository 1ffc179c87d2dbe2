// CPU time of a thread, added to a sum.
#pragma once

#include <atomic>
#include <cstdint>

namespace rudder {

/// CPU time of the calling thread so far, in nanoseconds.
[[nodiscard]] std::uint64_t thread_cpu_nanoseconds() noexcept;

/// Adds the CPU time of the calling thread, while it lives, to a sum. Spans are of the clock, which
/// also counts the time that other processes of a busy machine take.
class CpuMeter {
public:
    explicit CpuMeter(std::atomic<std::uint64_t>& sum)
        : sum_(sum), start_(thread_cpu_nanoseconds()) {}
    ~CpuMeter() { sum_.fetch_add(thread_cpu_nanoseconds() - start_, std::memory_order_relaxed); }
    CpuMeter(CpuMeter&&) = delete;

private:
    std::atomic<std::uint64_t>& sum_;
    std::uint64_t start_;
};

}  // namespace rudder
