#include "train/simulate/fabric.hpp"

#include <map>
#include <vector>

#include <gtest/gtest.h>

namespace rudder::test {

namespace {

using namespace std::chrono_literals;
using train::ClusterModel;
using train::EventQueue;
using train::Fabric;
using train::RowMessage;

/// Hosts of one rank, links of 1 byte per nanosecond and 1 us.
ClusterModel hosts(int count) {
    ClusterModel model;
    model.ranks = count;
    model.network.link = {.delay = 1us, .bytes_per_second = 1e9};
    return model;
}

struct Sent {
    int from;
    int to;
    comm::LinkClass which;
    std::uint64_t bytes;
};

/// When each of the messages comes, all handed in at once.
std::vector<Duration> arrivals(const ClusterModel& model, const std::vector<Sent>& messages) {
    EventQueue events;
    Fabric fabric(model, events);
    std::map<std::uint32_t, std::size_t> numbers;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const Sent& m = messages[i];
        numbers[fabric.send(m.from, m.to, m.which, m.bytes, RowMessage{})] = i;
    }
    std::vector<Duration> when(messages.size());
    while (!events.empty()) {
        const EventQueue::Event event = events.pop();
        RowMessage message;
        if (event.kind == EventQueue::Kind::leave) {
            fabric.leave(event.who);
        } else if (fabric.arrived(event.who, message)) {
            when[numbers.at(event.who)] = events.now();
        }
    }
    return when;
}

constexpr comm::LinkClass demand = comm::LinkClass::demand;

TEST(Fabric, AMessageTakesItsDelayAndItsTransfer) {
    EXPECT_EQ(arrivals(hosts(2), {{0, 1, demand, 5000}}), std::vector<Duration>{6us});
}

TEST(Fabric, WithinAHostAMessageHasComeAtOnce) {
    EXPECT_EQ(arrivals(hosts(2), {{1, 1, demand, 5000}}), std::vector<Duration>{0us});
}

TEST(Fabric, MessagesFromOneHostLeaveOneAfterTheOther) {
    EXPECT_EQ(arrivals(hosts(3), {{0, 1, demand, 5000}, {0, 2, demand, 2000}}),
              (std::vector<Duration>{6us, 8us}));
}

TEST(Fabric, MessagesToOneHostComeOneAfterTheOther) {
    EXPECT_EQ(arrivals(hosts(3), {{0, 2, demand, 5000}, {1, 2, demand, 5000}}),
              (std::vector<Duration>{6us, 11us}));
}

TEST(Fabric, WhatGoesFirstPassesRows) {
    const auto when =
        arrivals(hosts(2), {{0, 1, demand, 100000}, {0, 1, comm::LinkClass::first, 1000}});
    EXPECT_EQ(when[1], 2us);
    EXPECT_EQ(when[0], 102us);
}

TEST(Fabric, ACoreThatIsNarrowerIsShared) {
    ClusterModel model = hosts(4);
    const std::vector<Sent> apart{{0, 2, demand, 10000}, {1, 3, demand, 10000}};
    EXPECT_EQ(arrivals(model, apart), (std::vector<Duration>{11us, 11us}));
    // Four links, a core of one: twenty thousand bytes take it twenty microseconds.
    model.network.oversubscription = 4;
    const auto when = arrivals(model, apart);
    EXPECT_EQ(when[0], 11us);
    EXPECT_EQ(when[1], 21us);
}

TEST(Fabric, MessagesThatComeAtOnceHinderEachOther) {
    ClusterModel model = hosts(3);
    model.network.incast = 0.5;
    const auto when = arrivals(model, {{0, 2, demand, 4000}, {1, 2, demand, 4000}});
    EXPECT_GT(when[1], 9us);  // what they take one after the other
    EXPECT_LE(when[1], 1us + 2 * 6us);
}

TEST(Fabric, WithoutALinkNothingTakesTime) {
    ClusterModel model = hosts(2);
    model.network.link = {};
    EXPECT_EQ(arrivals(model, {{0, 1, demand, 5000}}), std::vector<Duration>{0us});
}

TEST(SimulatedEvents, ComeInTheOrderOfTheirTimesAndThenAsTheyWereGiven) {
    EventQueue events;
    events.push(5us, EventQueue::Kind::begin, 1);
    events.push(2us, EventQueue::Kind::begin, 2);
    events.push(5us, EventQueue::Kind::begin, 3);
    std::vector<std::uint32_t> order;
    while (!events.empty())
        order.push_back(events.pop().who);
    EXPECT_EQ(order, (std::vector<std::uint32_t>{2, 1, 3}));
    EXPECT_EQ(events.now(), 5us);
    events.push(1us, EventQueue::Kind::begin, 4);  // the past is now
    EXPECT_EQ(events.pop().when, Duration(5us).count());
}

}  // namespace

}  // namespace rudder::test
