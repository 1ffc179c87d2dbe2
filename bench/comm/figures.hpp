// What the benchmarks of this folder share: medians, and figures printed beside their targets.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace rudder::bench {

/// The median of some seconds, ratios or whatever; sorts them.
[[nodiscard]] inline double median(std::vector<double>& values) {
    std::ranges::sort(values);
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

[[nodiscard]] inline double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// One figure as a line of a table, and as JSON on the line below it.
inline void report(const std::string& what, double figure, const std::string& unit,
                   const std::string& target, bool reached, const std::string& details) {
    fmt::print("{:<52} {:>12.4g} {:<12} target {:<10} {:<11} {}\n", what, figure, unit, target,
               reached ? "reached" : "NOT REACHED", details);
    fmt::print(R"({{"figure": "{}", "value": {:.6g}, "unit": "{}", "target": "{}", "reached": {}}})"
               "\n",
               what, figure, unit, target, reached);
    std::fflush(stdout);
}

}  // namespace rudder::bench
