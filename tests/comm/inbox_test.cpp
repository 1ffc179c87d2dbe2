// Matching of messages and receives, the handshake, statuses: the small parts of comm by
// themselves.
#include "rudder/comm/inbox.hpp"

#include <array>
#include <cstring>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/inbox_fixture.hpp"
#include "comm/rank_status.hpp"
#include "comm/simulated_cluster.hpp"
#include "rudder/comm/handshake.hpp"
#include "rudder/core/random.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using ::testing::HasSubstr;

class InboxTest : public InboxFixture {
protected:
    void deliver(int source, comm::Tag tag, const std::string& text) {
        inbox_.deliver(source, tag, comm::Kind::features, std::as_bytes(std::span(text)));
    }
};

TEST_F(InboxTest, MessageBeforeAndAfterItsReceive) {
    deliver(1, 5, "early");
    const auto first = post(1, 5);
    ASSERT_TRUE(first->done());
    EXPECT_EQ(text(*first), "early");
    const auto second = post(1, 5);
    EXPECT_FALSE(second->done());
    deliver(1, 5, "late");
    ASSERT_TRUE(second->done());
    EXPECT_EQ(text(*second), "late");
    EXPECT_EQ(second->message.source, 1);
}

/// A claim takes a receive that names its source, and no other's.
TEST_F(InboxTest, ClaimsLeaveReceivesOfAnySourceAlone) {
    EXPECT_EQ(inbox_.claim(1, 5, comm::Kind::features, 3), nullptr) << "nobody waits for it";
    const auto any = post(comm::any_source, 5);
    std::array<std::byte, 3> place{};
    const auto mine = post_into(1, 5, place);
    EXPECT_EQ(inbox_.claim(1, 5, comm::Kind::features, 3), nullptr) << "any source is first";
    deliver(2, 5, "any");
    ASSERT_TRUE(any->done());
    const auto ticket = inbox_.claim(1, 5, comm::Kind::features, 3);
    ASSERT_NE(ticket, nullptr);
    EXPECT_EQ(ticket->bytes.data(), place.data());
    EXPECT_FALSE(mine->done());
    inbox_.arrived(ticket);
    EXPECT_TRUE(mine->done());
}

TEST_F(InboxTest, WhatWasSetAsideTakesItsPlaceWhenAnnounced) {
    const auto ticket = comm::Inbox::set_aside(1, 5, comm::Kind::features, 4);
    std::memcpy(ticket->bytes.data(), "then", 4);
    deliver(1, 5, "now");
    inbox_.announce(ticket);
    inbox_.arrived(ticket);
    EXPECT_EQ(text(*post(1, 5)), "now");
    EXPECT_EQ(text(*post(1, 5)), "then");
    EXPECT_EQ(accounts_.totals().received_total, 7U);
}

TEST_F(InboxTest, SourceAndTagMustMatch) {
    const auto receive = post(1, 5);
    deliver(2, 5, "other source");
    deliver(1, 6, "other tag");
    EXPECT_FALSE(receive->done());
    deliver(1, 5, "mine");
    EXPECT_EQ(text(*receive), "mine");
    const auto any = post(comm::any_source, 5);
    ASSERT_TRUE(any->done());
    EXPECT_EQ(any->message.source, 2);
}

TEST_F(InboxTest, PlaceIsTakenWhenAnnounced) {
    // The first message's bytes come last; it is still the first.
    const auto first = inbox_.announce(1, 5, comm::Kind::features, 1);
    const auto second = inbox_.announce(1, 5, comm::Kind::features, 1);
    second->bytes[0] = std::byte{2};
    inbox_.arrived(second);
    const auto receive_first = post(1, 5);
    const auto receive_second = post(1, 5);
    EXPECT_FALSE(receive_first->done());
    ASSERT_TRUE(receive_second->done());
    EXPECT_EQ(receive_second->message.bytes.front(), std::byte{2});
    first->bytes[0] = std::byte{1};
    inbox_.arrived(first);
    ASSERT_TRUE(receive_first->done());
    EXPECT_EQ(receive_first->message.bytes.front(), std::byte{1});
}

