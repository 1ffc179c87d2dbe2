// Words and numbers of a page, axes, and escaping.
#include "page/words.hpp"

#include <random>

#include <gmock/gmock.h>

#include "page/chart.hpp"
#include "page/html.hpp"

namespace rudder {
namespace {

TEST(ReportWords, NumbersAsPeopleReadThem) {
    EXPECT_EQ(report::seconds_text(0.0000123), "12.3\u00a0\u00b5s");
    EXPECT_EQ(report::seconds_text(0.0456), "45.6\u00a0ms");
    EXPECT_EQ(report::seconds_text(7.25), "7.25\u00a0s");
    EXPECT_EQ(report::seconds_text(200), "3\u00a0min\u00a020\u00a0s");
    EXPECT_EQ(report::seconds_text(9000), "2\u00a0h\u00a030\u00a0min");
    EXPECT_EQ(report::percent_text(0.973), "97.3\u00a0%");
    EXPECT_EQ(report::percent_text(0.9995), "99.95\u00a0%");
    EXPECT_EQ(report::percent_text(1), "100.0\u00a0%");
    EXPECT_EQ(report::count_text(1234567), "1,234,567");
    EXPECT_EQ(report::count_text(-12), "\u221212");
    EXPECT_EQ(report::ratio_text(1.0485), "1.048");
    EXPECT_EQ(report::value_text(std::nullopt, report::Unit::count), "-");
    EXPECT_EQ(report::tick_text(12000, report::Unit::count, 40000), "12 k");
    EXPECT_EQ(report::tick_text(0.04, report::Unit::seconds, 0.2), "40 ms");
    EXPECT_EQ(report::exact_text(0.1234567890), "0.123457");
    EXPECT_EQ(report::exact_text(12345678), "12345678");
    EXPECT_EQ(report::counted(1, "step", "steps"), "1 step");
    EXPECT_EQ(report::shortened("Gr\u00fc\u00dfe", 4), "Gr\u00fc\u2026");
}

TEST(ReportWords, NothingOddComesOfOddNumbers) {
    for (const double value : {0.0 / 0.0, 1 / 0.0, -1 / 0.0, 1e300, -1e300}) {
        EXPECT_THAT(report::count_text(value), testing::Not(testing::HasSubstr("nan")));
        EXPECT_THAT(report::exact_text(value), testing::Not(testing::HasSubstr("inf")));
        EXPECT_FALSE(report::seconds_text(value).empty());
        EXPECT_FALSE(report::bytes_text(value).empty());
    }
}

TEST(ReportWords, ShellsTakeQuotedWordsAsTheyAre) {
    EXPECT_EQ(report::shell_quoted("window:16"), "window:16");
    EXPECT_EQ(report::shell_quoted("my run"), "'my run'");
    EXPECT_EQ(report::shell_quoted("it's"), "'it'\\''s'");
    EXPECT_EQ(report::shell_quoted(""), "''");
    EXPECT_EQ(report::shell_quoted("$(reboot)"), "'$(reboot)'");
}

TEST(ReportAxis, HoldsItsRangeWithFewRoundTicks) {
    std::mt19937_64 random(5);
    std::uniform_real_distribution<double> power(-9, 12);
    for (int i = 0; i < 2000; ++i) {
        const double low = random() % 2 == 0 ? 0 : std::pow(10, power(random));
        const double high = low + std::pow(10, power(random));
        const report::YAxis axis = report::nice_axis(low, high, 5);
        ASSERT_LE(axis.min, low * (1 + 1e-6) + 1e-12);
        ASSERT_GE(axis.max * (1 + 1e-6) + 1e-12, high);
        ASSERT_LT(axis.min, axis.max);
        ASSERT_GE(axis.ticks.size(), 2U);
        ASSERT_LE(axis.ticks.size(), 7U) << low << " " << high;
    }
    EXPECT_EQ(report::nice_axis(0, 0, 5).max, 1);
}

TEST(ReportHtml, EscapesWhatHasAMeaning) {
    EXPECT_EQ(report::escape("<a href=\"x\">&'`"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;&#96;");
    EXPECT_EQ(report::escape("\xf0\x9f\x9a\xa2 \u00fc\n\t"), "\xf0\x9f\x9a\xa2 \u00fc\n\t");
    EXPECT_EQ(report::escape(std::string_view("a\0b\x1b", 4)), "a\uFFFDb\uFFFD");
    EXPECT_EQ(report::escape("\xc3"), "\uFFFD");
    EXPECT_EQ(report::escape("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // half of a surrogate pair
    EXPECT_EQ(report::escape("\xc0\xbc"), "\uFFFD\uFFFD");            // '<' the long way
    EXPECT_EQ(report::escape("\u202Eabc\u2066"), "\uFFFDabc\uFFFD");
}

TEST(ReportHtml, RandomBytesGiveValidText) {
    std::mt19937_64 random(3);
    for (int i = 0; i < 500; ++i) {
        std::string text(random() % 40, ' ');
        for (char& c : text)
            c = static_cast<char>(random());
        const std::string escaped = report::escape(text);
        EXPECT_EQ(escaped.find_first_of("<>\"'`"), std::string::npos);
        EXPECT_EQ(report::escape(text + "<"), escaped + "&lt;");
    }
}

TEST(ReportHtml, ClosesWhatItOpens) {
    report::Html html;
    {
        const report::Element outer(html, "div", {{"title", "a \"quote\""}});
        html.leaf("p", "x < y");
        html.empty("br");
    }
    EXPECT_EQ(html.take(), "<div title=\"a &quot;quote&quot;\"><p>x &lt; y</p><br/></div>");
}

TEST(ReportWords, RangesHaveTheirUnitOnce) {
    using report::range_text;
    using report::Unit;
    EXPECT_EQ(range_text(0.0409, 0.0471, Unit::seconds), "40.9\u201347.1\u00a0ms");
    EXPECT_EQ(range_text(0.5, 1.5, Unit::seconds), "500\u00a0ms\u20131.50\u00a0s");
    EXPECT_EQ(range_text(200, 215, Unit::seconds),
              "3\u00a0min\u00a020\u00a0s\u20133\u00a0min\u00a035\u00a0s");
    EXPECT_EQ(range_text(1234, 5678, Unit::count), "1,234\u20135,678");
    EXPECT_EQ(range_text(0.25, 0.5, Unit::share), "25.0\u201350.0\u00a0%");
}

}  // namespace
}  // namespace rudder
