// The suite against the body over sockets, and how its ranks meet: late, wrong, missing, unwelcome.
// Every run has a time limit, so that a hang fails.
#include <future>
#include <sstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/meeting.hpp"
#include "comm/simulated_cluster.hpp"
#include "comm/socket_job.hpp"
#include "comm/suite.hpp"
#include "rudder/core/error.hpp"

#include "support/process.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// So many ranks of mpi_ranks, started by our launcher.
Outcome socket_ranks(int ranks, std::vector<std::string> arguments,
                     std::chrono::seconds limit = 60s) {
    arguments.insert(arguments.begin(), {RUDDER_MPI_RANKS, "launch", std::to_string(ranks)});
    return run(arguments, {.folder = {}, .extra = {}, .after = {}, .limit = limit});
}

void expect_whole_suite(const Outcome& outcome) {
    EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
    for (const RankProgram& program : rank_programs())
        EXPECT_THAT(outcome.out, HasSubstr(program.name + " passed"));
}

class SocketSuite : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Ranks, SocketSuite, ::testing::Values(1, 2, 3, 5, 8),
                         ::testing::PrintToStringParamName());

TEST_P(SocketSuite, OneHost) {
    expect_whole_suite(socket_ranks(GetParam(), {"suite"}));
}

TEST(Sockets, SuiteWithHostsOfOneRankAndOfTwo) {
    expect_whole_suite(socket_ranks(4, {"suite", "1"}));
    expect_whole_suite(socket_ranks(5, {"suite", "2"}));
}

TEST(Sockets, SuiteOverAModelledLink) {
    constexpr auto whole = "1073741824";
    expect_whole_suite(socket_ranks(3, {"suite", "0", whole, "20us,10gbit"}));
    expect_whole_suite(socket_ranks(4, {"suite", "2", whole, "20us,10gbit"}));
}

TEST(Sockets, AReceiveThatIsGivenUpLeavesItsMemoryAlone) {
    const Outcome outcome = socket_ranks(2, {"abandon"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("abandon passed"));
}

// ---- random exchanges ---------------------------------------------------------------------------

void compare_with_simulated(int ranks, std::uint64_t first, std::uint64_t last) {
    const Outcome outcome =
        socket_ranks(ranks, {"exchange", std::to_string(first), std::to_string(last)}, 300s);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    std::istringstream text(outcome.out);
    for (std::uint64_t seed = first; seed < last; ++seed) {
        std::uint64_t simulated = 0;
        comm::SimulatedCluster cluster({.ranks = ranks, .seed = seed, .jitter = 1ms});
        cluster.run([&](const comm::Communicator& comm) {
            const std::uint64_t digest = random_exchange(comm, seed);
            if (comm.rank() == 0) simulated = digest;
        });
        std::string line;
        std::getline(text, line);
        ASSERT_EQ(line, fmt::format("{} {:x}", seed, simulated)) << ranks << " ranks";
    }
}

TEST(Sockets, RandomExchangesGiveTheSameDigestsAsSimulated) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
        const auto first = static_cast<std::uint64_t>(ranks) * 20;
        compare_with_simulated(ranks, first, first + (sanitizer_factor > 1 ? 2 : 20));
    }
}

TEST(LongSockets, ThousandRandomExchangesGiveTheSameDigestsAsSimulated) {
    for (int ranks = 1; ranks <= 5; ++ranks) {
        const auto first = static_cast<std::uint64_t>(ranks) * 200;
        compare_with_simulated(ranks, first, first + 200);
    }
}

TEST(LongSockets, MessageLargerThanTwoGiB) {
    const Outcome outcome = socket_ranks(2, {"large"}, 300s);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("large passed"));
}

// ---- ranks that end ----------------------------------------------------------------------------

TEST(Sockets, AConnectionThatIsLostIsToldWithItsRank) {
    const Outcome outcome = socket_ranks(3, {"die", "1"});
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("the connection to rank 1 was lost"));
}

// ---- meeting -----------------------------------------------------------------------------------

