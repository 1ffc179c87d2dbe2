// The buffer in training: never a bit changed, every row accounted for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/buffer/replay.hpp"
#include "rudder/core/error.hpp"
#include "train/fixture.hpp"
#include "train/summary.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

const std::vector<std::string> all_kinds{"none",
                                         "static-degree",
                                         "static-random",
                                         "static-vip",
                                         "lru",
                                         "lfu",
                                         "clock",
                                         "periodic,delta:2",
                                         "scored",
                                         "scored,every:3",
                                         "scored-faithful,every:2",
                                         "window:1",
                                         "window:4",
                                         "window:16",
                                         "window:8,distance:4",
                                         "window:6,inclusion"};

class Buffer : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {});
        return parts;
    }
    static train::TrainOptions with(const std::string& policy) {
        train::TrainOptions options = small_options();
        options.policy = policy;
        return options;
    }
    /// A run without a buffer on one rank: what every other must equal.
    static const Trained& plain() {
        static const Trained trained = train_alone(data(), with("none"));
        return trained;
    }
    static train::TrainResult expect_same(const train::TrainOptions& options,
                                          const comm::SimulationOptions& cluster) {
        const auto ranks = train_simulated(data(), options, cluster);
        for (const Trained& rank : ranks) {
            EXPECT_EQ(rank.result.digest, plain().result.digest) << options.policy;
            EXPECT_EQ(rank.weights, plain().weights) << options.policy;
        }
        expect_closed(ranks.front().result);
        return ranks.front().result;
    }
};

TEST_F(Buffer, DigestsAreEqualUnderAllPoliciesAndAccountsClose) {
    const train::TrainResult none = expect_same(with("none"), {.ranks = 4, .seed = 1});
    for (const std::string& policy : all_kinds) {
        EXPECT_EQ(train_alone(data(), with(policy)).result.digest, plain().result.digest);
        for (const int ranks : {2, 4}) {
            const train::TrainResult r = expect_same(with(policy), {.ranks = ranks, .seed = 3});
            if (ranks == 4) {
                EXPECT_EQ(r.rows.needed, none.rows.needed) << policy;
                EXPECT_EQ(r.rows.local, none.rows.local) << policy;
            }
        }
    }
}

