#include "rudder/core/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace rudder {

std::string format_bytes(std::uint64_t bytes) {
    static constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    auto value = static_cast<double>(bytes);
    std::size_t unit = 0;
    // From 1023.95 on, one decimal would read 1024.0.
    while (value >= (unit == 0 ? 1024 : 1023.95) && unit + 1 < units.size()) {
        value /= 1024;
        ++unit;
    }
    return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string format_percent(double share) {
    return fmt::format("{:.0f} %", share * 100);
}

std::string format_count(std::uint64_t count) {
    const std::string digits = std::to_string(count);
    std::string grouped;
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (i != 0 && (digits.size() - i) % 3 == 0) grouped += ',';
        grouped += digits[i];
    }
    return grouped;
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
    std::string unit(end, text.data() + text.size());
    std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return std::tolower(c); });
    double factor = 1;
    if (!unit.empty() && unit != "b") {
        const std::size_t power = std::string_view("kmgt").find(unit[0]);
        const std::string_view rest = std::string_view(unit).substr(1);
        if (power == std::string_view::npos) return std::nullopt;
        if (!rest.empty() && rest != "b" && rest != "i" && rest != "ib") return std::nullopt;
        factor = std::pow(rest == "b" ? 1000.0 : 1024.0, static_cast<double>(power + 1));
    }
    const double bytes = value * factor;
    if (bytes >= 0x1.0p63) return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
}

std::optional<std::uint64_t> parse_u64(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<double> parse_double(std::string_view text) noexcept {
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) {
        return std::nullopt;
    }
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> pieces;
    for (;;) {
        const std::size_t at = text.find(separator);
        pieces.push_back(text.substr(0, at));
        if (at == std::string_view::npos) return pieces;
        text.remove_prefix(at + 1);
    }
}

std::string join(std::span<const std::string_view> words, std::string_view between) {
    return fmt::format("{}", fmt::join(words.begin(), words.end(), between));
}

namespace {

/// The number of letters to change, add, remove or swap with the next, from one word to another.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1);  // the rows i - 1, i and i + 1 of the table
    std::vector<std::size_t> row(b.size() + 1);
    std::vector<std::size_t> next(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        next[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replace = row[j] + (a[i] == b[j] ? 0 : 1);
            next[j + 1] = std::min({replace, next[j] + 1, row[j + 1] + 1});
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
                next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
            }
        }
        before.swap(row);
        row.swap(next);
    }
    return row.back();
}

}  // namespace

std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates) {
    std::optional<std::string_view> best;
    std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
    for (const std::string_view candidate : candidates) {
        const std::size_t distance = edit_distance(word, candidate);
        if (distance < best_distance) {
            best_distance = distance;
            best = candidate;
        }
    }
    return best;
}

}  // namespace rudder
