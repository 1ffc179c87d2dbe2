#include "link_model.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::comm {

namespace {

struct Unit {
    std::string_view name;
    double factor;
};

constexpr std::array<Unit, 4> time_units{{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
/// Factors give bytes per second; bits in lower case, bytes with a capital B.
constexpr std::array<Unit, 8> rate_units{{{"bit", 1.0 / 8},
                                          {"kbit", 1e3 / 8},
                                          {"mbit", 1e6 / 8},
                                          {"gbit", 1e9 / 8},
                                          {"B", 1},
                                          {"KB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9}}};

/// A number with one of some units, in the first of them; NaN for anything else.
double quantity(std::string_view text, std::span<const Unit> units) {
    constexpr double invalid = std::numeric_limits<double>::quiet_NaN();
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || !std::isfinite(value) || value < 0) return invalid;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const Unit& known : units) {
        if (known.name == unit) return value * known.factor;
    }
    return invalid;
}

}  // namespace

Duration LinkModel::transfer(std::size_t bytes) const {
    if (bytes_per_second <= 0) return Duration::zero();
    return Duration(
        static_cast<Duration::rep>(static_cast<double>(bytes) / bytes_per_second * 1e9));
}

LinkModel parse_link(const std::string& text) {
    const auto pieces = split(text, ',');
    const double delay = quantity(pieces.front(), time_units);
    const double rate = quantity(pieces.back(), rate_units);
    // Comparisons with NaN are false.
    if (pieces.size() != 2 || !(delay <= 60e9 && rate >= 1)) {
        throw usage_error(fmt::format("invalid link: '{}'", text), "--link",
                          "give a delay (ns, us, ms, s) and a rate (kbit, mbit, gbit; KB, MB, GB "
                          "per second), such as 100us,1gbit");
    }
    return {Duration(static_cast<Duration::rep>(delay)), rate};
}

LinkSchedule parse_link_schedule(const std::string& text) {
    const auto parts = split(text, ';');
    LinkSchedule schedule{.first = parse_link(std::string(parts.front()))};
    for (std::size_t i = 1; i < parts.size(); ++i) {
        const auto words = split(parts[i], ':');
        const auto step = words.size() == 3 ? parse_u64(words[1]) : std::nullopt;
        const std::uint64_t before = i == 1 ? 0 : schedule.changes.back().step;
        if (!step || words[0] != "step" || *step <= before) {
            throw usage_error(fmt::format("invalid change of the link: '{}'", parts[i]), "--link",
                              "give step:N:DELAY,RATE behind a semicolon, in ascending order of "
                              "steps, such as 100us,10gbit;step:300:100us,1gbit");
        }
        schedule.changes.push_back({*step, parse_link(std::string(words[2]))});
    }
    return schedule;
}

}  // namespace rudder::comm
