#include "words.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/text.hpp"

namespace rudder::report {

namespace {

constexpr double most_count = 9e18;

/// Without zeros at its end.
std::string trimmed(std::string text) {
    if (text.find('.') == std::string::npos) return text;
    while (text.back() == '0')
        text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text;
}

/// About three digits.
std::string digits(double value) {
    const double size = std::abs(value);
    if (size >= 100 || size == 0) return fmt::format("{:.0f}", value);
    if (size >= 10) return fmt::format("{:.1f}", value);
    return fmt::format("{:.2f}", value);
}

}  // namespace

std::string seconds_text(double seconds) {
    if (!std::isfinite(seconds)) return "-";
    const double size = std::abs(seconds);
    if (size == 0) return "0\u00a0s";
    if (size < 1e-3) return digits(seconds * 1e6) + "\u00a0\u00b5s";
    if (size < 1) return digits(seconds * 1e3) + "\u00a0ms";
    if (size < 120) return digits(seconds) + "\u00a0s";
    const auto whole = static_cast<std::uint64_t>(std::min(std::round(size), most_count));
    if (size < 7200) return fmt::format("{}\u00a0min\u00a0{}\u00a0s", whole / 60, whole % 60);
    return fmt::format("{}\u00a0h\u00a0{}\u00a0min", whole / 3600, whole % 3600 / 60);
}

std::string count_text(double count) {
    if (!std::isfinite(count) || std::abs(count) > most_count) return "-";
    const double whole = std::round(std::abs(count));
    return (count < 0 && whole != 0 ? "\u2212" : "") +
           format_count(static_cast<std::uint64_t>(whole));
}

std::string percent_text(double share) {
    if (!std::isfinite(share)) return "-";
    const double percent = share * 100;
    const double from_end = std::min(std::abs(percent), std::abs(100 - percent));
    return fmt::format("{:.{}f}\u00a0%", percent, from_end < 1 && from_end > 0 ? 2 : 1);
}

std::string bytes_text(double bytes) {
    if (!std::isfinite(bytes) || bytes < 0 || bytes > most_count) return "-";
    return format_bytes(static_cast<std::uint64_t>(bytes));
}

std::string ratio_text(double ratio) {
    if (!std::isfinite(ratio)) return "-";
    return ratio < 10 ? fmt::format("{:.3f}", ratio) : digits(ratio);
}

std::string value_text(std::optional<double> value, Unit unit) {
    if (!value) return "-";
    switch (unit) {
        case Unit::count:
            return count_text(*value);
        case Unit::share:
            return percent_text(*value);
        case Unit::seconds:
            return seconds_text(*value);
        case Unit::bytes:
            return bytes_text(*value);
        case Unit::plain:
            break;
    }
    return trimmed(fmt::format("{:.4g}", *value));
}

std::string range_text(double least, double most, Unit unit) {
    constexpr std::string_view space = "\u00a0";
    std::string from = value_text(least, unit);
    const std::string to = value_text(most, unit);
    const auto unit_of = [&](const std::string& text) {
        const std::size_t at = text.find(space);
        return at == std::string::npos ? std::string() : text.substr(at);
    };
    // "3 min 20 s" has more than a number before its last unit.
    const std::string behind = unit_of(from);
    const bool one_word = behind.rfind(space) == 0 && !behind.empty();
    if (one_word && behind == unit_of(to)) from.resize(from.size() - behind.size());
    return from + "\u2013" + to;
}

std::string tick_text(double value, Unit unit, double top) {
    const auto scaled = [&](double scale, const char* suffix) {
        return trimmed(fmt::format("{:.4g}", value * scale)) + suffix;
    };
    const double size = std::abs(top);
    if (value == 0 && unit != Unit::share) return "0";
    switch (unit) {
        case Unit::share:
            return scaled(100, " %");
        case Unit::seconds:
            if (size >= 7200) return scaled(1.0 / 3600, " h");
            if (size >= 1) return scaled(1, " s");
            return size >= 1e-3 ? scaled(1e3, " ms") : scaled(1e6, " \u00b5s");
        case Unit::bytes:
            if (size >= 1U << 30) return scaled(1.0 / (1U << 30), " GiB");
            if (size >= 1U << 20) return scaled(1.0 / (1U << 20), " MiB");
            return size >= 1024 ? scaled(1.0 / 1024, " KiB") : scaled(1, " B");
        case Unit::count:
            if (size >= 2e9) return scaled(1e-9, " G");
            if (size >= 2e6) return scaled(1e-6, " M");
            return size >= 1e4 ? scaled(1e-3, " k") : scaled(1, "");
        case Unit::plain:
            break;
    }
    return scaled(1, "");
}

std::string exact_text(double value) {
    if (!std::isfinite(value)) return "-";
    if (value == std::floor(value) && std::abs(value) < 1e15) return fmt::format("{:.0f}", value);
    return fmt::format("{:.6g}", value);
}

std::string shell_quoted(std::string_view word) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("_-./:=,+@%").find(c) != std::string_view::npos;
    };
    if (!word.empty() && std::ranges::all_of(word, plain)) return std::string(word);
    std::string quoted = "'";
    for (const char c : word)
        quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string shortened(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
        --end;
    return std::string(text.substr(0, end)) + "\u2026";
}

std::string counted(double count, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", count_text(count), count == 1 ? one : many);
}

}  // namespace rudder::report
