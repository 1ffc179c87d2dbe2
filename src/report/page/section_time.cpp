// Where the time of a step went.
#include <vector>

#include <fmt/format.h>

#include "core/step_time.hpp"
#include "report/catalogue.hpp"

#include "sections.hpp"

namespace rudder::report {

namespace {

struct Part {
    const char* name;
    int colour;
    std::optional<double> share;
};

/// One bar for the whole run.
void write_bar(Html& html, const std::vector<Part>& parts) {
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
        if (share > 0.09) html.leaf("b", fmt::format("{:.0f} %", share * 100));
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
    NumberTable table{"Time and rows by rank", {"rank", "lines", "step s"}, {}, {}};
    for (const StepPart& part : step_parts)
        table.header.push_back(fmt::format("{} s", part.words));
    table.header.insert(table.header.end(), {"rows needed", "local", "hit", "fetched", "hit rate"});
    for (std::size_t g = 0; g < metrics.by_rank.size(); ++g) {
        const RankTotals& r = metrics.by_rank[g];
        const auto count = [](std::uint64_t rows) { return count_text(static_cast<double>(rows)); };
        const Seconds s = with_all_parts(r.seconds);
        const auto hit = static_cast<double>(r.rows.hit);
        const double remote = hit + static_cast<double>(r.rows.demand);
        std::vector<std::string> row{rank_name(metrics, g), count(r.lines), exact_text(s.step)};
        for (const StepPart& part : step_parts)
            row.push_back(exact_text(s.*part.seconds));
        row.insert(row.end(),
                   {count(r.rows.needed), count(r.rows.local), count(r.rows.hit),
                    count(r.rows.fetched()), remote > 0 ? percent_text(hit / remote) : "-"});
        table.rows.push_back(std::move(row));
    }
    html.open("figure", {{"class", "chart wide table"}, {"id", shown.id + "ranks"}});
    html.open("figcaption").leaf("h4", "By rank");
    html.leaf("p",
              "Sums over the run. A rank that computes longer makes the others wait for it (slower "
              "ranks), one that waits longer for rows makes them wait for rows.");
    html.close();
    numbers(html, table);
    html.close();
}

/// The parts of a step, one above the other; runs of earlier versions did not divide the waits.
std::vector<Series> phase_layers(const ShownRun& shown, const StepAxis& axis) {
    const MetricsData& metrics = shown.run.metrics;
    const auto seen = [&](const char* path) { return metrics.seen[metric_index(path)] != 0; };
    const std::size_t waiting = rows_wait_column(metrics);
    const bool divided = waiting == series_column("seconds.wait_rows");
    const auto layer = [&](const char* name, int colour, std::size_t column) {
        return step_layer(shown, axis, name, colour, column);
    };
    std::vector<Series> layers{
        layer("computing", colour::compute, series_column("seconds.compute")),
        layer("gradients", colour::reduce,
              series_column(divided ? "seconds.wait_gradients" : "seconds.reduce"))};
    if (divided) {
        layers.push_back(
            layer("slower ranks", colour::slower, series_column("seconds.wait_ranks")));
    }
    if (shown.answers.agent_wait.value_or(0) > 0 && seen("seconds.wait_agent"))
        layers.push_back(layer("agent", colour::agent, series_column("seconds.wait_agent")));
    layers.push_back(layer("rest", colour::rest, series_column(Derived::rest)));
    layers.push_back(layer("waiting for rows", colour::stall, waiting));
    return layers;
}

}  // namespace

void write_time(Html& html, const ShownRun& shown) {
    const Section section(html, shown, "time", "Where the time went");
    const Answers& a = shown.answers;
    if (a.stall) {
        std::vector<Part> parts{{"computing", colour::compute, a.compute},
                                {"gradients", colour::reduce, a.reduce},
                                {"slower ranks", colour::slower, a.slower},
                                {"rest", colour::rest, a.rest},
                                {"waiting for rows", colour::stall, a.stall}};
        if (a.agent_wait.value_or(0) > 0) parts.push_back({"agent", colour::agent, a.agent_wait});
        write_bar(html, parts);
    }
    const StepAxis axis = step_axis(shown);
    if (axis.buckets.empty()) {
        html.leaf("p", "No steps are recorded, so the times of steps are not known.",
                  {{"class", "gap"}});
        return;
    }
    const Element pair(html, "div", {{"class", "pair"}});
    draw(html,
         AreaChart{.text = {shown.id + "phases", "Time of a step",
                            "Mean over ranks; faint lines are ends of epochs. Sampling and "
                            "fetching run in the background and show only as waiting for rows."},
                   .x = axis.x,
                   .unit = Unit::seconds,
                   .layers = phase_layers(shown, axis)});
    Series worst =
        step_line(shown, axis, "rank that waited longest", 7, series_column(Derived::worst_stall));
    worst.dash = 2;
    draw(html, LineChart{.text = {shown.id + "stall", "Waiting for rows alone",
                                  "How long a step waited for rows, those of the slowest rank "
                                  "included." +
                                      width_note(shown)},
                         .x = axis.x,
                         .unit = Unit::seconds,
                         .lines = {worst, step_line(shown, axis, "mean over ranks", colour::stall,
                                                    rows_wait_column(shown.run.metrics))}});
    write_ranks(html, shown);
}

}  // namespace rudder::report
