// How the graph was divided, and what that made the ranks send each other.
#include <algorithm>

#include <fmt/format.h>

#include "sections.hpp"

namespace rudder::report {

namespace {

void write_halo(Html& html, const ShownRun& shown, const std::vector<double>& halo) {
    constexpr std::size_t most = 64;
    if (halo.empty()) return;
    const double top = std::max(1.0, *std::ranges::max_element(halo));
    html.leaf("h4", "Rows of other parts that each part borders on");
    html.open("ol", {{"class", "bars"}, {"start", "0"}, {"id", shown.id + "halo"}}).line();
    for (std::size_t i = 0; i < std::min(most, halo.size()); ++i) {
        html.open("li").leaf("span", fmt::format("part {}", i));
        html.open("span", {{"class", "track"}});
        html.leaf("i", "", {{"style", fmt::format("width:{:.2f}%", 100 * halo[i] / top)}});
        html.close().leaf("span", count_text(halo[i]), {{"class", "amount"}}).close().line();
    }
    html.close();
    if (halo.size() > most) {
        html.leaf("p", fmt::format("{} more parts are left out.", halo.size() - most),
                  {{"class", "small"}});
    }
}

void write_quality(Html& html, const ShownRun& shown) {
    const Facts& run = shown.run.run;
    const auto number = [&](const char* key) {
        return run.number(std::string("partition.") + key);
    };
    const auto count = [&](const char* key) {
        const auto value = number(key);
        return value ? count_text(*value) : std::string();
    };
    const auto balance = [&](const char* key) {
        const auto value = number(key);
        return value ? fmt::format("{:.3f} of the mean", *value) : std::string();
    };
    const Element part(html, "div", {{"class", "quality"}});
    if (!number("parts")) {
        html.leaf("p", "Nothing is recorded about how the graph was divided.", {{"class", "gap"}});
        return;
    }
    const auto cut = number("cut");
    const auto width = number("features.width");
    html.leaf("h4", "Quality").open("dl", {{"class", "facts"}}).line();
    write_fact(html, "Parts",
               fmt::format("{} by {}", count("parts"), run.text("partition.method")));
    write_fact(html, "Edges that join two parts", cut ? percent_text(*cut) : "");
    write_fact(html, "Vertices of the largest part", balance("balance"));
    write_fact(html, "Its training vertices, at most", balance("train_balance"));
    write_fact(html, "Its edges, at most", balance("edge_balance"));
    write_fact(html, "Graph",
               fmt::format("{} vertices, {} edges", count("vertices"), count("edges")));
    write_fact(
        html, "Features",
        width ? fmt::format("{} {}", count_text(*width), run.text("partition.features.type")) : "");
    write_fact(html, "Classes", count("classes"));
    html.close();
    write_halo(html, shown, run.number_list("partition.halo"));
}

void draw_owners(Html& html, const ShownRun& shown) {
    const MetricsData& metrics = shown.run.metrics;
    if (!metrics.has_owners || metrics.by_rank.size() < 2) {
        html.leaf("p", "Nothing is recorded about which rank sent rows to which.",
                  {{"class", "gap"}});
        return;
    }
    HeatMap map;
    map.text.id = shown.id + "heat";
    map.text.title = "Feature bytes by owner";
    map.text.note =
        "What each rank received from each owner over the run; the stronger the colour, the more.";
    map.row_name = "to";
    map.column_name = "from rank";
    map.cells = metrics.by_owner;
    for (std::size_t g = 0; g < metrics.by_rank.size(); ++g)
        map.names.push_back(rank_name(metrics, g));
    draw(html, map);
}

}  // namespace

void write_partition(Html& html, const ShownRun& shown) {
    const Section section(html, shown, "partition", "Partition and traffic");
    const Element pair(html, "div", {{"class", "pair loose"}});
    draw_owners(html, shown);
    write_quality(html, shown);
}

}  // namespace rudder::report
