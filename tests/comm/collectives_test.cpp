// Collectives against slow, obvious versions on random sizes and schedules; groups and services.
#include <array>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>

#include "comm/reduction.hpp"
#include "comm/service.hpp"
#include "comm/simulated_cluster.hpp"
#include "comm/suite.hpp"
#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

/// What rank `from` has for rank `to` in a round: known to all, so that anyone can check it.
std::vector<std::uint32_t> load(std::uint64_t seed, int from, int to) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, static_cast<std::uint64_t>(from) * 64 + static_cast<std::uint64_t>(to));
    std::vector<std::uint32_t> values(draws.below(4) == 0 ? 0 : draws.below(300));
    for (std::uint32_t& value : values)
        value = static_cast<std::uint32_t>(draws.below(1U << 30U));
    return values;
}

/// Runs it on clusters of many shapes; the seed gives the shape.
void on_clusters(std::uint64_t seeds,
                 const std::function<void(const comm::Communicator&, std::uint64_t)>& program) {
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
        const int ranks = 1 + static_cast<int>(seed % 7);
        comm::SimulatedCluster cluster({.ranks = ranks,
                                        .ranks_per_host = 1 + static_cast<int>(seed % 3),
                                        .seed = seed,
                                        .link = {.delay = 20us, .bytes_per_second = 1e8},
                                        .jitter = 500us});
        cluster.run([&](const comm::Communicator& comm) { program(comm, seed); });
    }
}

TEST(Collectives, GatherIsWhatEachHas) {
    on_clusters(40, [](const comm::Communicator& comm, std::uint64_t seed) {
        const int root = static_cast<int>(seed) % comm.size();
        const auto mine = load(seed, comm.rank(), 0);
        const auto at_root = comm.gather(root, std::span<const std::uint32_t>(mine));
        const auto everywhere = comm.all_gather(std::span<const std::uint32_t>(mine));
        ASSERT_EQ(at_root.size(), comm.rank() == root ? everywhere.size() : 0U);
        ASSERT_EQ(everywhere.size(), static_cast<std::size_t>(comm.size()));
        for (int r = 0; r < comm.size(); ++r) {
            const auto expected = load(seed, r, 0);
            ASSERT_EQ(everywhere[static_cast<std::size_t>(r)], expected);
            if (comm.rank() == root) {
                ASSERT_EQ(at_root[static_cast<std::size_t>(r)], expected);
            }
        }
    });
}

TEST(Collectives, BroadcastFromEveryRoot) {
    on_clusters(14, [](const comm::Communicator& comm, std::uint64_t seed) {
        for (int root = 0; root < comm.size(); ++root) {
            const auto expected = load(seed, root, 63);
            auto values = comm.rank() == root ? expected
                                              : std::vector<std::uint32_t>(expected.size(), 0xdead);
            comm.broadcast(root, std::span(values));
            ASSERT_EQ(values, expected);
        }
    });
}

TEST(Collectives, AllToAllIsATransposition) {
    on_clusters(40, [](const comm::Communicator& comm, std::uint64_t seed) {
        comm::PerRank<std::uint32_t> out;
        comm::PerRank<std::uint32_t> into;
        for (int r = 0; r < comm.size(); ++r) {
            out.push_back(load(seed, comm.rank(), r));
            into.emplace_back(load(seed, r, comm.rank()).size());
        }
        const auto in = comm.all_to_all(out);
        const std::vector<std::span<const std::uint32_t>> from(out.begin(), out.end());
        const std::vector<std::span<std::uint32_t>> to(into.begin(), into.end());
        comm.all_to_all(std::span<const std::span<const std::uint32_t>>(from),
                        std::span<const std::span<std::uint32_t>>(to));
        for (int r = 0; r < comm.size(); ++r)
            ASSERT_EQ(in[static_cast<std::size_t>(r)], load(seed, r, comm.rank()));
        ASSERT_EQ(into, in) << "with sizes known or not";
    });
}

TEST(Collectives, LeastAndGreatestOfAnyNumbers) {
    constexpr auto low = std::numeric_limits<std::int64_t>::min();
    constexpr auto high = std::numeric_limits<std::int64_t>::max();
    on_clusters(14, [&](const comm::Communicator& comm, std::uint64_t) {
        const bool last = comm.rank() == comm.size() - 1;
        EXPECT_EQ(comm.all_min(comm.rank() - 3), -3);
        EXPECT_EQ(comm.all_max(-comm.rank()), 0);
        EXPECT_EQ(comm.all_min(last ? low : high), low);
        EXPECT_EQ(comm.all_max(last ? high : low), high);
        EXPECT_EQ(comm.all_max(low), low);
        EXPECT_EQ(comm.all_min(high), high);
    });
}