/// A port that nobody listens on now.
std::uint16_t free_port() {
    const int fd = comm::listen_on(0, comm::Reach::this_machine);
    const std::uint16_t port = comm::port_of(fd);
    ::close(fd);
    return port;
}

/// One rank of a job, with the variables that torchrun sets.
struct TorchrunRank {
    int rank;
    int size;
    std::uint16_t port;
    std::string secret = "ours";
    int seconds = 20;  ///< it waits for the others

    [[nodiscard]] Outcome run(const std::string& shell = "") const {
        std::vector<std::string> words{
            "sh", "-c", shell + "exec '" + std::string(RUDDER_MPI_RANKS) + "' suite"};
        return test::run(
            words, {.folder = {},
                    .extra = {fmt::format("RANK={}", rank), fmt::format("WORLD_SIZE={}", size),
                              "MASTER_ADDR=127.0.0.1", fmt::format("MASTER_PORT={}", port - 1),
                              "RUDDER_JOB_SECRET=" + secret,
                              fmt::format("RUDDER_TEST_PATIENCE={}", seconds)},
                    .after = {},
                    .limit = 60s});
    }
};

/// Runs ranks beside each other; what each said.
std::vector<Outcome> run_ranks(const std::vector<TorchrunRank>& ranks,
                               const std::vector<std::string>& shells = {}) {
    std::vector<std::future<Outcome>> running;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        running.push_back(std::async(std::launch::async, [&, i] {
            return ranks[i].run(i < shells.size() ? shells[i] : "");
        }));
    }
    std::vector<Outcome> outcomes;
    for (auto& outcome : running)
        outcomes.push_back(outcome.get());
    return outcomes;
}

TEST(SocketMeeting, RanksComeInAnyOrderSecondsApart) {
    const std::uint16_t port = free_port();
    const auto outcomes =
        run_ranks({{0, 3, port}, {1, 3, port}, {2, 3, port}}, {"sleep 2; ", "", "sleep 1; "});
    expect_whole_suite(outcomes[0]);
    for (const Outcome& outcome : outcomes)
        EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST(SocketMeeting, AllAreToldWhoIsMissing) {
    const std::uint16_t port = free_port();
    const auto outcomes = run_ranks({{0, 4, port, "ours", 2}, {2, 4, port, "ours", 2}});
    for (const Outcome& outcome : outcomes) {
        EXPECT_EQ(outcome.code, 1);
        EXPECT_THAT(outcome.err, HasSubstr("ranks 1, 3 did not come"));
        EXPECT_THAT(outcome.err, HasSubstr("MASTER_ADDR"));
    }
}

TEST(SocketMeeting, ARankThatCannotReachTheFirstSaysSo) {
    const Outcome outcome = TorchrunRank{1, 2, free_port(), "ours", 1}.run();
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 cannot reach rank 0"));
}

TEST(SocketMeeting, ARankOfAnotherSizeEndsTheMeetingAtOnce) {
    const std::uint16_t port = free_port();
    const auto outcomes = run_ranks({{0, 3, port}, {1, 4, port}});
    EXPECT_EQ(outcomes[0].code, 1);
    EXPECT_THAT(outcomes[0].err, HasSubstr("rank 1 is one of 4 ranks, rank 0 one of 3"));
    EXPECT_EQ(outcomes[1].code, 1);
}

TEST(SocketMeeting, WhoDoesNotKnowTheSecretIsSentAwayAndDelaysNobody) {
    const std::uint16_t port = free_port();
    const auto outcomes =
        run_ranks({{0, 2, port}, {1, 2, port, "theirs"}, {1, 2, port}}, {"", "", "sleep 1; "});
    EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].err;
    EXPECT_EQ(outcomes[1].code, 1);
    EXPECT_THAT(outcomes[1].err, HasSubstr("RUDDER_JOB_SECRET"));
    EXPECT_EQ(outcomes[2].code, 0) << outcomes[2].err;
}

