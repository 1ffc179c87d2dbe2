// How far a window looks ahead if nobody says so.
#include <gtest/gtest.h>

#include "buffer/fitting_window.hpp"

namespace rudder::test {
namespace {

TEST(FittingWindow, SeesTenBuffersFull) {
    EXPECT_EQ(buffer::fitting_window(403'000, 66'000), 62U);  // 61.06 steps
    EXPECT_EQ(buffer::fitting_window(1000, 500), 20U);
    EXPECT_EQ(buffer::fitting_window(1001, 500), 21U);
}

TEST(FittingWindow, StaysWithinItsBounds) {
    EXPECT_EQ(buffer::fitting_window(10, 1000), 16U);
    EXPECT_EQ(buffer::fitting_window(0, 1000), 16U);
    EXPECT_EQ(buffer::fitting_window(1'000'000, 10), 128U);
    EXPECT_EQ(buffer::fitting_window(1'000'000, 0), 16U);  // nothing to fetch
}

}  // namespace
}  // namespace rudder::test
