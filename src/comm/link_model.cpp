#include "rudder/comm/link_model.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
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

/// A number with one of some units; nothing if it is none.
template <std::size_t N>
std::optional<double> quantity(std::string_view text, const std::array<Unit, N>& units) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    for (const Unit& known : units) {
        if (known.name == unit) return value * known.factor;
    }
    return std::nullopt;
}

}  // namespace

Duration LinkModel::transfer(std::size_t bytes) const {
    if (bytes_per_second <= 0) return Duration::zero();
    return Duration(
        static_cast<Duration::rep>(static_cast<double>(bytes) / bytes_per_second * 1e9));
}

LinkModel parse_link(const std::string& text) {
    const auto pieces = split(text, ',');
    const auto delay = pieces.size() == 2 ? quantity(pieces[0], time_units) : std::nullopt;
    const auto rate = pieces.size() == 2 ? quantity(pieces[1], rate_units) : std::nullopt;
    if (!delay || *delay > 60e9 || !rate || *rate < 1) {
        throw usage_error(fmt::format("'{}' is no link", text), "--link",
                          "give a delay (ns, us, ms, s) and a rate (kbit, mbit, gbit; KB, MB, GB "
                          "per second), such as 100us,1gbit");
    }
    return {Duration(static_cast<Duration::rep>(*delay)), *rate};
}

Duration LinkClock::arrival(Duration now, std::size_t bytes) {
    free_ = std::max(now, free_) + model_.transfer(bytes);
    return free_ + model_.delay;
}

}  // namespace rudder::comm
