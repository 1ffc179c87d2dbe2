// Bringing rows together in steady state: no memory for rows or ids is allocated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/suite.hpp"

#include "support/mpirun.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

void expect_steady(const std::vector<std::string>& command) {
    const Outcome outcome = mpirun({{2, command}});
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    for (const char* rank : {"rank 0", "rank 1"}) {
        EXPECT_THAT(outcome.out, ::testing::HasSubstr(std::string(rank) +
                                                      ": 0 large allocations in 100 pulls, 0 in"));
    }
}

TEST(SteadyState, AHundredStepsAllocateNothingLarge) {
    if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
    const TempDir temp;
    static_cast<void>(store_data(temp.path(), {.width = 64, .type = ElementType::f32}, 8000, 2));
    expect_steady({RUDDER_STEADY_RANKS, (temp / "parts").string()});
}

TEST(SteadyState, NorOfSparseRows) {
    if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
    const TempDir temp;
    static_cast<void>(
        store_data(temp.path(), {.width = 256, .type = ElementType::u8}, 8000, 2, 1, 12));
    expect_steady({RUDDER_STEADY_RANKS, (temp / "parts").string(), "sparse"});
}

}  // namespace
}  // namespace rudder::test
