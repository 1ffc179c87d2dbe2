// What a step waits for, divided; a rank that is slowed down; and gradients reduced in groups that
// fill the link.
#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "core/executor/seeded_executor.hpp"
#include "train/slowness.hpp"
#include "train/steps/gradient_exchange.hpp"

#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;
using train::StepPace;

Seconds divided(double stall, double reduce, const StepPace& own, const StepPace& slowest) {
    Seconds seconds{.stall = stall, .reduce = reduce};
    train::divide_waits(seconds, own, slowest);
    EXPECT_DOUBLE_EQ(
        seconds.wait_rows + seconds.wait_gradients + seconds.wait_ranks + seconds.wait_agent,
        stall + reduce);
    return seconds;
}

TEST(Waits, OfTheSlowestRankAreItsRowsAndItsGradients) {
    const StepPace slowest{.rows = 3, .ready = 10};
    const Seconds s = divided(3, 2, slowest, slowest);
    EXPECT_DOUBLE_EQ(s.wait_rows, 3);
    EXPECT_DOUBLE_EQ(s.wait_gradients, 2);
    EXPECT_DOUBLE_EQ(s.wait_ranks, 0);
}

/// Ready 6 s before the slowest, which lacked rows for 4 s more: 4 s are rows', 2 s are computing.
TEST(Waits, ForARankThatLacksRowsAreForRows) {
    const Seconds s = divided(1, 8, {.rows = 1, .ready = 4}, {.rows = 5, .ready = 10});
    EXPECT_DOUBLE_EQ(s.wait_rows, 1 + 4);
    EXPECT_DOUBLE_EQ(s.wait_ranks, 2);
    EXPECT_DOUBLE_EQ(s.wait_gradients, 2);
}

TEST(Waits, ForARankThatComputesLongerAreForThatRank) {
    const Seconds s = divided(5, 7, {.rows = 5, .ready = 6}, {.rows = 0, .ready = 12});
    EXPECT_DOUBLE_EQ(s.wait_rows, 5);
    EXPECT_DOUBLE_EQ(s.wait_ranks, 6);
    EXPECT_DOUBLE_EQ(s.wait_gradients, 1);
}

/// Its own rows came 2 s late because of the agent; the slowest rank's agent took 1 s more still.
TEST(Waits, ForAnAgentAreNotForRows) {
    const Seconds s =
        divided(3, 4, {.rows = 1, .agent = 2, .ready = 5}, {.rows = 1, .agent = 3, .ready = 8});
    EXPECT_DOUBLE_EQ(s.wait_rows, 1);
    EXPECT_DOUBLE_EQ(s.wait_agent, 2 + 1);
    EXPECT_DOUBLE_EQ(s.wait_ranks, 2);
    EXPECT_DOUBLE_EQ(s.wait_gradients, 1);
}

/// Clocks begin a little apart: what was not waited for is not divided.
TEST(Waits, AreNeverMoreThanThereWere) {
    const Seconds s = divided(0, 2, {.rows = 0, .ready = 1}, {.rows = 9, .ready = 10});
    EXPECT_DOUBLE_EQ(s.wait_rows, 2);
    EXPECT_DOUBLE_EQ(s.wait_ranks, 0);
    EXPECT_DOUBLE_EQ(s.wait_gradients, 0);
    EXPECT_DOUBLE_EQ(divided(0, 2, {.rows = 0, .ready = 11}, {.rows = 0, .ready = 10}).wait_ranks,
                     0);
}

