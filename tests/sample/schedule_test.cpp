// The schedule: permutations of the training vertices, whoever asks and in whatever order.
#include "sample/schedule.hpp"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "sample/bed.hpp"
#include "sample/suite.hpp"

#include "seed_blocks.hpp"

namespace rudder::test {
namespace {

/// The training vertices of a part that have a label.
std::vector<VertexId> expected_seeds(const partition::Part& part) {
    std::vector<VertexId> seeds;
    for (LocalId v = 0; v < part.own(); ++v) {
        if (part.roles()[v] == graph::Role::train && part.targets().classes[v] != graph::no_label)
            seeds.push_back(part.global(v));
    }
    return seeds;
}

/// All seeds of a part in one epoch, step by step.
std::vector<VertexId> epoch_seeds(const sample::Schedule& schedule, PartId part,
                                  std::uint32_t epoch) {
    std::vector<VertexId> all;
    std::vector<VertexId> seeds;
    for (std::uint64_t i = 0; i < schedule.steps_per_epoch(); ++i) {
        const std::uint64_t step = epoch * schedule.steps_per_epoch() + i;
        EXPECT_EQ(schedule.epoch_of(step), epoch);
        schedule.seeds(part, step, seeds);
        EXPECT_EQ(seeds.size(), schedule.seed_count(part, step));
        all.insert(all.end(), seeds.begin(), seeds.end());
    }
    return all;
}

class Orders : public ::testing::TestWithParam<sample::SeedOrder> {};
INSTANTIATE_TEST_SUITE_P(Schedule, Orders,
                         ::testing::Values(sample::SeedOrder::random, sample::SeedOrder::clustered),
                         [](const auto& order) {
                             const bool random = order.param == sample::SeedOrder::random;
                             return random ? "random" : "clustered";
                         });

TEST_P(Orders, EveryEpochIsAPermutationOfTheTrainingVertices) {
    for (const bool uneven : {false, true}) {
        const Bed bed({.uneven = uneven});
        const auto parts = bed.data().all_parts();
        for (const std::uint64_t batch : {1U, 7U, 16U, 100000U}) {
            const sample::Schedule schedule(comm::Communicator::local(), parts, bed.data().parts(),
                                            {.batch = batch, .order = GetParam(), .seed = 3});
            for (const partition::Part& part : parts) {
                std::set<std::vector<VertexId>> orders;
                for (const std::uint32_t epoch : {0U, 1U, 2U}) {
                    auto seeds = epoch_seeds(schedule, part.id(), epoch);
                    orders.insert(seeds);
                    std::ranges::sort(seeds);
                    EXPECT_EQ(seeds, expected_seeds(part));
                    EXPECT_EQ(seeds.size(), schedule.training_vertices(part.id()));
                }
                if (schedule.training_vertices(part.id()) > 8) {
                    EXPECT_EQ(orders.size(), 3U);
                }
            }
        }
    }
}

TEST_P(Orders, AnyStepAtAnyTime) {
    const Bed bed;
    const auto parts = bed.data().all_parts();
    const sample::ScheduleOptions options{.batch = 5, .order = GetParam(), .seed = 3};
    const sample::Schedule forwards(comm::Communicator::local(), parts, 4, options);
    const sample::Schedule backwards(comm::Communicator::local(), parts, 4, options);
    std::vector<std::vector<VertexId>> seen;
    for (std::uint64_t t = 0; t < forwards.steps_per_epoch() * 9; ++t)
        forwards.seeds(1, t, seen.emplace_back());
    std::vector<VertexId> seeds;
    for (std::uint64_t t = seen.size(); t-- > 0;) {
        backwards.seeds(1, t, seeds);
        ASSERT_EQ(seeds, seen[t]);
    }
}

TEST(ScheduleCounts, FollowFromTheLargestPartOnEveryRank) {
    const Bed bed({.uneven = true});
    const auto parts = bed.data().all_parts();
    std::vector<std::uint64_t> sizes;
    for (const partition::Part& part : parts)
        sizes.push_back(expected_seeds(part).size());
    ASSERT_EQ(sizes.back(), 0U);  // a rank with nothing to train on
    comm::SimulatedCluster cluster({.ranks = 4, .seed = 1});
    cluster.run([&](const comm::Communicator& comm) {
        const auto own = own_parts(comm, bed.data());
        const sample::Schedule schedule(comm, own, 4, {.batch = 10});
        EXPECT_EQ(schedule.steps_per_epoch(), (std::ranges::max(sizes) + 9) / 10);
        std::uint64_t sum = 0;
        for (std::uint64_t t = 0; t < schedule.steps_per_epoch(); ++t) {
            std::uint64_t of_parts = 0;
            for (PartId p = 0; p < 4; ++p)
                of_parts += schedule.seed_count(p, t);
            EXPECT_EQ(of_parts, schedule.seed_count(t));
            sum += of_parts;
        }
        EXPECT_EQ(sum, sizes[0] + sizes[1] + sizes[2] + sizes[3]);
    });
}

TEST(ScheduleCounts, StepsOfAnEpochDifferByOneSeedAtMost) {
    const Bed bed({.uneven = true});
    const auto parts = bed.data().all_parts();
    for (const std::uint64_t batch : {1U, 2U, 7U, 16U, 33U, 100000U}) {
        const sample::Schedule schedule(comm::Communicator::local(), parts, 4, {.batch = batch});
        for (PartId p = 0; p < 4; ++p) {
            std::set<std::uint64_t> counts;
            for (std::uint64_t t = 0; t < 2 * schedule.steps_per_epoch(); ++t)
                counts.insert(schedule.seed_count(p, t));
            EXPECT_LE(*counts.rbegin(), batch);
            EXPECT_LE(*counts.rbegin() - *counts.begin(), 1U) << "part " << p;
        }
    }
}

TEST(ScheduleOrders, DifferBetweenPartsSeedsAndOrders) {
    const Bed bed;
    const auto parts = bed.data().all_parts();
    const auto first = [&](const sample::ScheduleOptions& options) {
        const sample::Schedule schedule(comm::Communicator::local(), parts, 4, options);
        return epoch_seeds(schedule, 0, 0);
    };
    EXPECT_EQ(first({.batch = 5, .seed = 1}), first({.batch = 9, .seed = 1}));
    EXPECT_NE(first({.batch = 5, .seed = 1}), first({.batch = 5, .seed = 2}));
    EXPECT_NE(first({.batch = 5}), first({.batch = 5, .order = sample::SeedOrder::clustered}));
}

TEST(ScheduleOrders, ClusteredBatchesComeFromFewerClusters) {
    const Bed bed({.vertices = 4000, .parts = 1, .cluster_size = 100});
    const auto parts = bed.data().all_parts();
    const auto clusters = parts[0].clusters();
    const auto clusters_per_batch = [&](sample::SeedOrder order) {
        const sample::Schedule schedule(comm::Communicator::local(), parts, 1,
                                        {.batch = 100, .order = order});
        std::uint64_t sum = 0;
        std::vector<VertexId> seeds;
        for (std::uint64_t t = 0; t < schedule.steps_per_epoch(); ++t) {
            schedule.seeds(0, t, seeds);
            std::set<std::ptrdiff_t> met;
            for (const VertexId v : seeds)
                met.insert(std::ranges::upper_bound(clusters, v) - clusters.begin());
            sum += met.size();
        }
        return sum;
    };
    EXPECT_LT(clusters_per_batch(sample::SeedOrder::clustered) * 2,
              clusters_per_batch(sample::SeedOrder::random));
}

TEST(ScheduleRefused, NoSeedsNoBatchUnknownOrder) {
    const Bed bed({.vertices = 60, .train_every = 1000});
    const auto parts = bed.data().all_parts();
    const auto kind = [](auto&& f) {
        try {
            f();
        } catch (const Error& error) {
            return error.kind();
        }
        return ErrorKind::failed;
    };
    EXPECT_EQ(kind([&] { sample::Schedule(comm::Communicator::local(), parts, 4, {.batch = 0}); }),
              ErrorKind::usage);
    const std::vector<partition::Part> none;
    EXPECT_EQ(kind([&] { sample::Schedule(comm::Communicator::local(), none, 4, {}); }),
              ErrorKind::input);
}

}  // namespace
}  // namespace rudder::test
