// What the agent decided, on the time line, with its reasons and what came of them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include <fmt/format.h>

#include "sections.hpp"
#include "switches.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t most_shown = 8;

/// A disc, a square, or a ring where neither is known or both are the same.
int mark_of(Judgement verdict) {
    return verdict == Judgement::right ? 0 : verdict == Judgement::wrong ? 1 : 2;
}

const char* verdict_text(Judgement verdict) {
    switch (verdict) {
        case Judgement::right:
            return "\u25cf right";
        case Judgement::wrong:
            return "\u25a0 wrong";
        case Judgement::no_effect:
            return "\u25cb no effect";
        case Judgement::undecided:
            break;
    }
    return "\u25cb undecided";
}

const char* verdict_class(Judgement verdict) {
    switch (verdict) {
        case Judgement::right:
            return "right";
        case Judgement::wrong:
            return "wrong";
        case Judgement::no_effect:
        case Judgement::undecided:
            break;
    }
    return "undecided";
}

/// All points, or of many those that are extremes of their stretch, by verdict.
std::vector<Dot> dots_of(const DecisionData& decisions, double first, double last,
                         std::size_t most_dots) {
    const auto dot = [](const DecisionPoint& p) {
        return Dot{static_cast<double>(p.step), static_cast<double>(p.gain), mark_of(p.verdict)};
    };
    std::vector<Dot> dots;
    if (decisions.points.size() <= most_dots) {
        for (const DecisionPoint& point : decisions.points)
            dots.push_back(dot(point));
        return dots;
    }
    struct Extremes {
        const DecisionPoint* low = nullptr;
        const DecisionPoint* high = nullptr;
    };
    std::map<std::pair<std::uint64_t, Judgement>, Extremes> stretches;
    const double length = std::max(1.0, (last - first + 1) / (static_cast<double>(most_dots) / 6));
    for (const DecisionPoint& point : decisions.points) {
        const double place = std::max(0.0, (static_cast<double>(point.step) - first) / length);
        Extremes& e = stretches[{static_cast<std::uint64_t>(place), point.verdict}];
        if (e.low == nullptr || point.gain < e.low->gain) e.low = &point;
        if (e.high == nullptr || point.gain > e.high->gain) e.high = &point;
    }
    for (const auto& [key, e] : stretches) {
        dots.push_back(dot(*e.low));
        if (e.high != e.low) dots.push_back(dot(*e.high));
    }
    return dots;
}

std::string rows_text(const DecisionText& d) {
    if (!d.rows || !d.other_rows) return "-";
    return fmt::format("{} / {}", count_text(*d.rows), count_text(*d.other_rows));
}

std::string reason_text(const DecisionText& d) {
    std::string text;
    for (const std::string* part : {&d.reason, &d.note, &d.problem}) {
        if (part->empty()) continue;
        text += (text.empty() ? "" : ": ") + shortened(*part, 200);
    }
    std::ranges::replace(text, '_', ' ');
    return text.empty() ? "-" : text;
}

std::vector<std::string> row_of(const DecisionText& d) {
    return {fmt::format("{}", d.step),
            fmt::format("{}", d.rank),
            shortened(d.action, 120),
            reason_text(d),
            d.status,
            verdict_text(d.verdict),
            rows_text(d),
            shortened(d.alternative, 120),
            d.latency ? seconds_text(*d.latency) : "-"};
}

NumberTable table_of(const ShownRun& shown) {
    const DecisionData& decisions = shown.run.decisions;
    NumberTable table{"",
                      {"step", "rank", "decided", "reason", "status", "by the counterfactual",
                       "rows per step / otherwise", "otherwise", "latency"},
                      {},
                      {}};
    const std::size_t count = std::min(shown.decisions, decisions.notable.size());
    table.caption = count < decisions.lines
                        ? fmt::format("{} of {} decisions: changes, failures and wrong ones first",
                                      count_text(static_cast<double>(count)),
                                      count_text(static_cast<double>(decisions.lines)))
                        : std::string("All decisions");
    for (std::size_t i = 0; i < count; ++i)
        table.rows.push_back(row_of(decisions.notable[i]));
    return table;
}

/// How often each verdict was given.
std::vector<double> counts_of(const DecisionData& decisions) {
    std::vector<double> counts(4, 0);
    for (const DecisionPoint& point : decisions.points)
        ++counts[static_cast<std::size_t>(point.verdict)];
    return counts;
}

