#include "report/page.hpp"

#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "rudder/core/check.hpp"
#include "rudder/core/version.hpp"

#include "assets.hpp"
#include "sections.hpp"

namespace rudder::report {

namespace {

/// How much of long runs is drawn.
struct Detail {
    std::size_t points;
    std::size_t decisions;
    std::size_t config;  ///< bytes of config.toml
};

/// Names of folders, told apart where two are the same.
std::vector<std::string> labels_of(std::span<const RunData> runs) {
    std::map<std::string, int> uses;
    for (const RunData& run : runs)
        ++uses[run.name];
    std::vector<std::string> labels;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const RunData& run = runs[i];
        std::string label = shortened(run.name, 80);
        if (uses[run.name] > 1) {
            label =
                fmt::format("{} ({})", shortened(run.path.lexically_normal().string(), 80), i + 1);
        }
        labels.push_back(std::move(label));
    }
    return labels;
}

std::vector<ShownRun> show(std::span<const RunData> runs, const Detail& detail) {
    std::vector<ShownRun> shown;
    const auto labels = labels_of(runs);
    std::uint64_t width = 1;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        StepSeries series = runs[i].metrics.series;
        series.coarsen(detail.points);
        width = std::max(width, series.width);
        shown.push_back({runs[i], answers_of(runs[i]), std::move(series),
                         runs.size() == 1 ? std::string() : fmt::format("r{}-", i + 1), labels[i],
                         detail.points, detail.decisions, detail.config});
    }
    // All runs in buckets of one width, so that points stand over each other.
    for (ShownRun& one : shown) {
        while (one.series.width < width && one.series.buckets() > 1)
            one.series.coarsen((one.series.buckets() + 1) / 2);
    }
    return shown;
}

void write_head(Html& html, const std::string& title) {
    html.markup("<!DOCTYPE html>\n").open("html", {{"lang", "en"}}).open("head").line();
    html.empty("meta", {{"charset", "utf-8"}}).line();
    html.empty("meta", {{"http-equiv", "Content-Security-Policy"},
                        {"content", fmt::format("default-src 'none'; style-src 'unsafe-inline'; "
                                                "script-src '{}'; base-uri 'none'; form-action "
                                                "'none'",
                                                page_script_hash)}})
        .line();
    html.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}})
        .line();
    html.empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}}).line();
    html.empty("meta", {{"name", "generator"}, {"content", "rudder " + std::string(version())}})
        .line();
    html.leaf("title", title).line();
    html.open("style").asset(page_style).close().line();
    html.close().line();  // head
}

void write_masthead(Html& html, const std::vector<ShownRun>& runs) {
    html.leaf("a", "Skip to the answer", {{"class", "skip"}, {"href", "#answer"}});
    html.open("header", {{"class", "top"}});
    html.open("div", {{"class", "brand"}});
    html.markup(
        "<svg viewBox=\"0 0 24 24\" aria-hidden=\"true\" class=\"wheel\"><circle cx=\"12\" "
        "cy=\"12\" r=\"7\"/><circle cx=\"12\" cy=\"12\" r=\"2\"/><path d=\"M12 1v9M12 "
        "14v9M1 12h9M14 12h9M4.2 4.2l6.4 6.4M13.4 13.4l6.4 6.4M19.8 4.2l-6.4 6.4M10.6 "
        "13.4l-6.4 6.4\"/></svg>");
    html.leaf("span", "Rudder run report").close();
    html.markup("<button type=\"button\" class=\"theme\" hidden>Dark</button>");
    html.close().line();
    if (runs.size() == 1) return;
    html.open("nav", {{"aria-label", "Runs"}}).open("ul");
    html.open("li").leaf("a", "Side by side", {{"href", "#all"}}).close();
    for (const ShownRun& shown : runs)
        html.open("li").leaf("a", shown.label, {{"href", "#" + shown.id + "run"}}).close();
    html.close().close().line();
}

std::string subtitle(const Answers& a) {
    std::string text;
    const auto add = [&](const std::string& part) {
        if (!part.empty()) text += (text.empty() ? "" : " \u00b7 ") + part;
    };
    add(shortened(a.data, 80));
    add(shortened(a.model, 40));
    if (a.ranks) add(counted(*a.ranks, "rank", "ranks"));
    if (a.epochs) add(counted(*a.epochs, "epoch", "epochs"));
    add(shortened(a.policy, 60));
    if (!a.agent.empty()) add("agent " + shortened(a.agent, 60));
    return text;
}

void write_contents(Html& html, const ShownRun& shown) {
    struct Entry {
        Literal id;
        Literal name;
    };
    constexpr std::array<Entry, 6> entries{{{"learning", "Learning"},
                                            {"time", "Time"},
                                            {"rows", "Rows"},
                                            {"agent", "Agent"},
                                            {"partition", "Partition"},
                                            {"settings", "Configuration"}}};
    html.open("nav", {{"class", "contents"}, {"aria-label", "Contents of " + shown.label}});
    html.open("ul");
    for (const Entry& entry : entries) {
        html.open("li")
            .leaf("a", entry.name.view(), {{"href", "#" + shown.id + std::string(entry.id.view())}})
            .close();
    }
    html.close().close().line();
}

void write_run(Html& html, const ShownRun& shown, bool alone) {
    const Element article(html, "article", {{"id", shown.id + "run"}});
    html.open("div", {{"class", "title"}});
    if (alone) {
        html.leaf("h1", shown.label);
    } else {
        html.leaf("h2", shown.label);
    }
    write_state(html, shown);
    html.close();
    html.leaf("p", subtitle(shown.answers), {{"class", "subtitle"}}).line();
    write_answer(html, shown);
    write_tiles(html, shown);
    write_missing(html, shown);
    if (alone) write_contents(html, shown);
    write_learning(html, shown);
    write_time(html, shown);
    write_rows(html, shown);
    write_agent(html, shown);
    write_partition(html, shown);
    write_settings(html, shown);
}

std::string page(std::span<const RunData> runs, const Detail& detail) {
    const std::vector<ShownRun> shown = show(runs, detail);
    std::string title = "Rudder: ";
    for (std::size_t i = 0; i < shown.size(); ++i)
        title += (i == 0 ? "" : ", ") + shown[i].label;
    Html html;
    write_head(html, shortened(title, 200));
    html.open("body").line();
    write_masthead(html, shown);
    html.open("main", {{"id", "answer"}, {"tabindex", "-1"}}).line();
    if (shown.size() > 1) {
        html.leaf("h1", fmt::format("{} runs", shown.size()));
        write_comparison(html, shown);
    }
    for (const ShownRun& one : shown)
        write_run(html, one, shown.size() == 1);
    html.close();
    html.leaf("footer",
              fmt::format("Made by rudder {} from the files of the run alone. This page needs no "
                          "network and no scripts.",
                          version()))
        .line();
    html.open("script").asset(page_script).close().line();
    html.close().close().line();
    return html.take();
}

}  // namespace

std::string report_page(std::span<const RunData> runs) {
    RUDDER_CHECK(!runs.empty() && runs.size() <= most_page_runs);
    Detail detail{256, 250, 32U << 10U};
    for (;;) {
        std::string text = page(runs, detail);
        constexpr std::size_t least_points = 8;
        if (text.size() < most_page_bytes || detail.points <= least_points) return text;
        detail.points /= 2;
        detail.decisions /= 2;
        detail.config /= 2;
    }
}

}  // namespace rudder::report
