// Clocks that are apart are found to be, as closely as the network allows.
#include "comm/clocks.hpp"

#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"

namespace rudder {
namespace {

using namespace std::chrono_literals;

std::vector<comm::ClockReading> compared(const comm::SimulationOptions& options,
                                         std::span<const std::int64_t> ahead) {
    std::vector<comm::ClockReading> readings;
    comm::SimulatedCluster cluster(options);
    cluster.run([&](const comm::Communicator& comm) {
        const auto own = ahead[static_cast<std::size_t>(comm.rank())];
        const auto clock = [own] {
            const auto now = 1'000'000'000'000 + Executor::current().now().count() + own;
            return static_cast<std::uint64_t>(now);
        };
        auto mine = comm::compare_clocks(comm, clock);
        EXPECT_EQ(mine.empty(), comm.rank() != 0);
        if (comm.rank() == 0) readings = std::move(mine);
    });
    return readings;
}

TEST(Clocks, DifferencesAreFoundWithinHalfARoundTrip) {
    const std::vector<std::int64_t> ahead{0, 5'000'000, -7'000'000'000, 300};
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const auto readings = compared({.ranks = 4,
                                        .seed = seed,
                                        .link = {.delay = 100us, .bytes_per_second = 1e9},
                                        .jitter = 50us},
                                       ahead);
        ASSERT_EQ(readings.size(), 4U);
        EXPECT_EQ(readings[0].ahead, 0);
        for (std::size_t r = 1; r < 3; ++r) {
            EXPECT_GE(readings[r].round_trip, 200'000U);
            EXPECT_NEAR(static_cast<double>(readings[r].ahead), static_cast<double>(ahead[r]),
                        static_cast<double>(readings[r].round_trip) / 2 + 1);
        }
        EXPECT_EQ(readings[3].ahead, 0) << "less than the round trip hides";
    }
}

TEST(Clocks, OneRankHasNobodyToAsk) {
    EXPECT_EQ(compared({.ranks = 1}, std::vector<std::int64_t>{3}).size(), 1U);
}

}  // namespace
}  // namespace rudder
