// Charts as text: where points come to lie, gaps, legends, tables, and markup that closes.
#include <cmath>
#include <random>
#include <regex>

#include <gmock/gmock.h>

#include "page/chart.hpp"
#include "page/lines.hpp"

namespace rudder {
namespace {

using report::Html;
using report::Values;
using testing::HasSubstr;
using testing::Not;

constexpr std::nullopt_t gap = std::nullopt;

report::XAxis axis_of(std::size_t points) {
    report::XAxis x;
    x.name = "step";
    x.min = 0;
    x.max = points > 1 ? static_cast<double>(points - 1) : 1;
    for (std::size_t i = 0; i < points; ++i) {
        x.at.push_back(static_cast<double>(i));
        x.names.push_back(std::to_string(i));
    }
    return x;
}

report::LineChart line_chart(const Values& values) {
    report::LineChart chart;
    chart.text = {"f1", "Loss", "A note."};
    chart.x = axis_of(values.size());
    chart.lines.push_back({"loss", 0, values});
    return chart;
}

template <class Chart>
std::string drawn(const Chart& chart) {
    Html html;
    draw(html, chart);
    return html.take();  // refuses what is left open
}

std::size_t count_of(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++found;
    return found;
}

/// Every opened element is closed in order, as far as text can tell.
void expect_balanced(const std::string& text) {
    std::vector<std::string> open;
    const std::regex tag("<(/?)([a-z0-9]+)((?:\"[^\"]*\"|[^\">])*?)(/?)>");
    for (std::sregex_iterator at(text.begin(), text.end(), tag), end; at != end; ++at) {
        if ((*at)[4].length() != 0) continue;
        if ((*at)[1].length() == 0) {
            open.push_back((*at)[2]);
            continue;
        }
        ASSERT_FALSE(open.empty()) << (*at)[0];
        EXPECT_EQ(open.back(), (*at)[2]);
        open.pop_back();
    }
    EXPECT_TRUE(open.empty());
}

TEST(ReportChart, PointsLieWhereTheirValuesSay) {
    const std::string text = drawn(line_chart({0.0, 5.0, 10.0}));
    // 1000 wide, 300 high, y from above: (0, 0), (1, 5), (2, 10).
    EXPECT_THAT(text, HasSubstr("d=\"M0.0 300.0L500.0 150.0L1000.0 0.0\""));
    EXPECT_THAT(text, HasSubstr("d=\"M0.0 300.0h0M500.0 150.0h0M1000.0 0.0h0\""));
    EXPECT_THAT(text, HasSubstr("<desc id=\"f1-d\">Line chart by step. loss: 0 to 10.</desc>"));
    EXPECT_THAT(text, HasSubstr("<title id=\"f1-t\">Loss</title>"));
    EXPECT_THAT(text, HasSubstr("<p>A note.</p>"));
    EXPECT_THAT(text, Not(HasSubstr("class=\"legend\""))) << "one line needs none";
    expect_balanced(text);
}

TEST(ReportChart, GapsLiftThePen) {
    const std::string text = drawn(line_chart({1.0, gap, 1.0, 1.0, gap}));
    EXPECT_THAT(text, HasSubstr("d=\"M0.0 0.0M500.0 0.0L750.0 0.0\""));
    EXPECT_EQ(count_of(text, "<td>-</td>"), 2U) << "gaps in the table";
}

TEST(ReportChart, NothingIsDrawnOfNothing) {
    EXPECT_EQ(drawn(line_chart({})), "");
    EXPECT_EQ(drawn(line_chart({gap, gap})), "");
    EXPECT_EQ(drawn(report::AreaChart{}), "");
    EXPECT_EQ(drawn(report::HeatMap{}), "");
}

TEST(ReportChart, ManyPointsHaveNoDots) {
    EXPECT_THAT(drawn(line_chart(Values(30, 1.0))), HasSubstr("class=\"dots\""));
    EXPECT_THAT(drawn(line_chart(Values(31, 1.0))), Not(HasSubstr("class=\"dots\"")));
}

TEST(ReportChart, BandsAreAreasBetweenTheirExtremes) {
    report::LineChart chart = line_chart({2.0, 4.0});
    chart.lines[0].low = {0.0, 0.0};
    chart.lines[0].high = {10.0, 5.0};
    const std::string text = drawn(chart);
    EXPECT_THAT(text, HasSubstr("d=\"M0.0 0.0L1000.0 150.0L1000.0 300.0L0.0 300.0Z\""));
    EXPECT_THAT(text, HasSubstr("<th scope=\"col\">loss, mean</th><th scope=\"col\">least</th>"
                                "<th scope=\"col\">most</th>"));
}

TEST(ReportChart, AnAreaIsCutAtGaps) {
    report::LineChart chart = line_chart({1.0, 1.0, 1.0, 1.0, 1.0});
    chart.lines[0].low = {0.0, gap, 0.0, 0.0, 0.0};
    chart.lines[0].high = {1.0, 1.0, 1.0, 1.0, gap};
    EXPECT_THAT(
        drawn(chart),
        HasSubstr("d=\"M0.0 0.0L0.0 300.0ZM500.0 0.0L750.0 0.0L750.0 300.0L500.0 300.0Z\""));
}

TEST(ReportChart, SeveralLinesHaveALegendAndTheirOwnDashes) {
    report::LineChart chart = line_chart({1.0, 2.0});
    chart.lines.push_back({"<other>", 9, {3.0, 4.0}});
    chart.lines[1].dash = 2;
    const std::string text = drawn(chart);
    EXPECT_EQ(count_of(text, "<li data-k="), 2U);
    EXPECT_THAT(text, HasSubstr("class=\"line d2\""));
    EXPECT_THAT(text, HasSubstr("&lt;other&gt;"));
    EXPECT_THAT(text, Not(HasSubstr("<other>")));
    EXPECT_THAT(text, HasSubstr("key c1 kl d2")) << "colours come round after eight";
    expect_balanced(text);
}

TEST(ReportChart, TheTopOfSharesIsOne) {
    report::LineChart chart = line_chart({0.2, 0.73});
    chart.unit = report::Unit::share;
    chart.top = 1;
    const std::string text = drawn(chart);
    EXPECT_THAT(text, HasSubstr(">100 %</span>"));
    EXPECT_THAT(text, Not(HasSubstr(">120 %</span>")));
    EXPECT_THAT(text, HasSubstr("L1000.0 81.0\"")) << "0.73 of 300";
}

TEST(ReportChart, NoAxisOfSharesGoesBeyondAll) {
    for (const Values& values : {Values{1.0, 1.0}, Values{0.97, 0.97}, Values{0.3, 1.0},
                                 Values{0.999, 1.0}, Values{0.0, 0.0}, Values{0.62, 0.94}}) {
        report::LineChart chart = line_chart(values);
        chart.unit = report::Unit::share;
        chart.from_zero = false;
        const std::string text = drawn(chart);
        const std::regex tick("bottom:([0-9.-]+)%\">([0-9.-]+) %<");
        std::size_t ticks = 0;
        for (std::sregex_iterator at(text.begin(), text.end(), tick), end; at != end; ++at) {
            ++ticks;
            EXPECT_LE(std::stod((*at)[1]), 100) << "inside of the drawing";
            EXPECT_LE(std::stod((*at)[2]), 100);
            EXPECT_GE(std::stod((*at)[2]), 0);
        }
        EXPECT_GE(ticks, 2U);
        if (*values.back() == 1) {
            EXPECT_THAT(text, HasSubstr("bottom:100.00%\">100 %<")) << "it ends there";
        }
    }
    // What is more than all, such as a ratio, keeps its axis.
    report::LineChart chart = line_chart({0.5, 1.5});
    chart.unit = report::Unit::share;
    EXPECT_THAT(drawn(chart), HasSubstr(">150 %</span>"));
}

TEST(ReportChart, ChangesAreMarkedThroughTheDrawing) {
    report::LineChart chart = line_chart({1.0, 2.0, 3.0});
    chart.x.flags = {{1, 1}, {1, 2}, {2, 0}, {9, 3}};
    chart.x.rug = {0, 2};
    const std::string text = drawn(chart);
    EXPECT_THAT(text, HasSubstr("class=\"switch\" d=\"M500.0 0V300M500.0 0V300M1000.0 0V300\""))
        << "what lies outside is left out";
    EXPECT_THAT(text, HasSubstr("class=\"flag l0\" style=\"left:50.00%\""));
    EXPECT_THAT(text, HasSubstr("class=\"flag l1\" style=\"left:50.00%\"")) << "beside the first";
    EXPECT_EQ(count_of(text, "class=\"flag"), 2U) << "not all have a number";
    EXPECT_THAT(text, HasSubstr("class=\"rug\" d=\"M0.0 292V300M1000.0 292V300\""));
    expect_balanced(text);
}

TEST(ReportChart, BarsHaveWhiskersWhereTheyAreSpread) {
    report::BarChart chart;
    chart.text = {"b", "Time", ""};
    chart.unit = report::Unit::seconds;
    chart.bars = {{"one <b>", 0, 2, 1, 4, 3}, {"other", 1, 1, 1, 1, 1}};
    const std::string text = drawn(chart);
    EXPECT_EQ(count_of(text, "class=\"whisker\""), 1U);
    EXPECT_THAT(text, HasSubstr("d=\"M250.0 10H1000.0M250.0 3V17M1000.0 3V17\""));
    EXPECT_THAT(text, HasSubstr("class=\"fill\" width=\"500.0\""));
    EXPECT_THAT(text, HasSubstr("<small>1.00\u20134.00\u00a0s</small>"));
    EXPECT_THAT(text, HasSubstr("<th scope=\"row\">one &lt;b&gt;</th><td>2</td><td>1</td><td>4</td>"
                                "<td>3</td>"));
    expect_balanced(text);
    chart.bars = {{"nothing", 0, 0, 0, 0, 1}};
    EXPECT_THAT(drawn(chart), HasSubstr("width=\"0.0\"")) << "nothing is divided by 0";
    EXPECT_EQ(drawn(report::BarChart{}), "");
}

TEST(ReportChart, AMapOfRowsOverTimeJoinsEqualNeighbours) {
    report::TimeMap map;
    map.text = {"m", "Time", ""};
    map.x = axis_of(3);
    map.x.max = 3;
    map.edges = {0, 1, 2, 3};
    map.rows = {"0", "1"};
    map.row_name = "rank";
    map.cells = {1.0, 1.0, 9.0, 1.0, gap, 1.0};
    const std::string text = drawn(map);
    EXPECT_THAT(text, HasSubstr("fill-opacity=\"0.06\" d=\"M0.0 0.0H666.7v150.0H0.0Z"
                                "M0.0 150.0H333.3v150.0H0.0ZM666.7 150.0H1000.0v150.0H666.7Z\""));
    EXPECT_THAT(text, HasSubstr("fill-opacity=\"1.00\" d=\"M666.7 0.0H1000.0v150.0H666.7Z\""));
    EXPECT_THAT(text, HasSubstr("<th scope=\"row\">2</th><td>9</td><td>0</td><td>5</td><td>1</td>"
                                "<td>1</td>"));
    EXPECT_THAT(text, HasSubstr("Heat map of 2 ranks by step"));
    expect_balanced(text);
    EXPECT_EQ(drawn(report::TimeMap{}), "");
}

TEST(ReportChart, LayersLieOnEachOther) {
    report::AreaChart chart;
    chart.text = {"f2", "Rows", ""};
    chart.x = axis_of(2);
    chart.unit = report::Unit::count;
    chart.layers.push_back({"local", 0, {4.0, 4.0}});
    chart.layers.push_back({"hit", 1, {6.0, 1.0}});
    chart.layers.push_back({"never", 2, {0.0, 0.0}});
    const std::string text = drawn(chart);
    EXPECT_THAT(text, HasSubstr("d=\"M0.0 180.0L1000.0 180.0L1000.0 300.0L0.0 300.0Z\""));
    EXPECT_THAT(text, HasSubstr("d=\"M0.0 0.0L1000.0 150.0L1000.0 180.0L0.0 180.0Z\""));
    EXPECT_THAT(text, HasSubstr("Stacked areas by step, from below: local 4 on average; hit 4 on "
                                "average; never 0 on average."));
    EXPECT_THAT(text, HasSubstr("never (none)"));
    EXPECT_LT(text.find("</i>never"), text.find("</i>hit")) << "the topmost first";
    expect_balanced(text);
}

TEST(ReportChart, ALineOverLayersRaisesTheAxis) {
    report::AreaChart chart;
    chart.text = {"f3", "Rows", ""};
    chart.x = axis_of(2);
    chart.layers.push_back({"a", 0, {1.0, 1.0}});
    chart.lines.push_back({"limit", 1, {10.0, 10.0}});
    EXPECT_THAT(drawn(chart), HasSubstr("d=\"M0.0 0.0L1000.0 0.0\""));
}

TEST(ReportChart, AHeatMapHasACellForEveryPair) {
    report::HeatMap map;
    map.text = {"h", "Bytes", ""};
    map.row_name = "to";
    map.column_name = "from";
    map.names = {"0", "1"};
    map.cells = {0, 1024, 512, 0};
    const std::string text = drawn(map);
    EXPECT_EQ(count_of(text, "<rect "), 4U);
    EXPECT_EQ(count_of(text, "class=\"cell none\""), 2U);
    EXPECT_THAT(text, HasSubstr("fill-opacity=\"1.000\"")) << "the largest";
    EXPECT_THAT(text, HasSubstr("fill-opacity=\"0.530\"")) << "half of it";
    EXPECT_THAT(text, HasSubstr("<title>to 0, from 1: 1.0 KiB</title>"));
    EXPECT_THAT(text, HasSubstr("<th scope=\"row\">1</th><td>512</td><td>0</td>"));
    expect_balanced(text);
    // Larger ones say less in the drawing, and all in the table.
    map.names.clear();
    for (int i = 0; i < 30; ++i)
        map.names.push_back(std::to_string(i));
    map.cells.assign(900, 7);
    const std::string large = drawn(map);
    EXPECT_EQ(count_of(large, "<rect "), 900U);
    EXPECT_EQ(count_of(large, "class=\"in"), 0U);
    EXPECT_EQ(count_of(large, "<td>7</td>"), 900U);
}

TEST(ReportChart, AHeatMapOfNothingButZeros) {
    report::HeatMap map;
    map.text = {"h", "Bytes", ""};
    map.names = {"0", "1", "2"};
    map.cells.assign(9, 0);
    const std::string text = drawn(map);
    EXPECT_EQ(count_of(text, "class=\"cell none\""), 9U);
    EXPECT_EQ(count_of(text, "fill-opacity=\"0.060\""), 9U) << "nothing is divided by 0";
}

TEST(ReportChart, DotsHaveTheirMarks) {
    report::DotChart chart;
    chart.text = {"d", "Gain", ""};
    chart.x = axis_of(11);
    chart.marks = {"right", "wrong", "undecided"};
    chart.colours = {1, 2, 3};
    chart.dots = {{0, 1, 0}, {5, -1, 1}, {10, 0, 2}};
    const std::string text = drawn(chart);
    EXPECT_THAT(text, HasSubstr("class=\"point m0\" d=\"M0.0 0.0h0\""));
    EXPECT_THAT(text, HasSubstr("class=\"point m1\" d=\"M500.0 300.0h0\""));
    EXPECT_THAT(text, HasSubstr("class=\"point hole\" d=\"M1000.0 150.0h0\""));
    EXPECT_THAT(text, HasSubstr("class=\"zero\" d=\"M0 150.0H1000\""));
    EXPECT_THAT(text, HasSubstr("3 points by step."));
    EXPECT_THAT(text, Not(HasSubstr("<table>"))) << "no rows, no table";
    expect_balanced(text);
}

TEST(ReportChart, MarksOfEpochsAreLeftOutWhereThereAreMany) {
    report::LineChart chart = line_chart({1.0, 2.0, 3.0});
    chart.x.marks = {1};
    EXPECT_THAT(drawn(chart), HasSubstr("class=\"mark\" d=\"M500.0 0V300\""));
    chart.x.marks.assign(41, 1);
    EXPECT_THAT(drawn(chart), Not(HasSubstr("class=\"mark\"")));
}

TEST(ReportChart, ATableKnowsWhereItsRowsStand) {
    report::XAxis x = axis_of(3);
    x.min = 0;
    x.max = 4;
    const report::NumberTable table = report::table_of({"f", "Loss", ""}, x);
    EXPECT_THAT(table.at, testing::ElementsAre(0, 0.25, 0.5));
    x.max = x.min;
    EXPECT_THAT(report::table_of({"f", "Loss", ""}, x).at, testing::Each(testing::Ge(0)));
    report::NumberTable wide = report::table_of({"f", "Loss", ""}, axis_of(2));
    report::add_columns(wide, {"short", 0, {1.5}});
    EXPECT_EQ(wide.rows[0].back(), "1.5");
    EXPECT_EQ(wide.rows[1].back(), "-") << "fewer values than rows";
}

TEST(ReportChart, RandomChartsCloseAndHaveNoOddNumber) {
    std::mt19937_64 random(4);
    for (int round = 0; round < 100; ++round) {
        report::LineChart chart = line_chart({});
        const std::size_t points = random() % 50;
        chart.x = axis_of(points);
        chart.from_zero = random() % 2 == 0;
        const std::size_t lines = 1 + random() % 3;
        chart.lines.clear();
        for (std::size_t l = 0; l < lines; ++l) {
            Values values;
            for (std::size_t i = 0; i < points; ++i) {
                values.emplace_back(random() % 5 == 0
                                        ? std::optional<double>()
                                        : std::ldexp(static_cast<double>(random() % 2000) - 1000,
                                                     static_cast<int>(random() % 40) - 20));
            }
            chart.lines.push_back({"l<&>" + std::to_string(l), static_cast<int>(l), values});
        }
        const std::string text = drawn(chart);
        expect_balanced(text);
        EXPECT_THAT(text, Not(HasSubstr("nan")));
        EXPECT_THAT(text, Not(HasSubstr("inf")));
        // No coordinate leaves the drawing.
        const std::regex place("[ML](-?[0-9.]+) (-?[0-9.]+)");
        for (std::sregex_iterator at(text.begin(), text.end(), place), end; at != end; ++at) {
            ASSERT_GE(std::stod((*at)[1]), 0);
            ASSERT_LE(std::stod((*at)[1]), 1000);
            ASSERT_GE(std::stod((*at)[2]), 0);
            ASSERT_LE(std::stod((*at)[2]), report::plot_height);
        }
    }
}

}  // namespace
}  // namespace rudder
