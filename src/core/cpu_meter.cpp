#include "cpu_meter.hpp"

#include <ctime>

#include "core/executor/executor.hpp"

namespace rudder {

namespace {

thread_local const CpuMeter* innermost = nullptr;

}  // namespace

std::uint64_t thread_cpu_nanoseconds() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_nsec);
}

CpuMeter::CpuMeter(std::atomic<std::uint64_t>& sum)
    : sum_(sum), outer_(innermost), start_(thread_cpu_nanoseconds()) {
    // Fibers take turns on one thread, and would find each other's.
    if (!Executor::current().simulated()) innermost = this;
}

CpuMeter::~CpuMeter() {
    if (innermost == this) innermost = outer_;
    sum_.fetch_add(thread_cpu_nanoseconds() - start_, std::memory_order_relaxed);
}

const CpuMeter* CpuMeter::current() noexcept {
    return innermost;
}

void CpuMeter::add(std::uint64_t nanoseconds) const noexcept {
    sum_.fetch_add(nanoseconds, std::memory_order_relaxed);
    if (outer_ != nullptr) outer_->add(nanoseconds);
}

CpuMeter::Helper::Helper(const CpuMeter* meter) : meter_(meter == innermost ? nullptr : meter) {
    if (meter_ == nullptr) return;
    before_ = innermost;
    innermost = meter_;
    start_ = thread_cpu_nanoseconds();
}

CpuMeter::Helper::~Helper() {
    if (meter_ == nullptr) return;
    meter_->add(thread_cpu_nanoseconds() - start_);
    innermost = before_;
}

}  // namespace rudder
