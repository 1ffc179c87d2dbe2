#include "comm/link_model.hpp"

#include <gtest/gtest.h>

#include "rudder/comm/hosts.hpp"

namespace rudder {
namespace {

using namespace std::chrono_literals;

TEST(LinkModel, ReadsUnits) {
    const comm::LinkModel link = comm::parse_link("100us,1gbit");
    EXPECT_EQ(link.delay, Duration(100us));
    EXPECT_DOUBLE_EQ(link.bytes_per_second, 125e6);
    EXPECT_DOUBLE_EQ(comm::parse_link("1.5ms,10MB").bytes_per_second, 10e6);
    EXPECT_EQ(comm::parse_link("0s,100mbit").delay, Duration(0));
}

TEST(LinkModel, RefusesNonsense) {
    for (const char* text : {"", "100us", "100us,", ",1gbit", "100,1gbit", "100us,1", "us,gbit",
                             "-1us,1gbit", "100us,-1gbit", "100us,0gbit", "100us,1gbit,3",
                             "100 us,1gbit", "nanus,1gbit", "100us,1gbitt", "1000s,1gbit"}) {
        try {
            static_cast<void>(comm::parse_link(text));
            ADD_FAILURE() << text;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage) << text;
        }
    }
}

TEST(LinkModel, ChangesAtSteps) {
    const comm::LinkSchedule plain = comm::parse_link_schedule("100us,1gbit");
    EXPECT_EQ(plain.first.delay, Duration(100us));
    EXPECT_TRUE(plain.changes.empty());
    const comm::LinkSchedule link =
        comm::parse_link_schedule("100us,10gbit;step:300:1ms,1gbit;step:600:100us,10gbit");
    EXPECT_DOUBLE_EQ(link.first.bytes_per_second, 1.25e9);
    ASSERT_EQ(link.changes.size(), 2U);
    comm::LinkChanges changes(link.changes);
    EXPECT_EQ(changes.due(0), nullptr);
    EXPECT_EQ(changes.due(299), nullptr);
    const comm::LinkModel* slower = changes.due(305);
    ASSERT_NE(slower, nullptr) << "a resumed run may begin behind it";
    EXPECT_EQ(slower->delay, Duration(1ms));
    EXPECT_EQ(changes.due(306), nullptr) << "once";
    EXPECT_NE(changes.due(600), nullptr);
    comm::LinkChanges late(link.changes);
    EXPECT_EQ(late.due(700)->delay, Duration(100us)) << "the last of those that have passed";
    for (const char* text : {"100us,1gbit;", "100us,1gbit;step:3", "100us,1gbit;step:x:1ms,1gbit",
                             "100us,1gbit;step:0:1ms,1gbit", "100us,1gbit;epoch:3:1ms,1gbit",
                             "100us,1gbit;step:5:1ms,1gbit;step:5:1ms,1gbit",
                             "100us,1gbit;step:5:1ms", ";step:5:1ms,1gbit"}) {
        EXPECT_THROW(static_cast<void>(comm::parse_link_schedule(text)), Error) << text;
    }
}

TEST(LinkModel, TransfersTakeTheirShareOfASecond) {
    const comm::LinkModel link{.delay = 100us, .bytes_per_second = 1e9};
    EXPECT_EQ(link.transfer(0), Duration(0));
    EXPECT_EQ(link.transfer(1000), Duration(1us));
    EXPECT_TRUE(link.active());
    EXPECT_EQ(comm::LinkModel{.delay = 1us}.transfer(1'000'000), Duration(0)) << "no limit";
    EXPECT_TRUE(comm::LinkModel{.delay = 1us}.active());
    EXPECT_FALSE(comm::LinkModel{}.active());
}

TEST(HostMap, GroupsRanks) {
    const comm::HostMap map = comm::HostMap::consecutive(5, 2);
    EXPECT_EQ(map.hosts(), 3);
    EXPECT_EQ(map.members(1), (std::vector{2, 3}));
    EXPECT_EQ(map.members(2), (std::vector{4}));
    EXPECT_TRUE(map.same(2, 3));
    EXPECT_FALSE(map.same(1, 2));
    const comm::HostMap labelled({7, 3, 7, 3});
    EXPECT_EQ(labelled.host_of(2), 0);
    EXPECT_EQ(labelled.members(1), (std::vector{1, 3}));
}

}  // namespace
}  // namespace rudder
