// The modelled link of the MPI transport, without MPI: stamps against an obvious version, and
// messages held back until their time.
#include "comm/modelled_link.hpp"

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "comm/inbox_fixture.hpp"
#include "comm/window.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> bytes_of(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

Duration stamp_of(const std::vector<std::byte>& stamped) {
    Duration::rep due = 0;
    std::memcpy(&due, stamped.data(), sizeof(due));
    return Duration(due);
}

/// The obvious version of one sender's link.
struct SlowLink {
    comm::LinkModel model;
    Duration free{0};
    Duration arrival(Duration now, std::size_t bytes) {
        if (free < now) free = now;
        if (model.bytes_per_second > 0) {
            free += Duration(static_cast<Duration::rep>(static_cast<double>(bytes) /
                                                        model.bytes_per_second * 1e9));
        }
        return free + model.delay;
    }
};

class ModelledLinkTest : public InboxFixture {
protected:
    /// One end of a host's link; ends with the same window share it.
    comm::ModelledLink& end(const comm::LinkModel& model) {
        auto& made = *ends_.emplace_back(std::make_unique<comm::ModelledLink>(model, inbox_));
        made.set_shared(window_);
        return made;
    }
    /// Holds a message that is due then.
    static void hold(comm::ModelledLink& link, int source, const std::string& text, Duration due) {
        auto stamped = comm::ModelledLink::copy(bytes_of(text));
        const Duration::rep count = due.count();
        std::memcpy(stamped->data(), &count, sizeof(count));
        link.hold(source, 1, comm::Kind::features, std::move(stamped));
    }
    static std::size_t release(comm::ModelledLink& link) {
        comm::Calls calls;
        link.release(calls);
        for (const auto& call : calls)
            call();
        return calls.size();
    }

    std::shared_ptr<std::span<std::byte>> window_ = comm::private_window(sizeof(Duration::rep));
    std::vector<std::unique_ptr<comm::ModelledLink>> ends_;
};

TEST_F(ModelledLinkTest, StampsAreThoseOfTheSlowLink) {
    std::mt19937_64 draw(7);
    for (const comm::LinkModel& model : {comm::LinkModel{.delay = 100us, .bytes_per_second = 1e9},
                                         comm::LinkModel{.delay = 0us, .bytes_per_second = 1e6},
                                         comm::LinkModel{.delay = 3ms, .bytes_per_second = 0}}) {
        std::memset(window_->data(), 0, window_->size());
        comm::ModelledLink& link = end(model);
        SlowLink slow{model};
        Duration now{0};
        for (int i = 0; i < 200; ++i) {
            now += Duration(static_cast<Duration::rep>(draw() % 20'000));
            const std::vector<std::byte> bytes(draw() % 5000);
            const auto stamped = comm::ModelledLink::copy(bytes);
            ASSERT_EQ(stamped->size(), bytes.size() + sizeof(Duration::rep));
            link.stamp(*stamped, now);
            ASSERT_EQ(stamp_of(*stamped), slow.arrival(now, bytes.size())) << "message " << i;
        }
    }
}

TEST_F(ModelledLinkTest, MessagesLeaveOneAfterTheOther) {
    const comm::ModelledLink& link = end({.delay = 100us, .bytes_per_second = 1e9});
    const auto arrival = [&](Duration now) {
        const auto stamped = comm::ModelledLink::copy(std::vector<std::byte>(1000));
        link.stamp(*stamped, now);
        return stamp_of(*stamped);
    };
    EXPECT_EQ(arrival(0us), Duration(101us));
    EXPECT_EQ(arrival(0us), Duration(102us));
    EXPECT_EQ(arrival(1ms), Duration(1101us));
}

TEST_F(ModelledLinkTest, ACopyKeepsThePayload) {
    const auto stamped = comm::ModelledLink::copy(bytes_of("payload"));
    const std::string behind(reinterpret_cast<const char*>(stamped->data() + sizeof(Duration::rep)),
                             7);
    EXPECT_EQ(behind, "payload");
}

/// Ranks of one host share its link: their transfers never overlap.
TEST_F(ModelledLinkTest, RanksOfAHostShareItsRate) {
    constexpr int messages = 500;
    constexpr std::size_t size = 1000;
    const comm::LinkModel model{.delay = 10us, .bytes_per_second = 1e9};
    std::vector<std::vector<Duration>> due(3);
    std::vector<std::thread> ranks;
    for (auto& own : due) {
        comm::ModelledLink& link = end(model);
        ranks.emplace_back([&own, &link] {
            for (int i = 0; i < messages; ++i) {
                const auto stamped = comm::ModelledLink::copy(std::vector<std::byte>(size));
                link.stamp(*stamped, Duration(0));
                own.push_back(stamp_of(*stamped));
            }
        });
    }
    for (std::thread& rank : ranks)
        rank.join();
    std::vector<Duration> all;
    for (const auto& own : due)
        all.insert(all.end(), own.begin(), own.end());
    std::ranges::sort(all);
    for (std::size_t i = 0; i < all.size(); ++i)
        ASSERT_EQ(all[i], Duration(10us) + static_cast<int>(i + 1) * Duration(1us));
}

TEST_F(ModelledLinkTest, HoldsBackUntilItIsTime) {
    comm::ModelledLink& link = end({.delay = 1ms});
    EXPECT_EQ(link.next_due(), Duration::max());
    const auto arrived = post(1, 1);
    const Duration due = comm::machine_now() + 20ms;
    hold(link, 1, "later", due);
    EXPECT_EQ(link.next_due(), due);
    EXPECT_EQ(release(link), 0U);
    EXPECT_FALSE(arrived->done());
    EXPECT_EQ(accounts_.totals().received_total, 0U) << "not handed over yet";
    while (comm::machine_now() < due)
        std::this_thread::sleep_for(1ms);
    EXPECT_EQ(release(link), 1U);
    ASSERT_TRUE(arrived->done());
    EXPECT_EQ(text(*arrived), "later");
    EXPECT_EQ(accounts_.totals().received_total, 5U);
    EXPECT_EQ(link.next_due(), Duration::max());
}

/// By their times; those of one time as they came.
TEST_F(ModelledLinkTest, ReleasesInTheOrderOfTheirTimes) {
    std::mt19937_64 draw(11);
    for (int round = 0; round < 50; ++round) {
        comm::ModelledLink& link = end({.delay = 1ms});
        std::vector<std::pair<int, std::string>> expected;
        for (int i = 0; i < 20; ++i) {
            const int due = static_cast<int>(draw() % 6);
            expected.emplace_back(due, std::to_string(i));
            hold(link, 1, expected.back().second, Duration(due));
        }
        std::ranges::stable_sort(expected, {}, &std::pair<int, std::string>::first);
        ASSERT_EQ(release(link), expected.size());
        for (const auto& [due, name] : expected)
            ASSERT_EQ(text(*post(1, 1)), name);
    }
}

TEST_F(ModelledLinkTest, EmptyMessagesAreMessages) {
    comm::ModelledLink& link = end({.delay = 1ms});
    const auto arrived = post(2, 1);
    hold(link, 2, "", Duration(1));
    EXPECT_EQ(release(link), 1U);
    EXPECT_TRUE(arrived->done());
    EXPECT_EQ(accounts_.totals().messages, 1U);
}

}  // namespace
}  // namespace rudder::test
