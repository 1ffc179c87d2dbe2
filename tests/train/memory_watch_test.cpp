// Memory that grows during a run is seen in time, summed over the ranks of a host, at little cost.
#include "train/memory_watch.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "core/executor/executor.hpp"
#include "core/system.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

/// How often each rank of a host was told, in steps of that length; `held` is by step and rank.
std::vector<std::uint64_t> shortages(const train::MemoryBounds& bounds, int ranks,
                                     std::uint64_t steps, Duration step, Duration reading,
                                     const std::function<std::uint64_t(std::uint64_t, int)>& held) {
    std::vector<std::uint64_t> told(static_cast<std::size_t>(ranks), 0);
    comm::SimulatedCluster cluster({.ranks = ranks, .ranks_per_host = ranks, .seed = 1});
    cluster.run([&](const comm::Communicator& comm) {
        std::uint64_t now = 0;
        train::MemoryWatch watch(comm, bounds, [&] {
            Executor::current().sleep_for(reading);
            return held(now, comm.rank());
        });
        for (; now < steps; ++now) {
            Executor::current().sleep_for(step);
            comm.barrier();
            if (const auto shortage = watch.look()) {
                EXPECT_GT(shortage->used, bounds.limit * 94 / 100);
                EXPECT_EQ(shortage->limit, bounds.limit);
                ++told[static_cast<std::size_t>(comm.rank())];
            }
        }
    });
    return told;
}

TEST(MemoryWatch, SumsTheRanksOfAHost) {
    const auto flat = [](std::uint64_t bytes) {
        return [bytes](std::uint64_t, int rank) { return bytes + static_cast<unsigned>(rank); };
    };
    const auto none = std::vector<std::uint64_t>{0, 0};
    EXPECT_EQ(shortages({1000, 0}, 2, 100, 100ms, 0ms, flat(470)), none);
    // The one that reads first does not know of the other yet.
    const auto some = shortages({1000, 0}, 2, 100, 100ms, 0ms, flat(480));
    EXPECT_GE(some[0], 5U);
    EXPECT_GE(some[1], 5U);
    EXPECT_EQ(shortages({1000, 100}, 2, 100, 100ms, 0ms, flat(570)), none);
    EXPECT_EQ(shortages({0, 0}, 2, 100, 100ms, 0ms, flat(5000)), none);
}

/// What was made smaller needs some steps until it shows.
TEST(MemoryWatch, WaitsForWhatWasGivenBack) {
    const auto told = shortages({1000, 0}, 1, 100, 1s, 0ms, [](auto, int) { return 2000U; });
    EXPECT_EQ(told[0], 7U) << "steps 1, 17, 33, ...";
}

TEST(MemoryWatch, ReadsSeldomWhereReadingIsSlow) {
    std::uint64_t readings = 0;
    const auto count = [&](std::uint64_t, int) { return ++readings; };
    // 100 s of steps, and readings of 100 ms: one in 20 s.
    EXPECT_EQ(shortages({1000, 0}, 1, 1000, 100ms, 100ms, count)[0], 0U);
    EXPECT_GE(readings, 5U);
    EXPECT_LE(readings, 6U);
}

TEST(MemoryWatch, SimulatedRanksAreNotWatched) {
    comm::SimulatedCluster cluster({.ranks = 1, .seed = 1});
    cluster.run(
        [&](const comm::Communicator&) { EXPECT_EQ(train::memory_bounds(1000, 5).limit, 0U); });
    EXPECT_EQ(train::memory_bounds(1000, 5).limit, 1000U);
    EXPECT_GT(train::memory_bounds(1000, 5).own, 5U);
    EXPECT_EQ(train::memory_bounds(0, 5).limit, memory_info().total);
    EXPECT_EQ(train::memory_bounds(0, 5).own, 0U);
}

TEST(ProcessMemory, GrowsWithPagesThatAreTouchedAndShrinksWithThoseGivenBack) {
    constexpr std::size_t size = std::size_t{64} << 20;
    const std::uint64_t before = process_memory();
    if (before == 0) GTEST_SKIP() << "the kernel does not tell (/proc/self/smaps_rollup)";
    std::vector<std::byte> memory(size, std::byte{1});
    EXPECT_GT(process_memory(), before + size * 9 / 10);
    give_pages_back(std::span(memory).subspan(5));
    EXPECT_LT(process_memory(), before + size / 10);
    EXPECT_EQ(memory[0], std::byte{1}) << "part of a page is left alone";
    give_pages_back({});
}

}  // namespace
}  // namespace rudder::test
