// What a span costs while a profiler is off, and what it adds while it is on.
#include <algorithm>
#include <ctime>
#include <vector>

#include <fmt/format.h>

#include "core/span.hpp"

namespace {

using namespace rudder;

constexpr int spans = 50'000;
constexpr int rounds = 41;

double cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Nanoseconds of CPU time per span.
double round() {
    const double start = cpu_seconds();
    for (int i = 0; i < spans; ++i)
        const Span span("a span", static_cast<std::uint64_t>(i));
    return (cpu_seconds() - start) / spans * 1e9;
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

}  // namespace

int main() {
    std::vector<double> off;
    std::vector<double> on;
    for (int i = 0; i < rounds; ++i) {
        off.push_back(round());
        Profiler::start();
        on.push_back(round());
        static_cast<void>(Profiler::stop());
    }
    fmt::print("a span, profiler off: {:.0f} ns; on: {:.0f} ns; recording adds {:.0f} ns\n",
               median(off), median(on), median(on) - median(off));
    return 0;
}
