// Figures of a network whose delay and rate are known: simulated ranks on virtual time.
#include "comm/network_bench.hpp"

#include <gmock/gmock.h>

#include "comm/simulated_cluster.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;
using testing::DoubleNear;
using testing::ElementsAre;

constexpr double known_rate = 125e6;  ///< bytes per second: 1 Gbit/s

/// Measures so many ranks; all must have the same figures.
NetworkRates measured(int ranks, int per_host) {
    comm::SimulatedCluster cluster({.ranks = ranks,
                                    .ranks_per_host = per_host,
                                    .seed = 5,
                                    .link = {.delay = 50us, .bytes_per_second = known_rate}});
    std::vector<std::string> texts(static_cast<std::size_t>(ranks));
    NetworkRates rates;
    cluster.run([&](const comm::Communicator& comm) {
        NetworkRates own = comm::measure_network(comm, 0);
        own.carrier = "simulated";
        MachineProfile profile;
        profile.compute.push_back({1, 1, 1, 1, 1, 1, 1, 1});
        profile.network = own;
        texts[static_cast<std::size_t>(comm.rank())] = machine_profile_toml(profile);
        if (comm.rank() == 0) rates = own;
    });
    for (const std::string& text : texts)
        EXPECT_EQ(text, texts.front());
    return rates;
}

TEST(NetworkBench, FindsTheDelayAndTheRateOfAPair) {
    const NetworkRates rates = measured(2, 1);
    ASSERT_TRUE(rates.between);
    EXPECT_FALSE(rates.within) << "no host has two ranks";
    EXPECT_THAT(rates.between->latency_us, DoubleNear(50, 1));
    // A window of 8 MiB, the delay, and the answer's.
    EXPECT_THAT(rates.between->bytes_per_second, DoubleNear(known_rate, 0.01 * known_rate));
    EXPECT_GT(rates.between->messages_per_second, 64 / 110e-6);
    EXPECT_THAT(rates.between->all_bytes_per_second, DoubleNear(known_rate, 0.02 * known_rate));
    for (const MessageTime& size : rates.between->sizes) {
        const double expected = 50e-6 + static_cast<double>(size.bytes) / known_rate;
        EXPECT_THAT(size.seconds, DoubleNear(expected, 0.05 * expected)) << size.bytes;
    }
}

TEST(NetworkBench, TellsHostsFromRanksOfOne) {
    const NetworkRates rates = measured(5, 2);
    EXPECT_THAT(rates.ranks, ElementsAre(2, 2, 1));
    EXPECT_EQ(rates.hosts.size(), 3U);
    EXPECT_TRUE(rates.within && rates.between);
    EXPECT_GT(rates.barrier_us, 3 * 50 - 1) << "three rounds of messages for five ranks";
}

TEST(NetworkBench, SkewedExchangesTakeLongerByWhatTheFirstReceives) {
    const NetworkRates rates = measured(8, 1);
    ASSERT_EQ(rates.all_to_all.size() % 2, 0U);
    const ExchangeTime& even = rates.all_to_all[rates.all_to_all.size() - 2];
    const ExchangeTime& skewed = rates.all_to_all.back();
    EXPECT_EQ(even.skew, 1);
    EXPECT_EQ(skewed.skew, 4);
    EXPECT_EQ(skewed.bytes, even.bytes);
    // What the busiest rank receives, at the rate of its link.
    EXPECT_GT(even.seconds, 7 * static_cast<double>(even.bytes) / known_rate);
    EXPECT_GT(skewed.seconds, 4 * 7 * static_cast<double>(even.bytes) / known_rate);
    EXPECT_LT(skewed.seconds, 4.5 * 7 * static_cast<double>(even.bytes) / known_rate);
}

TEST(NetworkBench, SumsTakeTwoWaysOfTheirBytes) {
    const NetworkRates rates = measured(4, 1);
    const MessageTime& largest = rates.reductions.back();
    const double both_ways = 2.0 * 3 / 4 * static_cast<double>(largest.bytes) / known_rate;
    EXPECT_GT(largest.seconds, both_ways);
    EXPECT_LT(largest.seconds, 1.5 * both_ways);
    for (std::size_t i = 1; i < rates.reductions.size(); ++i)
        EXPECT_GT(rates.reductions[i].seconds, rates.reductions[i - 1].seconds);
}

TEST(NetworkBench, SkewKeepsTheMean) {
    for (const int ranks : {2, 3, 8, 64}) {
        for (const double skew : {1.0, 1.5, 2.0}) {
            const comm::SkewedBytes each = comm::skewed_bytes(1 << 20, skew, ranks);
            const double first = static_cast<double>(each.to_first) * (ranks - 1);
            const double all =
                first + static_cast<double>(each.to_others) * (ranks - 1.0) * (ranks - 1.0);
            EXPECT_NEAR(first / (all / ranks), skew, 1e-4) << ranks;
            EXPECT_NEAR(all / (ranks * (ranks - 1.0)), 1 << 20, ranks) << ranks;
        }
    }
}

}  // namespace
}  // namespace rudder::test
