// Several runs: their answers in one table, their curves over each other.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "sections.hpp"

namespace rudder::report {

namespace {

/// A column of the table of answers.
struct Column {
    Literal name;
    std::optional<double> Answers::*value;
    Unit unit;
    bool more_is_better;
};

const std::vector<Column>& columns() {
    static const std::vector<Column> all{
        {"Test accuracy", &Answers::test, Unit::share, true},
        {"Time", &Answers::seconds, Unit::seconds, false},
        {"Per step", &Answers::step_seconds, Unit::seconds, false},
        {"Stall", &Answers::stall, Unit::share, false},
        {"Hit rate", &Answers::hit_rate, Unit::share, true},
        {"Rows fetched", &Answers::fetched, Unit::count, false},
        {"Of the floor", &Answers::over_floor, Unit::plain, false},
    };
    return all;
}

std::optional<double> best_of(const std::vector<ShownRun>& runs, const Column& column) {
    std::optional<double> best;
    std::size_t known = 0;
    bool differ = false;
    for (const ShownRun& shown : runs) {
        const auto value = shown.answers.*column.value;
        if (!value) continue;
        ++known;
        differ = differ || (best && *best != *value);
        if (!best || (column.more_is_better ? *value > *best : *value < *best)) best = value;
    }
    return known > 1 && differ ? best : std::nullopt;
}

void write_table(Html& html, const std::vector<ShownRun>& runs) {
    html.open("div", {{"class", "scroll wide"},
                      {"tabindex", "0"},
                      {"role", "region"},
                      {"aria-label", "Answers side by side"}});
    html.open("table", {{"class", "answers"}}).leaf("caption", "Answers side by side");
    html.open("thead").open("tr").leaf("th", "Run", {{"scope", "col"}});
    html.leaf("th", "State", {{"scope", "col"}});
    for (const Column& column : columns())
        html.leaf("th", column.name.view(), {{"scope", "col"}});
    html.close().close().open("tbody").line();
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const ShownRun& shown = runs[i];
        html.open("tr").open("th", {{"scope", "row"}});
        html.leaf(
            "i", "",
            {{"class", fmt::format("key {} kl d{}", colour_class(static_cast<int>(i)), i % 4)}});
        html.leaf("a", shown.label, {{"href", "#" + shown.id + "run"}}).close();
        html.open("td");
        write_state(html, shown);
        html.close();
        for (const Column& column : columns()) {
            const auto value = shown.answers.*column.value;
            const auto best = best_of(runs, column);
            const bool is_best = best && value && *value == *best;
            html.open("td", {{"class", is_best ? "best" : "other"}});
            html.text(value_text(value, column.unit));
            if (is_best) html.leaf("span", " best", {{"class", "tag"}});
            html.close();
        }
        html.close().line();
    }
    html.close().close().close().line();
}

using LineOf = std::function<Series(const ShownRun&, const StepAxis&, std::string, int)>;

/// One chart with a line for each run that has steps.
void draw_steps(Html& html, const std::vector<ShownRun>& runs, FigureText text, Unit unit,
                std::optional<double> top, const LineOf& line_of) {
    LineChart chart{.text = std::move(text),
                    .x = {.name = "step", .at = {}, .names = {}},
                    .unit = unit,
                    .lines = {},
                    .top = top};
    bool any = false;
    // The axis with most points names the rows; buckets of all runs are alike.
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const StepAxis axis = step_axis(runs[i]);
        if (axis.buckets.empty()) continue;
        Series line = line_of(runs[i], axis, runs[i].label, static_cast<int>(i));
        line.dash = static_cast<int>(i % 4);
        line.own_x = axis.x.at;
        chart.x.min = any ? std::min(chart.x.min, axis.x.min) : axis.x.min;
        chart.x.max = any ? std::max(chart.x.max, axis.x.max) : axis.x.max;
        if (axis.x.at.size() > chart.x.at.size()) {
            chart.x.at = axis.x.at;
            chart.x.names = axis.x.names;
        }
        chart.lines.push_back(std::move(line));
        any = true;
    }
    if (any) draw(html, chart);
}

LineOf column_line(std::size_t column) {
    return [column](const ShownRun& shown, const StepAxis& axis, std::string name, int colour) {
        return step_layer(shown, axis, std::move(name), colour, column);
    };
}

void draw_accuracy(Html& html, const std::vector<ShownRun>& runs) {
    LineChart chart;
    chart.text.id = "all-accuracy";
    chart.text.title = "Test accuracy";
    chart.x.name = "epoch";
    chart.unit = Unit::share;
    chart.from_zero = false;
    std::size_t width = 1;
    for (const ShownRun& shown : runs)
        width = std::max(width, epoch_axis(shown).width);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const EpochAxis axis = epoch_axis(runs[i], width);
        if (axis.x.at.empty()) continue;
        Series line =
            epoch_line(runs[i], axis, runs[i].label, static_cast<int>(i), &EpochData::test);
        line.low.clear();
        line.high.clear();
        line.dash = static_cast<int>(i % 4);
        line.own_x = axis.x.at;
        if (axis.x.at.size() > chart.x.at.size()) chart.x = axis.x;
        chart.lines.push_back(std::move(line));
    }
    if (!chart.lines.empty()) draw(html, chart);
}

}  // namespace

void write_comparison(Html& html, const std::vector<ShownRun>& runs) {
    const Element section(html, "section", {{"id", "all"}, {"aria-labelledby", "all-h"}});
    html.leaf("h2", "Side by side", {{"id", "all-h"}}).line();
    write_table(html, runs);
    const Element pair(html, "div", {{"class", "pair"}});
    draw_steps(html, runs, {"all-loss", "Loss", ""}, Unit::plain, {},
               column_line(series_column("loss")));
    draw_accuracy(html, runs);
    draw_steps(html, runs, {"all-step", "Time of a step", "Mean over ranks."}, Unit::seconds, {},
               column_line(series_column("seconds.step")));
    draw_steps(html, runs, {"all-stall", "Stall", "Waiting for rows, mean over ranks."},
               Unit::seconds, {}, column_line(series_column("seconds.stall")));
    draw_steps(html, runs, {"all-fetched", "Rows fetched per step", "Over all ranks."}, Unit::count,
               {}, column_line(series_column(Derived::fetched)));
    draw_steps(html, runs, {"all-hits", "Hit rate", "Of the remote rows."}, Unit::share, 1.0,
               hit_rate_line);
}

}  // namespace rudder::report
