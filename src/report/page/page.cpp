#include "report/page.hpp"

#include <algorithm>
#include <array>

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

std::vector<ShownRun> show(std::span<const RunData> runs, const Detail& detail) {
    std::vector<ShownRun> shown;
    for (const auto& group : repeats_of(runs))
        shown.push_back(middle_of(group));
    const auto titles = titles_of(shown);
    std::uint64_t width = 1;
    for (std::size_t i = 0; i < shown.size(); ++i) {
        ShownRun& one = shown[i];
        one.series.coarsen(detail.points);
        width = std::max(width, one.series.width);
        if (shown.size() > 1) one.id = fmt::format("r{}-", i + 1);
        one.label = shown.size() > 1 ? titles[i] : shortened(one.name, 80);
        one.points = detail.points;
        one.decisions = detail.decisions;
        one.config = detail.config;
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
    if (runs.size() == 1 && runs.front().repeats.empty()) return;
    html.open("nav", {{"aria-label", "Runs"}}).open("ul");
    html.open("li").leaf("a", "Side by side", {{"href", "#all"}}).close();
    for (const ShownRun& shown : runs)
        html.open("li").leaf("a", shown.label, {{"href", "#" + shown.id + "run"}}).close();
    html.close().close().line();
}

std::string subtitle(const ShownRun& shown) {
    const Answers& a = shown.answers;
    std::string text;
    const auto add = [&](const std::string& part) {
        if (!part.empty()) text += (text.empty() ? "" : " \u00b7 ") + part;
    };
    if (shown.label != shown.name) add(shortened(shown.name, 80));
    if (simulated(shown)) add("simulated");
    if (!shown.repeats.empty()) add(fmt::format("the median of {} runs", shown.repeats.size()));
    add(shortened(a.data, 80));
    add(shortened(a.model, 40));
    if (a.ranks) add(counted(*a.ranks, "rank", "ranks"));
    if (a.epochs) add(counted(*a.epochs, "epoch", "epochs"));
    add(shortened(a.policy, 60));
    if (!a.agent.empty()) add("agent " + shortened(a.agent, 60));
    if (!a.link.empty()) add("link " + shortened(a.link, 60));
    return text;
}

void write_contents(Html& html, const ShownRun& shown) {
    struct Entry {
        Literal id;
        Literal name;
        bool (*there)(const ShownRun&) = [](const ShownRun&) { return true; };
    };
    constexpr std::array<Entry, 8> entries{
        {{"learning", "Learning"},
         {"time", "Time"},
         {"side-by-side", "Ranks", has_ranks},
         {"step", "One step", [](const ShownRun& run) { return run.run.timeline.has_value(); }},
         {"rows", "Rows"},
         {"agent", "Agent"},
         {"partition", "Partition"},
         {"settings", "Configuration"}}};
    html.open("nav", {{"class", "contents"}, {"aria-label", "Contents of " + shown.label}});
    html.open("ul");
    for (const Entry& entry : entries) {
        if (!entry.there(shown)) continue;
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
    html.leaf("p", subtitle(shown), {{"class", "subtitle"}}).line();
    write_answer(html, shown);
    write_tiles(html, shown);
    write_missing(html, shown);
    if (alone) write_contents(html, shown);
    write_learning(html, shown);
    write_time(html, shown);
    write_side_by_side(html, shown);
    write_step(html, shown);
    write_rows(html, shown);
    write_agent(html, shown);
    write_partition(html, shown);
    write_settings(html, shown);
}

/// "3 runs", "3 settings, 15 runs".
std::string comparison_title(const std::vector<ShownRun>& shown) {
    std::size_t runs = 0;
    for (const ShownRun& one : shown)
        runs += std::max<std::size_t>(one.repeats.size(), 1);
    return runs == shown.size()
               ? fmt::format("{} runs", runs)
               : fmt::format("{}, {} runs",
                             counted(static_cast<double>(shown.size()), "setting", "settings"),
                             runs);
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
    const bool alone = shown.size() == 1 && shown.front().repeats.empty();
    html.open("main", {{"id", "answer"}, {"class", alone ? "one" : "many"}, {"tabindex", "-1"}})
        .line();
    if (!alone) {
        html.leaf("h1", comparison_title(shown));
        write_comparison(html, shown);
    }
    for (const ShownRun& one : shown)
        write_run(html, one, alone);
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

std::size_t settings_on_page(std::span<const RunData> runs) {
    return repeats_of(runs).size();
}

std::string report_page(std::span<const RunData> runs) {
    RUDDER_CHECK(!runs.empty() && settings_on_page(runs) <= most_page_runs);
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
