// Rows by kind with the floor, and the hit rate.
#include <fmt/format.h>

#include "sections.hpp"

namespace rudder::report {

namespace {

bool has_floor(const ShownRun& shown) {
    return shown.series.total(series_column(Derived::floor)).count != 0;
}

std::string fetched_note(const ShownRun& shown) {
    const Answers& a = shown.answers;
    std::string note = "Rows that crossed the network, over all ranks.";
    if (has_floor(shown)) {
        note +=
            " The floor is what the clairvoyant optimum would have fetched with the same buffer";
        note += a.over_floor
                    ? fmt::format("; the run fetched {} times that.", ratio_text(*a.over_floor))
                    : std::string(".");
    } else if (shown.run.traced) {
        note += " There is a trace, but the floor was not computed from it.";
    } else {
        note += " No trace, so no floor: train with --trace to see it.";
    }
    return note;
}

/// What coding made of the rows' messages, where they may be coded.
std::string coding_note(const ShownRun& shown) {
    const Answers& a = shown.answers;
    if (!a.coded_rows) return {};
    return fmt::format(" Coded, they took {} of their bytes.", percent_text(*a.coded_rows));
}

void draw_fetched(Html& html, const ShownRun& shown, const StepAxis& axis) {
    AreaChart chart{.text = {shown.id + "fetched", "Rows fetched per step",
                             fetched_note(shown) + coding_note(shown), true},
                    .x = axis.x,
                    .unit = Unit::count,
                    .layers = {step_layer(shown, axis, "demand: lacking when needed",
                                          colour::demand, series_column("rows.demand")),
                               step_layer(shown, axis, "replacement: to fill the buffer",
                                          colour::replacement, series_column("rows.replacement")),
                               step_layer(shown, axis, "ahead: for a coming step", colour::ahead,
                                          series_column("rows.ahead"))},
                    .lines = {}};
    Series without = step_layer(shown, axis, "without a buffer", 6, series_column(Derived::remote));
    without.dash = 2;
    chart.lines.push_back(std::move(without));
    if (has_floor(shown)) {
        Series floor = step_layer(shown, axis, "clairvoyant floor", colour::floor,
                                  series_column(Derived::floor));
        floor.dash = 1;
        chart.lines.push_back(std::move(floor));
    }
    draw(html, chart);
}

}  // namespace

void write_rows(Html& html, const ShownRun& shown) {
    const Section section(html, shown, "rows", "Rows and the buffer");
    const StepAxis axis = step_axis(shown);
    if (axis.buckets.empty()) {
        html.leaf("p", "No steps are recorded, so the rows of steps are not known.",
                  {{"class", "gap"}});
        return;
    }
    const Element pair(html, "div", {{"class", "pair"}});
    draw_fetched(html, shown, axis);
    draw(html, AreaChart{.text = {shown.id + "needed", "Rows needed per step",
                                  "Input rows that a step read, by where it found them."},
                         .x = axis.x,
                         .unit = Unit::count,
                         .layers = {step_layer(shown, axis, "local: of the host itself",
                                               colour::local, series_column("rows.local")),
                                    step_layer(shown, axis, "hit: in the buffer", colour::hit,
                                               series_column("rows.hit")),
                                    step_layer(shown, axis, "demand: fetched for the step",
                                               colour::demand, series_column("rows.demand"))}});
    draw(html, LineChart{.text = {shown.id + "hits", "Hit rate",
                                  "Share of the remote rows that were in the buffer." +
                                      width_note(shown)},
                         .x = axis.x,
                         .unit = Unit::share,
                         .lines = {hit_rate_line(shown, axis, "hit rate", colour::hit)},
                         .top = 1.0});
}

}  // namespace rudder::report
