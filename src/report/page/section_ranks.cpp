// Ranks side by side: who takes how long, in all and over time.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/step_time.hpp"

#include "sections.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t most_columns = 96;
constexpr std::size_t most_cells = 3072;

/// A part of a step's time on one rank.
struct RankPart {
    std::string_view name;
    int colour;
    double seconds;
};

/// By the parts of a step, in their order.
constexpr std::array<int, step_parts.size()> part_colours{
    colour::compute, colour::stall, colour::reduce, colour::slower, colour::agent, colour::rest};

std::vector<RankPart> parts_of(const RankTotals& rank) {
    const auto lines = static_cast<double>(std::max<std::uint64_t>(rank.lines, 1));
    const Seconds seconds = with_all_parts(rank.seconds);
    std::vector<RankPart> parts;
    for (std::size_t i = 0; i < step_parts.size(); ++i) {
        parts.push_back(
            {step_parts[i].words, part_colours[i], seconds.*step_parts[i].seconds / lines});
    }
    return parts;
}

double step_of(const RankTotals& rank) {
    double step = 0;
    for (const RankPart& part : parts_of(rank))
        step += part.seconds;
    return step;
}

void write_rank_bar(Html& html, const RankTotals& rank, double top) {
    html.open(
        "svg",
        {{"viewBox", "0 0 1000 20"}, {"preserveAspectRatio", "none"}, {"aria-hidden", "true"}});
    double at = 0;
    for (const RankPart& part : parts_of(rank)) {
        const double width = 1000 * part.seconds / top;
        if (width >= 0.05) {
            html.empty("rect", {{"class", "fill " + colour_class(part.colour)},
                                {"x", fmt::format("{:.1f}", at)},
                                {"width", fmt::format("{:.1f}", width)},
                                {"height", "20"}});
        }
        at += width;
    }
    html.close();
}

/// The mean step of each rank, divided.
void draw_rank_bars(Html& html, const ShownRun& shown) {
    const MetricsData& metrics = shown.run.metrics;
    double top = 0;
    for (const RankTotals& rank : metrics.by_rank)
        top = std::max(top, step_of(rank));
    if (!(top > 0)) return;
    const FigureText text{shown.id + "rank-bars", "A step of each rank",
                          "Means over the run. All wait for the one that computes, or waits for "
                          "rows, the longest: the others wait for it as for a slower rank, or "
                          "for its rows.",
                          true};
    Figure figure(html, text);
    html.open("ol", {{"class", "hbars"}}).line();
    for (std::size_t g = 0; g < metrics.by_rank.size(); ++g) {
        const RankTotals& rank = metrics.by_rank[g];
        if (rank.lines == 0) continue;
        html.open("li").leaf("span", "rank " + rank_name(metrics, g), {{"class", "name"}});
        write_rank_bar(html, rank, top);
        html.open("span", {{"class", "amount"}}).leaf("b", seconds_text(step_of(rank))).close();
        html.close().line();
    }
    html.close().line();
    std::vector<Figure::Key> keys;
    for (std::size_t i = 0; i < step_parts.size(); ++i) {
        const auto shows = [i](const RankTotals& rank) { return parts_of(rank)[i].seconds > 0; };
        if (std::ranges::any_of(metrics.by_rank, shows))
            keys.push_back({std::string(step_parts[i].words), part_colours[i], 'a', 0});
    }
    figure.legend(keys);
}

/// As many columns as the number of rows allows.
RankSeries shown_series(const ShownRun& shown) {
    RankSeries series = shown.run.metrics.rank_series;
    series.coarsen(std::clamp<std::size_t>(
        std::min(most_cells / std::max<std::size_t>(series.groups, 1), shown.points), 8,
        most_columns));
    return series;
}

void draw_rank_map(Html& html, const ShownRun& shown) {
    const MetricsData& metrics = shown.run.metrics;
    const RankSeries series = shown_series(shown);
    TimeMap map;
    map.text = {shown.id + "rank-map", "Own time by rank and step",
                "What a rank takes itself: computing, and waiting for rows of its own; the "
                "stronger the colour, the longer. A dark row is a rank that is always late, a dark "
                "column a moment at which all were.",
                true, metrics.by_rank.size() <= 4 ? FigureHeight::low : FigureHeight::usual};
    if (series.width > 1)
        map.text.note += fmt::format(" Each column is the mean of {} steps.", series.width);
    map.x.name = "step";
    map.row_name = "rank";
    for (std::size_t g = 0; g < series.groups; ++g)
        map.rows.push_back(rank_name(metrics, g));
    const std::size_t first = metrics.first_step / series.width;
    const std::size_t columns = series.buckets() - std::min(first, series.buckets());
    map.cells.resize(series.groups * columns);
    for (std::size_t c = 0; c < columns; ++c) {
        const std::uint64_t begin = std::max((first + c) * series.width, metrics.first_step);
        const std::uint64_t end = std::min((first + c + 1) * series.width - 1, metrics.last_step);
        map.edges.push_back(static_cast<double>(begin));
        map.x.at.push_back((static_cast<double>(begin) + static_cast<double>(end)) / 2);
        map.x.names.push_back(begin == end ? fmt::format("{}", begin)
                                           : fmt::format("{}\u2013{}", begin, end));
        for (std::size_t g = 0; g < series.groups; ++g) {
            const RankCell& cell = series.at(first + c, g);
            if (cell.lines != 0)
                map.cells[g * columns + c] = cell.own / static_cast<double>(cell.lines);
        }
    }
    map.edges.push_back(static_cast<double>(metrics.last_step + 1));
    map.x.min = map.edges.front();
    map.x.max = map.edges.back();
    draw(html, map);
}

}  // namespace

bool has_ranks(const ShownRun& shown) {
    return shown.run.metrics.lines != 0 && shown.run.metrics.by_rank.size() > 1;
}

void write_side_by_side(Html& html, const ShownRun& shown) {
    if (!has_ranks(shown)) return;
    const Section section(html, shown, "side-by-side", "Ranks side by side");
    const Element pair(html, "div", {{"class", "pair loose"}});
    draw_rank_bars(html, shown);
    draw_rank_map(html, shown);
}

}  // namespace rudder::report