/// Nobody leaves a barrier before the last has come.
TEST(Collectives, BarriersHoldEveryoneBack) {
    on_clusters(21, [](const comm::Communicator& comm, std::uint64_t seed) {
        Executor& executor = Executor::current();
        for (int round = 0; round < 5; ++round) {
            const auto late = Duration(
                static_cast<Duration::rep>(
                    load(seed + static_cast<std::uint64_t>(round), comm.rank(), 1).size()) *
                1000);
            executor.sleep_for(late);
            const std::int64_t came = executor.now().count();
            comm.barrier();
            const std::int64_t left = executor.now().count();
            ASSERT_GE(left, comm.all_max(came)) << "round " << round;
        }
    });
}

TEST(Collectives, ReductionsAddInTheOrderOfTheirNumbers) {
    on_clusters(20, [](const comm::Communicator& comm, std::uint64_t seed) {
        check_reduction(comm, seed, 1 + static_cast<std::uint32_t>(seed % 9), 1 + seed * 37);
    });
}

// ---- groups ------------------------------------------------------------------------------------

TEST(Groups, HostsTalkAmongThemselves) {
    on_clusters(21, [](const comm::Communicator& comm, std::uint64_t) {
        const comm::Communicator host = comm.host();
        const auto& members = comm.hosts().members(comm.hosts().host_of(comm.rank()));
        ASSERT_EQ(static_cast<std::size_t>(host.size()), members.size());
        const int mine = comm.rank();
        const auto all = host.all_gather(std::span<const int>(&mine, 1));
        for (std::size_t r = 0; r < members.size(); ++r) {
            ASSERT_EQ(all[r].front(), members[r]);
            ASSERT_EQ(host.global_rank(static_cast<int>(r)), members[r]);
            ASSERT_EQ(host.group_rank(members[r]), static_cast<int>(r));
        }
    });
}

TEST(Groups, RanksOfOtherHostsAreNotInTheGroup) {
    comm::SimulatedCluster cluster({.ranks = 4, .ranks_per_host = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        const int stranger = (comm.rank() + 2) % 4;
        EXPECT_THROW(static_cast<void>(comm.host().group_rank(stranger)), InternalError);
    });
}

TEST(Groups, FifteenDuplicatesAndNoMore) {
    const comm::Communicator comm = comm::Communicator::local();
    for (int i = 0; i < 15; ++i)
        static_cast<void>(comm.duplicate());
    EXPECT_THROW(static_cast<void>(comm.duplicate()), InternalError);
}

/// What is sent on one line is not received on another, though ranks and channel are the same.
TEST(Groups, DuplicatesDoNotMeet) {
    on_clusters(14, [](const comm::Communicator& comm, std::uint64_t) {
        const comm::Communicator other = comm.duplicate();
        const comm::Communicator host = comm.host();
        const int to = (comm.rank() + 1) % comm.size();
        const int from = (comm.rank() + comm.size() - 1) % comm.size();
        const auto send = [&](const comm::Communicator& line, int peer, int value) {
            std::vector<std::byte> bytes(sizeof(value));
            std::memcpy(bytes.data(), &value, sizeof(value));
            static_cast<void>(
                line.send_owned(peer, comm::user_channels, comm::Kind::control, bytes));
        };
        const auto take = [&](const comm::Communicator& line, int peer) {
            return line.receive_message(peer, comm::user_channels).take().as<int>().front();
        };
        send(comm, to, 1);
        send(other, to, 2);
        send(host, host.rank(), 3);
        EXPECT_EQ(take(host, host.rank()), 3);
        EXPECT_EQ(take(other, from), 2);
        EXPECT_EQ(take(comm, from), 1);
    });
}

TEST(Groups, WindowsAreSharedWithinAHostAlone) {
    on_clusters(21, [](const comm::Communicator& comm, std::uint64_t) {
        const comm::Communicator host = comm.host();
        const auto window = comm.share<int>(static_cast<std::size_t>(host.size()));
        ASSERT_EQ(window->size(), static_cast<std::size_t>(host.size()));
        (*window)[static_cast<std::size_t>(host.rank())] = 100 + comm.rank();
        comm.barrier();
        for (int r = 0; r < host.size(); ++r)
            EXPECT_EQ((*window)[static_cast<std::size_t>(r)], 100 + host.global_rank(r));
        comm.barrier();
    });
}

// ---- services ----------------------------------------------------------------------------------

