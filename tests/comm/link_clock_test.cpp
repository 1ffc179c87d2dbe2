// The clock of a link on which some messages go before others, against a server that works tick by
// tick.
#include "comm/link_clock.hpp"

#include <algorithm>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace rudder::test {
namespace {

using comm::Kind;
using comm::LinkClass;
using comm::LinkClock;
using comm::LinkStamp;

struct Parcel {
    LinkClass which;
    Duration::rep handed_in;
    Duration::rep transfer;
};

/// The obvious version: each tick goes to the first message of the first class that has any.
std::vector<Duration::rep> tick_by_tick(const std::vector<Parcel>& parcels) {
    std::vector<Duration::rep> left(parcels.size(), -1);
    std::vector<Duration::rep> rest;
    for (const Parcel& parcel : parcels)
        rest.push_back(parcel.transfer);
    std::size_t done = 0;
    for (Duration::rep now = 0; done < parcels.size(); ++now) {
        std::optional<std::size_t> next;
        for (std::size_t i = 0; i < parcels.size(); ++i) {
            if (left[i] >= 0 || parcels[i].handed_in > now) continue;
            if (!next || parcels[i].which < parcels[*next].which) next = i;
        }
        if (!next) continue;
        if (--rest[*next] == 0) {
            left[*next] = now + 1;
            ++done;
        }
    }
    return left;
}

/// As the bodies use the clock: stamped when handed in, looked at when it should have left.
std::vector<Duration::rep> by_the_clock(const std::vector<Parcel>& parcels) {
    LinkClock clock;
    std::vector<Duration::rep> left(parcels.size(), -1);
    std::vector<std::optional<LinkStamp>> stamps(parcels.size());
    std::size_t done = 0;
    std::size_t next = 0;
    for (Duration::rep now = 0; done < parcels.size(); ++now) {
        for (std::size_t i = 0; i < next; ++i) {
            if (left[i] >= 0 || stamps[i]->left > now) continue;
            if (clock.passed(parcels[i].which, *stamps[i])) continue;
            left[i] = stamps[i]->left;
            ++done;
        }
        for (; next < parcels.size() && parcels[next].handed_in == now; ++next) {
            stamps[next] =
                clock.send(parcels[next].which, Duration(now), Duration(parcels[next].transfer));
        }
    }
    return left;
}

TEST(LinkClock, LeavesWhenAServerWithPrioritiesWouldBeDone) {
    std::mt19937_64 draw(17);
    for (int round = 0; round < 300; ++round) {
        std::vector<Parcel> parcels;
        Duration::rep now = 0;
        const std::uint64_t pause = 1 + draw() % 40;
        for (int i = 0; i < 30; ++i) {
            now += static_cast<Duration::rep>(draw() % pause);
            parcels.push_back({static_cast<LinkClass>(draw() % comm::link_classes), now,
                               1 + static_cast<Duration::rep>(draw() % 30)});
        }
        ASSERT_EQ(by_the_clock(parcels), tick_by_tick(parcels)) << "round " << round;
    }
}

TEST(LinkClock, PassesWhatIsLessUrgent) {
    LinkClock clock;
    LinkStamp ahead = clock.send(LinkClass::ahead, Duration(0), Duration(1000));
    LinkStamp last = clock.send(LinkClass::last, Duration(0), Duration(50));
    const LinkStamp first = clock.send(LinkClass::first, Duration(400), Duration(100));
    EXPECT_EQ(first.left, 500) << "nothing of its class was before it";
    EXPECT_EQ(ahead.left, 1000);
    EXPECT_TRUE(clock.passed(LinkClass::ahead, ahead));
    EXPECT_EQ(ahead.left, 1100) << "it gave way once";
    EXPECT_FALSE(clock.passed(LinkClass::ahead, ahead));
    EXPECT_TRUE(clock.passed(LinkClass::last, last));
    EXPECT_EQ(last.left, 1150);
    EXPECT_EQ(clock.send(LinkClass::last, Duration(600), Duration(10)).left, 1160)
        << "no byte was lost or gained";
}

TEST(LinkClock, RateIsKeptWhateverPasses) {
    std::mt19937_64 draw(5);
    LinkClock clock;
    Duration::rep work = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto transfer = static_cast<Duration::rep>(draw() % 100);
        work += transfer;
        static_cast<void>(clock.send(static_cast<LinkClass>(draw() % comm::link_classes),
                                     Duration(0), Duration(transfer)));
    }
    EXPECT_EQ(clock.send(LinkClass::last, Duration(0), Duration(1)).left, work + 1);
}

/// Ranks of one host share its link: their transfers never overlap.
TEST(LinkClock, SeveralSendersShareTheRate) {
    constexpr int messages = 2000;
    LinkClock clock;
    std::vector<std::vector<Duration::rep>> left(3);
    std::vector<std::thread> ranks;
    for (auto& own : left) {
        ranks.emplace_back([&own, &clock] {
            for (int i = 0; i < messages; ++i)
                own.push_back(clock.send(LinkClass::first, Duration(0), Duration(7)).left);
        });
    }
    for (std::thread& rank : ranks)
        rank.join();
    std::vector<Duration::rep> all;
    for (const auto& own : left)
        all.insert(all.end(), own.begin(), own.end());
    std::ranges::sort(all);
    for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(all[i], static_cast<Duration::rep>(i + 1) * 7);
}

TEST(LinkClock, KindsHaveTheirClass) {
    constexpr std::size_t large = comm::small_message_bytes + 1;
    for (const Kind kind : {Kind::gradients, Kind::control})
        EXPECT_EQ(comm::link_class(kind, large), LinkClass::first);
    for (const Kind kind : {Kind::features, Kind::requests, Kind::topology})
        EXPECT_EQ(comm::link_class(kind, large), LinkClass::demand);
    EXPECT_EQ(comm::link_class(Kind::features_ahead, large), LinkClass::ahead);
    EXPECT_EQ(comm::link_class(Kind::requests_ahead, large), LinkClass::ahead);
    EXPECT_EQ(comm::link_class(Kind::evaluation, large), LinkClass::last);
    // Rows are rows, and what asks for them goes first.
    EXPECT_EQ(comm::link_class(Kind::features, 1), LinkClass::demand);
    EXPECT_EQ(comm::link_class(Kind::features_ahead, 1), LinkClass::ahead);
    EXPECT_EQ(comm::link_class(Kind::requests, 1), LinkClass::first);
    EXPECT_EQ(comm::link_class(Kind::requests_ahead, 1), LinkClass::first);
    EXPECT_EQ(comm::link_class(Kind::evaluation, comm::small_message_bytes), LinkClass::first);
}

}  // namespace
}  // namespace rudder::test
