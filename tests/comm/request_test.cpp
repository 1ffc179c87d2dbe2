// Operations and what hangs on them, accounts, hosts, and what a transport refuses.
#include "rudder/comm/request.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "comm/local_transport.hpp"
#include "comm/simulated_cluster.hpp"
#include "rudder/core/error.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;
using Type = comm::OperationName::Type;

class RequestTest : public ::testing::Test {
protected:
    std::shared_ptr<comm::Operation> operation() {
        return std::make_shared<comm::Operation>(transport_,
                                                 comm::OperationName{Type::receive, 1, 2, 8});
    }
    comm::LocalTransport transport_;
};

TEST_F(RequestTest, NamesSayWhatIsAwaited) {
    const auto text = [](Type type, int peer) {
        return comm::OperationName{type, peer, 5, 16}.text();
    };
    EXPECT_EQ(text(Type::send, 3), "its message of 16 bytes to rank 3 to leave");
    EXPECT_EQ(text(Type::receive, 3), "a message of 16 bytes from rank 3 (tag 5)");
    EXPECT_EQ(text(Type::receive_message, 3), "a message from rank 3 (tag 5)");
    EXPECT_EQ(text(Type::receive_message, comm::any_source), "a message from any rank (tag 5)");
    EXPECT_EQ(text(Type::reduction, -1), "the reduction of 16 bytes");
}

TEST_F(RequestTest, WhatHangsOnItIsCalledOnce) {
    const auto pending = operation();
    std::vector<int> called;
    pending->then([&](const std::exception_ptr& failure) {
        EXPECT_EQ(failure, nullptr);
        EXPECT_TRUE(pending->done());
        called.push_back(1);
    });
    pending->then([&](const std::exception_ptr&) { called.push_back(2); });
    EXPECT_TRUE(called.empty());
    pending->complete();
    EXPECT_EQ(called, (std::vector{1, 2}));
    pending->then([&](const std::exception_ptr&) { called.push_back(3); });
    EXPECT_EQ(called, (std::vector{1, 2, 3})) << "at once where it is done";
}

TEST_F(RequestTest, FailuresReachWaitersAndWhatHangs) {
    const auto pending = operation();
    comm::Request request(pending);
    bool told = false;
    request.then([&](const std::exception_ptr& failure) { told = failure != nullptr; });
    pending->complete(std::make_exception_ptr(std::runtime_error("lost")));
    EXPECT_TRUE(told);
    EXPECT_TRUE(request.done());
    EXPECT_THROW(request.wait(), std::runtime_error);
    EXPECT_THROW(request.wait(), std::runtime_error) << "every time";
    EXPECT_THROW(static_cast<void>(request.take()), std::runtime_error);
}

TEST_F(RequestTest, ADefaultOneIsDone) {
    comm::Request none;
    bool told = false;
    EXPECT_TRUE(none.done());
    none.wait();
    none.then([&](const std::exception_ptr& failure) { told = failure == nullptr; });
    EXPECT_TRUE(told);
}

/// Registration and completion race: each call comes exactly once.
TEST_F(RequestTest, NoCallIsLostOrDoubledInARace) {
    for (int round = 0; round < 300; ++round) {
        const auto pending = operation();
        std::atomic<int> calls{0};
        std::thread completes([&] { pending->complete(); });
        for (int i = 0; i < 5; ++i)
            pending->then([&](const std::exception_ptr&) { ++calls; });
        completes.join();
        ASSERT_EQ(calls, 5);
    }
}

TEST_F(RequestTest, WaitEndsWhenAnotherThreadCompletes) {
    const auto pending = operation();
    std::thread later([&] {
        std::this_thread::sleep_for(5ms);
        pending->complete();
    });
    comm::Request(pending).wait();
    EXPECT_TRUE(pending->done());
    later.join();
}

TEST_F(RequestTest, ImpossibleRanksAndTagsAreFaultsOfOurs) {
    std::array<std::byte, 4> place{};
    const std::span<std::byte> into(place);
    const std::span<const std::byte> from(place);
    EXPECT_THROW(transport_.send(1, 0, comm::Kind::control, from), InternalError);
    EXPECT_THROW(transport_.send(-1, 0, comm::Kind::control, from), InternalError);
    EXPECT_THROW(transport_.send(0, comm::tag_limit, comm::Kind::control, from), InternalError);
    EXPECT_THROW(transport_.receive(1, 0, into), InternalError);
    EXPECT_THROW(transport_.receive(-2, 0, into), InternalError);
    EXPECT_THROW(transport_.receive_message(0, comm::tag_limit), InternalError);
}

