// The modelled link of the MPI transport, without MPI: stamps against an obvious version, and
// messages held back until their time.
#include "comm/modelled_link.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <random>

#include <gtest/gtest.h>

#include "comm/inbox_fixture.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> bytes_of(const std::string& text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
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
    comm::ModelledLink& end(const comm::LinkModel& model) {
        return *ends_.emplace_back(std::make_unique<comm::ModelledLink>(
            model, inbox_, [this](int source) -> comm::LinkClock& { return clocks_[source]; }));
    }
    /// A message that leaves then, whose bytes are here.
    static comm::Inbox::Ticket hold(comm::ModelledLink& link, int source, const std::string& text,
                                    Duration left, comm::Tag tag = 1,
                                    comm::Kind kind = comm::Kind::features) {
        const auto ticket = expect(link, source, text, {left.count(), 0}, tag, kind);
        link.landed(ticket);
        return ticket;
    }
    static comm::Inbox::Ticket expect(comm::ModelledLink& link, int source, const std::string& text,
                                      const comm::LinkStamp& stamp, comm::Tag tag = 1,
                                      comm::Kind kind = comm::Kind::features) {
        const auto ticket = link.expect(source, tag, kind, text.size(), stamp);
        std::ranges::copy(bytes_of(text), ticket->bytes.begin());
        return ticket;
    }
    static std::size_t release(comm::ModelledLink& link, Duration now) {
        comm::Calls calls;
        link.release(now, calls);
        for (const auto& call : calls)
            call();
        return calls.size();
    }

    std::map<int, comm::LinkClock> clocks_;
    std::vector<std::unique_ptr<comm::ModelledLink>> ends_;
};

