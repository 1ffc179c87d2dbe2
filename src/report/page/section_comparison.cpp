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
        {"Waiting for rows, per step", &Answers::stall_seconds, Unit::seconds, false},
        {"Hit rate", &Answers::hit_rate, Unit::share, true},
        {"Bytes of rows", &Answers::feature_bytes, Unit::bytes, false},
        {"Rows fetched", &Answers::fetched, Unit::count, false},
        {"Of the floor", &Answers::over_floor, Unit::plain, false},
    };
    return all;
}

/// What a run was: columns of words, which are left out where no run has any.
struct WordColumn {
    Literal name;
    std::string (*text)(const ShownRun&);
};

const std::vector<WordColumn>& word_columns() {
    static const std::vector<WordColumn> all{
        {"Policy",
         [](const ShownRun& run) {
             const Answers& a = run.answers;
             std::string text = shortened(a.policy, 80);
             if (!a.last_policy.empty()) text += " \u2192 " + shortened(a.last_policy, 80);
             return text;
         }},
        {"Agent", [](const ShownRun& run) { return shortened(run.answers.agent, 60); }},
        {"Link", [](const ShownRun& run) { return shortened(run.answers.link, 60); }},
        {"State",
         [](const ShownRun& run) {
             return run.run.state == RunStatus::finished ? std::string()
                                                         : std::string(to_string(run.run.state));
         }},
    };
    return all;
}

std::vector<WordColumn> shown_words(const std::vector<ShownRun>& runs) {
    std::vector<WordColumn> shown;
    for (const WordColumn& column : word_columns()) {
        if (std::ranges::any_of(runs,
                                [&](const ShownRun& run) { return !column.text(run).empty(); }))
            shown.push_back(column);
    }
    return shown;
}

std::optional<double> best_of(const std::vector<ShownRun>& runs, const Column& column) {
    std::optional<double> best;
    std::size_t known = 0;
    bool differ = false;
    for (const ShownRun& shown : runs) {
        const auto value = shown.spread(column.value);
        if (!value) continue;
        ++known;
        differ = differ || (best && *best != value->median);
        if (!best || (column.more_is_better ? value->median > *best : value->median < *best))
            best = value->median;
    }
    return known > 1 && differ ? best : std::nullopt;
}

void write_run_cell(Html& html, const ShownRun& shown, std::size_t number) {
    html.open("th", {{"scope", "row"}});
    html.leaf("i", "",
              {{"class",
                fmt::format("key {} kl d{}", colour_class(static_cast<int>(number)), number % 4)}});
    html.leaf("a", shortened(shown.name, 80), {{"href", "#" + shown.id + "run"}});
    if (!shown.repeats.empty())
        html.text(" ").leaf("small", fmt::format("{} runs", shown.repeats.size()));
    html.close();
}

void write_number_cell(Html& html, const std::vector<ShownRun>& runs, const ShownRun& shown,
                       const Column& column) {
    const auto value = shown.spread(column.value);
    const auto best = best_of(runs, column);
    const bool is_best = best && value && value->median == *best;
    html.open("td", {{"class", is_best ? "best" : "other"},
                     {"data-name", std::string(column.name.view())}});
    html.open("span").text(
        value_text(value ? std::optional(value->median) : std::nullopt, column.unit));
    if (is_best) html.leaf("span", " best", {{"class", "tag"}});
    if (value && value->most > value->least) {
        html.leaf("small", range_text(value->least, value->most, column.unit));
    }
    html.close().close();
}

void write_table(Html& html, const std::vector<ShownRun>& runs) {
    const auto words = shown_words(runs);
    html.open("div", {{"class", "scroll wide"},
                      {"tabindex", "0"},
                      {"role", "region"},
                      {"aria-label", "Answers side by side"}});
    html.open("table", {{"class", "answers"}}).leaf("caption", "Answers side by side");
    html.open("thead").open("tr").leaf("th", "Run", {{"scope", "col"}});
    for (const WordColumn& column : words)
        html.leaf("th", column.name.view(), {{"scope", "col"}, {"class", "word"}});
    for (const Column& column : columns())
        html.leaf("th", column.name.view(), {{"scope", "col"}});
    html.close().close().open("tbody").line();
    for (std::size_t i = 0; i < runs.size(); ++i) {
        html.open("tr");
        write_run_cell(html, runs[i], i);
        for (const WordColumn& column : words) {
            const std::string text = column.text(runs[i]);
            html.open("td", {{"class", "word"}, {"data-name", std::string(column.name.view())}});
            html.leaf("span", text.empty() ? "-" : text).close();
        }
        for (const Column& column : columns())
            write_number_cell(html, runs, runs[i], column);
        html.close().line();
    }
    html.close().close().close().line();
}