TEST_F(RequestTest, ARankTalksToItselfWithoutAccounts) {
    const std::string text = "to myself";
    transport_.send_owned(0, 9, comm::Kind::features, {});
    transport_.send(0, 9, comm::Kind::features, std::as_bytes(std::span(text)));
    EXPECT_TRUE(comm::Request(transport_.receive_message(0, 9)).take().bytes.empty());
    const auto second = comm::Request(transport_.receive_message(comm::any_source, 9)).take();
    EXPECT_EQ(second.source, 0);
    EXPECT_EQ(second.as<char>().size(), text.size());
    EXPECT_EQ(transport_.accounts().totals().sent_total, 0U);
    EXPECT_EQ(transport_.accounts().totals().received_total, 0U);
}

// ---- accounts ----------------------------------------------------------------------------------

TEST(Accounts, EveryKindHasItsName) {
    std::set<std::string_view> names;
    for (std::size_t k = 0; k < comm::kind_count; ++k)
        EXPECT_TRUE(names.insert(to_string(static_cast<comm::Kind>(k))).second);
    EXPECT_EQ(names.count("features"), 1U);
}

TEST(Accounts, SumsCloseWhateverIsCounted) {
    std::mt19937_64 draw(5);
    comm::Accounts accounts(3);
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> sent;
    std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> received;
    for (int i = 0; i < 500; ++i) {
        const std::size_t peer = draw() % 3;
        const std::size_t kind = draw() % comm::kind_count;
        const std::uint64_t bytes = draw() % 10'000;
        if (draw() % 2 == 0) {
            accounts.sent(static_cast<int>(peer), static_cast<comm::Kind>(kind), bytes);
            sent[{peer, kind}] += bytes;
        } else {
            accounts.handed_over(static_cast<int>(peer), static_cast<comm::Kind>(kind), bytes);
            received[{peer, kind}] += bytes;
        }
    }
    const comm::AccountTotals totals = accounts.totals();
    const auto sum = [](const auto& counts, auto belongs) {
        std::uint64_t all = 0;
        for (const auto& [key, bytes] : counts)
            all += belongs(key) ? bytes : 0;
        return all;
    };
    for (std::size_t k = 0; k < comm::kind_count; ++k) {
        const auto of_kind = [k](const auto& key) { return key.second == k; };
        EXPECT_EQ(totals.sent[k], sum(sent, of_kind));
        EXPECT_EQ(totals.received[k], sum(received, of_kind));
    }
    for (std::size_t r = 0; r < 3; ++r) {
        const auto of_peer = [r](const auto& key) { return key.first == r; };
        EXPECT_EQ(totals.sent_to[r], sum(sent, of_peer));
        EXPECT_EQ(totals.received_from[r], sum(received, of_peer));
    }
    EXPECT_EQ(totals.sent_total, sum(sent, [](const auto&) { return true; }));
    EXPECT_EQ(totals.received_total, sum(received, [](const auto&) { return true; }));
}

/// Totals of one moment, whoever is counting just then.
TEST(Accounts, SumsCloseWhileMessagesCome) {
    comm::Accounts accounts(2);
    std::vector<std::jthread> counting;
    for (int thread = 0; thread < 3; ++thread) {
        counting.emplace_back([&, thread](const std::stop_token& stop) {
            for (std::size_t k = 0; !stop.stop_requested(); ++k) {
                accounts.handed_over(thread % 2, static_cast<comm::Kind>(k % comm::kind_count),
                                     k % 1000);
                if (k % 8 == 0) std::this_thread::yield();  // messages do not come without a pause
            }
        });
    }
    for (int look = 0; look < 20'000; ++look) {
        const comm::AccountTotals totals = accounts.totals();
        ASSERT_EQ(comm::Bytes(totals.received).total(), totals.received_total) << look;
        ASSERT_EQ(totals.received_from[0] + totals.received_from[1], totals.received_total);
    }
}

// ---- hosts -------------------------------------------------------------------------------------

TEST(HostMap, RandomLabelsGroupEqualOnes) {
    std::mt19937_64 draw(3);
    for (int round = 0; round < 100; ++round) {
        std::vector<int> labels(1 + draw() % 12);
        for (int& label : labels)
            label = static_cast<int>(draw() % 5) - 2;
        const comm::HostMap map(labels);
        int last_first = -1;
        std::size_t ranks = 0;
        for (int host = 0; host < map.hosts(); ++host) {
            const auto& members = map.members(host);
            ASSERT_TRUE(std::ranges::is_sorted(members));
            ASSERT_GT(members.front(), last_first) << "numbered by their first rank";
            last_first = members.front();
            ranks += members.size();
            for (const int rank : members)
                ASSERT_EQ(map.host_of(rank), host);
        }
        ASSERT_EQ(ranks, labels.size());
        for (std::size_t a = 0; a < labels.size(); ++a) {
            for (std::size_t b = 0; b < labels.size(); ++b) {
                ASSERT_EQ(map.same(static_cast<int>(a), static_cast<int>(b)),
                          labels[a] == labels[b]);
            }
        }
    }
}

TEST(HostMap, NoRanksPerHostIsAFaultOfOurs) {
    EXPECT_THROW(static_cast<void>(comm::HostMap::consecutive(4, 0)), InternalError);
}

}  // namespace
}  // namespace rudder::test
