// Ranks and services that fail, and receives that nobody waits for any more.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/local_transport.hpp"
#include "comm/message_coder.hpp"
#include "comm/reduction.hpp"
#include "comm/service.hpp"
#include "comm/simulated_cluster.hpp"
#include "rudder/core/error.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

constexpr comm::Channel channel = comm::user_channels;

/// What each rank's program ends with, when rank 1 does what is given.
struct Ends {
    std::vector<std::string> heard;
    std::string thrown;
    Duration took{};
};

Ends run_ranks(int ranks, std::uint64_t seed,
               const std::function<void(const comm::Communicator&)>& program) {
    comm::SimulatedCluster cluster({.ranks = ranks, .seed = seed, .jitter = 1ms});
    Ends ends;
    ends.heard.resize(static_cast<std::size_t>(ranks));
    try {
        cluster.run([&](const comm::Communicator& comm) {
            try {
                program(comm);
            } catch (const Error& error) {
                ends.heard[static_cast<std::size_t>(comm.rank())] = error.problem();
                throw;
            }
        });
    } catch (const Error& error) {
        ends.thrown = error.problem();
    }
    ends.took = cluster.executor().now();
    return ends;
}

TEST(FailingRank, IsNamedByTheOthers) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Ends ends = run_ranks(4, seed, [](const comm::Communicator& comm) {
            for (int i = 0;; ++i) {
                comm.barrier();
                if (comm.rank() == 1 && i == 5) throw input_error("planted", "a file", "none");
            }
        });
        EXPECT_EQ(ends.thrown, "planted");
        for (const std::size_t rank : {0U, 2U, 3U})
            EXPECT_EQ(ends.heard[rank], "rank 1 failed: planted") << "rank " << rank;
        EXPECT_LT(ends.took, Duration(2s));
    }
}

/// Asks all others without end; one of them fails after a while.
void ask_for_ever(const comm::Communicator& comm) {
    int answered = 0;
    const comm::Service service(
        comm, channel,
        [&](int, std::span<const std::byte> question, comm::Service::Answer& answer) {
            if (comm.rank() == 1 && ++answered > 10)
                throw input_error("planted in a service", "row 7", "none");
            answer.assign(question.begin(), question.end());
        });
    std::array<std::byte, 4> answer{};
    while (true) {
        for (int r = 0; r < comm.size(); ++r) {
            if (r == comm.rank()) continue;
            service.ask(r, comm::Kind::requests, std::vector<std::byte>(4), answer).wait();
        }
    }
}

TEST(FailingService, EndsTheJobWithItsOwnMessage) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const Ends ends = run_ranks(4, seed, ask_for_ever);
        EXPECT_EQ(ends.thrown, "planted in a service");
        // Its own rank, too, which waits for others, who wait for it.
        EXPECT_EQ(ends.heard[1], "planted in a service");
        for (const std::size_t rank : {0U, 2U, 3U})
            EXPECT_EQ(ends.heard[rank], "rank 1 failed: planted in a service") << "rank " << rank;
        EXPECT_LT(ends.took, Duration(2s));
    }
}

/// A rank whose program does something else meanwhile hears of it when it next waits.
TEST(FailingService, EndsItsRankAtItsNextWait) {
    const Ends ends = run_ranks(2, 3, [](const comm::Communicator& comm) {
        const comm::Service service(comm, channel,
                                    [](int, std::span<const std::byte>, comm::Service::Answer&) {
                                        throw input_error("planted in a service", "row 7", "none");
                                    });
        std::array<std::byte, 4> answer{};
        if (comm.rank() == 0) {
            service.ask(1, comm::Kind::requests, std::vector<std::byte>(4), answer).wait();
        } else {
            Executor::current().sleep_for(50ms);
            comm.barrier();
        }
    });
    EXPECT_EQ(ends.thrown, "planted in a service");
    EXPECT_EQ(ends.heard[0], "rank 1 failed: planted in a service");
}

TEST(FailingTransport, TheHandlerIsToldOfTheFirstFailureAlone) {
    comm::LocalTransport transport;
    int calls = 0;
    transport.set_failure_handler([&](const std::exception_ptr&) { ++calls; });
    const auto fail = [&](const char* what) {
        transport.fail(std::make_exception_ptr(std::runtime_error(what)));
    };
    EXPECT_NO_THROW(transport.check_failure());
    fail("first");
    fail("second");
    EXPECT_EQ(calls, 1);
    try {
        transport.check_failure();
        FAIL();
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "first");
    }
    const comm::Request never(transport.receive_message(0, 3));
    EXPECT_THROW(comm::Request(never).wait(), std::runtime_error);
}