TEST(Services, QuestionsToOneRankAreAnsweredInOrder) {
    on_clusters(14, [](const comm::Communicator& comm, std::uint64_t) {
        std::vector<int> next(static_cast<std::size_t>(comm.size()));
        comm::Service service(
            comm, comm::user_channels,
            [&](int from, std::span<const std::byte> question, comm::Service::Answer& answer) {
                EXPECT_EQ(static_cast<int>(question[0]), next[static_cast<std::size_t>(from)]++);
                answer.assign(question.begin(), question.end());
            });
        std::vector<comm::Request> answers;
        for (int i = 0; i < 30; ++i) {
            for (int to = 0; to < comm.size(); ++to) {
                if (to == comm.rank()) continue;
                answers.push_back(service.ask(to, comm::Kind::requests, {std::byte(i)}));
            }
        }
        comm::wait_all(answers);
        comm.barrier();
        service.stop();
        service.stop();  // a second time does nothing
    });
}

/// Whatever was asked before: what a step waits for, then what is fetched ahead, then evaluation.
TEST(Services, TheMostUrgentQuestionIsAnsweredFirst) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    std::string order;
    cluster.run([&](const comm::Communicator& comm) {
        comm::Service service(
            comm, comm::user_channels,
            [&](int, std::span<const std::byte> question, comm::Service::Answer& answer) {
                // Answers take a while: all questions are there after the first.
                Executor::current().sleep_for(1ms);
                order += static_cast<char>(question[0]);
                answer.resize(1000);
            });
        if (comm.rank() == 0) {
            std::vector<comm::Request> answers;
            std::vector<std::vector<std::byte>> places;
            const auto ask = [&](comm::Kind kind, char name) {
                places.emplace_back(1000);
                answers.push_back(
                    service.ask(1, kind, {static_cast<std::byte>(name)}, places.back()));
            };
            ask(comm::Kind::evaluation, 'e');
            ask(comm::Kind::requests_ahead, 'a');
            ask(comm::Kind::requests_ahead, 'b');
            ask(comm::Kind::evaluation, 'f');
            ask(comm::Kind::requests, 'r');
            ask(comm::Kind::topology, 't');
            comm::wait_all(answers);
            const comm::AccountTotals totals = comm.accounts();
            EXPECT_EQ(totals.received[static_cast<std::size_t>(comm::Kind::features)], 3000U)
                << "rows fetched ahead count as features";
            EXPECT_EQ(totals.sent[static_cast<std::size_t>(comm::Kind::requests)], 3U);
        }
        comm.barrier();
        service.stop();
    });
    EXPECT_EQ(order, "ertabf");
}

TEST(Services, WhatTheHandlerThrowsComesOutOfStop) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    std::string said;
    cluster.run([&](const comm::Communicator& comm) {
        comm::Service service(comm, comm::user_channels,
                              [](int, std::span<const std::byte>, comm::Service::Answer&) {
                                  throw std::runtime_error("the handler's own");
                              });
        if (comm.rank() == 0)
            static_cast<void>(service.ask(1, comm::Kind::control, {std::byte{1}}));
        Executor::current().sleep_for(1ms);
        try {
            service.stop();
        } catch (const std::runtime_error& error) {
            EXPECT_EQ(comm.rank(), 1);
            said = error.what();
        }
    });
    EXPECT_EQ(said, "the handler's own");
}

TEST(Services, NoneAsksItselfOrTakesChannelsThatAreNot) {
    const comm::Communicator comm = comm::Communicator::local();
    const auto echo = [](int, std::span<const std::byte> question, comm::Service::Answer& answer) {
        answer.assign(question.begin(), question.end());
    };
    const comm::Service service(comm, comm::user_channels, echo);
    EXPECT_THROW(static_cast<void>(service.ask(0, comm::Kind::control, {})), InternalError);
    EXPECT_THROW(comm::Service(comm, comm::channel_limit - 2, echo), InternalError);
}

/// An answer of another size than was said is an error of the one who asked.
TEST(Services, AnswersOfAnotherSizeAreRefused) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        comm::Service service(comm, comm::user_channels,
                              [](int, std::span<const std::byte>, comm::Service::Answer& answer) {
                                  answer.resize(7);
                              });
        if (comm.rank() == 0) {
            std::array<std::byte, 8> answer{};
            try {
                service.ask(1, comm::Kind::requests, {std::byte{1}}, answer).wait();
                ADD_FAILURE() << "7 bytes are not 8";
            } catch (const Error& error) {
                EXPECT_EQ(error.kind(), ErrorKind::rank);
                EXPECT_THAT(error.what(), HasSubstr("7 bytes came where 8 were expected"));
            }
        }
        comm.barrier();
        service.stop();
    });
}

}  // namespace
}  // namespace rudder::test
