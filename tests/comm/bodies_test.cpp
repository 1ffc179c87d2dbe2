// The suite against the local and the simulated body.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/reduction.hpp"
#include "comm/simulated_cluster.hpp"
#include "comm/suite.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

class EveryProgram : public ::testing::TestWithParam<RankProgram> {};

INSTANTIATE_TEST_SUITE_P(Comm, EveryProgram, ::testing::ValuesIn(rank_programs()),
                         [](const auto& program) { return program.param.name; });

TEST_P(EveryProgram, Local) {
    GetParam().run(comm::Communicator::local());
}

TEST_P(EveryProgram, SimulatedOnManyRankCounts) {
    for (const int ranks : {1, 2, 3, 5, 8}) {
        for (const int per_host : {1, 2}) {
            comm::SimulatedCluster cluster({.ranks = ranks, .ranks_per_host = per_host, .seed = 1});
            cluster.run(GetParam().run);
        }
    }
}

TEST_P(EveryProgram, SimulatedOnASlowJitteryNetwork) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        comm::SimulatedCluster cluster({.ranks = 4,
                                        .seed = seed,
                                        .link = {.delay = 100us, .bytes_per_second = 125e6},
                                        .jitter = 1ms});
        cluster.run(GetParam().run);
    }
}

TEST_P(EveryProgram, SimulatedWithARankThatPauses) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
        comm::SimulatedCluster cluster({.ranks = 3,
                                        .seed = seed,
                                        .jitter = 10us,
                                        .faults = {{.rank = 1, .at = 5us, .length = 2ms}}});
        cluster.run(GetParam().run);
    }
}

/// The digests of a random exchange, by rank.
std::vector<std::uint64_t> exchange(const comm::SimulationOptions& options, std::uint64_t program) {
    std::vector<std::uint64_t> digests(static_cast<std::size_t>(options.ranks));
    comm::SimulatedCluster cluster(options);
    cluster.run([&](const comm::Communicator& comm) {
        digests[static_cast<std::size_t>(comm.rank())] = random_exchange(comm, program);
    });
    return digests;
}

void run_seeds(std::uint64_t count) {
    for (std::uint64_t seed = 0; seed < count; ++seed) {
        const int ranks = 1 + static_cast<int>(seed % 5);
        const auto calm = exchange({.ranks = ranks, .seed = 0}, seed);
        const auto rough = exchange({.ranks = ranks,
                                     .ranks_per_host = 1 + static_cast<int>(seed % 2),
                                     .seed = seed,
                                     .link = {.delay = 50us, .bytes_per_second = 1e9},
                                     .jitter = 5ms},
                                    seed);
        ASSERT_EQ(calm, rough) << "seed " << seed;
        for (const std::uint64_t digest : calm)
            ASSERT_EQ(digest, calm.front());
    }
}

TEST(SimulatedExchange, HundredSeedsWithDelayAndReordering) {
    run_seeds(100);
    std::cout << "ran 100 of 1000 seeds (make test-long runs all)\n";
}

TEST(LongSimulatedExchange, ThousandSeedsWithDelayAndReordering) {
    run_seeds(1000);
}

TEST(SimulatedCluster, SameSeedSameRun) {
    const auto trace = [](std::uint64_t seed) {
        comm::SimulatedCluster cluster({.ranks = 4, .seed = seed, .jitter = 1ms});
        std::vector<std::pair<int, Duration>> order;
        cluster.run([&](const comm::Communicator& comm) {
            for (int i = 0; i < 5; ++i) {
                comm.barrier();
                order.emplace_back(comm.rank(), Executor::current().now());
            }
        });
        return order;
    };
    EXPECT_EQ(trace(3), trace(3));
    EXPECT_NE(trace(3), trace(4));
}

TEST(SimulatedCluster, LinkModelIsExact) {
    comm::SimulatedCluster cluster(
        {.ranks = 2, .seed = 1, .link = {.delay = 100us, .bytes_per_second = 125e6}});
    Duration arrived{};
    cluster.run([&](const comm::Communicator& comm) {
        std::vector<std::byte> bytes(1 << 20);
        if (comm.rank() == 0) {
            comm.send(1, comm::user_channels, comm::Kind::features,
                      std::span<const std::byte>(bytes))
                .wait();
        } else {
            comm.receive(0, comm::user_channels, std::span(bytes)).wait();
            arrived = Executor::current().now();
        }
    });
    EXPECT_EQ(arrived, Duration(100us) + Duration(8388608));  // 2^20 bytes at 125 MB/s
}

