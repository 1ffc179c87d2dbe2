// Bars beside their names, with whiskers from the least to the most.
#include <algorithm>

#include <fmt/format.h>

#include "chart.hpp"

namespace rudder::report {

namespace {

void draw_bar(Html& html, const Bar& bar, Unit unit, double top) {
    const auto at = [&](double value) { return fmt::format("{:.1f}", 1000 * value / top); };
    html.open("svg", {{"viewBox", "0 0 1000 20"},
                      {"preserveAspectRatio", "none"},
                      {"class", colour_class(bar.colour)},
                      {"aria-hidden", "true"}});
    html.empty("rect", {{"class", "back"}, {"width", "1000"}, {"height", "20"}});
    html.empty("rect", {{"class", "fill"}, {"width", at(bar.value)}, {"height", "20"}});
    if (bar.most > bar.least) {
        html.empty(
            "path",
            {{"class", "whisker"},
             {"d", fmt::format("M{0} 10H{1}M{0} 3V17M{1} 3V17", at(bar.least), at(bar.most))}});
    }
    html.close();
    html.open("span", {{"class", "amount"}}).leaf("b", value_text(bar.value, unit));
    if (bar.most > bar.least) html.text(" ").leaf("small", range_text(bar.least, bar.most, unit));
    html.close();
}

}  // namespace

void draw(Html& html, const BarChart& chart) {
    if (chart.bars.empty()) return;
    double top = 0;
    for (const Bar& bar : chart.bars)
        top = std::max({top, bar.value, bar.most});
    if (!(top > 0)) top = 1;
    const Figure figure(html, chart.text);
    html.open("ol", {{"class", "hbars"}}).line();
    NumberTable table{chart.text.title, {"run", "median", "least", "most", "runs"}, {}, {}};
    for (const Bar& bar : chart.bars) {
        html.open("li").leaf("span", bar.name, {{"class", "name"}});
        draw_bar(html, bar, chart.unit, top);
        html.close().line();
        table.rows.push_back({bar.name, exact_text(bar.value), exact_text(bar.least),
                              exact_text(bar.most), fmt::format("{}", bar.count)});
    }
    html.close().line();
    numbers(html, table);
}

}  // namespace rudder::report
