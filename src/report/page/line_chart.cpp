// Lines with bands between their extremes.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "lines.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t most_dots = 30;

std::string line_path(const Figure& figure, std::span<const double> at, const Values& values) {
    std::string path;
    bool pen_down = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!values[i]) {
            pen_down = false;
            continue;
        }
        path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", figure.px(at[i]),
                            figure.py(*values[i]));
        pen_down = true;
    }
    return path;
}

/// A point each, as lines of no length with round ends: they stay round however far the drawing is
/// stretched.
std::string dot_path(const Figure& figure, std::span<const double> at, const Values& values) {
    std::string path;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i])
            path += fmt::format("M{:.1f} {:.1f}h0", figure.px(at[i]), figure.py(*values[i]));
    }
    return path;
}

std::span<const double> places(const Series& series, std::span<const double> axis) {
    return series.own_x ? std::span<const double>(*series.own_x) : axis;
}

/// Shares that are at most 1 stay on an axis that ends there, however near to it they are.
YAxis share_axis(double min, double max) {
    constexpr double least_length = 0.02;
    if (max - min < least_length) {
        max = std::min(1.0, max + least_length / 2);
        min = std::max(0.0, max - least_length);
    }
    YAxis axis = nice_axis(min, max, 5);
    axis.max = std::min(axis.max, 1.0);
    std::erase_if(axis.ticks, [](double tick) { return tick > 1.0001; });
    return axis;
}

YAxis axis_of(const LineChart& chart, const Range& range) {
    const double least = chart.from_zero ? std::min(0.0, range.min) : range.min;
    if (chart.top) {
        YAxis axis = nice_axis(nice_axis(least, range.max, 5).min, *chart.top, 5);
        axis.max = *chart.top;
        std::erase_if(axis.ticks, [&](double tick) { return tick > axis.max * 1.0001; });
        return axis;
    }
    if (chart.unit == Unit::share && least >= 0 && range.max <= 1)
        return share_axis(least, range.max);
    return nice_axis(least, range.max, 5);
}

std::string describe(const LineChart& chart) {
    std::string text = fmt::format("Line chart by {}.", chart.x.name);
    for (const Series& line : chart.lines) {
        const Range range = range_of({line});
        if (range.any) {
            text += fmt::format(" {}: {} to {}.", line.name, value_text(range.min, chart.unit),
                                value_text(range.max, chart.unit));
        }
    }
    return text;
}

}  // namespace

Range range_of(const std::vector<Series>& lines) {
    Range range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                false};
    const auto look = [&](const Values& values) {
        for (const auto& value : values) {
            if (!value) continue;
            range.min = std::min(range.min, *value);
            range.max = std::max(range.max, *value);
            range.any = true;
        }
    };
    for (const Series& line : lines) {
        look(line.mean);
        look(line.low);
        look(line.high);
    }
    return range;
}

std::string area_path(const Figure& figure, std::span<const double> at, const Values& low,
                      const Values& high) {
    std::string path;
    for (std::size_t begin = 0; begin < high.size();) {
        if (!high[begin] || !low[begin]) {
            ++begin;
            continue;
        }
        std::size_t end = begin;
        while (end < high.size() && high[end] && low[end])
            ++end;
        for (std::size_t i = begin; i < end; ++i) {
            path += fmt::format("{}{:.1f} {:.1f}", i == begin ? "M" : "L", figure.px(at[i]),
                                figure.py(*high[i]));
        }
        for (std::size_t i = end; i-- > begin;)
            path += fmt::format("L{:.1f} {:.1f}", figure.px(at[i]), figure.py(*low[i]));
        path += "Z";
        begin = end;
    }
    return path;
}

void draw_series(Html& html, const Figure& figure, const Series& series,
                 std::span<const double> axis, std::size_t number) {
    const auto at = places(series, axis);
    const Element group(
        html, "g", {{"class", colour_class(series.colour)}, {"data-k", std::to_string(number)}});
    if (!series.low.empty()) {
        html.empty("path",
                   {{"class", "band"}, {"d", area_path(figure, at, series.low, series.high)}});
    }
    html.empty("path", {{"class", fmt::format("line d{}", series.dash)},
                        {"d", line_path(figure, at, series.mean)}});
    if (series.mean.size() <= most_dots)
        html.empty("path", {{"class", "dots"}, {"d", dot_path(figure, at, series.mean)}});
}

void add_columns(NumberTable& table, const Series& series) {
    const bool band = !series.low.empty();
    table.header.push_back(band ? series.name + ", mean" : series.name);
    if (band) {
        table.header.emplace_back("least");
        table.header.emplace_back("most");
    }
    const auto cell = [](const Values& values, std::size_t i) {
        return i < values.size() && values[i] ? exact_text(*values[i]) : std::string("-");
    };
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
        table.rows[i].push_back(cell(series.mean, i));
        if (!band) continue;
        table.rows[i].push_back(cell(series.low, i));
        table.rows[i].push_back(cell(series.high, i));
    }
}

NumberTable table_of(const FigureText& text, const XAxis& x) {
    NumberTable table{text.title, {x.name}, {}, {}};
    const double length = x.max > x.min ? x.max - x.min : 1;
    for (std::size_t i = 0; i < x.names.size(); ++i) {
        table.rows.push_back({x.names[i]});
        table.at.push_back((x.at[i] - x.min) / length);
    }
    return table;
}

void draw(Html& html, const LineChart& chart) {
    const Range range = range_of(chart.lines);
    if (!range.any) return;
    const YAxis axis = axis_of(chart, range);
    Figure figure(html, chart.text);
    std::vector<Figure::Key> keys;
    figure.plot(chart.x, axis, chart.unit, describe(chart), [&] {
        for (std::size_t i = 0; i < chart.lines.size(); ++i) {
            const Series& line = chart.lines[i];
            draw_series(html, figure, line, chart.x.at, i);
            keys.push_back({line.name, line.colour, 'l', line.dash});
        }
    });
    if (keys.size() > 1) figure.legend(keys);
    NumberTable table = table_of(chart.text, chart.x);
    for (const Series& line : chart.lines)
        add_columns(table, line);
    numbers(html, table);
}

}  // namespace rudder::report