/// Rank 1 waits 5 ms for rows and rank 2 computes 2 ms longer: all learn that rank 1 came last.
TEST(Waits, AllRanksLearnThePaceOfTheSlowest) {
    comm::SimulatedCluster cluster({.ranks = 3, .seed = 1});
    const std::vector<nn::Bucket> buckets{{0, 4}};
    cluster.run([&](const comm::Communicator& comm) {
        const auto rank = static_cast<PartId>(comm.rank());
        train::GradientExchange exchange(comm, {rank, rank + 1}, 3,
                                         {.size = 4, .buckets = buckets, .extra = 2});
        for (int step = 0; step < 3; ++step) {
            exchange.extra()[0] = static_cast<float>(rank + 1);
            exchange.bucket_ready(0);
            const StepPace pace{.rows = rank == 1 ? 0.5 : 0.25,
                                .agent = rank == 1 ? 0.125 : 0,
                                .ready = 1.0 + (rank == 1   ? 0.5
                                                : rank == 2 ? 0.25
                                                            : 0)};
            const std::vector<float> losses{1.0F};
            const train::StepConsensus consensus = exchange.finish(losses, {}, pace);
            EXPECT_DOUBLE_EQ(consensus.slowest.rows, 0.5);
            EXPECT_DOUBLE_EQ(consensus.slowest.agent, 0.125);
            EXPECT_DOUBLE_EQ(consensus.slowest.ready, 1.5);
            EXPECT_FLOAT_EQ(consensus.loss, 3.0F);
            EXPECT_EQ(consensus.broken_part, -1);
            EXPECT_FLOAT_EQ(exchange.extra_sum()[0], 6.0F);
        }
    });
}

/// How long a rank waits in a step whose computing took 8 ms.
Duration waited(const train::Slowness& slow, int rank, std::uint64_t step) {
    SeededExecutor executor(1);
    executor.spawn("main", [&] { slow.wait(rank, step, 8ms); });
    executor.run();
    return executor.now();
}

TEST(Slowness, IsWhatIsMissingOfSoManyTimesAsLong) {
    EXPECT_EQ(waited(train::parse_slowness("2:2.5"), 2, 0), Duration(12ms));
    EXPECT_EQ(waited(train::parse_slowness("2:2"), 2, 1'000'000), Duration(8ms));
    EXPECT_EQ(waited(train::parse_slowness("0:1000"), 0, 7), Duration(7992ms));
    EXPECT_EQ(waited(train::parse_slowness("2:1"), 2, 7), Duration(0));
}

TEST(Slowness, IsOfOneRankInItsStepsAlone) {
    const train::Slowness slow = train::parse_slowness("1:3:300-600");
    EXPECT_EQ(waited(slow, 1, 299), Duration(0));
    EXPECT_EQ(waited(slow, 1, 300), Duration(16ms));
    EXPECT_EQ(waited(slow, 1, 599), Duration(16ms));
    EXPECT_EQ(waited(slow, 1, 600), Duration(0));
    for (const int other : {0, 2})
        EXPECT_EQ(waited(slow, other, 450), Duration(0)) << other;
    EXPECT_EQ(waited(train::parse_slowness(""), 0, 450), Duration(0));
}