TEST(SimulatedCluster, ManyToOneQueuesAtTheReceiver) {
    comm::SimulatedCluster cluster(
        {.ranks = 5, .seed = 1, .link = {.delay = 0us, .bytes_per_second = 1e6}});
    Duration last{};
    cluster.run([&](const comm::Communicator& comm) {
        const std::vector<std::byte> bytes(1000);
        if (comm.rank() != 0) {
            comm.send(0, comm::user_channels, comm::Kind::features,
                      std::span<const std::byte>(bytes))
                .wait();
            return;
        }
        for (int r = 1; r < comm.size(); ++r) {
            static_cast<void>(comm.receive_message(comm::any_source, comm::user_channels).take());
        }
        last = Executor::current().now();
    });
    EXPECT_EQ(last, Duration(4ms));  // four messages of 1 ms each share rank 0's link
}

/// Two megabytes of rows fetched ahead, then gradients: those arrive as if they were alone, the
/// rows as much later.
TEST(SimulatedCluster, GradientsPassRowsFetchedAhead) {
    comm::SimulatedCluster cluster(
        {.ranks = 3, .seed = 1, .link = {.delay = 1ms, .bytes_per_second = 1e9}});
    std::vector<Duration> arrived(2);
    cluster.run([&](const comm::Communicator& comm) {
        std::vector<std::byte> rows(2'000'000);
        std::vector<std::byte> gradients(500'000);
        std::vector<comm::Request> requests;
        if (comm.rank() == 0) {
            requests.push_back(comm.send(1, comm::user_channels, comm::Kind::features_ahead,
                                         std::span<const std::byte>(rows)));
            requests.push_back(comm.send(1, comm::user_channels + 1, comm::Kind::gradients,
                                         std::span<const std::byte>(gradients)));
        } else if (comm.rank() == 1) {
            requests.push_back(comm.receive(0, comm::user_channels, std::span(rows)));
            requests.push_back(comm.receive(0, comm::user_channels + 1, std::span(gradients)));
            for (std::size_t i = 0; i < 2; ++i) {
                requests[i].then(
                    [&, i](const std::exception_ptr&) { arrived[i] = cluster.executor().now(); });
            }
        }
        comm::wait_all(requests);
    });
    EXPECT_EQ(arrived[1], Duration(1500us));
    EXPECT_EQ(arrived[0], Duration(3500us));
}

TEST(SimulatedCluster, PlantedDeadlockNamesEveryRankAndWhatItWaitsFor) {
    comm::SimulatedCluster cluster({.ranks = 3, .seed = 1});
    try {
        cluster.run([](const comm::Communicator& comm) {
            std::vector<int> value(2);
            comm.receive((comm.rank() + 1) % comm.size(), comm::user_channels, std::span(value))
                .wait();
        });
        FAIL() << "no deadlock found";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::rank);
        for (const char* part : {"rank 0 main waits for a message of 8 bytes from rank 1",
                                 "rank 1 main waits for a message of 8 bytes from rank 2",
                                 "rank 2 main waits for a message of 8 bytes from rank 0"}) {
            EXPECT_THAT(error.what(), ::testing::HasSubstr(part));
        }
    }
}

TEST(SimulatedCluster, PlantedMismatchIsNamed) {
    comm::SimulatedCluster cluster({.ranks = 3, .seed = 1});
    std::vector<std::string> messages(3);
    cluster.run([&](const comm::Communicator& comm) {
        comm.set_paranoid(true);
        std::vector<int> values(comm.rank() == 2 ? 4 : 2);
        try {
            comm.broadcast(0, std::span(values));
        } catch (const Error& error) {
            messages[static_cast<std::size_t>(comm.rank())] = error.what();
        }
    });
    EXPECT_THAT(messages[0], ::testing::HasSubstr("rank 0 is in broadcast with root 0 and 8 bytes; "
                                                  "rank 2 is in broadcast with root 0 and 16"));
    EXPECT_THAT(messages[2], ::testing::HasSubstr("16 bytes; rank 0 is in broadcast"));
}

TEST(SimulatedCluster, SizeMismatchIsAnErrorWithoutParanoia) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    EXPECT_THROW(cluster.run([](const comm::Communicator& comm) {
        std::vector<int> values(comm.rank() == 0 ? 4 : 3);
        comm.broadcast(0, std::span(values));
    }),
                 Error);
}

TEST(SimulatedCluster, ReductionOfDifferentSizesIsAnError) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        const auto mine = static_cast<std::uint32_t>(comm.rank());
        comm::OrderedReducer reducer(comm, std::span(&mine, 1));
        std::vector<float> in(comm.rank() == 0 ? 4 : 6);
        std::vector<float> out(in.size());
        EXPECT_THROW(reducer.reduce({in}, out).wait(), Error);
    });
}

