// Rows of cells over time, the stronger the colour the larger the value.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "chart.hpp"
#include "lines.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t levels = 9;

/// What the colours reach from and to: a few outliers get the strongest colour and hide no others.
struct Scale {
    double low = 0;
    double high = 1;

    explicit Scale(const Values& cells) {
        std::vector<double> values;
        for (const auto& cell : cells) {
            if (cell) values.push_back(*cell);
        }
        if (values.empty()) return;
        std::ranges::sort(values);
        low = values.front();
        high = values[(values.size() - 1) - (values.size() - 1) / 50];
        if (!(high > low)) high = low + 1;
    }
    [[nodiscard]] std::size_t level(double value) const {
        const double share = std::clamp((value - low) / (high - low), 0.0, 1.0);
        return static_cast<std::size_t>(std::lround(share * (levels - 1)));
    }
    [[nodiscard]] static std::string opacity(std::size_t level) {
        return fmt::format("{:.2f}", 0.06 + 0.94 * static_cast<double>(level) / (levels - 1));
    }
};

/// A path per level: neighbours of one level in a row are one rectangle.
std::array<std::string, levels> cell_paths(const Figure& figure, const TimeMap& map,
                                           const Scale& scale) {
    std::array<std::string, levels> paths;
    const std::size_t columns = map.x.at.size();
    const double height = plot_height / static_cast<double>(map.rows.size());
    for (std::size_t r = 0; r < map.rows.size(); ++r) {
        for (std::size_t begin = 0; begin < columns;) {
            const auto& value = map.cells[r * columns + begin];
            std::size_t end = begin + 1;
            if (!value) {
                begin = end;
                continue;
            }
            const std::size_t level = scale.level(*value);
            while (end < columns && map.cells[r * columns + end] &&
                   scale.level(*map.cells[r * columns + end]) == level)
                ++end;
            const double left = figure.px(map.edges[begin]);
            paths[level] += fmt::format("M{:.1f} {:.1f}H{:.1f}v{:.1f}H{:.1f}Z", left,
                                        static_cast<double>(r) * height, figure.px(map.edges[end]),
                                        height, left);
            begin = end;
        }
    }
    return paths;
}

/// Which colour is how much.
void write_scale(Html& html, const Scale& scale, Unit unit) {
    html.open("p", {{"class", "scale"}}).leaf("span", value_text(scale.low, unit));
    html.open("svg", {{"viewBox", fmt::format("0 0 {} 10", 20 * levels)}, {"aria-hidden", "true"}});
    for (std::size_t level = 0; level < levels; ++level) {
        html.empty("rect", {{"class", "cell"},
                            {"x", fmt::format("{}", 20 * level)},
                            {"width", "20"},
                            {"height", "10"},
                            {"fill-opacity", Scale::opacity(level)}});
    }
    html.close().leaf("span", value_text(scale.high, unit) + " and more").close().line();
}

/// Who was slowest and fastest in each column.
NumberTable extremes(const TimeMap& map) {
    NumberTable table = table_of(map.text, map.x);
    for (const char* what : {"longest", "", "mean", "shortest", ""})
        table.header.emplace_back(*what == '\0' ? map.row_name : what);
    const std::size_t columns = map.x.at.size();
    for (std::size_t c = 0; c < table.rows.size(); ++c) {
        double sum = 0;
        std::size_t count = 0;
        std::size_t least = 0;
        std::size_t most = 0;
        const auto cell = [&](std::size_t r) { return map.cells[r * columns + c]; };
        for (std::size_t r = 0; r < map.rows.size(); ++r) {
            if (!cell(r)) continue;
            if (count == 0 || *cell(r) < *cell(least)) least = r;
            if (count == 0 || *cell(r) > *cell(most)) most = r;
            sum += *cell(r);
            ++count;
        }
        if (count == 0) {
            table.rows[c].insert(table.rows[c].end(), 5, "-");
            continue;
        }
        table.rows[c].insert(table.rows[c].end(), {exact_text(*cell(most)), map.rows[most],
                                                   exact_text(sum / static_cast<double>(count)),
                                                   exact_text(*cell(least)), map.rows[least]});
    }
    return table;
}

}  // namespace

void draw(Html& html, const TimeMap& map) {
    if (map.rows.empty() || map.x.at.empty()) return;
    const Scale scale(map.cells);
    // Rows have their names in the middle; of many, some do.
    YAxis axis{0, static_cast<double>(map.rows.size()), {}, {}};
    const std::size_t every = (map.rows.size() + 15) / 16;
    for (std::size_t r = 0; r < map.rows.size(); r += every) {
        axis.ticks.push_back(axis.max - static_cast<double>(r) - 0.5);
        axis.names.push_back(map.rows[r]);
    }
    Figure figure(html, map.text);
    const std::string description =
        fmt::format("Heat map of {} {}s by {}, from {} to {}.", map.rows.size(), map.row_name,
                    map.x.name, value_text(scale.low, map.unit), value_text(scale.high, map.unit));
    figure.plot(map.x, axis, map.unit, description, [&] {
        const auto paths = cell_paths(figure, map, scale);
        for (std::size_t level = 0; level < levels; ++level) {
            if (paths[level].empty()) continue;
            html.empty(
                "path",
                {{"class", "cell"}, {"fill-opacity", Scale::opacity(level)}, {"d", paths[level]}});
        }
    });
    write_scale(html, scale, map.unit);
    numbers(html, extremes(map));
}

}  // namespace rudder::report