TEST_F(Buffer, EitherTopologyAndEveryInFlight) {
    for (const char* policy : {"window:4", "scored-faithful,every:2", "static-vip"}) {
        for (const auto topology :
             {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
            for (const std::uint64_t in_flight : {1U, 2U, 4U}) {
                train::TrainOptions options = with(policy);
                options.topology = topology;
                options.in_flight = in_flight;
                expect_same(options, {.ranks = 4, .seed = in_flight});
            }
        }
    }
}

TEST_F(Buffer, AWindowThatIsNotGivenFitsStepsAndBuffer) {
    train::TrainOptions options = with("window");
    options.buffer_rows = 1;
    const train::TrainResult least = expect_same(options, {.ranks = 2, .seed = 5});
    EXPECT_EQ(least.policy->whole("window"), 16U);
    options.batch = 2;
    options.fanout = {1, 1};
    options.epochs = 1;
    options.buffer_rows = 60;
    for (const int per_host : {1, 2}) {
        std::vector<std::uint64_t> windows;
        for (const Trained& rank :
             train_simulated(data(), options, {.ranks = 4, .ranks_per_host = per_host, .seed = 6}))
            if (rank.result.policy) windows.push_back(rank.result.policy->whole("window"));
        ASSERT_EQ(windows.size(), 1U);  // told by rank 0
        // At most 12 rows of a rank's step are remote, so ten buffers full are at least 25 steps.
        EXPECT_GE(windows.front(), 25U);
        EXPECT_LE(windows.front(), 128U);
    }
    options.window = 7;
    EXPECT_EQ(train_simulated(data(), options, {.ranks = 2, .seed = 6})
                  .front()
                  .result.policy->whole("window"),
              7U);
}

TEST_F(Buffer, RowCountsDoNotDependOnTheSchedule) {
    for (const char* policy : {"window:4", "lru", "scored-faithful,every:2"}) {
        std::optional<Rows> counts;
        for (std::uint64_t seed = 0; seed < 4; ++seed) {
            train::TrainOptions options = with(policy);
            options.in_flight = 1 + seed;
            options.sample_tasks = 1 + static_cast<int>(seed % 3);
            const train::TrainResult r = expect_same(options, {.ranks = 4, .seed = seed});
            if (counts) {
                EXPECT_EQ(r.rows.demand, counts->demand) << policy;
                EXPECT_EQ(r.rows.ahead, counts->ahead) << policy;
                EXPECT_EQ(r.rows.replacement, counts->replacement) << policy;
                EXPECT_EQ(r.rows.wasted, counts->wasted) << policy;
            }
            counts = r.rows;
        }
    }
}

TEST_F(Buffer, AnyCapacity) {
    for (const char* policy : {"window:4", "lru", "scored-faithful,every:2", "static-degree"}) {
        for (const std::uint64_t rows : {0U, 1U, 2U, 10U, 1000000U}) {
            train::TrainOptions options = with(policy);
            options.buffer_rows = rows;
            const train::TrainResult r = expect_same(options, {.ranks = 4, .seed = rows});
            if (rows != 0) continue;
            EXPECT_EQ(r.rows.hit, 0U);
            EXPECT_EQ(r.buffer_bytes, 0U);
        }
    }
}

TEST_F(Buffer, LargerThanEverythingFetchesEachRowOnce) {
    train::TrainOptions options = with("window:4");
    options.buffer = 100;
    options.floor = true;
    const train::TrainResult r = expect_same(options, {.ranks = 4, .seed = 2});
    EXPECT_EQ(r.rows.demand + r.rows.ahead + r.rows.replacement, *r.floor);
    EXPECT_LE(*r.floor, 4 * 225U);
    EXPECT_EQ(r.rows.wasted, 0U);
}

TEST_F(Buffer, AWindowLongerThanTheRunReachesTheFloor) {
    for (const std::uint64_t rows : {5U, 20U, 60U}) {
        train::TrainOptions options = with("window:1000");
        options.buffer_rows = rows;
        options.floor = true;
        const train::TrainResult r = expect_same(options, {.ranks = 4, .seed = rows});
        EXPECT_EQ(r.rows.demand + r.rows.ahead + r.rows.replacement, *r.floor);
    }
}

TEST_F(Buffer, HostsWithSeveralRanksCountAsOneThatHoldsAllTheirParts) {
    for (const std::string& policy : all_kinds) {
        train::TrainOptions options = with(policy);
        options.floor = true;
        // Two ranks with two parts each, and four with one each on two hosts.
        const train::TrainResult one = expect_same(options, {.ranks = 2, .seed = 4});
        const train::TrainResult two =
            expect_same(options, {.ranks = 4, .ranks_per_host = 2, .seed = 5});
        EXPECT_EQ(one.rows.needed, two.rows.needed) << policy;
        EXPECT_EQ(one.rows.local, two.rows.local) << policy;
        EXPECT_EQ(one.rows.hit, two.rows.hit) << policy;
        EXPECT_EQ(one.rows.demand, two.rows.demand) << policy;
        EXPECT_EQ(one.rows.replacement, two.rows.replacement) << policy;
        EXPECT_EQ(one.rows.ahead, two.rows.ahead) << policy;
        EXPECT_EQ(one.rows.saved, two.rows.saved) << policy;
        EXPECT_EQ(*one.floor, *two.floor) << policy;
        EXPECT_EQ(one.buffer_bytes, two.buffer_bytes) << policy;
    }
}

TEST_F(Buffer, OneOfEachRank) {
    for (const std::string& policy : all_kinds) {
        train::TrainOptions options = with(policy);
        options.buffer_scope = buffer::BufferScope::rank;
        expect_same(options, {.ranks = 4, .ranks_per_host = 2, .seed = 6});
    }
}

TEST_F(Buffer, ReplayOfATraceAgreesWithTheRunExactly) {
    const TempDir folder;
    for (std::size_t i = 0; i < all_kinds.size(); ++i) {
        const std::string& policy = all_kinds[i];
        for (const int per_host : {i % 2 == 0 ? 1 : 2}) {
            SCOPED_TRACE(policy);
            train::TrainOptions options = with(policy);
            options.trace = folder.path() / policy / std::to_string(per_host);
            const train::TrainResult live =
                expect_same(options, {.ranks = 4, .ranks_per_host = per_host, .seed = 8});
            const buffer::Trace trace = buffer::read_trace(options.trace);
            ASSERT_EQ(trace.size(), 4U / static_cast<unsigned>(per_host));
            const std::vector<buffer::ReplayCase> cases{
                {train::policy_of(options), {.fraction = options.buffer}},
                {buffer::PolicySpec::parse("optimal"), {.fraction = options.buffer}}};
            const auto replayed = buffer::replay(trace, cases);
            EXPECT_EQ(live.rows.hit, replayed[0].rows.hit);
            EXPECT_EQ(live.rows.demand, replayed[0].rows.demand);
            EXPECT_EQ(live.rows.replacement, replayed[0].rows.replacement);
            EXPECT_EQ(live.rows.ahead, replayed[0].rows.ahead);
            EXPECT_EQ(*live.floor, replayed[1].rows.fetched());
            buffer::expect_graph(trace, data().folder().path());
        }
    }
}

/// With all neighbours drawn, a part that trains on all of its vertices at once reads every row
/// around it, and one that trains on none no row at all.
TEST_F(Buffer, InclusionIsCertainWhereAllIsReadAndNoneWhereNothingIs) {
    const TempDir folder;
    SmallGraph graph{.parts = 2};
    graph.role = [](PartId part, VertexId) {
        return part == 0 ? graph::Role::train : graph::Role::test;
    };
    const partition::PartitionedDataset parts = make_parts(folder.path(), graph);
    train::TrainOptions options = with("static-vip");
    options.fanout = {-1, -1};
    options.batch = 1000;
    options.epochs = 1;
    for (const auto topology :
         {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
        options.topology = topology;
        options.trace =
            folder / (topology == train::TopologyChoice::replicated ? "replicated" : "partitioned");
        static_cast<void>(train_simulated(parts, options, {.ranks = 2, .seed = 1}));
        const buffer::Trace trace = buffer::read_trace(options.trace);
        ASSERT_EQ(trace.size(), 2U);
        for (const auto& host : trace) {
            ASSERT_GT(host->halo(), 10U);
            const std::span<const double> inclusion = host->facts().inclusion;
            ASSERT_EQ(inclusion.size(), host->halo());
            EXPECT_THAT(inclusion, testing::Each(host->header().host == 0 ? 1.0 : 0.0));
        }
    }
}

TEST_F(Buffer, TheSummaryTellsWhoSharesIt) {
    train::TrainOptions options = with("lru");
    EXPECT_EQ(train::summary_of({}, options, {}).buffer_scope, "host") << "unless told otherwise";
    options.buffer_scope = buffer::BufferScope::rank;
    EXPECT_EQ(train::summary_of({}, options, {}).buffer_scope, "rank");
}

TEST_F(Buffer, ADeadRankEndsTheRunWithItsName) {
    using namespace std::chrono_literals;
    for (const int per_host : {1, 2}) {
        for (const char* policy : {"window:4", "scored-faithful,every:2"}) {
            for (std::uint64_t seed = 0; seed < 4; ++seed) {
                comm::SimulationOptions cluster{
                    .ranks = 4, .ranks_per_host = per_host, .seed = seed};
                cluster.link = {.delay = 1ms, .bytes_per_second = 125e6};
                cluster.faults = {
                    {.rank = 1 + static_cast<int>(seed % 3), .at = 20ms + seed * 5ms}};
                try {
                    static_cast<void>(train_simulated(data(), with(policy), cluster));
                    FAIL() << "nobody missed a rank";
                } catch (const Error& error) {
                    EXPECT_EQ(error.exit_code(), 4) << error.what();
                    EXPECT_NE(std::string(error.what()).find("rank"), std::string::npos);
                }
            }
        }
    }
}

TEST_F(Buffer, RefusesWhatCannotBeMeant) {
    const auto message = [](const train::TrainOptions& options) -> std::string {
        try {
            static_cast<void>(train_simulated(data(), options, {.ranks = 2}));
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), 2);
            return error.what();
        }
        return "";
    };
    for (const char* policy : {"optimal", "scored-faithful,listed", "widow", "window:0",
                               "window,depth:3", "periodic,alpha:2"}) {
        EXPECT_NE(message(with(policy)), "") << policy;
    }
    train::TrainOptions two = with("window:8");
    two.window = 4;
    EXPECT_NE(message(two).find("two different windows"), std::string::npos);
    train::TrainOptions large = with("lru");
    large.buffer_rows = std::uint64_t{1} << 50;
    EXPECT_NE(message(large).find("needs"), std::string::npos);
    large.buffer_bytes = 1;
    EXPECT_NE(message(large).find("more than one buffer size"), std::string::npos);
    train::TrainOptions negative = with("lru");
    negative.buffer = -1;
    EXPECT_NE(message(negative), "");
}

}  // namespace
}  // namespace rudder::test
