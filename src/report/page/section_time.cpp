// Where the time of a step went.
#include <array>

#include <fmt/format.h>

#include "sections.hpp"

namespace rudder::report {

namespace {

struct Part {
    const char* name;
    int colour;
    std::optional<double> share;
};

/// One bar for the whole run.
void write_bar(Html& html, const std::array<Part, 5>& parts) {
    std::string label;
    for (const Part& part : parts) {
        label += fmt::format("{}{} {}", label.empty() ? "" : ", ", part.name,
                             value_text(part.share, Unit::share));
    }
    html.open("div", {{"class", "bar"}, {"role", "img"}, {"aria-label", label}});
    for (const Part& part : parts) {
        const double share = part.share.value_or(0);
        html.open("span", {{"class", "piece " + colour_class(part.colour)},
                           {"style", fmt::format("flex-grow:{:.4f}", share)}});
        if (share > 0.07) html.leaf("b", fmt::format("{:.0f} %", share * 100));
        html.close();
    }
    html.close();
    html.open("ul", {{"class", "legend under"}});
    for (const Part& part : parts) {
        html.open("li").leaf("i", "", {{"class", "key ka " + colour_class(part.colour)}});
        html.text(fmt::format("{} {}", part.name, value_text(part.share, Unit::share))).close();
    }
    html.close().line();
}

void write_ranks(Html& html, const ShownRun& shown) {
    const MetricsData& metrics = shown.run.metrics;
    NumberTable table{"Time and rows by rank",
                      {"rank", "lines", "step s", "compute s", "stall s", "reduce s", "rows needed",
                       "local", "hit", "fetched", "hit rate"},
                      {},
                      {}};
    for (std::size_t g = 0; g < metrics.by_rank.size(); ++g) {
        const RankTotals& r = metrics.by_rank[g];
        const auto count = [](std::uint64_t rows) { return count_text(static_cast<double>(rows)); };
        const Seconds& s = r.seconds;
        const auto hit = static_cast<double>(r.rows.hit);
        const double remote = hit + static_cast<double>(r.rows.demand);
        table.rows.push_back({rank_name(metrics, g), count(r.lines), exact_text(s.step),
                              exact_text(s.compute), exact_text(s.stall), exact_text(s.reduce),
                              count(r.rows.needed), count(r.rows.local), count(r.rows.hit),
                              count(r.rows.fetched()),
                              remote > 0 ? percent_text(hit / remote) : "-"});
    }
    html.open("figure", {{"class", "chart wide table"}, {"id", shown.id + "ranks"}});
    html.open("figcaption").leaf("h4", "By rank");
    html.leaf("p",
              "Sums over the run. A rank that computes longer, or waits longer for rows, makes the "
              "others wait for gradients (reduce).");
    html.close();
    numbers(html, table);
    html.close();
}

}  // namespace

void write_time(Html& html, const ShownRun& shown) {
    const Section section(html, shown, "time", "Where the time went");
    const Answers& a = shown.answers;
    if (a.stall) {
        write_bar(html, {{{"compute", colour::compute, a.compute},
                          {"gradients", colour::reduce, a.reduce},
                          {"slower ranks", colour::slower, a.slower},
                          {"rest", colour::rest, a.rest},
                          {"stall, waiting for rows", colour::stall, a.stall}}});
    }
    const StepAxis axis = step_axis(shown);
    if (axis.buckets.empty()) {
        html.leaf("p", "No steps are recorded, so the times of steps are not known.",
                  {{"class", "gap"}});
        return;
    }
    const Element pair(html, "div", {{"class", "pair"}});
    draw(html, AreaChart{.text = {shown.id + "phases", "Time of a step",
                                  "Mean over ranks; faint lines are ends of epochs. Sampling and "
                                  "fetching run beside it and show only as stall."},
                         .x = axis.x,
                         .unit = Unit::seconds,
                         .layers = {step_layer(shown, axis, "compute", colour::compute,
                                               series_column("seconds.compute")),
                                    step_layer(shown, axis, "gradients", colour::reduce,
                                               series_column("seconds.reduce")),
                                    step_layer(shown, axis, "rest", colour::rest,
                                               series_column(Derived::rest)),
                                    step_layer(shown, axis, "stall: waiting for rows",
                                               colour::stall, series_column("seconds.stall"))}});
    Series worst =
        step_line(shown, axis, "rank that waited longest", 7, series_column(Derived::worst_stall));
    worst.dash = 2;
    draw(html, LineChart{.text = {shown.id + "stall", "Stall alone",
                                  "How long a step waited for rows with nothing else to do." +
                                      width_note(shown)},
                         .x = axis.x,
                         .unit = Unit::seconds,
                         .lines = {worst, step_line(shown, axis, "mean over ranks", colour::stall,
                                                    series_column("seconds.stall"))}});
    write_ranks(html, shown);
}

}  // namespace rudder::report
