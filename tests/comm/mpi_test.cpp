// The suite against the MPI body: ranks of mpi_ranks under mpirun. Every run has a time limit, so
// that a hang fails.
#include <iostream>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "comm/suite.hpp"

#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

std::vector<std::string> ranks_command(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), RUDDER_MPI_RANKS);
    return arguments;
}

/// Every program of the suite has said that it passed, and nothing failed.
void expect_suite(const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    for (const RankProgram& program : rank_programs()) {
        EXPECT_THAT(outcome.out, ::testing::HasSubstr(program.name + " passed"));
    }
}

class Mpi : public ::testing::Test {
protected:
    void SetUp() override {
        if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
    }
};
class LongMpi : public Mpi {};

class MpiSuite : public Mpi, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Ranks, MpiSuite, ::testing::Values(1, 2, 3, 5, 8),
                         ::testing::PrintToStringParamName());

TEST_P(MpiSuite, OneHost) {
    expect_suite(mpirun({{GetParam(), ranks_command({"suite"})}}));
}

TEST_F(Mpi, SuiteWithHostsOfOneRank) {
    expect_suite(mpirun({{4, ranks_command({"suite", "1"})}}));
}

TEST_F(Mpi, SuiteWithHostsOfTwoRanks) {
    expect_suite(mpirun({{5, ranks_command({"suite", "2"})}}));
}

TEST_F(Mpi, SuiteInPieces) {
    expect_suite(mpirun({{3, ranks_command({"suite", "1", "1000"})}}));
    expect_suite(mpirun({{4, ranks_command({"suite", "2", "1000"})}}));
}

TEST_F(Mpi, SuiteOverAModelledLink) {
    constexpr auto whole = "1073741824";
    expect_suite(mpirun({{3, ranks_command({"suite", "0", whole, "20us,10gbit"})}}));
    expect_suite(mpirun({{4, ranks_command({"suite", "2", whole, "20us,10gbit"})}}));
}

/// Messages longer than MPI's counts allow are cut on a modelled link, too.
TEST_F(Mpi, SuiteInPiecesOverAModelledLink) {
    expect_suite(mpirun({{3, ranks_command({"suite", "0", "5000", "20us,10gbit"})}}));
}

TEST_F(Mpi, AReceiveThatIsGivenUpLeavesItsMemoryAlone) {
    const Outcome outcome = mpirun({{2, ranks_command({"abandon"})}});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, ::testing::HasSubstr("abandon passed"));
}

TEST_F(Mpi, SuiteOverTcp) {
    expect_suite(mpirun({{3, ranks_command({"suite"})}},
                        {.settings = {"btl=tcp,self", "btl_tcp_if_include=lo"}}));
}

TEST_F(Mpi, SuiteWithRanksThatStartSecondsApart) {
    const std::vector<std::string> late{"sh", "-c",
                                        fmt::format("sleep 2; exec '{}' suite", RUDDER_MPI_RANKS)};
    expect_suite(mpirun({{1, ranks_command({"suite"})}, {1, late}, {1, ranks_command({"suite"})}}));
}

TEST_F(Mpi, ARankThatFailsEndsTheRun) {
    // With too few arguments each rank fails by itself; nobody waits for the others.
    const Outcome outcome = mpirun({{3, ranks_command({"exchange", "0"})}});
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.err, ::testing::HasSubstr("failed: "));
}

// ---- random exchanges ---------------------------------------------------------------------------

/// The digest of each seed's exchange, as printed by rank 0.
std::vector<std::string> exchange_under_mpi(int ranks, std::uint64_t first, std::uint64_t last) {
    const Outcome outcome =
        mpirun({{ranks, ranks_command({"exchange", std::to_string(first), std::to_string(last)})}},
               {.limit = 300s});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::vector<std::string> lines;
    std::istringstream text(outcome.out);
    for (std::string line; std::getline(text, line);)
        lines.push_back(line);
    return lines;
}

std::vector<std::string> exchange_simulated(int ranks, std::uint64_t first, std::uint64_t last) {
    std::vector<std::string> lines;
    for (std::uint64_t seed = first; seed < last; ++seed) {
        comm::SimulatedCluster cluster({.ranks = ranks, .seed = seed, .jitter = 1ms});
        cluster.run([&](const comm::Communicator& comm) {
            const std::uint64_t digest = random_exchange(comm, seed);
            if (comm.rank() == 0) lines.push_back(fmt::format("{} {:x}", seed, digest));
        });
    }
    return lines;
}

/// Spreads `count` seeds evenly over jobs of 1 to 5 ranks.
void compare_exchanges(std::uint64_t count) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
        const std::uint64_t first = count / 5 * static_cast<std::uint64_t>(ranks - 1);
        const std::uint64_t last = first + count / 5;
        const auto simulated = exchange_simulated(ranks, first, last);
        ASSERT_EQ(simulated.size(), count / 5);
        ASSERT_EQ(exchange_under_mpi(ranks, first, last), simulated) << ranks << " ranks";
    }
}

TEST_F(Mpi, RandomExchangesGiveTheSameDigestsAsSimulated) {
#if defined(__SANITIZE_THREAD__)
    constexpr std::uint64_t count = 10;  // each rank is many times slower there
#else
    constexpr std::uint64_t count = 100;
#endif
    compare_exchanges(count);
    std::cout << "ran " << count << " of 1000 seeds (make test-long runs all)\n";
}

TEST_F(LongMpi, ThousandRandomExchangesGiveTheSameDigestsAsSimulated) {
#if defined(__SANITIZE_THREAD__)
    compare_exchanges(100);
    std::cout << "ran 100 of 1000 seeds: each rank is many times slower here\n";
#else
    compare_exchanges(1000);
#endif
}

TEST_F(LongMpi, MessageLargerThanTwoGiB) {
    const Outcome outcome = mpirun({{2, ranks_command({"large"})}}, {.limit = 300s});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, ::testing::HasSubstr("large passed"));
}

TEST_F(LongMpi, MessageLargerThanTwoGiBOverAModelledLink) {
    const Outcome outcome =
        mpirun({{2, ranks_command({"large", "20us,100gbit"})}}, {.limit = 300s});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, ::testing::HasSubstr("large passed"));
}

}  // namespace
}  // namespace rudder::test
