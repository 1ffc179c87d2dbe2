// What ranks of one machine share: bells that wake who sleeps, and which machines a modelled link
// is refused between.
#include "comm/machine_board.hpp"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/modelled_link.hpp"
#include "comm/window.hpp"
#include "rudder/core/error.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

comm::MachineBoard board_of(const std::vector<int>& machines, int rank) {
    const auto here = std::ranges::count(machines, machines[static_cast<std::size_t>(rank)]);
    return {machines, rank,
            comm::private_window(comm::MachineBoard::bytes_for(static_cast<int>(here)))};
}

TEST(MachineBoard, HasAPlaceForEachRankOfTheMachine) {
    const comm::MachineBoard board = board_of({0, 1, 0, 1, 0}, 2);
    EXPECT_EQ(board.ranks(), 3);
    EXPECT_FALSE(board.whole());
    EXPECT_EQ(board.bell(1), nullptr);
    EXPECT_EQ(board.bell(2), &board.own_bell());
    EXPECT_NE(board.bell(0), board.bell(4));
    EXPECT_NE(&board.clock(0), &board.clock(2));
    EXPECT_TRUE(board_of({3, 3}, 0).whole());
}

TEST(Doorbell, WakesWhoSleeps) {
    const comm::MachineBoard board = board_of({0, 0}, 0);
    comm::Doorbell& bell = board.own_bell();
    for (int round = 0; round < 50; ++round) {
        const std::uint32_t seen = bell.rings();
        std::thread other([&] {
            if (round % 2 == 0) std::this_thread::sleep_for(1ms);
            bell.ring();
        });
        const Duration start = comm::machine_now();
        while (bell.rings() == seen)
            ASSERT_TRUE(bell.sleep(seen, comm::machine_now() + 10s)) << "slept through it";
        EXPECT_LT(comm::machine_now() - start, Duration(9s));
        other.join();
    }
}

TEST(Doorbell, ARingBeforeTheSleepIsNotLost) {
    const comm::MachineBoard board = board_of({0}, 0);
    comm::Doorbell& bell = board.own_bell();
    const std::uint32_t seen = bell.rings();
    bell.ring();
    EXPECT_TRUE(bell.sleep(seen, comm::machine_now() + 10s));
}

TEST(Doorbell, SleepsUntilItsDeadline) {
    const comm::MachineBoard board = board_of({0}, 0);
    comm::Doorbell& bell = board.own_bell();
    const Duration deadline = comm::machine_now() + 5ms;
    while (bell.sleep(bell.rings(), deadline)) {
    }
    EXPECT_GE(comm::machine_now(), deadline);
}

TEST(Doorbell, WakesNobodyWhileItIsAttended) {
    const comm::MachineBoard board = board_of({0}, 0);
    comm::Doorbell& bell = board.own_bell();
    bell.set_attended(true);
    const std::uint32_t seen = bell.rings();
    bool rung = true;
    std::thread sleeper([&] { rung = bell.sleep(seen, comm::machine_now() + 50ms); });
    std::this_thread::sleep_for(20ms);
    bell.ring();
    sleeper.join();
    EXPECT_FALSE(rung);
    EXPECT_NE(bell.rings(), seen) << "who attends to it sees it";
}

TEST(LinkRefusal, NamesTheMachines) {
    const std::vector<std::string> names{"alpha", "alpha", "beta", "beta"};
    EXPECT_NO_THROW(comm::refuse_link_between(std::vector{0, 0, 0, 0}, names));
    try {
        comm::refuse_link_between(std::vector{0, 0, 2, 2}, names);
        FAIL() << "two machines were taken for one";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_EQ(error.problem(),
                  "--link between ranks on 2 machines: alpha (rank 0), beta (rank 2)");
        EXPECT_THAT(error.what(), HasSubstr("leave --link out"));
    }
}

TEST(LinkRefusal, NamesAFewOfManyMachines) {
    std::vector<int> machines;
    std::vector<std::string> names;
    for (int r = 0; r < 20; ++r) {
        machines.push_back(r);
        names.push_back("node" + std::to_string(r));
    }
    try {
        comm::refuse_link_between(machines, names);
        FAIL() << "twenty machines were taken for one";
    } catch (const Error& error) {
        EXPECT_THAT(error.problem(), HasSubstr("20 machines: node0 (rank 0), node1 (rank 1)"));
        EXPECT_THAT(error.problem(), HasSubstr("node7 (rank 7), ..."));
        EXPECT_THAT(error.problem(), ::testing::Not(HasSubstr("node8")));
    }
}

}  // namespace
}  // namespace rudder::test
