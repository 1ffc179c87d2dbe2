#include "live_frame.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "rudder/core/text.hpp"

namespace rudder::cli {

namespace {

constexpr std::string_view green = "32";
constexpr std::string_view yellow = "33";
constexpr std::string_view red = "31";
constexpr std::string_view cyan = "36";
constexpr std::string_view dim = "2";
constexpr double red_stall = 0.1;

std::string painted(const std::string& text, std::string_view colour, const ScreenLook& look) {
    if (colour.empty() || !look.colour || text.empty()) return text;
    return fmt::format("\x1b[{}m{}\x1b[0m", colour, text);
}

/// A line made of parts; those that matter least go first when there is no room.
class Line {
public:
    explicit Line(const ScreenLook& look) : look_(look) {}

    /// Parts of a lower number stay longer.
    void add(int importance, const std::string& text, std::string_view colour = {}) {
        const std::size_t columns = columns_of(text);
        parts_.push_back({importance, painted(text, colour, look_), text, columns});
    }
    /// The same for a text that has its colours.
    void add_painted(int importance, std::string text) {
        const std::size_t columns = columns_of(text);
        parts_.push_back({importance, std::move(text), "", columns});
    }

    [[nodiscard]] std::string text() const {
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

private:
    struct Part {
        int importance;
        std::string text;
        std::string plain;
        std::size_t columns;
    };
    static std::size_t width(const std::vector<const Part*>& parts) {
        std::size_t sum = 0;
        for (const Part* part : parts)
            sum += part->columns + (part == parts.front() ? 0 : 2);
        return sum;
    }

    const ScreenLook& look_;
    std::vector<Part> parts_;
};

std::string repeated(std::string_view text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

double share(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string progress(double done, const ScreenLook& look) {
    const std::size_t width = std::clamp<std::size_t>(look.columns / 4, 6, 30);
    const auto filled =
        static_cast<std::size_t>(std::clamp(done, 0.0, 1.0) * static_cast<double>(width));
    if (!look.utf8) return "[" + std::string(filled, '=') + std::string(width - filled, ' ') + "]";
    return painted(repeated("━", filled), green, look) +
           painted(repeated("─", width - filled), dim, look);
}

/// A curve one line high.
std::string spark(const std::vector<double>& values, const ScreenLook& look) {
    constexpr std::array<std::string_view, 8> high{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    constexpr std::array<std::string_view, 8> plain{"_", ".", ",", "-", "~", "=", "^", "#"};
    const auto& levels = look.utf8 ? high : plain;
    double least = 0;
    double most = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        least = i == 0 ? values[i] : std::min(least, values[i]);
        most = i == 0 ? values[i] : std::max(most, values[i]);
    }
    if (values.size() < 2 || !(most > least) || !std::isfinite(most - least)) return {};
    std::string curve;
    for (const double value : values) {
        const double at = (value - least) / (most - least) * 7;
        curve += levels[static_cast<std::size_t>(std::clamp(std::round(at), 0.0, 7.0))];
    }
    return curve;
}

/// Rows by where they came from: own host, buffer, network.
std::string row_bar(const Rows& rows, const ScreenLook& look) {
    const std::size_t width = std::clamp<std::size_t>(look.columns / 6, 6, 20);
    if (rows.needed == 0) return {};
    const auto cells = [&](std::uint64_t n) {
        return static_cast<std::size_t>(
            std::round(share(n, rows.needed) * static_cast<double>(width)));
    };
    const std::size_t local = cells(rows.local);
    const std::size_t hit = std::min(cells(rows.hit), width - local);
    const std::size_t demand = width - local - hit;
    if (!look.utf8)
        return std::string(local, '#') + std::string(hit, '+') + std::string(demand, '.');
    return painted(repeated("█", local), green, look) + painted(repeated("▓", hit), cyan, look) +
           painted(repeated("░", demand), yellow, look);
}

std::string first_line(const LiveFacts& f, const ScreenLook& look) {
    const double done = share(f.steps_done, f.steps);
    Line line(look);
    line.add(3, shown_text(f.title, look.utf8), cyan);
    line.add(1, f.epochs == 0 ? fmt::format("epoch {}", f.epoch + 1)
                              : fmt::format("epoch {}/{}", f.epoch + 1, f.epochs));
    line.add_painted(4, progress(done, look));
    line.add(0, fmt::format("{:3.0f} %", std::floor(done * 100)));
    line.add(5, fmt::format("step {}/{}", format_count(f.steps_done), format_count(f.steps)));
    line.add(2, "ETA " + clock_text(f.seconds_left));
    return line.text();
}

std::string loss_line(const LiveFacts& f, const ScreenLook& look) {
    Line line(look);
    line.add(0, fmt::format("loss  {:.4f}", f.loss));
    line.add(2, spark(f.losses, look), cyan);
    if (f.valid) {
        line.add(1, fmt::format("valid {:.2f} %", *f.valid * 100), green);
        line.add(3, fmt::format("after epoch {}", f.valid_epoch + 1), dim);
    }
    return line.text();
}

std::string rows_line(const LiveFacts& f, const ScreenLook& look) {
    const Rows& rows = f.rows;
    const auto kind = [&](std::string_view name, std::uint64_t count) {
        return fmt::format("{} {}", name, format_percent(share(count, rows.needed)));
    };
    Line line(look);
    line.add(0, "rows");
    line.add_painted(5, row_bar(rows, look));
    line.add(3, kind("local", rows.local), look.utf8 ? green : "");
    line.add(1, kind("hit", rows.hit), look.utf8 ? cyan : "");
    line.add(1, kind("demand", rows.demand), look.utf8 ? yellow : "");
    line.add(2, kind("ahead", rows.ahead));
    // What other ranks do is known only now and then.
    if (f.ranks > 1) line.add(4, fmt::format("(rank 0 of {})", f.ranks), dim);
    return line.text();
}

std::string speed_line(const LiveFacts& f, const ScreenLook& look) {
    Line line(look);
    line.add(0, "speed");
    line.add(4, fmt::format("{:.1f} steps/s", f.steps_per_second));
    line.add(2, fmt::format("{:.1f} MB/s", f.bytes_per_second / 1e6));
    line.add(1, "stall " + format_percent(f.stall), f.stall > red_stall ? red : "");
    if (const std::uint64_t remote = f.rows.hit + f.rows.demand; remote != 0)
        line.add(3, "hit rate " + format_percent(share(f.rows.hit, remote)));
    return line.text();
}

}  // namespace

std::string clock_text(double seconds) {
    if (!std::isfinite(seconds)) return "-";
    const auto whole = static_cast<std::uint64_t>(std::llround(std::max(seconds, 0.0)));
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::vector<std::string> live_frame(const LiveFacts& facts, const ScreenLook& look) {
    std::vector<std::string> lines{first_line(facts, look), loss_line(facts, look)};
    if (facts.rows.needed != 0) lines.push_back(rows_line(facts, look));
    lines.push_back(speed_line(facts, look));
    if (!facts.decision.empty()) {
        const std::string text = shown_text("agent " + facts.decision, look.utf8);
        lines.push_back(cut_to(text, look.columns - 1, look.utf8));
    }
    // The cursor stands on the line below.
    if (lines.size() + 1 > look.rows) lines.resize(std::max<std::size_t>(look.rows, 2) - 1);
    return lines;
}

}  // namespace rudder::cli
