// How the graph was divided, and what that made the ranks send each other.
#include <algorithm>

#include <fmt/format.h>

#include "sections.hpp"

namespace rudder::report {

namespace {

constexpr std::size_t most_parts = 64;

/// What is known of each part, a column each.
struct PartColumn {
    const char* name;
    std::vector<double> values;
    double top = 1;
};

std::vector<PartColumn> part_columns(const Facts& run) {
    std::vector<PartColumn> columns;
    for (const auto& [name, key] :
         {std::pair("vertices", "part_vertices"), std::pair("training", "part_train"),
          std::pair("edges", "part_edges"), std::pair("halo", "halo")}) {
        std::vector<double> values = run.number_list(std::string("partition.") + key);
        if (values.empty()) continue;
        const double top = std::max(1.0, *std::ranges::max_element(values));
        columns.push_back({name, std::move(values), top});
    }
    return columns;
}

/// The parts below each other: as long as a bar is, so large is a part against the largest.
void write_sizes(Html& html, const ShownRun& shown) {
    const std::vector<PartColumn> columns = part_columns(shown.run.run);
    if (columns.empty()) return;
    std::size_t parts = 0;
    for (const PartColumn& column : columns)
        parts = std::max(parts, column.values.size());
    html.leaf("h4", "Sizes of parts");
    html.leaf("p",
              "The halo are the rows of other parts that a part borders on: what it may have to "
              "fetch.",
              {{"class", "small"}});
    html.open("ol", {{"class", fmt::format("sizes s{}", columns.size())},
                     {"start", "0"},
                     {"id", shown.id + "halo"}})
        .line();
    html.open("li", {{"class", "head"}}).leaf("span", "part");
    for (const PartColumn& column : columns)
        html.leaf("span", column.name);
    html.close().line();
    for (std::size_t i = 0; i < std::min(most_parts, parts); ++i) {
        html.open("li").leaf("span", fmt::format("part {}", i));
        for (const PartColumn& column : columns) {
            const double value = i < column.values.size() ? column.values[i] : 0;
            html.open("span", {{"class", "size"}}).leaf("span", count_text(value));
            html.open("span", {{"class", "track"}});
            html.leaf("i", "", {{"style", fmt::format("width:{:.2f}%", 100 * value / column.top)}});
            html.close().close();
        }
        html.close().line();
    }
    html.close();
    if (parts > most_parts) {
        html.leaf("p", fmt::format("{} more parts are left out.", parts - most_parts),
                  {{"class", "small"}});
    }
}

/// Whose rows the halo of each part is made of.
void draw_halo(Html& html, const ShownRun& shown) {
    HeatMap map;
    for (std::size_t part = 0; part < most_parts; ++part) {
        const auto row = shown.run.run.number_list(fmt::format("partition.halo_from.{}", part));
        if (row.empty()) break;
        map.names.push_back(fmt::format("{}", part));
        map.cells.insert(map.cells.end(), row.begin(), row.end());
    }
    // Of a file that may say anything: only a square is one.
    if (map.names.size() < 2 || map.cells.size() != map.names.size() * map.names.size()) return;
    map.text = {shown.id + "halo-map", "Halo between parts",
                "Rows of each other part that a part borders on; the stronger the colour, the "
                "more."};
    map.unit = Unit::count;
    map.row_name = "of";
    map.column_name = "from part";
    draw(html, map);
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
    write_fact(html, "Training vertices of a part, at most", balance("train_balance"));
    write_fact(html, "Edges of a part, at most", balance("edge_balance"));
    write_fact(html, "Graph",
               fmt::format("{} vertices, {} edges", count("vertices"), count("edges")));
    write_fact(
        html, "Features",
        width ? fmt::format("{} {}", count_text(*width), run.text("partition.features.type")) : "");
    write_fact(html, "Classes", count("classes"));
    html.close();
    write_sizes(html, shown);
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
    draw_halo(html, shown);
    draw_owners(html, shown);
    write_quality(html, shown);
}

}  // namespace rudder::report
