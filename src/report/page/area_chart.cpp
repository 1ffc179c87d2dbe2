// Areas on top of each other with lines over them, and points marked by shape and colour.
#include <algorithm>

#include <fmt/format.h>

#include "chart.hpp"
#include "lines.hpp"

namespace rudder::report {

namespace {

bool is_none(const Series& layer) {
    return std::ranges::all_of(layer.mean,
                               [](const auto& value) { return value.value_or(0) == 0; });
}

std::string describe(const AreaChart& chart) {
    std::string text = fmt::format("Stacked areas by {}, from below:", chart.x.name);
    for (const Series& layer : chart.layers) {
        double sum = 0;
        std::size_t count = 0;
        for (const auto& value : layer.mean) {
            sum += value.value_or(0);
            count += value ? 1U : 0U;
        }
        const double mean = count == 0 ? 0 : sum / static_cast<double>(count);
        text += fmt::format(" {} {} on average;", layer.name, value_text(mean, chart.unit));
    }
    text.back() = '.';
    return text;
}

}  // namespace

void draw(Html& html, const AreaChart& chart) {
    if (chart.layers.empty() || chart.x.at.empty()) return;
    std::vector<Values> tops;
    Values below(chart.x.at.size(), 0.0);
    double highest = 0;
    for (const Series& layer : chart.layers) {
        Values top(below.size());
        for (std::size_t i = 0; i < below.size(); ++i) {
            if (!layer.mean[i] || !below[i]) continue;
            top[i] = *below[i] + *layer.mean[i];
            highest = std::max(highest, *top[i]);
        }
        tops.push_back(top);
        below = std::move(top);
    }
    const Range lines = range_of(chart.lines);
    if (lines.any) highest = std::max(highest, lines.max);
    if (highest == 0) highest = 1;

    Figure figure(html, chart.text);
    std::vector<Figure::Key> keys;
    figure.plot(chart.x, nice_axis(0, highest, 5), chart.unit, describe(chart), [&] {
        Values base(chart.x.at.size(), 0.0);
        for (std::size_t l = 0; l < chart.layers.size(); ++l) {
            html.empty("path", {{"class", "layer " + colour_class(chart.layers[l].colour)},
                                {"d", area_path(figure, chart.x.at, base, tops[l])}});
            base = tops[l];
        }
        for (std::size_t l = 0; l < chart.lines.size(); ++l)
            draw_series(html, figure, chart.lines[l], chart.x.at, chart.layers.size() + l);
    });
    for (const Series& line : chart.lines)
        keys.push_back({line.name, line.colour, 'l', line.dash});
    for (std::size_t l = chart.layers.size(); l-- > 0;) {  // as they lie: the topmost first
        keys.push_back({chart.layers[l].name + (is_none(chart.layers[l]) ? " (none)" : ""),
                        chart.layers[l].colour, 'a', 0});
    }
    figure.legend(keys);
    NumberTable table = table_of(chart.text, chart.x);
    for (const Series& layer : chart.layers)
        add_columns(table, layer);
    for (const Series& line : chart.lines)
        add_columns(table, line);
    numbers(html, table);
}

void draw(Html& html, const DotChart& chart) {
    Figure figure(html, chart.text);
    YAxis axis = nice_axis(chart.bottom, chart.top, 5);
    std::vector<Figure::Key> keys;
    const std::string description = fmt::format(
        "{} points by {}.", count_text(static_cast<double>(chart.dots.size())), chart.x.name);
    figure.plot(chart.x, axis, chart.unit, description, [&] {
        html.empty("path", {{"class", "zero"}, {"d", fmt::format("M0 {:.1f}H1000", figure.py(0))}});
        // The last kind lies below the others.
        for (std::size_t mark = chart.marks.size(); mark-- > 0;) {
            std::string path;
            for (const Dot& dot : chart.dots) {
                if (dot.mark == static_cast<int>(mark))
                    path += fmt::format("M{:.1f} {:.1f}h0", figure.px(dot.x), figure.py(dot.y));
            }
            const Element group(
                html, "g",
                {{"class", colour_class(chart.colours[mark])}, {"data-k", std::to_string(mark)}});
            html.empty("path", {{"class", fmt::format("point m{}", mark)}, {"d", path}});
            if (mark == 2) html.empty("path", {{"class", "point hole"}, {"d", path}});
        }
    });
    for (std::size_t mark = 0; mark < chart.marks.size(); ++mark)
        keys.push_back({chart.marks[mark], chart.colours[mark], static_cast<char>('0' + mark), 0});
    figure.legend(keys);
    if (!chart.table.rows.empty()) numbers(html, chart.table);
}

}  // namespace rudder::report
