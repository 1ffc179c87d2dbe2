// What all charts have: a caption, axes, a legend, and the numbers below.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "chart.hpp"

namespace rudder::report {

namespace {

constexpr int colours = 8;

std::string percent(double share) {
    return fmt::format("{:.2f}%", share * 100);
}

/// Round steps of steps: whole numbers only.
std::vector<double> x_ticks(const XAxis& x) {
    const YAxis axis = nice_axis(x.min, x.max, 8);
    std::vector<double> ticks;
    for (const double tick : axis.ticks) {
        if (tick >= x.min && tick <= x.max && tick == std::floor(tick)) ticks.push_back(tick);
    }
    return ticks;
}

}  // namespace

std::string tick_class(std::size_t number, double share) {
    constexpr double at_end = 0.985;
    return std::string(number % 2 == 1 ? "odd" : "even") + (share > at_end ? " end" : "");
}

std::string colour_class(int colour) {
    return fmt::format("c{}", colour % colours);
}

YAxis nice_axis(double min, double max, int most_ticks) {
    // Equal, or so near that steps between them would get lost.
    const double size = std::max(std::abs(min), std::abs(max));
    if (!(max - min > 1e-6 * size)) max = min + (size == 0 ? 1 : size);
    const double rough = (max - min) / std::max(most_ticks - 1, 1);
    const double power = std::pow(10, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
        if (factor * power >= rough * 0.999) {
            step = factor * power;
            break;
        }
    }
    YAxis axis;
    const double first = std::floor(min / step + 1e-9);
    const double last = std::ceil(max / step - 1e-9);
    axis.min = first * step;
    axis.max = last * step;
    for (int i = 0; i <= static_cast<int>(last - first); ++i)
        axis.ticks.push_back((first + i) * step);
    return axis;
}

Figure::Figure(Html& html, const FigureText& text) : html_(html), text_(text) {
    html.open("figure", {{"class", text.wide ? "chart wide" : "chart"}, {"id", text.id}});
    html.open("figcaption").leaf("h4", text.title);
    if (!text.note.empty()) html.leaf("p", text.note);
    html.close().line();
}

Figure::~Figure() {
    html_.close().line();
}

double Figure::px(double value) const {
    return x_max_ > x_min_ ? 1000 * (value - x_min_) / (x_max_ - x_min_) : 500;
}

double Figure::py(double value) const {
    const double share = (value - y_.min) / (y_.max - y_.min);
    return plot_height * (1 - std::clamp(share, 0.0, 1.0));
}

void Figure::open_plot(const XAxis& x, const YAxis& y, Unit unit, const std::string& description) {
    x_min_ = x.min;
    x_max_ = x.max;
    y_ = y;
    html_.open("div", {{"class", text_.height == FigureHeight::low    ? "plot low"
                                 : text_.height == FigureHeight::high ? "plot high"
                                                                      : "plot"}});
    html_.open("div", {{"class", "y"}, {"aria-hidden", "true"}});
    for (std::size_t i = 0; i < y.ticks.size(); ++i) {
        const double share = (y.ticks[i] - y.min) / (y.max - y.min);
        html_.leaf("span",
                   i < y.names.size()
                       ? y.names[i]
                       : tick_text(y.ticks[i], unit, std::max(std::abs(y.max), std::abs(y.min))),
                   {{"style", "bottom:" + percent(share)}});
    }
    html_.close().open("div", {{"class", "area"}});
    html_.open("svg", {{"viewBox", fmt::format("0 0 1000 {}", plot_height)},
                       {"preserveAspectRatio", "none"},
                       {"role", "img"},
                       {"aria-labelledby", text_.id + "-t " + text_.id + "-d"}});
    html_.leaf("title", text_.title, {{"id", text_.id + "-t"}});
    html_.leaf("desc", description, {{"id", text_.id + "-d"}});
    std::string grid;
    for (const double tick : y.ticks)
        grid += fmt::format("M0 {:.1f}H1000", py(tick));
    html_.empty("path", {{"class", "grid"}, {"d", grid}});
    constexpr std::size_t most_marks = 40;
    std::string marks;
    if (x.marks.size() <= most_marks) {
        for (const double mark : x.marks)
            marks += fmt::format("M{:.1f} 0V{}", px(mark), plot_height);
    }
    if (!marks.empty()) html_.empty("path", {{"class", "mark"}, {"d", marks}});
}

/// Lines over what is drawn, and strokes below it.
void Figure::draw_flags(const XAxis& x) {
    std::string lines;
    for (const Flag& flag : x.flags) {
        if (flag.at >= x.min && flag.at <= x.max)
            lines += fmt::format("M{:.1f} 0V{}", px(flag.at), plot_height);
    }
    if (!lines.empty()) html_.empty("path", {{"class", "switch"}, {"d", lines}});
    std::string rug;
    for (const double at : x.rug)
        rug += fmt::format("M{:.1f} {}V{}", px(at), plot_height - 8, plot_height);
    if (!rug.empty()) html_.empty("path", {{"class", "rug"}, {"d", rug}});
}

/// Their numbers, as text of the page; those that would touch stand on different levels.
void Figure::number_flags(const XAxis& x) {
    constexpr double room = 55;  // of 1000: as wide as a number is on a phone
    std::array<double, 3> taken{-room, -room, -room};
    for (const Flag& flag : x.flags) {
        if (flag.number == 0 || flag.at < x.min || flag.at > x.max) continue;
        const double at = px(flag.at);
        const auto free =
            std::ranges::find_if(taken, [&](double before) { return at - before >= room; });
        const auto level =
            free == taken.end() ? std::size_t{0} : static_cast<std::size_t>(free - taken.begin());
        taken[level] = at;
        html_.leaf("span", fmt::format("{}", flag.number),
                   {{"class", fmt::format("flag l{}", level)},
                    {"style", "left:" + percent(at / 1000)},
                    {"aria-hidden", "true"}});
    }
}

void Figure::close_plot(const XAxis& x) {
    draw_flags(x);
    html_.close();  // svg
    number_flags(x);
    html_.close();  // area
    html_.open("div", {{"class", "x"}, {"aria-hidden", "true"}});
    std::size_t number = 0;
    for (const double tick : x_ticks(x)) {
        html_.leaf("span", tick_text(tick, Unit::count, x.max),
                   {{"style", "left:" + percent(px(tick) / 1000)},
                    {"class", tick_class(number++, px(tick) / 1000)}});
    }
    html_.close();
    html_.leaf("div", x.name, {{"class", "xname"}, {"aria-hidden", "true"}});
    html_.close().line();  // plot
}

void Figure::legend(const std::vector<Key>& keys) {
    html_.open("ul", {{"class", "legend"}});
    std::size_t number = 0;
    for (const Key& key : keys) {
        html_.open("li", {{"data-k", std::to_string(number++)}});
        html_.leaf("i", "",
                   {{"class",
                     fmt::format("key {} k{} d{}", colour_class(key.colour), key.mark, key.dash)}});
        html_.text(key.name).close();
    }
    html_.close().line();
}

void numbers(Html& html, const NumberTable& table) {
    html.open("details", {{"class", "numbers"}}).leaf("summary", "Numbers");
    html.open("div", {{"class", "scroll"},
                      {"tabindex", "0"},
                      {"role", "region"},
                      {"aria-label", table.caption}});
    html.open("table").leaf("caption", table.caption);
    html.open("thead").open("tr");
    for (const std::string& name : table.header)
        html.leaf("th", name, {{"scope", "col"}});
    html.close().close().open("tbody").line();
    for (std::size_t r = 0; r < table.rows.size(); ++r) {
        if (r < table.at.size()) {
            html.open("tr", {{"data-x", fmt::format("{:.4g}", table.at[r])}});
        } else {
            html.open("tr");
        }
        bool first = true;
        for (const std::string& cell : table.rows[r]) {
            if (first) {
                html.leaf("th", cell, {{"scope", "row"}});
            } else {
                html.leaf("td", cell);
            }
            first = false;
        }
        html.close().line();
    }
    html.close().close().close().close().line();
}

}  // namespace rudder::report
