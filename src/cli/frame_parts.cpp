#include "frame_parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace rudder::cli {

namespace {

/// How a part of a step is drawn.
struct PartLook {
    std::string_view letter;
    std::string_view block;
    std::string_view colour;
};

/// In the order of `step_parts`.
constexpr std::array<PartLook, step_parts.size()> part_looks{{
    {"#", "█", colours::green},
    {"!", "▓", colours::red},
    {"~", "▒", colours::yellow},
    {"=", "░", colours::cyan},
    {"?", "▚", colours::magenta},
    {".", "·", colours::dim},
}};

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

std::size_t cells_of(double share, std::size_t width) {
    const double known = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) : 0.0;
    return static_cast<std::size_t>(std::round(known * static_cast<double>(width)));
}

/// As many points as fit, each the mean of its neighbours.
std::vector<double> thinned(const std::vector<double>& values, std::size_t most) {
    if (values.size() <= most) return values;
    std::vector<double> points(most, 0);
    for (std::size_t i = 0; i < most; ++i) {
        const std::size_t begin = i * values.size() / most;
        const std::size_t end = std::max(begin + 1, (i + 1) * values.size() / most);
        for (std::size_t k = begin; k < end; ++k)
            points[i] += values[k] / static_cast<double>(end - begin);
    }
    return points;
}

}  // namespace

std::string painted(const std::string& text, std::string_view colour, const ScreenLook& look) {
    if (colour.empty() || !look.colour || text.empty()) return text;
    return fmt::format("\x1b[{}m{}\x1b[0m", colour, text);
}

void FrameLine::add(int importance, const std::string& text, std::string_view colour) {
    const std::size_t columns = columns_of(text);
    parts_.push_back({importance, painted(text, colour, look_), text, columns});
}

void FrameLine::add_painted(int importance, std::string text) {
    const std::size_t columns = columns_of(text);
    parts_.push_back({importance, std::move(text), "", columns});
}

std::string FrameLine::text() const {
    const std::size_t room = look_.columns - 1;
    std::vector<const Part*> kept;
    for (const Part& part : parts_)
        if (part.columns > 0) kept.push_back(&part);
    while (kept.size() > 1 && width(kept) > room)
        kept.erase(std::ranges::max_element(kept, {}, &Part::importance));
    if (kept.size() == 1 && width(kept) > room) return cut_to(kept[0]->plain, room, look_.utf8);
    std::string line;
    for (const Part* part : kept)
        line += (line.empty() ? "" : "  ") + part->text;
    return line;
}

std::size_t FrameLine::width(const std::vector<const Part*>& parts) {
    std::size_t sum = 0;
    for (const Part* part : parts)
        sum += part->columns + (part == parts.front() ? 0 : 2);
    return sum;
}

std::string progress_bar(double share, std::size_t width, const ScreenLook& look) {
    const auto filled =
        static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
    if (!look.utf8) return "[" + std::string(filled, '=') + std::string(width - filled, ' ') + "]";
    return painted(repeated("━", filled), colours::green, look) +
           painted(repeated("─", width - filled), colours::dim, look);
}

std::string part_sign(std::size_t part, const ScreenLook& look) {
    const PartLook& sign = part_looks[part];
    return painted(std::string(look.utf8 ? sign.block : sign.letter), sign.colour, look);
}

std::string time_bar(const Seconds& step, double whole, std::size_t width, const ScreenLook& look) {
    std::string bar;
    double until = 0;
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < step_parts.size(); ++i) {
        until += step.*step_parts[i].seconds;
        const std::size_t end = std::max(drawn, cells_of(until / whole, width));
        const PartLook& sign = part_looks[i];
        bar +=
            painted(repeated(look.utf8 ? sign.block : sign.letter, end - drawn), sign.colour, look);
        drawn = end;
    }
    return bar + std::string(width - drawn, ' ');
}

std::string row_bar(const Rows& rows, std::size_t width, const ScreenLook& look) {
    if (rows.needed == 0) return {};
    const auto share = [&](std::uint64_t n) {
        return static_cast<double>(n) / static_cast<double>(rows.needed);
    };
    const std::size_t local = cells_of(share(rows.local), width);
    const std::size_t hit = std::min(cells_of(share(rows.hit), width), width - local);
    const std::size_t demand = width - local - hit;
    if (!look.utf8)
        return std::string(local, '#') + std::string(hit, '+') + std::string(demand, '.');
    return painted(repeated("█", local), colours::green, look) +
           painted(repeated("▓", hit), colours::cyan, look) +
           painted(repeated("░", demand), colours::yellow, look);
}

std::string spark(const std::vector<double>& values, std::size_t width, const ScreenLook& look) {
    constexpr std::array<std::string_view, 8> high{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::array<std::string_view, 8> plain{"_", ".", ",", "-", "~", "=", "^", "#"};
    const auto& levels = look.utf8 ? high : plain;
    const std::vector<double> points = thinned(values, std::max<std::size_t>(width, 1));
    const auto finite = [](double value) { return std::isfinite(value); };
    if (points.size() < 2 || !std::ranges::all_of(points, finite)) return {};
    const auto [least, most] = std::ranges::minmax(points);
    if (!(most > least) || !std::isfinite(most - least)) return {};
    std::string curve;
    for (const double value : points) {
        const double at = (value - least) / (most - least) * 7;
        curve += levels[static_cast<std::size_t>(std::clamp(std::round(at), 0.0, 7.0))];
    }
    return curve;
}

}  // namespace rudder::cli