TEST(Slowness, ThatCannotBeMeantIsRefused) {
    for (const char* wrong : {"1", "1:", "x:2", "-1:2", "1:0.9", "1:1001", "1:2:", "1:2:5",
                              "1:2:5-5", "1:2:6-5", "1:2:x-5", "1:2:5-6:7", "1048576:2"}) {
        const Refusal refusal = refusal_of([&] { (void)train::parse_slowness(wrong); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        EXPECT_EQ(refusal.problem, "invalid slow: '" + std::string(wrong) + "'");
    }
}

std::vector<std::size_t> last_buckets(const std::vector<train::BucketGroup>& groups) {
    std::vector<std::size_t> last;
    for (const train::BucketGroup& group : groups)
        last.push_back(group.last);
    return last;
}

TEST(BucketGroups, AreAtMostAsManyAsMayBeUnderWayAndFillTheLink) {
    std::vector<nn::Bucket> buckets;
    for (std::size_t i = 0; i < 9; ++i)
        buckets.push_back({(8 - i) * 100, 100});
    using Last = std::vector<std::size_t>;
    EXPECT_EQ(last_buckets(train::group_buckets(buckets, 4, 0)), (Last{1, 3, 5, 7, 8}));
    EXPECT_EQ(last_buckets(train::group_buckets(buckets, 4, 1600)), (Last{3, 7, 8}));
    EXPECT_EQ(last_buckets(train::group_buckets(buckets, 2, 1600)), (Last{7, 8}));
    EXPECT_EQ(last_buckets(train::group_buckets(buckets, 4, 1'000'000)), (Last{8}));
    EXPECT_TRUE(train::group_buckets({}, 4, 100).empty());
    const auto groups = train::group_buckets(buckets, 4, 1600);
    EXPECT_EQ(groups[0].range.offset, 500U);
    EXPECT_EQ(groups[0].range.size, 400U);
    EXPECT_EQ(groups[2].range.offset, 0U);
}

TEST(BucketGroups, AreAsManyAsAskedForAndAboutAsLarge) {
    using Last = std::vector<std::size_t>;
    std::vector<nn::Bucket> even;
    for (std::size_t i = 0; i < 6; ++i)
        even.push_back({(5 - i) * 100, 100});
    EXPECT_EQ(last_buckets(train::divide_buckets(even, 1)), (Last{5}));
    EXPECT_EQ(last_buckets(train::divide_buckets(even, 2)), (Last{2, 5}));
    EXPECT_EQ(last_buckets(train::divide_buckets(even, 3)), (Last{1, 3, 5}));
    EXPECT_EQ(last_buckets(train::divide_buckets(even, 6)), (Last{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(last_buckets(train::divide_buckets(even, 9)), (Last{0, 1, 2, 3, 4, 5}));
    EXPECT_TRUE(train::divide_buckets({}, 3).empty());
    // The first holds nearly all: each of the others still gets one.
    const std::vector<nn::Bucket> uneven{{30, 1000}, {20, 10}, {10, 10}, {0, 10}};
    EXPECT_EQ(last_buckets(train::divide_buckets(uneven, 2)), (Last{0, 3}));
    EXPECT_EQ(last_buckets(train::divide_buckets(uneven, 3)), (Last{0, 1, 3}));
    const std::vector<nn::Bucket> late{{1020, 10}, {1010, 10}, {1000, 10}, {0, 1000}};
    for (const std::size_t groups : {1U, 2U, 3U, 4U})
        EXPECT_EQ(train::divide_buckets(late, groups).size(), groups);
    const auto two = train::divide_buckets(uneven, 2);
    EXPECT_EQ(two[1].range.offset, 0U);
    EXPECT_EQ(two[1].range.size, 30U);
}

/// Every rank's gradient is its own, and no float of a sum may depend on the groups.
TEST(BucketGroups, ChangeNoBitOfASumFromStepToStep) {
    const std::vector<nn::Bucket> buckets{{70, 30}, {40, 30}, {5, 35}, {0, 5}};
    for (const auto precision : {comm::SumPrecision::float32, comm::SumPrecision::bfloat16}) {
        comm::SimulatedCluster cluster({.ranks = 3, .seed = 4, .jitter = 1ms});
        cluster.run([&](const comm::Communicator& comm) {
            const auto rank = static_cast<PartId>(comm.rank());
            train::GradientExchange exchange(
                comm, {rank, rank + 1}, 3,
                {.size = 100, .buckets = buckets, .precision = precision});
            EXPECT_EQ(exchange.most_groups(), 4U);
            std::vector<float> first;
            for (const std::uint64_t groups : {0U, 1U, 4U, 2U, 3U, 0U, 2U}) {
                exchange.divide(groups);
                EXPECT_EQ(exchange.divided(), groups);
                for (std::size_t i = 0; i < 100; ++i) {
                    exchange.gradient(0)[i] =
                        1.0F / static_cast<float>(1 + (i * 7 + rank * 31) % 97);
                }
                for (std::size_t b = 0; b < buckets.size(); ++b)
                    exchange.bucket_ready(b);
                const std::vector<float> losses{1.0F};
                static_cast<void>(exchange.finish(losses, {}, {}));
                const std::vector<float> sum(exchange.sum().begin(), exchange.sum().end());
                if (first.empty()) first = sum;
                EXPECT_EQ(sum, first) << groups;
            }
        });
    }
}

}  // namespace
}  // namespace rudder::test
