// CPU time of threads, added to a sum.
#pragma once

#include <atomic>
#include <cstdint>

namespace rudder {

/// CPU time of the calling thread so far, in nanoseconds.
[[nodiscard]] std::uint64_t thread_cpu_nanoseconds() noexcept;

/// Adds the CPU time of the calling thread, while it lives, to a sum, and that of the threads that
/// take chunks of its loops (`parallel_chunks`). Meters may lie within each other; each counts all.
/// Spans are of the clock, which also counts the time that other processes of a busy machine take.
class CpuMeter {
public:
    explicit CpuMeter(std::atomic<std::uint64_t>& sum);
    ~CpuMeter();
    CpuMeter(CpuMeter&&) = delete;

    /// The innermost one of this thread, or null.
    [[nodiscard]] static const CpuMeter* current() noexcept;

    /// Adds the time of a thread that does a piece of another's metered work.
    class Helper {
    public:
        /// `meter` may be null, and may be of this thread: then there is nothing to add.
        explicit Helper(const CpuMeter* meter);
        ~Helper();
        Helper(Helper&&) = delete;

    private:
        const CpuMeter* meter_;
        const CpuMeter* before_ = nullptr;
        std::uint64_t start_ = 0;
    };

private:
    void add(std::uint64_t nanoseconds) const noexcept;

    std::atomic<std::uint64_t>& sum_;
    const CpuMeter* outer_;
    std::uint64_t start_;
};

}  // namespace rudder
