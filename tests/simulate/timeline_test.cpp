// Plans that are made by hand, and when their steps are done: each answer follows from the rates.
#include "train/simulate/timeline.hpp"

#include <gtest/gtest.h>

#include "rudder/core/error.hpp"

namespace rudder::test {

namespace {

using namespace std::chrono_literals;
using train::ClusterModel;
using train::FetchedRows;
using train::GroupStep;
using train::RankTimes;
using train::SumBytes;
using train::SummedVector;
using train::SumRoute;
using train::Timeline;

constexpr std::uint64_t row_bytes = 100;

/// Ranks of one host each; a link carries a byte in 10 ns, and an operation takes 1 ns. All else
/// takes no time.
ClusterModel ranks_apart(int ranks) {
    ClusterModel cluster;
    cluster.ranks = ranks;
    cluster.compute.flops = 1e9;
    cluster.network.link = {.delay = 50us, .bytes_per_second = 1e8};
    return cluster;
}

/// A simulated job of which everything is said here.
struct Job {
    ClusterModel cluster;
    std::uint64_t steps = 3;
    std::uint64_t in_flight = 2;
    std::uint64_t bytes_of_a_row = row_bytes;
    std::vector<SummedVector> vectors{};
    std::uint64_t parameters = 0;
    std::uint64_t edges = 0;  ///< of each step
    std::vector<Timeline::Group> groups{};
    std::vector<std::vector<GroupStep>> plans{};  ///< by group and step

    // What came out.
    Duration end{0};
    std::vector<std::vector<RankTimes>> times{};   ///< by step and rank
    std::vector<std::uint32_t> landed_at_begin{};  ///< of the first group, by step

    /// All ranks compute so long in each step, and need no rows.
    Job(ClusterModel model, Duration compute, bool buffered = false, int of_a_group = 1)
        : cluster(model) {
        for (int r = 0; r < cluster.ranks; r += of_a_group) {
            groups.push_back(
                {.first = r, .last = r + of_a_group, .buffered = buffered, .slots = 1'000'000});
        }
        plans.resize(groups.size());
        for (auto& of_group : plans) {
            for (std::uint64_t step = 0; step < steps; ++step) {
                GroupStep& plan = of_group.emplace_back();
                plan.ranks.resize(static_cast<std::size_t>(of_a_group));
                for (train::RankStep& rank : plan.ranks)
                    rank.work.flops = static_cast<double>(compute.count());
                plan.own.number = static_cast<std::uint32_t>(step + 1);
            }
        }
    }

    /// A step of a group needs so many rows of a rank, asked for in one question of 10 bytes.
    void fetch(std::size_t group, std::uint64_t step, int owner, std::uint32_t rows) {
        FetchedRows& own = plans[group][step].own;
        own.rows += rows;
        own.questions.push_back({.owner = owner, .rows = rows, .bytes = 10});
    }

    void run() {
        train::TrainOptions options;
        options.in_flight = in_flight;
        const std::vector<std::uint64_t> one(static_cast<std::size_t>(cluster.ranks), 1);
        const SumBytes sums(cluster, one, vectors);
        const Timeline* running = nullptr;
        Timeline timeline(cluster, options, groups, sums, parameters, bytes_of_a_row, steps,
                          {.plan = [&](std::size_t group, std::uint64_t step) -> const GroupStep& {
                               if (group == 0 && step == landed_at_begin.size())
                                   landed_at_begin.push_back(running->landed(0));
                               return plans[group][step];
                           },
                           .edges = [&](int, std::uint64_t) { return edges; },
                           .done =
                               [&](std::uint64_t step, const std::vector<RankTimes>& all) {
                                   EXPECT_EQ(step, times.size());
                                   times.push_back(all);
                               }});
        running = &timeline;
        timeline.run();
        end = timeline.now();
        EXPECT_EQ(times.size(), steps);
    }

