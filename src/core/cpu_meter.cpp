#include "cpu_meter.hpp"

#include <ctime>

namespace rudder {

std::uint64_t thread_cpu_nanoseconds() noexcept {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace rudder