// ---- receives that are given up ----------------------------------------------------------------

/// A message that comes when its receive has been dropped is not written to the place it named, and
/// the next message goes to the next receive.
TEST(DroppedReceive, WritesNothingAndKeepsTheOrder) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        if (comm.rank() == 1) {
            Executor::current().sleep_for(5ms);
            for (int value = 1; value <= 3; ++value)
                comm.send(0, channel, comm::Kind::features, std::span<const int>(&value, 1)).wait();
            return comm.barrier();
        }
        int first = -1;
        int second = -1;
        {
            const comm::Request dropped = comm.receive(1, channel, std::span(&first, 1));
            const comm::Request copy = dropped;  // NOLINT: the last of them counts
        }
        const comm::Request kept = comm.receive(1, channel, std::span(&second, 1));
        comm::Request(kept).wait();
        EXPECT_EQ(first, -1);
        EXPECT_EQ(second, 2);
        int third = -1;
        comm.receive(1, channel, std::span(&third, 1)).wait();
        EXPECT_EQ(third, 3);
        EXPECT_EQ(comm.accounts().received_total, 3 * sizeof(int));
        comm.barrier();
    });
}

TEST(DroppedReceive, IsKeptWhereSomethingHangsOnIt) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        if (comm.rank() == 1) {
            const int value = 7;
            Executor::current().sleep_for(5ms);
            comm.send(0, channel, comm::Kind::features, std::span<const int>(&value, 1)).wait();
            return comm.barrier();
        }
        auto place = std::make_shared<int>(-1);
        comm.receive(1, channel, std::span(place.get(), 1))
            .then([place](const std::exception_ptr&) {});
        comm.barrier();
        EXPECT_EQ(*place, 7);
    });
}

/// A task that is cancelled while it waits leaves nothing that writes to its stack.
TEST(DroppedReceive, OfACancelledTaskWritesNothing) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
    cluster.run([](const comm::Communicator& comm) {
        if (comm.rank() == 1) {
            const std::vector<int> values(64, 7);
            Executor::current().sleep_for(5ms);
            comm.send(0, channel, comm::Kind::features, std::span<const int>(values)).wait();
            return comm.barrier();
        }
        std::vector<int> place(64, -1);
        Task waits = Executor::current().spawn(
            "waits", [&] { comm.receive(1, channel, std::span<int>(place)).wait(); });
        Executor::current().sleep_for(1ms);
        waits.end();
        comm.barrier();
        EXPECT_EQ(std::ranges::count(place, -1), 64);
    });
}

/// Neither the sum nor the contributions are touched once a reduction has been given up.
void drop_reductions(comm::CodingMode mode) {
    for (const auto precision : {comm::SumPrecision::float32, comm::SumPrecision::bfloat16}) {
        comm::SimulatedCluster cluster({.ranks = 3, .seed = 5});
        cluster.run([&](const comm::Communicator& comm) {
            const auto own = static_cast<std::uint32_t>(comm.rank());
            std::shared_ptr<comm::MessageCoder> coder;
            if (mode != comm::CodingMode::off)
                coder = std::make_shared<comm::MessageCoder>(comm::CodingTerms{.mode = mode});
            std::vector<float> values(100, 1.0F);
            std::vector<float> sum(100, -1.0F);
            {
                comm::OrderedReducer reducer(comm, std::span(&own, 1), coder);
                if (comm.rank() != 0) Executor::current().sleep_for(5ms);
                const comm::Request request =
                    reducer.reduce({values}, sum, comm::Kind::gradients, precision);
                Executor::current().sleep_for(comm.rank() == 0 ? 1ms : 10ms);
                // Rank 0 does not add its piece up any more: the others never end.
                EXPECT_FALSE(request.done());
            }
            const std::vector<float> before = sum;
            std::ranges::fill(values, 50.0F);  // as if freed
            Executor::current().sleep_for(20ms);
            EXPECT_EQ(sum, before) << "rank " << comm.rank();
            if (comm.rank() == 0) {
                EXPECT_EQ(std::ranges::count(sum, -1.0F), 100);
            }
        });
    }
}

TEST(DroppedReduction, TouchesNothing) {
    drop_reductions(comm::CodingMode::off);
}

TEST(DroppedReduction, CodedWhereItIsShorterTouchesNothing) {
    drop_reductions(comm::CodingMode::always);
}

}  // namespace
}  // namespace rudder::test
