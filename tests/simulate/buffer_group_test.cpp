// What ranks that share a buffer need and fetch, beside sets that are made in the simplest way.
#include "train/simulate/buffer_group.hpp"

#include <map>
#include <memory>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "run/step_work.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {

namespace {

using train::BufferGroup;
using train::ClusterModel;
using train::FetchedRows;
using train::GroupStep;
using train::RankStep;
using train::SimulatedGround;
using train::TrainOptions;
using Ids = std::set<VertexId>;

/// A batch of a rank: every vertex as often as its parts' batches have it.
struct Drawn {
    std::vector<VertexId> vertices;
    std::uint64_t edges = 0;
};

class BufferGroupTest : public testing::Test {
protected:
    void SetUp() override { make({.vertices = 600, .parts = 8}); }

    void make(const SmallGraph& graph) {
        data_.emplace(make_parts(folder_.path(), graph));
        options_ = small_options();
        options_.policy = "none";
        cluster_.ranks = 4;
        cluster_.ranks_per_host = 1;
    }

    /// The ground of what was chosen so far.
    const SimulatedGround& ground() {
        if (!ground_) ground_ = std::make_unique<SimulatedGround>(*data_, options_, cluster_, 0);
        return *ground_;
    }

    Drawn draw(int rank, std::uint64_t step) {
        Drawn drawn;
        SimulatedGround::Sampler sampler(ground());
        const partition::PartShare share = ground().share(rank);
        for (PartId p = share.first; p < share.last; ++p) {
            (*sampler).sample(p, step, sampler.batch);
            drawn.vertices.insert(drawn.vertices.end(), sampler.batch.vertices.begin(),
                                  sampler.batch.vertices.end());
            drawn.edges += sampler.batch.edges();
        }
        return drawn;
    }
    [[nodiscard]] int host_of(VertexId v) { return cluster_.host_of(ground().owner(v)); }

    /// Distinct vertices that a rank needs of other hosts.
    Ids remote(int rank, std::uint64_t step) {
        Ids ids;
        for (const VertexId v : draw(rank, step).vertices) {
            if (host_of(v) != cluster_.host_of(rank)) ids.insert(v);
        }
        return ids;
    }
    Ids remote_of(const BufferGroup& group, std::uint64_t step) {
        Ids all;
        for (int r = group.first(); r < group.last(); ++r)
            all.merge(remote(r, step));
        return all;
    }
    /// All steps of a group; nothing that was fetched has landed.
    std::vector<GroupStep> steps_of(BufferGroup& group, std::uint32_t landed = 1) {
        std::vector<GroupStep> steps(ground().steps());
        for (std::uint64_t step = 0; step < steps.size(); ++step)
            group.begin(step, landed, steps[step]);
        return steps;
    }