TEST_F(InboxTest, BytesGoStraightToAPlaceOfTheirSize) {
    std::vector<std::byte> place(3);
    const auto receive = post_into(1, 5, place);
    const auto ticket = inbox_.announce(1, 5, comm::Kind::features, 3);
    EXPECT_EQ(ticket->bytes.data(), place.data());
    inbox_.arrived(ticket);
    EXPECT_TRUE(receive->done());
    EXPECT_NO_THROW(receive->check());
}

/// A message that was announced first has a place of its own: it is copied when it is there, unless
/// the receive was given up by then.
TEST_F(InboxTest, WhatIsGivenUpWhileItsMessageComesIsLeftAlone) {
    const auto ticket = inbox_.announce(1, 5, comm::Kind::features, 3);
    std::array<char, 3> place{'o', 'l', 'd'};
    const auto receive = post_into(1, 5, std::as_writable_bytes(std::span(place)));
    EXPECT_FALSE(receive->done());
    EXPECT_TRUE(inbox_.withdraw(*receive));
    std::memcpy(ticket->bytes.data(), "new", 3);
    inbox_.arrived(ticket);
    ASSERT_TRUE(receive->done());
    EXPECT_EQ(std::string(place.begin(), place.end()), "old");
    EXPECT_EQ(text(*receive), "new") << "it is the operation's";
    EXPECT_FALSE(inbox_.withdraw(*receive)) << "it is no longer here";
}

TEST_F(InboxTest, WrongSizeIsAnErrorOfTheReceive) {
    std::vector<std::byte> place(3);
    const auto receive = post_into(1, 5, place);
    deliver(1, 5, "four");
    ASSERT_TRUE(receive->done());
    try {
        receive->check();
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::rank);
        EXPECT_THAT(error.what(), HasSubstr("4 bytes came where 3 were expected"));
        EXPECT_THAT(error.what(), HasSubstr("from rank 1, kind features, tag 5"));
    }
}

TEST_F(InboxTest, QuietOnlyWhenNothingOfThatSourceAndTagIsHere) {
    EXPECT_TRUE(inbox_.quiet(1, 5));
    deliver(1, 5, "unclaimed");
    EXPECT_FALSE(inbox_.quiet(1, 5));
    EXPECT_TRUE(inbox_.quiet(2, 5));
    EXPECT_TRUE(inbox_.quiet(1, 6));
    post(1, 5);
    EXPECT_TRUE(inbox_.quiet(1, 5));
    post(comm::any_source, 6);
    EXPECT_FALSE(inbox_.quiet(1, 6)) << "a receive from anyone may want it";
}

TEST_F(InboxTest, AccountsCountWhatIsHandedOver) {
    deliver(1, 5, "abc");
    EXPECT_EQ(accounts_.totals().received_total, 3U) << "counted when it arrives";
    post(1, 5);
    EXPECT_EQ(accounts_.totals().received_total, 3U) << "and once only";
    deliver(0, 5, "to myself");
    EXPECT_EQ(accounts_.totals().received_total, 3U);
    std::vector<std::byte> place(2);
    inbox_.direct(2, 5, comm::Kind::gradients, 2, 2, *operation());
    const comm::AccountTotals totals = accounts_.totals();
    EXPECT_EQ(totals.received[static_cast<std::size_t>(comm::Kind::gradients)], 2U);
    EXPECT_EQ(totals.received_from[2], 2U);
    EXPECT_EQ(totals.messages, 2U);
}