TEST_F(ModelledLinkTest, StampsAreThoseOfTheSlowLink) {
    std::mt19937_64 draw(7);
    int rank = 0;
    for (const comm::LinkModel& model : {comm::LinkModel{.delay = 100us, .bytes_per_second = 1e9},
                                         comm::LinkModel{.delay = 0us, .bytes_per_second = 1e6},
                                         comm::LinkModel{.delay = 3ms, .bytes_per_second = 0}}) {
        const comm::ModelledLink& link = end(model);
        SlowLink slow{model};
        Duration now{0};
        ++rank;
        for (int i = 0; i < 200; ++i) {
            now += Duration(static_cast<Duration::rep>(draw() % 20'000));
            const std::size_t bytes = draw() % 5000;
            const comm::LinkStamp stamp = link.stamp(rank, comm::Kind::features, bytes, now);
            ASSERT_EQ(Duration(stamp.left) + model.delay, slow.arrival(now, bytes))
                << "message " << i;
        }
    }
}

TEST_F(ModelledLinkTest, HoldsBackUntilItIsTime) {
    comm::ModelledLink& link = end({.delay = 1ms});
    EXPECT_EQ(link.next_due(), Duration::max());
    const auto arrived = post(1, 1);
    hold(link, 1, "later", 20ms, 1, comm::Kind::requests);
    EXPECT_EQ(link.next_due(), Duration(21ms));
    EXPECT_EQ(release(link, Duration(21ms) - Duration(1)), 0U);
    EXPECT_FALSE(arrived->done());
    EXPECT_EQ(accounts_.totals().received_total, 0U) << "not handed over yet";
    EXPECT_EQ(release(link, 21ms), 1U);
    ASSERT_TRUE(arrived->done());
    EXPECT_EQ(text(*arrived), "later");
    EXPECT_EQ(accounts_.totals().received_total, 5U);
    EXPECT_EQ(link.next_due(), Duration::max());
}

/// A receive that names the source and the size has the bytes before it is done.
TEST_F(ModelledLinkTest, BytesLandInTheirPlaceAheadOfTime) {
    comm::ModelledLink& link = end({.delay = 1ms});
    std::string place = "-----";
    const auto operation = post_into(1, 1, std::as_writable_bytes(std::span(place)));
    const auto ticket = hold(link, 1, "bytes", 1ms);
    EXPECT_EQ(static_cast<const void*>(ticket->bytes.data()), place.data());
    EXPECT_EQ(place, "bytes");
    EXPECT_FALSE(operation->done());
    EXPECT_EQ(release(link, 2ms), 1U);
    EXPECT_TRUE(operation->done());
}

/// What whoever comes first may take is not given to one that came ahead of its time.
TEST_F(ModelledLinkTest, AnySourceTakesWhatIsDueFirst) {
    comm::ModelledLink& link = end({.delay = 1ms});
    const auto any = post(comm::any_source, 1);
    hold(link, 1, "late", 20ms);
    hold(link, 2, "soon", 1ms);
    EXPECT_EQ(release(link, 2ms), 1U);
    ASSERT_TRUE(any->done());
    EXPECT_EQ(text(*any), "soon");
}

TEST_F(ModelledLinkTest, WaitsForBytesThatAreLaterThanTheLink) {
    comm::ModelledLink& link = end({.delay = 1ms});
    const auto arrived = post(1, 1);
    const auto ticket = expect(link, 1, "slow", {0, 0});
    EXPECT_EQ(release(link, 1s), 0U);
    EXPECT_EQ(link.next_due(), Duration::max());
    link.landed(ticket);
    EXPECT_EQ(release(link, 1s), 1U);
    EXPECT_EQ(text(*arrived), "slow");
}

/// By their times; those of one source and tag as they came.
TEST_F(ModelledLinkTest, ReleasesInTheOrderOfTheirTimes) {
    std::mt19937_64 draw(11);
    for (int round = 0; round < 50; ++round) {
        comm::ModelledLink& link = end({.delay = 1ms});
        std::vector<std::pair<int, std::string>> expected;
        for (int i = 0; i < 20; ++i) {
            const int left = static_cast<int>(draw() % 6);
            expected.emplace_back(left, std::to_string(i));
            hold(link, 1 + i % 3, expected.back().second, Duration(left),
                 static_cast<comm::Tag>(10 + i));
        }
        std::ranges::stable_sort(expected, {}, &std::pair<int, std::string>::first);
        comm::Calls calls;
        link.release(1s, calls);
        ASSERT_EQ(calls.size(), expected.size());
        for (std::size_t i = 0; i < calls.size(); ++i) {
            const int number = std::stoi(expected[i].second);
            const auto arrived = post(1 + number % 3, static_cast<comm::Tag>(10 + number));
            ASSERT_FALSE(arrived->done());
            calls[i]();
            ASSERT_TRUE(arrived->done()) << "message " << number;
            EXPECT_EQ(text(*arrived), expected[i].second);
        }
    }
}

TEST_F(ModelledLinkTest, OneChannelKeepsItsOrder) {
    comm::ModelledLink& link = end({.delay = 1ms});
    hold(link, 1, "first", 50ms);
    hold(link, 1, "second", 10ms);
    EXPECT_EQ(release(link, 12ms), 0U) << "the second must not pass the first";
    EXPECT_EQ(release(link, 51ms), 2U);
    EXPECT_EQ(text(*post(1, 1)), "first");
    EXPECT_EQ(text(*post(1, 1)), "second");
}

/// Rows fetched ahead that gradients pass arrive as much later, and no byte is lost.
TEST_F(ModelledLinkTest, GradientsPassRowsFetchedAhead) {
    const comm::LinkModel model{.delay = 1ms, .bytes_per_second = 1e9};
    comm::ModelledLink& link = end(model);
    const std::string rows(1'000'000, 'r');     // 1 ms
    const std::string gradients(500'000, 'g');  // 0.5 ms
    const auto low =
        expect(link, 1, rows, link.stamp(1, comm::Kind::features_ahead, rows.size(), 0ms), 1,
               comm::Kind::features_ahead);
    link.landed(low);
    const auto high =
        expect(link, 1, gradients, link.stamp(1, comm::Kind::gradients, gradients.size(), 200us), 2,
               comm::Kind::gradients);
    link.landed(high);
    EXPECT_EQ(release(link, Duration(1700us) - Duration(1)), 0U);
    EXPECT_EQ(release(link, 1700us), 1U);
    EXPECT_TRUE(post(1, 2)->done()) << "the gradients, at 0.2 + 0.5 + 1 ms";
    EXPECT_EQ(release(link, Duration(2500us) - Duration(1)), 0U);
    EXPECT_EQ(release(link, 2500us), 1U);
    EXPECT_TRUE(post(1, 1)->done()) << "the rows, at 1 + 0.5 + 1 ms";
}

TEST_F(ModelledLinkTest, EmptyMessagesAreMessages) {
    comm::ModelledLink& link = end({.delay = 1ms});
    const auto arrived = post(2, 1);
    hold(link, 2, "", Duration(1));
    EXPECT_EQ(release(link, 1s), 1U);
    EXPECT_TRUE(arrived->done());
    EXPECT_EQ(accounts_.totals().messages, 1U);
}

}  // namespace
}  // namespace rudder::test
