// CPU time of the calling thread, summed.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace rudder {

/// Adds the CPU time of the calling thread, while it lives, to a sum. The spans beside it are of
/// the clock, which also counts the time that other ranks of a busy machine take.
class CpuMeter {
public:
    explicit CpuMeter(std::atomic<std::uint64_t>& sum) : sum_(sum), start_(now()) {}
    ~CpuMeter() { sum_.fetch_add(now() - start_, std::memory_order_relaxed); }
    CpuMeter(const CpuMeter&) = delete;
    CpuMeter& operator=(const CpuMeter&) = delete;

private:
    static std::uint64_t now() noexcept {
        timespec time{};
        ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
               static_cast<std::uint64_t>(time.tv_nsec);
    }
    std::atomic<std::uint64_t>& sum_;
    std::uint64_t start_;
};

}  // namespace rudder
