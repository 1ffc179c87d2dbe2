// Ranks that give up together, and what the error they throw says about whose it was.
#include "comm/together.hpp"

#include <gmock/gmock.h>

#include "comm/measure.hpp"
#include "comm/simulated_cluster.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

/// What each rank throws; nothing where it does not.
using Outcomes = std::vector<std::optional<Error>>;

Outcomes together(int ranks, std::uint64_t seed, const std::function<void(int rank)>& work) {
    Outcomes outcomes(static_cast<std::size_t>(ranks));
    comm::SimulatedCluster cluster({.ranks = ranks, .seed = seed, .jitter = 1ms});
    cluster.run([&](const comm::Communicator& comm) {
        try {
            comm::do_together(comm, [&] { work(comm.rank()); });
        } catch (const Error& error) {
            outcomes[static_cast<std::size_t>(comm.rank())] = error;
        }
    });
    return outcomes;
}

TEST(Together, SuccessOnAllThrowsNothing) {
    int done = 0;
    for (const auto& outcome : together(4, 1, [&](int) { ++done; }))
        EXPECT_FALSE(outcome);
    EXPECT_EQ(done, 4);
}

TEST(Together, ALoneRankThrowsItsOwnErrorAsItIs) {
    const auto outcome = together(
        1, 1, [](int) { throw Error(ErrorKind::input, "bad file", "x.npy", "make it again"); });
    ASSERT_TRUE(outcome[0]);
    EXPECT_STREQ(outcome[0]->what(), "bad file\n  where: x.npy\n  to do: make it again");
    EXPECT_EQ(outcome[0]->rank(), std::nullopt);
}

/// Random sets of ranks fail, each in its own way: all throw the first one's, and say whose.
TEST(Together, AllThrowTheErrorOfTheFirstRankThatFails) {
    const std::array kinds{ErrorKind::failed, ErrorKind::usage, ErrorKind::input, ErrorKind::rank,
                           ErrorKind::interrupted};
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const RandomStream stream({.purpose = Purpose::test, .seed = seed});
        Draws draws(stream, 0);
        const int ranks = 2 + static_cast<int>(draws.below(6));
        std::vector<std::optional<Error>> planned(static_cast<std::size_t>(ranks));
        std::optional<int> first;
        for (int r = 0; r < ranks; ++r) {
            if (draws.below(3) != 0) continue;
            if (!first) first = r;
            planned[static_cast<std::size_t>(r)] =
                Error(kinds[draws.below(kinds.size())], "problem " + std::to_string(r),
                      draws.below(2) == 0 ? "" : "file " + std::to_string(r),
                      draws.below(2) == 0 ? "" : "remedy\nof two lines");
        }
        const auto outcomes = together(ranks, seed, [&](int rank) {
            if (const auto& mine = planned[static_cast<std::size_t>(rank)]) throw Error(*mine);
        });
        for (const auto& outcome : outcomes) {
            ASSERT_EQ(outcome.has_value(), first.has_value()) << "seed " << seed;
            if (!first) continue;
            const Error& cause = *planned[static_cast<std::size_t>(*first)];
            EXPECT_EQ(outcome->kind(), cause.kind());
            EXPECT_EQ(outcome->problem(), cause.problem());
            EXPECT_EQ(outcome->remedy(), cause.remedy());
            EXPECT_EQ(outcome->rank(), first);
            EXPECT_EQ(outcome->where(), "rank " + std::to_string(*first) +
                                            (cause.where().empty() ? "" : ": " + cause.where()));
        }
    }
}

/// Faults of ours are not everybody's: they end the rank that has them.
TEST(Together, OtherExceptionsAreNotShared) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    EXPECT_THROW(cluster.run([](const comm::Communicator& comm) {
        comm::do_together(comm, [&] {
            if (comm.rank() == 1) throw std::logic_error("ours");
        });
    }),
                 std::exception);
}

// ---- measured figures --------------------------------------------------------------------------

TEST(Measure, EveryPairOfFewRanksAndRankZeroOfMany) {
    for (const auto& [ranks, expected] : {std::pair{1, 0}, {2, 1}, {5, 10}, {6, 5}, {8, 7}}) {
        std::vector<std::vector<comm::PairFigures>> all(static_cast<std::size_t>(ranks));
        comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
        cluster.run([&](const comm::Communicator& comm) {
            all[static_cast<std::size_t>(comm.rank())] = comm::measure_pairs(comm);
            EXPECT_GE(comm::measure_barrier_us(comm), 0.0);
        });
        for (const auto& pairs : all) {
            ASSERT_EQ(pairs.size(), static_cast<std::size_t>(expected)) << ranks << " ranks";
            for (std::size_t i = 0; i < pairs.size(); ++i) {
                EXPECT_LT(pairs[i].first, pairs[i].second);
                EXPECT_GT(pairs[i].latency_us, 0.0);
                EXPECT_GT(pairs[i].mbit_s, 0.0);
                EXPECT_EQ(pairs[i].latency_us, all[0][i].latency_us) << "all get the same";
                EXPECT_TRUE(ranks <= 5 || pairs[i].first == 0);
            }
        }
    }
}

}  // namespace
}  // namespace rudder::test
