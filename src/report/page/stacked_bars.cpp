#include "report/stacked_bars.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "chart.hpp"

namespace rudder::report {

namespace {

constexpr double names_width = 330;
constexpr double bars_width = 560;
constexpr double sums_width = 110;
constexpr double space_above = 64;
constexpr double bar_distance = 26;
constexpr double bar_height = 16;
constexpr double space_below = 34;
constexpr std::size_t longest_name = 52;

/// The palette of the page.
constexpr const char* drawing_style =
    "text{font:13px system-ui,sans-serif;fill:#1b2430}.soft{fill:#566270;font-size:12px}"
    ".bg{fill:#ffffff}.grid{stroke:#e3e7ec}"
    ".c0{fill:#1f77b4}.c1{fill:#d55e00}.c2{fill:#159a77}.c3{fill:#c98a00}.c4{fill:#56b4e9}"
    ".c5{fill:#a05195}"
    "@media (prefers-color-scheme:dark){text{fill:#e6eaef}.soft{fill:#9aa7b5}.bg{fill:#1a2027}"
    ".grid{stroke:#313b46}.c0{fill:#5aa9e6}.c1{fill:#ff8c42}.c2{fill:#43c59e}.c3{fill:#f2c14e}"
    ".c4{fill:#8fd3ff}.c5{fill:#d291c9}}";

std::string coordinate(double value) {
    return fmt::format("{:.1f}", value);
}

double sum_of(const StackedBar& bar) {
    return std::accumulate(bar.parts.begin(), bar.parts.end(), 0.0);
}

void draw_keys(Html& svg, const StackedBars& chart) {
    double x = names_width;
    for (std::size_t i = 0; i < chart.parts.size(); ++i) {
        svg.empty("rect", {{"class", colour_class(static_cast<int>(i % 6))},
                           {"x", coordinate(x)},
                           {"y", "36"},
                           {"width", "11"},
                           {"height", "11"}});
        svg.leaf("text", chart.parts[i],
                 {{"class", "soft"}, {"x", coordinate(x + 16)}, {"y", "46"}});
        x += 34 + 6.6 * static_cast<double>(chart.parts[i].size());
    }
}

void draw_axis(Html& svg, const YAxis& axis, Unit unit, double bottom) {
    for (const double tick : axis.ticks) {
        const double x = names_width + bars_width * tick / axis.max;
        svg.empty("path",
                  {{"class", "grid"},
                   {"d", fmt::format("M{:.1f} {:.1f}V{:.1f}", x, space_above - 6, bottom)}});
        svg.leaf("text", tick_text(tick, unit, axis.max),
                 {{"class", "soft"},
                  {"x", coordinate(x)},
                  {"y", coordinate(bottom + 18)},
                  {"text-anchor", "middle"}});
    }
}

}  // namespace

std::string stacked_bars_svg(const StackedBars& chart) {
    double most = 0;
    for (const StackedBar& bar : chart.bars)
        most = std::max(most, sum_of(bar));
    const YAxis axis = nice_axis(0, most, 6);
    const double bottom = space_above + bar_distance * static_cast<double>(chart.bars.size());
    const double width = names_width + bars_width + sums_width;
    Html svg;
    svg.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                     {"viewBox", fmt::format("0 0 {:.0f} {:.0f}", width, bottom + space_below)},
                     {"width", fmt::format("{:.0f}", width)},
                     {"height", fmt::format("{:.0f}", bottom + space_below)},
                     {"role", "img"}});
    svg.leaf("title", chart.title);
    svg.leaf("style", drawing_style);
    svg.empty("rect", {{"class", "bg"}, {"width", "100%"}, {"height", "100%"}}).line();
    svg.leaf("text", chart.title, {{"x", "12"}, {"y", "22"}, {"font-weight", "600"}});
    draw_keys(svg, chart);
    draw_axis(svg, axis, chart.unit, bottom);
    for (std::size_t i = 0; i < chart.bars.size(); ++i) {
        const StackedBar& bar = chart.bars[i];
        const double y = space_above + bar_distance * static_cast<double>(i);
        const Element group(svg, "g");
        svg.leaf("text", shortened(bar.name, longest_name),
                 {{"x", coordinate(names_width - 10)},
                  {"y", coordinate(y + 13)},
                  {"text-anchor", "end"}});
        double at = 0;
        for (std::size_t p = 0; p < bar.parts.size(); ++p) {
            const double part = std::max(0.0, bar.parts[p]);
            svg.empty("rect", {{"class", colour_class(static_cast<int>(p % 6))},
                               {"x", coordinate(names_width + bars_width * at / axis.max)},
                               {"y", coordinate(y)},
                               {"width", coordinate(bars_width * part / axis.max)},
                               {"height", coordinate(bar_height)}});
            at += part;
        }
        svg.leaf("text", value_text(at, chart.unit),
                 {{"class", "soft"},
                  {"x", coordinate(names_width + bars_width * at / axis.max + 8)},
                  {"y", coordinate(y + 13)}});
        svg.line();
    }
    svg.close();
    return svg.take();
}

}  // namespace rudder::report