/// Bars of what a run cost.
void draw_costs(Html& html, const std::vector<ShownRun>& runs, FigureText text, Unit unit,
                std::optional<double> Answers::*number) {
    BarChart chart{std::move(text), unit, {}};
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto value = runs[i].spread(number);
        if (!value) continue;
        chart.bars.push_back({runs[i].label, static_cast<int>(i), value->median, value->least,
                              value->most, value->count});
    }
    draw(html, chart);
}

std::string names_of(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return text;
}

/// Lines that are equal become one, which has their names; what is to be said of them.
std::string join_equal(std::vector<Series>& lines) {
    std::vector<Series> kept;
    std::vector<std::vector<std::string>> names;
    for (Series& line : lines) {
        const auto same = std::ranges::find_if(kept, [&](const Series& other) {
            return other.mean == line.mean && other.own_x == line.own_x;
        });
        if (same != kept.end()) {
            names[static_cast<std::size_t>(same - kept.begin())].push_back(line.name);
            continue;
        }
        names.push_back({line.name});
        kept.push_back(std::move(line));
    }
    std::string note;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (names[i].size() < 2) continue;
        const bool all = names[i].size() == lines.size();
        kept[i].name = all ? fmt::format("all {}", lines.size()) : names_of(names[i]);
        note += all ? fmt::format(" The curves of all {} are equal: drawn once.", lines.size())
                    : fmt::format(" The curves of {} are equal: drawn once.", names_of(names[i]));
    }
    lines = std::move(kept);
    return note;
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
    if (!any) return;
    chart.text.note += join_equal(chart.lines);
    draw(html, chart);
}

LineOf column_line(std::size_t column) {
    return [column](const ShownRun& shown, const StepAxis& axis, std::string name, int colour) {
        return step_layer(shown, axis, std::move(name), colour, column);
    };
}

Series rows_wait_line(const ShownRun& shown, const StepAxis& axis, std::string name, int colour) {
    return step_layer(shown, axis, std::move(name), colour, rows_wait_column(shown.run.metrics));
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
    if (chart.lines.empty()) return;
    chart.text.note += join_equal(chart.lines);
    draw(html, chart);
}

/// What the bars stand for.
std::string bar_note(const std::vector<ShownRun>& runs) {
    return std::ranges::any_of(runs, [](const ShownRun& run) { return !run.repeats.empty(); })
               ? " A bar is the median of its runs, the whisker reaches from the least to the most."
               : "";
}

}  // namespace

void write_comparison(Html& html, const std::vector<ShownRun>& runs) {
    const Element section(html, "section", {{"id", "all"}, {"aria-labelledby", "all-h"}});
    html.leaf("h2", "Side by side", {{"id", "all-h"}}).line();
    write_table(html, runs);
    {
        const Element costs(html, "div", {{"class", "costs"}});
        const std::string note = bar_note(runs);
        draw_costs(html, runs, {"all-bytes", "Bytes of rows", "Received over the run." + note},
                   Unit::bytes, &Answers::feature_bytes);
        draw_costs(html, runs, {"all-rows", "Rows fetched", "Over the run, on all ranks." + note},
                   Unit::count, &Answers::fetched);
        draw_costs(html, runs, {"all-time", "Time of a step", "Mean of a run's steps." + note},
                   Unit::seconds, &Answers::step_seconds);
    }
    const Element pair(html, "div", {{"class", "pair"}});
    if (!std::ranges::all_of(runs, simulated)) {
        draw_steps(html, runs, {"all-loss", "Loss", ""}, Unit::plain, {},
                   column_line(series_column("loss")));
        draw_accuracy(html, runs);
    }
    draw_steps(html, runs, {"all-step", "Time of a step, step by step", "Mean over ranks."},
               Unit::seconds, {}, column_line(series_column("seconds.step")));
    draw_steps(html, runs, {"all-stall", "Waiting for rows, step by step", "Mean over ranks."},
               Unit::seconds, {}, rows_wait_line);
    draw_steps(html, runs, {"all-fetched", "Rows fetched per step", "Over all ranks."}, Unit::count,
               {}, column_line(series_column(Derived::fetched)));
    draw_steps(html, runs, {"all-hits", "Hit rate", "Of the remote rows."}, Unit::share, 1.0,
               hit_rate_line);
}

}  // namespace rudder::report
