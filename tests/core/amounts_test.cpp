// Amounts as people say them.
#include "core/amounts.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace rudder {
namespace {

TEST(Amounts, CountsAtAGlance) {
    EXPECT_EQ(format_short(0), "0");
    EXPECT_EQ(format_short(9'999), "9,999");
    EXPECT_EQ(format_short(12'345), "12.3 k");
    EXPECT_EQ(format_short(999'949), "999.9 k");
    EXPECT_EQ(format_short(999'950), "1.0 M");
    EXPECT_EQ(format_short(1'234'567), "1.2 M");
    EXPECT_EQ(format_short(3'400'000'000), "3.4 G");
}

TEST(Amounts, TimesAsOneSaysThem) {
    EXPECT_EQ(format_seconds(0), "0 s");
    EXPECT_EQ(format_seconds(0.0123), "12.3 ms");
    EXPECT_EQ(format_seconds(4.56), "4.6 s");
    EXPECT_EQ(format_seconds(59.96), "1 min 0 s");
    EXPECT_EQ(format_seconds(130), "2 min 10 s");
    EXPECT_EQ(format_seconds(12'000), "3 h 20 min");
    EXPECT_EQ(format_seconds(-1), "-");
    EXPECT_EQ(format_seconds(std::numeric_limits<double>::quiet_NaN()), "-");
}

}  // namespace
}  // namespace rudder