    TempDir folder_;
    std::optional<partition::PartitionedDataset> data_;
    TrainOptions options_;
    ClusterModel cluster_;
    std::unique_ptr<SimulatedGround> ground_;
};

/// What holds for every step, whatever is fetched.
void expect_sound(const GroupStep& step, const BufferGroup& group, const ClusterModel& cluster,
                  std::uint64_t most_rows) {
    std::uint64_t demand = 0;
    for (const RankStep& rank : step.ranks) {
        EXPECT_EQ(rank.rows.needed, rank.rows.local + rank.rows.hit + rank.rows.demand);
        EXPECT_EQ(rank.own + rank.others, rank.rows.needed + rank.rows.saved);
        demand += rank.rows.demand;
    }
    EXPECT_EQ(step.own.rows, demand);
    std::uint64_t fetched = 0;
    const auto expect_asked = [&](const FetchedRows& rows) {
        std::uint64_t asked = 0;
        int last = -1;
        for (const train::RowQuestion& question : rows.questions) {
            EXPECT_NE(cluster.host_of(question.owner), cluster.host_of(group.first()));
            EXPECT_GE(question.owner, last);
            EXPECT_LE(question.rows, most_rows);
            EXPECT_GT(question.bytes, 0U);
            last = question.owner;
            asked += question.rows;
        }
        EXPECT_EQ(asked, rows.rows);
        fetched += asked;
    };
    expect_asked(step.own);
    for (const FetchedRows& rows : step.background)
        expect_asked(rows);
    std::uint64_t by_owner = 0;
    for (const auto& [owner, rows] : step.by_owner)
        by_owner += rows;
    EXPECT_EQ(by_owner, fetched);
    EXPECT_EQ(step.beside.replacement + step.beside.ahead, fetched - demand);
}

TEST_F(BufferGroupTest, WithoutABufferAllDistinctRowsAreAskedFor) {
    options_.bulk = 7;
    BufferGroup group(ground(), 1, 2);
    EXPECT_FALSE(group.buffered());
    const auto steps = steps_of(group);
    for (std::uint64_t step = 0; step < steps.size(); ++step) {
        const Drawn drawn = draw(1, step);
        const Ids ids = remote(1, step);
        const RankStep& mine = steps[step].ranks.front();
        EXPECT_EQ(mine.rows.demand, ids.size());
        EXPECT_EQ(mine.own + mine.others, drawn.vertices.size());
        EXPECT_EQ(mine.edges, drawn.edges);
        EXPECT_EQ(group.edges(step, 1), drawn.edges);
        EXPECT_EQ(steps[step].remote, ids.size());
        EXPECT_FALSE(steps[step].knobs);
        std::map<int, std::uint64_t> owners;
        for (const VertexId v : ids)
            ++owners[ground().owner(v)];
        const auto& by_owner = steps[step].by_owner;
        EXPECT_EQ((std::map<int, std::uint64_t>(by_owner.begin(), by_owner.end())), owners);
        expect_sound(steps[step], group, cluster_, 7);
    }
    EXPECT_EQ(group.finish(), Rows{});
}

TEST_F(BufferGroupTest, RowsOfAHostAreLocalToItsRanks) {
    cluster_.ranks_per_host = 2;
    options_.buffer_scope = buffer::BufferScope::rank;
    BufferGroup group(ground(), 2, 3);
    EXPECT_EQ(group.own_vertices(), data_->book().range(6).end - data_->book().range(4).begin +
                                        data_->book().range(7).end - data_->book().range(6).end);
    GroupStep step;
    group.begin(0, 1, step);
    const Drawn drawn = draw(2, 0);
    Ids local;
    for (const VertexId v : drawn.vertices) {
        if (host_of(v) == 1) local.insert(v);
    }
    EXPECT_EQ(step.ranks.front().rows.local, local.size());
    EXPECT_EQ(step.ranks.front().rows.demand, remote(2, 0).size());
}

TEST_F(BufferGroupTest, ABufferWithRoomForAllFetchesEachRowOnce) {
    options_.policy = "lru";
    options_.buffer_rows = 600;
    BufferGroup group(ground(), 0, 1);
    EXPECT_TRUE(group.buffered());
    EXPECT_EQ(group.slots(), 600 - group.own_vertices());
    Ids seen;
    const auto steps = steps_of(group);
    for (std::uint64_t step = 0; step < steps.size(); ++step) {
        const Ids ids = remote(0, step);
        std::uint64_t fresh = 0;
        for (const VertexId v : ids)
            fresh += seen.insert(v).second ? 1U : 0U;
        EXPECT_EQ(steps[step].ranks.front().rows.demand, fresh);
        EXPECT_EQ(steps[step].ranks.front().rows.hit, ids.size() - fresh);
        expect_sound(steps[step], group, cluster_, 600);
    }
    EXPECT_EQ(group.floor(), seen.size());
}

TEST_F(BufferGroupTest, RanksThatShareABufferShareItsRows) {
    cluster_.ranks_per_host = 2;
    options_.policy = "lru";
    options_.buffer_rows = 600;
    BufferGroup group(ground(), 2, 4);
    Ids seen;
    const auto steps = steps_of(group);
    for (std::uint64_t step = 0; step < steps.size(); ++step) {
        const Ids first = remote(2, step);
        Ids both = first;
        const Ids second = remote(3, step);
        both.insert(second.begin(), second.end());
        // The second rank is told of what the first did not need.
        EXPECT_EQ(steps[step].ranks[0].rows.hit + steps[step].ranks[0].rows.demand, first.size());
        EXPECT_EQ(steps[step].ranks[1].rows.hit + steps[step].ranks[1].rows.demand,
                  both.size() - first.size());
        EXPECT_EQ(steps[step].remote, both.size());
        seen.merge(both);
        expect_sound(steps[step], group, cluster_, 600);
    }
    EXPECT_EQ(group.floor(), seen.size());
}

TEST_F(BufferGroupTest, AWindowFetchesAheadAndNeverBelowTheFloor) {
    options_.policy = "window:4";
    options_.epochs = 4;
    BufferGroup group(ground(), 0, 1);
    const auto steps = steps_of(group);
    std::uint64_t fetched = 0;
    std::uint32_t last = 0;
    for (std::uint64_t step = 0; step < steps.size(); ++step) {
        expect_sound(steps[step], group, cluster_, 600);
        fetched += steps[step].own.rows + steps[step].beside.replacement + steps[step].beside.ahead;
        EXPECT_LE(steps[step].ahead, steps.size() - step - 1);
        EXPECT_EQ(steps[step].knobs->policy.text(), "window:4");
        EXPECT_EQ(steps[step].knobs->capacity, group.slots());
        // Numbers ascend, a step's own before those behind it.
        EXPECT_GT(steps[step].own.number, last);
        last = steps[step].own.number;
        for (const std::uint32_t number : steps[step].awaited)
            EXPECT_LT(number, steps[step].own.number);
    }
    EXPECT_GE(fetched, group.floor());
    EXPECT_GT(group.floor(), 0U);
}

TEST_F(BufferGroupTest, OfWhatHasLandedNothingIsAwaited) {
    options_.policy = "static-degree";
    BufferGroup early(ground(), 0, 1);
    BufferGroup late(ground(), 0, 1);
    const auto waits = steps_of(early);
    const auto calm = steps_of(late, 1'000'000);
    std::uint64_t awaited = 0;
    for (std::size_t step = 0; step < waits.size(); ++step) {
        awaited += waits[step].awaited.size();
        EXPECT_TRUE(calm[step].awaited.empty());
        // It is not of what is fetched that it depends on.
        EXPECT_EQ(calm[step].own.rows, waits[step].own.rows);
    }
    EXPECT_GT(awaited, 0U);
    // The buffer is filled before the first step, and stays.
    EXPECT_EQ(waits.front().beside.replacement, early.slots());
    EXPECT_TRUE(waits.back().background.empty());
}

TEST_F(BufferGroupTest, WhatNoStepReportedIsLeftForTheEnd) {
    options_.policy = "static-degree";
    options_.buffer = 1;
    BufferGroup group(ground(), 0, 1);
    const auto steps = steps_of(group);
    Ids unread;
    for (PartId p = 0; p < 2; ++p) {
        for (const VertexId v : ground().parts()[p].halo()) {
            if (ground().owner(v) != 0) unread.insert(v);
        }
    }
    EXPECT_EQ(group.slots(), unread.size());
    for (std::uint64_t step = 0; step < steps.size(); ++step) {
        for (const VertexId v : remote(0, step))
            unread.erase(v);
    }
    std::uint64_t reported = 0;
    for (const GroupStep& step : steps)
        reported += step.beside.wasted;
    // Every row of the halo was fetched; those that no step read were fetched in vain.
    EXPECT_GT(unread.size(), 0U);
    EXPECT_EQ(reported + group.finish().wasted, unread.size());
}

TEST_F(BufferGroupTest, SettingUpTakesTheHaloAndItsDegrees) {
    options_.policy = "lru";
    const BufferGroup one(ground(), 0, 1);
    EXPECT_EQ(one.setup_bytes(), one.halo() * (sizeof(VertexId) + sizeof(std::uint32_t)));
    Ids halo;
    for (PartId p = 0; p < 2; ++p) {
        for (const VertexId v : ground().parts()[p].halo()) {
            if (ground().owner(v) != 0) halo.insert(v);
        }
    }
    EXPECT_EQ(one.halo(), halo.size());
}

TEST_F(BufferGroupTest, WorkIsCountedAsByWhoMeasuresMachines) {
    sample::Batch batch;
    {
        SimulatedGround::Sampler sampler(ground());
        (*sampler).sample(0, 0, batch);
    }
    const auto work = ground().work_of(batch);
    const graph::DatasetInfo& info = data_->info();
    const run::NetworkWork known =
        run::network_work(batch, info.features.width, options_.hidden, info.targets.count);
    EXPECT_DOUBLE_EQ(work.flops, known.flops);
    EXPECT_DOUBLE_EQ(work.aggregate_bytes, known.mean_bytes);
    EXPECT_GT(work.flops, 0);
    // A model without weights of a vertex's own row has half of the products.
    options_.model = "gcn";
    ground_.reset();
    EXPECT_DOUBLE_EQ(ground().work_of(batch).flops, known.flops / 2);
}

}  // namespace

}  // namespace rudder::test