/// By hand: 1 + 2^-8 is halfway between two numbers of 8 bits and goes to the even one, 1; 3 + 2^-7
/// to 3; 1 + 3 * 2^-8 up to 1 + 2^-6. The sum 1 + 3 + 1.015625 is 5.015625, which is 5 in 8 bits.
TEST(Reduction, InBfloat16RoundsContributionsAndSum) {
    comm::SimulatedCluster cluster({.ranks = 3, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        const auto mine = static_cast<std::uint32_t>(comm.rank());
        comm::OrderedReducer reducer(comm, std::span(&mine, 1));
        const std::vector<float> terms{1.00390625F, 3.0078125F, 1.01171875F};
        const std::vector<float> in{terms[mine], mine == 1 ? 1e-3F : 0.0F, -0.0F, 0.5F};
        std::vector<float> out(in.size());
        reducer.reduce({in}, out, comm::Kind::gradients, comm::SumPrecision::bfloat16).wait();
        EXPECT_EQ(out[0], 5.0F);
        EXPECT_EQ(out[1], 0.00099945068359375F) << "1e-3 in 8 bits";
        EXPECT_EQ(out[3], 1.5F);
        comm.barrier();
        const std::size_t own = comm.rank() == 2 ? 2 : 1;  // floats that this rank adds up
        EXPECT_EQ(comm.accounts().received[static_cast<std::size_t>(comm::Kind::gradients)],
                  2 * own * 2 + (4 - own) * 2);
    });
}

/// A receive whose message never comes holds what its callback holds, and that may hold the
/// communicator: all of it goes with the cluster.
TEST(SimulatedCluster, WaitsForADeadRankLeaveNothingBehind) {
    std::weak_ptr<comm::Communicator> left;
    {
        comm::SimulatedCluster cluster({.ranks = 2, .seed = 1, .faults = {{.rank = 1, .at = 1ms}}});
        EXPECT_THROW(cluster.run([&](const comm::Communicator& comm) {
            if (comm.rank() == 1) return Executor::current().sleep_for(1s);
            const auto held = std::make_shared<comm::Communicator>(comm);
            left = held;
            std::byte place{};
            const comm::Request never = comm.receive(1, 5, std::span(&place, 1));
            never.then([held](const std::exception_ptr&) {});
            comm.barrier();
        }),
                     Error);
        EXPECT_FALSE(left.expired());
    }
    EXPECT_TRUE(left.expired());
}

TEST(SimulatedCluster, DeadRankIsNamedByTheOthers) {
    comm::SimulatedCluster cluster(
        {.ranks = 4, .seed = 2, .jitter = 1ms, .faults = {{.rank = 2, .at = 20ms}}});
    std::vector<std::string> heard(4);
    cluster.run([&](const comm::Communicator& comm) {
        try {
            for (int i = 0; i < 1000; ++i)
                comm.barrier();
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::rank);
            heard[static_cast<std::size_t>(comm.rank())] = error.problem();
        }
    });
    for (const int rank : {0, 1, 3}) {
        EXPECT_EQ(heard[static_cast<std::size_t>(rank)], "rank 2 died") << "rank " << rank;
    }
    EXPECT_EQ(heard[2], "");
}

/// When rank 0, which waits for rank 1, hears that it has ended after 20 ms: by death or an error.
Duration heard_of_an_end(bool dies, Duration notice) {
    comm::SimulationOptions options{.ranks = 2, .seed = 3, .death_notice = notice};
    if (dies) options.faults = {{.rank = 1, .at = 20ms}};
    Duration heard{};
    comm::SimulatedCluster cluster(options);
    const auto run = [&] {
        cluster.run([&](const comm::Communicator& comm) {
            if (comm.rank() == 1) {
                Executor::current().sleep_for(dies ? 10s : 20ms);
                throw input_error("planted", "a file", "none");
            }
            EXPECT_THROW(comm.barrier(), Error);
            heard = Executor::current().now();
        });
    };
    if (dies) {
        run();
    } else {
        EXPECT_THROW(run(), Error);
    }
    return heard;
}

TEST(SimulatedCluster, TheEndOfARankIsHeardOfAfterAWhile) {
    for (const bool dies : {true, false}) {
        EXPECT_EQ(heard_of_an_end(dies, 0ms), Duration(20ms)) << dies;
        EXPECT_EQ(heard_of_an_end(dies, 7ms), Duration(27ms)) << dies;
        EXPECT_EQ(heard_of_an_end(dies, 100ms), Duration(120ms)) << dies;
    }
}

TEST(SimulatedCluster, MessagesLargerThanTwoGiB) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    constexpr std::size_t size = (std::size_t{1} << 31) + 5;
    cluster.run([&](const comm::Communicator& comm) {
        auto bytes = Array<std::uint8_t>::zeroed(size);
        if (comm.rank() == 0) {
            bytes[size - 1] = 77;
            comm.send(1, comm::user_channels, comm::Kind::features, std::as_const(bytes).span())
                .wait();
        } else {
            comm.receive(0, comm::user_channels, bytes.span()).wait();
            EXPECT_EQ(bytes[size - 1], 77);
            EXPECT_EQ(comm.accounts().received_total, size);
        }
    });
}

}  // namespace
}  // namespace rudder::test