    [[nodiscard]] Seconds of(std::uint64_t step, std::size_t rank = 0) const {
        return times[step][rank].seconds;
    }
};

/// How long rows of one message take, from the question to the last byte.
Duration fetching(std::uint64_t rows, std::uint64_t bytes_of_a_row = row_bytes) {
    const auto bytes = static_cast<Duration::rep>(rows * bytes_of_a_row);
    return 100ns + 50us + bytes * 10ns + 50us;
}

// ---- one rank ----------------------------------------------------------------------------------

TEST(Timeline, WithAllAtHandStepsTakeTheirComputing) {
    Job job(ranks_apart(1), 5ms);
    job.run();
    EXPECT_EQ(job.end, 15ms);
    for (std::uint64_t step = 0; step < 3; ++step) {
        EXPECT_DOUBLE_EQ(job.of(step).step, 0.005);
        EXPECT_DOUBLE_EQ(job.of(step).compute, 0.005);
        EXPECT_EQ(job.of(step).stall, 0);
    }
}

TEST(Timeline, WhatAWholeStepTakesBeyondItsProductsIsAFactor) {
    Job job(ranks_apart(1), 5ms);
    job.cluster.compute.step_factor = 1.5;
    job.cluster.compute.aggregate_bytes = 1e9;
    job.plans[0][2].ranks[0].work.aggregate_bytes = 1e6;  // 1 ms
    job.run();
    EXPECT_EQ(job.end, 3 * 7500us + 1500us);
}

TEST(Timeline, AnUpdateTakesTwelveOperationsAWeight) {
    Job job(ranks_apart(1), 5ms);
    job.parameters = 100'000;
    job.run();
    EXPECT_EQ(job.end, 3 * (5ms + 1200us));
    EXPECT_DOUBLE_EQ(job.of(1).compute, 0.0062);
    EXPECT_EQ(job.of(1).reduce, 0);
}

TEST(Timeline, StepsAreSampledAheadOnAllTasks) {
    Job job(ranks_apart(1), 5ms);
    job.cluster.compute.edges = 1e9;
    job.edges = 8'000'000;
    job.run();
    EXPECT_EQ(job.end, 3 * 8ms + 5ms);  // what draws them is slower
    EXPECT_DOUBLE_EQ(job.of(2).stall, 0.003);
    Job wider(ranks_apart(1), 5ms);
    wider.cluster.compute.edges = 1e9;
    wider.cluster.sample_tasks = 2;
    wider.edges = 8'000'000;
    wider.run();
    EXPECT_EQ(wider.end, 4ms + 3 * 5ms);
}

TEST(Timeline, OwnRowsArePutInPlaceWhileTheStepBeforeComputes) {
    Job job(ranks_apart(1), 5ms);
    job.cluster.compute.gather_bytes = 1e9;
    for (GroupStep& plan : job.plans[0])
        plan.ranks[0].own = 20'000;  // 2 ms
    job.run();
    EXPECT_EQ(job.end, 2ms + 3 * 5ms);
    job = Job(ranks_apart(1), 5ms);
    job.cluster.compute.gather_bytes = 1e9;
    job.in_flight = 1;  // nothing is assembled beside a step
    for (GroupStep& plan : job.plans[0])
        plan.ranks[0].own = 20'000;
    job.run();
    EXPECT_EQ(job.end, 3 * (2ms + 5ms));
}

TEST(Timeline, ThePolicyDecidesOneStepAheadOfTheAssembled) {
    Job job(ranks_apart(1), 5ms, true);
    job.cluster.compute.policy_rows = 1e6;
    for (GroupStep& plan : job.plans[0])
        plan.remote = 2000;  // 2 ms
    job.run();
    EXPECT_EQ(job.end, 2ms + 3 * 5ms);
    Job slower(ranks_apart(1), 1ms, true);
    slower.cluster.compute.policy_rows = 1e6;
    for (GroupStep& plan : slower.plans[0])
        plan.remote = 2000;
    slower.run();
    EXPECT_EQ(slower.end, 3 * 2ms + 1ms);
}

// ---- rows --------------------------------------------------------------------------------------

TEST(Timeline, RowsOfTheNextStepComeWhileOneComputes) {
    const Duration fetch = fetching(1000);
    EXPECT_EQ(fetch, 1100us + 100ns);
    for (const Duration compute : {Duration(400us), Duration(2ms)}) {
        Job job(ranks_apart(2), compute);
        for (std::uint64_t step = 0; step < 3; ++step)
            job.fetch(0, step, 1, 1000);
        job.run();
        EXPECT_EQ(job.end, compute < fetch ? 3 * fetch + compute : fetch + 3 * compute);
        Job one(ranks_apart(2), compute);
        one.in_flight = 1;
        for (std::uint64_t step = 0; step < 3; ++step)
            one.fetch(0, step, 1, 1000);
        one.run();
        EXPECT_EQ(one.end, 3 * (fetch + compute));
        EXPECT_DOUBLE_EQ(one.of(1).stall, to_seconds(fetch));
        EXPECT_DOUBLE_EQ(one.of(1).fetch, to_seconds(fetch));
    }
}

TEST(Timeline, AStepWaitsForTheLastOfItsAnswers) {
    Job job(ranks_apart(3), 0ms);
    job.steps = 1;
    job.fetch(0, 0, 1, 1000);
    job.fetch(0, 0, 2, 3000);
    job.run();
    // Both come in by one link; the second question leaves behind the first.
    EXPECT_EQ(job.end, fetching(1000) + 3ms);
}

TEST(Timeline, EachMessageCostsItsSenderTime) {
    Job job(ranks_apart(2), 0ms);
    job.steps = 1;
    job.cluster.compute.messages = 1e3;
    for (int i = 0; i < 3; ++i)
        job.fetch(0, 0, 1, 10);
    job.run();
    // The third question leaves after 3 ms, its answer is written a millisecond after it came; and
    // a sum of nothing is a message of nobody.
    EXPECT_EQ(job.end, 3ms + 1ms + fetching(10));
}

TEST(Timeline, AnOwnerWritesItsAnswersOneAfterTheOther) {
    Job job(ranks_apart(3), 0ms);
    job.steps = 1;
    job.cluster.compute.gather_bytes = 1e6;
    job.fetch(0, 0, 2, 10);  // 1 ms to write
    job.fetch(1, 0, 2, 10);
    job.run();
    EXPECT_EQ(job.end, 2ms + fetching(10));
}

/// Rows for the buffer alone, numbered behind all steps.
FetchedRows behind(std::uint32_t number, int owner, std::uint32_t rows) {
    return {
        .number = number, .rows = rows, .questions = {{.owner = owner, .rows = rows, .bytes = 10}}};
}

/// Own rows of steps are the first numbers: those behind come in between.
void number_behind(Job& job, std::uint32_t links) {
    for (std::uint64_t step = 1; step < job.steps; ++step)
        job.plans[0][step].own.number += links;
}

TEST(Timeline, WhatWasFetchedAheadIsAwaitedByTheStepThatReadsIt) {
    Job job(ranks_apart(2), 400us, true);
    job.plans[0][0].background.push_back(behind(2, 1, 1000));
    number_behind(job, 1);
    job.plans[0][1].awaited = {2};
    job.run();
    EXPECT_EQ(job.end, fetching(1000) + 2 * 400us);
    EXPECT_DOUBLE_EQ(job.of(0).stall, 0);
    EXPECT_DOUBLE_EQ(job.of(1).stall, to_seconds(fetching(1000) - 400us));
    EXPECT_DOUBLE_EQ(job.of(2).stall, 0);
    // Nobody waits for what no step reads.
    Job idle(ranks_apart(2), 400us, true);
    idle.plans[0][0].background.push_back(behind(2, 1, 1000));
    number_behind(idle, 1);
    idle.run();
    EXPECT_DOUBLE_EQ(idle.of(2).stall, 0);
    EXPECT_DOUBLE_EQ(idle.of(1).step + idle.of(2).step, 800e-6);
}

TEST(Timeline, RowsThatAStepWaitsForPassThoseForTheBuffer) {
    Job job(ranks_apart(2), 0us, true);
    job.plans[0][0].background.push_back(behind(2, 1, 10'000));  // 10 ms
    number_behind(job, 1);
    job.fetch(0, 1, 1, 1000);
    job.plans[0][2].awaited = {2};
    job.run();
    // The second question follows the first, 0.1 us later.
    EXPECT_DOUBLE_EQ(job.of(1).step, to_seconds(fetching(1000) + 100ns));
    EXPECT_NEAR(to_seconds(job.end), to_seconds(fetching(10'000 + 1000)), 1e-6);
}

TEST(Timeline, NoMoreThanSixteenMebibytesAreOnTheirWayForTheBuffer) {
    constexpr std::uint64_t large = 1 << 20;
    Job job(ranks_apart(2), 0us, true);
    job.bytes_of_a_row = large;
    for (std::uint32_t i = 0; i < 3; ++i)
        job.plans[0][0].background.push_back(behind(2 + i, 1, 8));
    number_behind(job, 3);
    job.plans[0][1].awaited = {2};
    job.plans[0][2].awaited = {2, 3, 4};
    job.run();
    // Two are asked for at once, the third when the first has come.
    const Duration first = fetching(8, large);
    const Duration transfer = first - fetching(0, large);
    EXPECT_DOUBLE_EQ(job.of(1).step, to_seconds(first));
    const Duration third_asked = first + 100ns + 50us;
    EXPECT_LT(third_asked + transfer, first + 2 * transfer);  // it waits behind the second
    EXPECT_EQ(job.end, first + 2 * transfer);
    job = Job(ranks_apart(2), 0us, true);
    job.bytes_of_a_row = large;
    for (std::uint32_t i = 0; i < 3; ++i)
        job.plans[0][0].background.push_back(behind(2 + i, 1, 16));
    number_behind(job, 3);
    job.plans[0][2].awaited = {4};
    job.run();
    EXPECT_EQ(job.end, 3 * fetching(16, large));
}

TEST(Timeline, SaysWhatHasLanded) {
    Job job(ranks_apart(2), 2ms, true);
    job.fetch(0, 0, 1, 1000);
    job.plans[0][0].background.push_back(behind(2, 1, 1000));
    number_behind(job, 1);
    job.run();
    // The second step begins at once, the third when the first has its rows: those behind it are
    // still on their way.
    EXPECT_EQ(job.landed_at_begin, (std::vector<std::uint32_t>{1, 1, 2}));
}

// ---- several ranks of a group ------------------------------------------------------------------

TEST(Timeline, WhoSharesABufferWaitsForItsRows) {
    ClusterModel cluster = ranks_apart(4);
    cluster.ranks_per_host = 2;
    Job job(cluster, 1ms, true, 2);
    job.steps = 1;
    job.fetch(0, 0, 2, 1000);
    job.run();
    EXPECT_DOUBLE_EQ(job.of(0, 0).stall, to_seconds(fetching(1000)));
    EXPECT_DOUBLE_EQ(job.of(0, 1).stall, to_seconds(fetching(1000)));
    EXPECT_EQ(job.of(0, 2).stall, 0);
    // The others waited for those that waited for rows.
    EXPECT_NEAR(job.of(0, 3).wait_rows, to_seconds(fetching(1000)), 1e-12);
    EXPECT_NEAR(job.of(0, 3).wait_ranks, 0, 1e-12);
}

TEST(Timeline, RowsWithinAHostTakeNoTimeOnTheWire) {
    ClusterModel cluster = ranks_apart(2);
    cluster.ranks_per_host = 2;
    Job job(cluster, 1ms);
    job.fetch(0, 0, 1, 1'000'000);
    job.run();
    EXPECT_EQ(job.end, 3ms);
}

TEST(Timeline, AllWaitForTheSlowest) {
    Job job(ranks_apart(2), 1ms);
    for (GroupStep& plan : job.plans[1])
        plan.ranks[0].work.flops = 3e6;
    job.run();
    EXPECT_EQ(job.end, 9ms);
    EXPECT_DOUBLE_EQ(job.of(1, 0).wait_ranks, 0.002);
    EXPECT_DOUBLE_EQ(job.of(1, 0).wait_gradients, 0);
    EXPECT_DOUBLE_EQ(job.of(1, 1).wait_ranks, 0);
}

// ---- sums --------------------------------------------------------------------------------------

TEST(Timeline, HalfOfTheGradientsLeaveBeforeAStepIsComputed) {
    Job job(ranks_apart(2), 30ms);
    job.steps = 1;
    job.vectors = {{.floats = 4'000'000, .width = 4}};
    job.run();
    // Each owns 8 MB: half of what the other has to them leaves at 20 ms and takes 40, the rest
    // then; the sums of 8 MB follow, when the last contribution is there.
    EXPECT_EQ(job.end, 20ms + 80ms + 50us + 80ms + 50us);
    EXPECT_DOUBLE_EQ(job.of(0).wait_gradients, 0.1501);
    EXPECT_DOUBLE_EQ(job.of(0).compute, 0.03);
}

TEST(Timeline, SumsByTwoLevelsCrossOnce) {
    const auto end_of = [](SumRoute route) {
        ClusterModel cluster = ranks_apart(8);
        cluster.ranks_per_host = 4;
        cluster.network.sums = route;
        Job job(cluster, 0ms);
        job.steps = 1;
        job.vectors = {{.floats = 1'000'000, .width = 4}};
        job.run();
        return job.end;
    };
    // A host's ranks have 4 times 2 MB for the other's pieces, since sums have an order; each of
    // its ranks gets 2 MB of sums, or the host does.
    EXPECT_EQ(end_of(SumRoute::owner), 80ms + 50us + 80ms + 50us);
    EXPECT_EQ(end_of(SumRoute::two_level), 80ms + 50us + 20ms + 50us);
}

TEST(Timeline, GradientsPassRows) {
    Job job(ranks_apart(2), 1ms, true);
    job.vectors = {{.floats = 10'000, .width = 4}};  // 20 kB to each other, and back
    job.plans[0][0].background.push_back(behind(2, 1, 100'000));
    number_behind(job, 1);
    job.run();
    // 100 ms of rows are on the same link.
    for (std::uint64_t step = 0; step < 3; ++step)
        EXPECT_LT(job.of(step).step, 0.0016);
}

TEST(Timeline, WaitsAddUpToTheStep) {
    ClusterModel cluster = ranks_apart(4);
    cluster.ranks_per_host = 2;
    cluster.compute.messages = 1e5;
    Job job(cluster, 1ms, true, 2);
    job.vectors = {{.floats = 30'001, .width = 4}, {.floats = 17, .width = 4}};
    for (std::uint64_t step = 0; step < 3; ++step) {
        job.fetch(0, step, 3, 500);
        job.fetch(1, step, 0, 2000);
        job.plans[1][step].ranks[1].work.flops = 2e6;
    }
    job.run();
    double sum = 0;
    for (std::uint64_t step = 0; step < 3; ++step) {
        for (std::size_t rank = 0; rank < 4; ++rank) {
            const Seconds s = job.of(step, rank);
            EXPECT_NEAR(s.step, s.compute + s.wait_rows + s.wait_gradients + s.wait_ranks, 1e-12);
            EXPECT_NEAR(s.step, s.stall + s.compute + s.reduce, 1e-12);
        }
        sum += job.of(step, 3).step;
    }
    EXPECT_LE(sum, to_seconds(job.end) + 1e-12);
}

}  // namespace

}  // namespace rudder::test