TEST(SocketMeeting, ASecondProcessOfOneRankIsSentAway) {
    const std::uint16_t port = free_port();
    const auto outcomes = run_ranks({{0, 3, port}, {1, 3, port}, {1, 3, port}, {2, 3, port}},
                                    {"", "", "sleep 1; ", "sleep 2; "});
    EXPECT_EQ(outcomes[0].code, 0) << outcomes[0].err;
    EXPECT_EQ(outcomes[1].code, 0) << outcomes[1].err;
    EXPECT_EQ(outcomes[2].code, 1);
    EXPECT_EQ(outcomes[3].code, 0) << outcomes[3].err;
}

TEST(SocketMeeting, APortInUseIsNamed) {
    const int taken = comm::listen_on(0, comm::Reach::this_machine);
    const std::uint16_t port = comm::port_of(taken);
    const Outcome outcome = TorchrunRank{0, 2, port}.run();
    ::close(taken);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(fmt::format("cannot listen on port {}", port)));
    EXPECT_THAT(outcome.err, HasSubstr("RUDDER_PORT"));
}

TEST(SocketMeeting, StrangersWhoSayNothingOrNonsenseDelayNobody) {
    const std::uint16_t port = free_port();
    std::future<std::vector<Outcome>> job = std::async(std::launch::async, [&] {
        return run_ranks({{0, 2, port}, {1, 2, port}}, {"", "sleep 1; "});
    });
    std::vector<int> strangers;
    for (int i = 0; i < 40; ++i) {
        sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        in.sin_port = htons(port);
        const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(fd, reinterpret_cast<const sockaddr*>(&in), sizeof(in)) == 0 && i % 2 == 0) {
            const std::string nonsense(4096, 'x');
            EXPECT_GT(::send(fd, nonsense.data(), nonsense.size(), MSG_NOSIGNAL), 0);
        }
        strangers.push_back(fd);
        std::this_thread::sleep_for(20ms);
    }
    for (const Outcome& outcome : job.get())
        EXPECT_EQ(outcome.code, 0) << outcome.err;
    for (const int fd : strangers)
        ::close(fd);
}

/// Sets variables of the environment, and puts back what was there.
class Variables {
public:
    explicit Variables(const std::vector<std::pair<std::string, std::string>>& values) {
        for (const auto& [name, value] : values) {
            const char* before = std::getenv(name.c_str());
            before_.emplace_back(name, before == nullptr ? std::optional<std::string>() : before);
            ::setenv(name.c_str(), value.c_str(), 1);
        }
    }
    ~Variables() {
        for (const auto& [name, value] : before_) {
            if (value) {
                ::setenv(name.c_str(), value->c_str(), 1);
            } else {
                ::unsetenv(name.c_str());
            }
        }
    }
    Variables(Variables&&) = delete;

private:
    std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

TEST(SocketJobs, FollowTheVariablesOfTorchrun) {
    const Variables set(
        {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"MASTER_ADDR", "node-1"}, {"MASTER_PORT", "29500"}});
    ASSERT_TRUE(comm::sockets_launched());
    const comm::SocketJob job = comm::socket_job();
    EXPECT_EQ(job.rank, 3);
    EXPECT_EQ(job.size, 8);
    EXPECT_EQ(job.host, "node-1");
    EXPECT_EQ(job.port, 29501) << "29500 is torchrun's own";
    const std::vector<std::pair<std::string, std::string>> own{{"RUDDER_PORT", "4000"}};
    const Variables other(own);
    EXPECT_EQ(comm::socket_job().port, 4000);
}

TEST(SocketJobs, InvalidVariablesAreNamed) {
    for (const auto& [rank, size, port, named] : std::vector<std::array<std::string, 4>>{
             {"8", "8", "29500", "invalid RANK: 8"},
             {"x", "8", "29500", "invalid RANK: x"},
             {"0", "0", "29500", "invalid WORLD_SIZE: 0"},
             {"0", "2", "70000", "invalid MASTER_PORT: 70000"}}) {
        const Variables set({{"RANK", rank},
                             {"WORLD_SIZE", size},
                             {"MASTER_ADDR", "node-1"},
                             {"MASTER_PORT", port}});
        try {
            static_cast<void>(comm::socket_job());
            ADD_FAILURE() << named;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_THAT(error.what(), HasSubstr(named));
        }
    }
}

}  // namespace
}  // namespace rudder::test