/// Against a slow, obvious model: for every source and tag, the n-th receive gets the n-th message.
TEST_F(InboxTest, RandomOrdersMatchFirstInFirstOut) {
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const RandomStream stream({.purpose = Purpose::test, .seed = seed, .epoch = 21});
        Draws draws(stream, 0);
        comm::Accounts accounts(4);
        comm::Inbox inbox(0, accounts);
        std::map<std::pair<int, comm::Tag>, std::vector<std::shared_ptr<comm::Operation>>> receives;
        std::map<std::pair<int, comm::Tag>, int> sent;
        for (int i = 0; i < 60; ++i) {
            const std::pair key{static_cast<int>(1 + draws.below(3)),
                                static_cast<comm::Tag>(draws.below(2))};
            if (draws.below(2) == 0) {
                receives[key].push_back(operation());
                inbox.post({key.first, key.second, std::nullopt, receives[key].back()});
            } else {
                const int number = sent[key]++;
                inbox.deliver(key.first, key.second, comm::Kind::control,
                              std::as_bytes(std::span(&number, 1)));
            }
        }
        for (const auto& [key, list] : receives) {
            for (std::size_t n = 0; n < list.size(); ++n) {
                const bool expected = static_cast<int>(n) < sent[key];
                ASSERT_EQ(list[n]->done(), expected) << "seed " << seed;
                if (expected) {
                    ASSERT_EQ(list[n]->message.as<int>().front(), static_cast<int>(n));
                }
            }
        }
    }
}

// ---- handshake ---------------------------------------------------------------------------------

std::vector<std::string> handshake(const std::vector<comm::Fingerprint>& prints) {
    std::vector<std::string> said(prints.size());
    comm::SimulatedCluster cluster({.ranks = static_cast<int>(prints.size()), .seed = 1});
    cluster.run([&](const comm::Communicator& comm) {
        const auto rank = static_cast<std::size_t>(comm.rank());
        try {
            comm::verify_same(comm, prints[rank]);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            said[rank] = error.what();
        }
    });
    return said;
}

TEST(Handshake, PassesWhereAllAgree) {
    const comm::Fingerprint print{{"build", "1"}, {"data", "x y"}};
    for (const std::string& said : handshake({print, print, print}))
        EXPECT_EQ(said, "");
}

TEST(Handshake, EveryRankNamesTheRankAndTheDifference) {
    const comm::Fingerprint print{{"build", "1"}, {"data", "abc"}};
    const comm::Fingerprint other{{"build", "1"}, {"data", "abd"}};
    for (const std::string& said : handshake({print, print, other})) {
        EXPECT_THAT(said, HasSubstr("rank 2 differs from rank 0 in its data"));
        EXPECT_THAT(said, HasSubstr("rank 0 has 'abc', rank 2 has 'abd'"));
    }
}

TEST(Handshake, BuildOfThisProgramIsStable) {
    EXPECT_EQ(comm::build_fingerprint(), comm::build_fingerprint());
    EXPECT_THAT(comm::build_fingerprint(), HasSubstr(" "));
}

// ---- statuses ----------------------------------------------------------------------------------

TEST(RankStatus, ComesBackAsItWasLeft) {
    const TempDir folder;
    ::setenv(comm::status_folder_variable, folder.path().c_str(), 1);
    EXPECT_FALSE(comm::read_rank_process(folder.path(), 3));
    EXPECT_FALSE(comm::read_rank_status(folder.path(), 3));
    for (const auto stage : {comm::RankStage::joining, comm::RankStage::joined}) {
        comm::write_rank_process(3, stage);
        const auto process = comm::read_rank_process(folder.path(), 3);
        ASSERT_TRUE(process);
        EXPECT_EQ(process->pid, ::getpid());
        EXPECT_EQ(process->stage, stage);
    }
    comm::write_rank_status(4, "two\nlines");
    ::unsetenv(comm::status_folder_variable);
    const auto status = comm::read_rank_status(folder.path(), 3);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->code, 4);
    EXPECT_EQ(status->reason, "two\nlines");
}

}  // namespace
}  // namespace rudder::test
