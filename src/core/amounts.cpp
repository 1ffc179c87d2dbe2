#include "amounts.hpp"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/text.hpp"

namespace rudder {

std::string format_short(std::uint64_t count) {
    static constexpr std::array names{"", " k", " M", " G", " T"};
    auto value = static_cast<double>(count);
    std::size_t unit = 0;
    // From 999.95 on, one decimal would read 1000.0.
    while (value >= (unit == 0 ? 10000 : 999.95) && unit + 1 < names.size()) {
        value /= 1000;
        ++unit;
    }
    return unit == 0 ? format_count(count) : fmt::format("{:.1f}{}", value, names[unit]);
}

std::string format_seconds(double seconds) {
    constexpr double most = 1e12;
    if (!std::isfinite(seconds) || seconds < 0 || seconds > most) return "-";
    if (seconds == 0) return "0 s";
    if (seconds < 1) return fmt::format("{:.1f} ms", seconds * 1000);
    if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
    const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
    if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
    return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

}  // namespace rudder