void draw_decisions(Html& html, const ShownRun& shown, const std::vector<Flag>& flags) {
    const DecisionData& decisions = shown.run.decisions;
    const auto counts = counts_of(decisions);
    DotChart chart{.text = {shown.id + "decisions", "Decisions on the time line", "", true},
                   .x = step_axis(shown).x,
                   .marks = {fmt::format("right ({})", count_text(counts[0])),
                             fmt::format("wrong ({})", count_text(counts[1])),
                             fmt::format("no effect ({}) or not judged ({})", count_text(counts[3]),
                                         count_text(counts[2]))},
                   .colours = {0, 1, 6},
                   .dots = {},
                   .table = table_of(shown)};
    if (shown.run.metrics.lines == 0) {
        for (const DecisionPoint& point : decisions.points)
            chart.x.max = std::max(chart.x.max, static_cast<double>(point.step));
    }
    chart.dots = dots_of(decisions, chart.x.min, chart.x.max, 5 * shown.points);
    double most = 0.01;
    for (const Dot& dot : chart.dots)
        most = std::max(most, std::abs(dot.y));
    const bool any_below =
        std::ranges::any_of(chart.dots, [](const Dot& dot) { return dot.y < 0; });
    chart.x.flags = flags;
    chart.bottom = any_below ? -most : -most / 4;
    chart.top = most;
    chart.text.note =
        "The height is what a decision saved against its alternative, which a copy of the buffer "
        "took: rows per step, as a share. Above the line it was right, below it was wrong; on it "
        "it had no effect, both came to the same rows, or nobody could tell.";
    if (chart.dots.size() < decisions.points.size()) {
        chart.text.note += fmt::format(
            " {} of {} are drawn; the extremes of every stretch are "
            "among them.",
            count_text(static_cast<double>(chart.dots.size())),
            count_text(static_cast<double>(decisions.points.size())));
    }
    draw(html, chart);
}

/// The changes that have a number in the drawings: of many, those with the largest effect.
std::vector<Flag> flags_of(const std::vector<Switch>& switches) {
    constexpr std::size_t most_named = 12;
    constexpr std::size_t most_drawn = 60;
    std::vector<const Switch*> order;
    for (const Switch& one : switches)
        order.push_back(&one);
    std::ranges::stable_sort(order, std::greater<>(), [](const Switch* s) { return s->effect; });
    order.resize(std::min(order.size(), most_drawn));
    std::vector<Flag> flags;
    for (const Switch& one : switches) {
        const auto place = std::ranges::find(order, &one) - order.begin();
        if (place == std::ssize(order)) continue;
        const bool named = static_cast<std::size_t>(place) < most_named;
        flags.push_back({static_cast<double>(one.step),
                         named ? static_cast<std::size_t>(&one - switches.data()) + 1 : 0});
    }
    return flags;
}

/// Steps at which rows were replaced; as many as can be told apart.
std::vector<double> replaced_steps(const DecisionData& decisions, const XAxis& x) {
    constexpr double most_strokes = 400;
    std::map<std::int64_t, double> places;
    for (const DecisionPoint& point : decisions.points) {
        if (point.kind != steer::ActionKind::replace || point.failed || point.undone) continue;
        const auto at = static_cast<double>(point.step);
        if (at < x.min || at > x.max) continue;
        places.try_emplace(static_cast<std::int64_t>(most_strokes * (at - x.min) / (x.max - x.min)),
                           at);
    }
    std::vector<double> steps;
    for (const auto& [place, at] : places)
        steps.push_back(at);
    return steps;
}

void write_switches(Html& html, const std::vector<Switch>& switches,
                    const std::vector<Flag>& flags) {
    html.open("ol", {{"class", "acts switches"}}).line();
    for (const Flag& flag : flags) {
        if (flag.number == 0) continue;
        const Switch& one = switches[flag.number - 1];
        html.open("li").open("span", {{"class", "when"}});
        html.leaf("b", fmt::format("{}", flag.number), {{"class", "flag"}});
        html.text(fmt::format(" step {}", one.step)).close();
        html.open("div").leaf("b", shortened(one.action, 120));
        html.text(fmt::format(" on {}{}", ranks_text(one.ranks), one.undone ? ", undone" : ""));
        if (one.before && one.after) {
            html.leaf(
                "p", fmt::format("{} rows per step before, {} after ({}).", count_text(*one.before),
                                 count_text(*one.after),
                                 *one.before > 0 ? fmt::format("{:+.1f}\u00a0%",
                                                               100 * (*one.after / *one.before - 1))
                                                 : std::string("-")));
        }
        html.close().close().line();
    }
    html.close().line();
}

/// The rows that decisions changed, with the changes marked on the same axis.
void draw_changed_rows(Html& html, const ShownRun& shown, const std::vector<Switch>& switches,
                       const std::vector<Flag>& flags) {
    const StepAxis axis = step_axis(shown);
    if (axis.buckets.empty()) return;
    LineChart chart{.text = {shown.id + "changed", "Rows fetched, and what the agent changed",
                             "Over all ranks, per step.", true},
                    .x = axis.x,
                    .unit = Unit::count,
                    .lines = {step_line(shown, axis, "rows fetched", colour::demand,
                                        series_column(Derived::fetched))}};
    chart.x.flags = flags;
    chart.x.rug = replaced_steps(shown.run.decisions, axis.x);
    Series without =
        step_layer(shown, axis, "without a buffer", colour::rest, series_column(Derived::remote));
    without.dash = 2;
    chart.lines.push_back(std::move(without));
    if (shown.series.total(series_column(Derived::floor)).count != 0) {
        Series floor = step_layer(shown, axis, "clairvoyant floor", colour::floor,
                                  series_column(Derived::floor));
        floor.dash = 1;
        chart.lines.push_back(std::move(floor));
    }
    if (!flags.empty()) {
        chart.text.note +=
            fmt::format(" A vertical line is the step from which a change held ({}).",
                        counted(static_cast<double>(switches.size()), "change", "changes"));
    }
    if (!chart.x.rug.empty())
        chart.text.note += " Strokes at the bottom are steps at which rows were replaced.";
    draw(html, chart);
    if (!flags.empty()) write_switches(html, switches, flags);
}

