#include "train/simulate/sum_bytes.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "comm/reduction.hpp"
#include "comm/simulated_cluster.hpp"

namespace rudder::test {

namespace {

using train::ClusterModel;
using train::SumBytes;
using train::SumRoute;

/// What ranks receive when they add vectors up for real; rank r contributes held[r] times.
std::vector<std::uint64_t> received(const std::vector<std::uint64_t>& held, std::size_t floats) {
    const int ranks = static_cast<int>(held.size());
    std::vector<std::uint64_t> bytes(held.size());
    comm::SimulatedCluster cluster({.ranks = ranks});
    cluster.run([&](const comm::Communicator& comm) {
        const auto me = static_cast<std::size_t>(comm.rank());
        const std::uint64_t first =
            std::accumulate(held.begin(), held.begin() + comm.rank(), std::uint64_t{0});
        std::vector<std::uint32_t> mine;
        for (std::uint64_t i = 0; i < held[me]; ++i)
            mine.push_back(static_cast<std::uint32_t>(first + i));
        comm::OrderedReducer reducer(comm, mine);
        const std::vector<float> values(floats, 1.0F);
        const std::vector<std::span<const float>> given(mine.size(), values);
        std::vector<float> sum(floats);
        const auto gradients = static_cast<std::size_t>(comm::Kind::gradients);
        const std::uint64_t before = comm.accounts().received[gradients];
        reducer.reduce(given, sum).wait();
        comm.barrier();
        bytes[me] = comm.accounts().received[gradients] - before;
    });
    return bytes;
}

ClusterModel cluster(int ranks, int per_host, SumRoute sums = SumRoute::owner) {
    ClusterModel model;
    model.ranks = ranks;
    model.ranks_per_host = per_host;
    model.network.sums = sums;
    return model;
}

TEST(SimulatedSums, AreThoseOfTheReducerByRank) {
    for (const std::vector<std::uint64_t>& held :
         {std::vector<std::uint64_t>{1, 1, 1}, {2, 1, 3, 1, 1}, {1}, {4, 4}}) {
        for (const std::size_t floats : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
            const train::SummedVector vector{.floats = floats, .width = 4};
            const SumBytes sums(cluster(static_cast<int>(held.size()), 1), held,
                                std::span(&vector, 1));
            const auto real = received(held, floats);
            for (std::size_t r = 0; r < held.size(); ++r)
                EXPECT_EQ(sums.received(static_cast<int>(r)), real[r]) << r << " of " << floats;
        }
    }
}

TEST(SimulatedSums, CrossBetweenHostsOnceByTwoLevels) {
    const std::vector<std::uint64_t> one(8, 1);
    const train::SummedVector vector{.floats = 800, .width = 4};
    const SumBytes direct(cluster(8, 4), one, std::span(&vector, 1));
    const SumBytes two(cluster(8, 4, SumRoute::two_level), one, std::span(&vector, 1));
    // A host owns half of the vector; its sum goes to each of four ranks, or to their host.
    EXPECT_EQ(direct.to_all(0, 1), 4U * 400 * 4);
    EXPECT_EQ(two.to_all(0, 1), 400U * 4);
    EXPECT_EQ(direct.to_owners(3, 1), two.to_owners(3, 1));
    EXPECT_EQ(direct.messages(), 7U);
    EXPECT_EQ(two.messages(), 1U + 6);
}

TEST(SimulatedSums, NarrowFloatsTakeHalf) {
    const std::vector<std::uint64_t> one(4, 1);
    const train::SummedVector wide{.floats = 100, .width = 4};
    const train::SummedVector narrow{.floats = 100, .width = 2};
    const SumBytes a(cluster(4, 1), one, std::span(&wide, 1));
    const SumBytes b(cluster(4, 1), one, std::span(&narrow, 1));
    EXPECT_EQ(a.received(2), 2 * b.received(2));
}

}  // namespace

}  // namespace rudder::test
