// What the sections share: headings, the axis of steps, its lines.
#include <algorithm>

#include <fmt/format.h>

#include "report/catalogue.hpp"
#include "rudder/core/text.hpp"

#include "sections.hpp"

namespace rudder::report {

Section::Section(Html& html, const ShownRun& shown, Literal id, Literal title) : html_(html) {
    const std::string name = shown.id + std::string(id.view());
    html.open("section", {{"id", name}, {"aria-labelledby", name + "-h"}});
    html.leaf("h3", title.view(), {{"id", name + "-h"}}).line();
}

Section::~Section() {
    html_.close().line();
}

void write_fact(Html& html, Literal name, const std::string& value) {
    if (value.empty()) return;
    html.open("div").leaf("dt", name.view()).leaf("dd", shortened(value, 200)).close().line();
}

std::string rank_name(const MetricsData& metrics, std::size_t group) {
    const std::uint64_t first = group * metrics.ranks_per_group;
    const std::uint64_t last = std::min(first + metrics.ranks_per_group, metrics.ranks) - 1;
    return first == last ? fmt::format("{}", first) : fmt::format("{}\u2013{}", first, last);
}

bool simulated(const ShownRun& shown) {
    return shown.run.run.number("simulated").value_or(0) != 0;
}

StepAxis step_axis(const ShownRun& shown) {
    StepAxis axis;
    const MetricsData& metrics = shown.run.metrics;
    const StepSeries& series = shown.series;
    const std::size_t steps = series_column(Derived::fetched);
    axis.x.name = "step";
    axis.x.min = static_cast<double>(metrics.first_step);
    axis.x.max = static_cast<double>(std::max(metrics.last_step, metrics.first_step + 1));
    axis.x.marks = metrics.epoch_ends;
    for (std::size_t b = 0; b < series.buckets(); ++b) {
        if (series.at(b, steps).count == 0) continue;
        const std::uint64_t first = std::max(b * series.width, metrics.first_step);
        const std::uint64_t last = std::min((b + 1) * series.width - 1, metrics.last_step);
        axis.buckets.push_back(b);
        axis.x.at.push_back((static_cast<double>(first) + static_cast<double>(last)) / 2);
        axis.x.names.push_back(first == last ? fmt::format("{}", first)
                                             : fmt::format("{}\u2013{}", first, last));
    }
    return axis;
}

EpochAxis epoch_axis(const ShownRun& shown, std::size_t width) {
    const auto& epochs = shown.run.epochs;
    EpochAxis axis{.x = {.name = "epoch", .at = {}, .names = {}}, .width = width};
    while (epochs.size() / axis.width > shown.points)
        axis.width *= 2;
    for (std::size_t i = 0; i < epochs.size(); i += axis.width) {
        const std::uint64_t first = epochs[i].epoch;
        const std::uint64_t last = epochs[std::min(i + axis.width, epochs.size()) - 1].epoch;
        axis.x.at.push_back((static_cast<double>(first) + static_cast<double>(last)) / 2);
        axis.x.names.push_back(first == last ? fmt::format("{}", first)
                                             : fmt::format("{}\u2013{}", first, last));
    }
    if (axis.x.at.empty()) return axis;
    const auto [least, most] = std::ranges::minmax(axis.x.at);
    axis.x.min = least;
    axis.x.max = std::max(most, least + 1);
    return axis;
}

Series epoch_line(const ShownRun& shown, const EpochAxis& axis, std::string name, int colour,
                  std::optional<double> EpochData::*value) {
    const auto& epochs = shown.run.epochs;
    Series line{.name = std::move(name), .colour = colour, .mean = {}};
    for (std::size_t i = 0; i < epochs.size(); i += axis.width) {
        Stat stat;
        for (std::size_t e = i; e < std::min(i + axis.width, epochs.size()); ++e) {
            if (const auto number = epochs[e].*value) stat.add(*number);
        }
        const bool any = stat.count != 0;
        line.mean.push_back(any ? std::optional(stat.mean()) : std::nullopt);
        if (axis.width == 1) continue;
        line.low.push_back(any ? std::optional(stat.min) : std::nullopt);
        line.high.push_back(any ? std::optional(stat.max) : std::nullopt);
    }
    return line;
}

std::size_t rows_wait_column(const MetricsData& metrics) {
    const std::size_t waited = metric_index("seconds.wait_rows");
    const bool divided = waited < metrics.seen.size() && metrics.seen[waited] != 0;
    return series_column(divided ? "seconds.wait_rows" : "seconds.stall");
}

Series step_layer(const ShownRun& shown, const StepAxis& axis, std::string name, int colour,
                  std::size_t column) {
    Series line{.name = std::move(name), .colour = colour, .mean = {}};
    for (const std::size_t b : axis.buckets) {
        const Stat& stat = shown.series.at(b, column);
        line.mean.push_back(stat.count == 0 ? std::nullopt : std::optional(stat.mean()));
    }
    return line;
}

Series step_line(const ShownRun& shown, const StepAxis& axis, std::string name, int colour,
                 std::size_t column) {
    Series line = step_layer(shown, axis, std::move(name), colour, column);
    if (shown.series.width == 1) return line;
    for (const std::size_t b : axis.buckets) {
        const Stat& stat = shown.series.at(b, column);
        const bool any = stat.count != 0;
        line.low.push_back(any ? std::optional(stat.min) : std::nullopt);
        line.high.push_back(any ? std::optional(stat.max) : std::nullopt);
    }
    return line;
}

Series hit_rate_line(const ShownRun& shown, const StepAxis& axis, std::string name, int colour) {
    Series line = step_line(shown, axis, std::move(name), colour, series_column(Derived::hit_rate));
    for (std::size_t i = 0; i < axis.buckets.size(); ++i) {
        const double hits = shown.series.at(axis.buckets[i], series_column("rows.hit")).sum;
        const double all = shown.series.at(axis.buckets[i], series_column(Derived::remote)).sum;
        if (line.mean[i] && all > 0) line.mean[i] = hits / all;
    }
    return line;
}

std::string width_note(const ShownRun& shown) {
    if (shown.series.width == 1) return "";
    return fmt::format(
        " Each point is the mean of {} steps; the band reaches from the least of "
        "them to the most.",
        format_count(shown.series.width));
}

}  // namespace rudder::report
