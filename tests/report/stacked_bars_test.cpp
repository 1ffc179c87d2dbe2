// Bars of several parts as a drawing of its own: where they lie, what they say, and that they
// close.
#include "report/stacked_bars.hpp"

#include <regex>

#include <gmock/gmock.h>

namespace rudder {
namespace {

using report::StackedBars;
using testing::HasSubstr;
using testing::Not;

/// The rectangles of bars, without keys and ground: class, left end and width, from above.
struct Rect {
    std::string colour;
    double x = 0;
    double width = 0;
    double y = 0;
};
std::vector<Rect> rects_of(const std::string& svg) {
    static const std::regex rect(
        R"~(<rect class="(c\d)" x="([-\d.]+)" y="([\d.]+)" width="([-\d.]+)" height="16.0")~");
    std::vector<Rect> rects;
    for (std::sregex_iterator at(svg.begin(), svg.end(), rect), end; at != end; ++at)
        rects.push_back({(*at)[1], std::stod((*at)[2]), std::stod((*at)[4]), std::stod((*at)[3])});
    return rects;
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
        ++n;
    return n;
}

StackedBars two_bars() {
    return {.title = "Steps",
            .parts = {"compute", "waiting"},
            .bars = {{"first", {1, 3}}, {"second", {2, 0.5}}}};
}

TEST(StackedBarsTest, PartsFollowOneAnotherInProportion) {
    const auto rects = rects_of(report::stacked_bars_svg(two_bars()));
    ASSERT_EQ(rects.size(), 4U);
    EXPECT_EQ(rects[0].colour, "c0");
    EXPECT_EQ(rects[1].colour, "c1");
    for (std::size_t bar = 0; bar < 2; ++bar) {
        const Rect& a = rects[2 * bar];
        const Rect& b = rects[2 * bar + 1];
        EXPECT_NEAR(a.x + a.width, b.x, 0.11);
        EXPECT_EQ(a.y, b.y);
    }
    EXPECT_NEAR(rects[1].width, 3 * rects[0].width, 0.4);
    EXPECT_NEAR(rects[2].width, 2 * rects[0].width, 0.3);
    EXPECT_NEAR(rects[3].width, rects[0].width / 2, 0.2);
    EXPECT_EQ(rects[0].x, rects[2].x);
    EXPECT_GT(rects[2].y, rects[0].y + 16);
}

TEST(StackedBarsTest, SaysNamesKeysAndSums) {
    const std::string svg = report::stacked_bars_svg(two_bars());
    for (const char* text :
         {"<title>Steps</title>", ">first<", ">second<", ">compute<", ">waiting<"})
        EXPECT_THAT(svg, HasSubstr(text));
    for (const double sum : {4.0, 2.5})
        EXPECT_THAT(svg, HasSubstr(">" + report::value_text(sum, report::Unit::seconds) + "<"));
    EXPECT_THAT(svg, HasSubstr("xmlns=\"http://www.w3.org/2000/svg\""));
    EXPECT_EQ(count(svg, "http"), 1U);  // it fetches nothing
}

TEST(StackedBarsTest, TextOfUsersIsText) {
    StackedBars chart = two_bars();
    chart.title = "a <b> & \"c\"";
    chart.bars[0].name = "<script>alert(1)</script>";
    const std::string svg = report::stacked_bars_svg(chart);
    EXPECT_THAT(svg, Not(HasSubstr("<script")));
    EXPECT_THAT(svg, HasSubstr("&lt;script&gt;"));
    EXPECT_THAT(svg, HasSubstr("a &lt;b&gt; &amp;"));
}

TEST(StackedBarsTest, LongNamesAreCut) {
    StackedBars chart = two_bars();
    chart.bars[0].name = std::string(200, 'x');
    const std::string svg = report::stacked_bars_svg(chart);
    EXPECT_THAT(svg, Not(HasSubstr(std::string(60, 'x'))));
    EXPECT_THAT(svg, HasSubstr(std::string(40, 'x')));
}

TEST(StackedBarsTest, WithoutBarsOrLengthsItIsStillADrawing) {
    for (const StackedBars& chart :
         {StackedBars{.title = "Nothing"},
          StackedBars{.title = "Zero", .parts = {"a"}, .bars = {{"one", {0}}}},
          StackedBars{.title = "Below", .parts = {"a"}, .bars = {{"one", {-1}}}}}) {
        const std::string svg = report::stacked_bars_svg(chart);
        EXPECT_THAT(svg, Not(HasSubstr("nan")));
        EXPECT_THAT(svg, Not(HasSubstr("inf")));
        EXPECT_THAT(svg, testing::EndsWith("</svg>"));
        for (const Rect& rect : rects_of(svg))
            EXPECT_GE(rect.width, 0);
    }
}

TEST(StackedBarsTest, GrowsWithItsBars) {
    StackedBars chart = two_bars();
    const auto height = [&] {
        std::smatch found;
        const std::string svg = report::stacked_bars_svg(chart);
        EXPECT_TRUE(std::regex_search(svg, found, std::regex(R"~( height="(\d+)" role)~")));
        return std::stod(found[1]);
    };
    const double two = height();
    chart.bars.resize(40, chart.bars.front());
    EXPECT_GT(height(), two + 38 * 20);
    EXPECT_EQ(rects_of(report::stacked_bars_svg(chart)).size(), 80U);
}

}  // namespace
}  // namespace rudder