/// Changes and other decisions that mattered, in the open.
void write_list(Html& html, const ShownRun& shown) {
    std::vector<const DecisionText*> list;
    for (const DecisionText& d : shown.run.decisions.notable) {
        if (d.action != "keep" || d.status != "applied") list.push_back(&d);
    }
    const std::size_t acts = list.size();
    // Changes and failures before replacements, large effects before small ones.
    std::ranges::stable_sort(list, {}, [](const DecisionText* d) {
        const bool change = d->action.starts_with("set") || d->status != "applied";
        return std::pair(change ? 0 : 1,
                         d->rows && d->other_rows ? -std::abs(*d->rows - *d->other_rows) : 0.0);
    });
    list.resize(std::min(list.size(), most_shown));
    std::ranges::stable_sort(list, {},
                             [](const DecisionText* d) { return std::pair(d->step, d->rank); });
    if (list.empty()) {
        html.leaf("p", "It kept everything as it was, every time.", {{"class", "gap"}});
        return;
    }
    html.leaf("h4", "What it did, and why").open("ol", {{"class", "acts"}}).line();
    for (const DecisionText* d : list) {
        html.open("li").leaf("span", fmt::format("step {}", d->step), {{"class", "when"}});
        html.open("div").leaf("b", shortened(d->action, 120));
        html.text(fmt::format(" on rank {}", d->rank));
        if (d->status != "applied") html.text(", " + d->status);
        html.text(" ");
        html.leaf("span", verdict_text(d->verdict),
                  {{"class", std::string("verdict ") + verdict_class(d->verdict)}});
        html.leaf("p", reason_text(*d));
        html.close().close().line();
    }
    html.close();
    if (acts > list.size()) {
        html.leaf("p", "These had the largest effect; more are under Numbers above.",
                  {{"class", "small"}});
    }
}

/// A knob that changed, as a line.
void draw_knob(Html& html, const ShownRun& shown, const StepAxis& axis, const char* path,
               const char* name, const char* note, Unit unit) {
    const Stat all = shown.series.total(series_column(path));
    if (all.count == 0 || all.min == all.max) return;
    draw(html, LineChart{.text = {shown.id + "knob-" + name, name, note},
                         .x = axis.x,
                         .unit = unit,
                         .lines = {step_line(shown, axis, name, 5, series_column(path))}});
}

}  // namespace

void write_agent(Html& html, const ShownRun& shown) {
    const Section section(html, shown, "agent", "The agent");
    const DecisionData& decisions = shown.run.decisions;
    if (decisions.lines == 0) {
        html.leaf("p",
                  shown.answers.agent.empty()
                      ? "Nobody steered this run: the policy ran as configured."
                      : "No decision is recorded.",
                  {{"class", "gap"}});
        return;
    }
    const std::vector<Switch> switches = switches_of(shown.run);
    const std::vector<Flag> flags = flags_of(switches);
    draw_changed_rows(html, shown, switches, flags);
    draw_decisions(html, shown, flags);
    write_list(html, shown);
    const StepAxis axis = step_axis(shown);
    const Element pair(html, "div", {{"class", "pair loose"}});
    draw_knob(html, shown, axis, "knobs.window", "Window", "Steps looked ahead; mean over ranks.",
              Unit::count);
    draw_knob(html, shown, axis, "knobs.capacity", "Capacity",
              "Rows that a buffer may hold; mean over ranks.", Unit::count);
    const auto& policies = shown.run.metrics.policies;
    if (policies.size() > 1) {
        NumberTable table{"Policies of rank 0 over time", {"from step", "policy"}, {}, {}};
        for (const auto& [step, policy] : policies)
            table.rows.push_back({fmt::format("{}", step), shortened(policy, 120)});
        const Element figure(html, "figure",
                             {{"class", "chart table"}, {"id", shown.id + "policies"}});
        html.open("figcaption").leaf("h4", "Policies");
        html.leaf("p", fmt::format("Rank 0 began with {} and ended with {}.",
                                   shortened(policies.front().second, 80),
                                   shortened(policies.back().second, 80)));
        html.close();
        numbers(html, table);
    }
}

}  // namespace rudder::report
