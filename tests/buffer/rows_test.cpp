// Row numbers, residents, distinct rows and landings against plain containers that do the same.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "buffer/live/landing.hpp"
#include "buffer/live/step_ids.hpp"
#include "rudder/buffer/residents.hpp"
#include "rudder/buffer/row_numbering.hpp"
#include "rudder/core/random.hpp"

namespace rudder::test {
namespace {

using RowList = std::vector<buffer::RowKey>;

std::vector<VertexId> random_ids(Draws& draws, std::size_t count, VertexId universe) {
    std::vector<VertexId> ids(count);
    for (VertexId& id : ids)
        id = draws.below(universe);
    return ids;
}

// ---- numbers -----------------------------------------------------------------------------------

/// The universes with an entry per vertex, and those without.
class RowNumberings : public testing::TestWithParam<VertexId> {};

TEST_P(RowNumberings, ARepeatedIdGetsOneNumber) {
    buffer::RowNumbering numbering(100, std::vector<VertexId>{7, 9}, GetParam());
    const std::vector<VertexId> ids{50, 9, 50, 3, 50, 7, 3};
    RowList rows(ids.size());
    numbering.number(ids, rows);
    EXPECT_EQ(rows, (RowList{2, 1, 2, 3, 2, 0, 3}));
    EXPECT_EQ(numbering.size(), 4U);
    EXPECT_EQ(numbering.halo(), 2U);
    buffer::RowKey known = 0;
    for (const VertexId v : {7U, 9U, 50U, 3U})
        EXPECT_EQ(numbering.vertex(known++), v);
}

TEST_P(RowNumberings, FindingAddsNothing) {
    buffer::RowNumbering numbering(100, std::vector<VertexId>{1}, GetParam());
    const std::vector<VertexId> ids{0, 1, 99};
    RowList rows(ids.size());
    numbering.find(ids, rows);
    EXPECT_EQ(rows, (RowList{buffer::no_row, 0, buffer::no_row}));
    EXPECT_EQ(numbering.size(), 1U);
    numbering.add_missing(ids, rows);
    EXPECT_EQ(rows, (RowList{1, 0, 2}));
    EXPECT_EQ(numbering.size(), 3U);
}

TEST_P(RowNumberings, AnIdOutsideTheUniverseIsNeverNumbered) {
    buffer::RowNumbering numbering(100, {}, GetParam());
    RowList rows(1);
    for (const VertexId id : {VertexId{100}, VertexId{1} << 40, ~VertexId{0}}) {
        numbering.find(std::vector<VertexId>{id}, rows);
        EXPECT_EQ(rows[0], buffer::no_row);
        EXPECT_THROW(numbering.number(std::vector<VertexId>{id}, rows), InternalError);
    }
    EXPECT_EQ(numbering.size(), 0U);
}

TEST_P(RowNumberings, AHaloWithAVertexTwiceIsOurFault) {
    EXPECT_THROW(buffer::RowNumbering(100, std::vector<VertexId>{4, 4}, GetParam()), InternalError);
}

TEST_P(RowNumberings, SurviveGrowth) {
    // Far more rows than the first table has room for; ids that share their low or high bits.
    constexpr VertexId universe = VertexId{1} << 20;
    buffer::RowNumbering numbering(universe, {}, GetParam());
    std::map<VertexId, buffer::RowKey> expected;
    for (const VertexId stride : {VertexId{1}, VertexId{64}, VertexId{1024}}) {
        std::vector<VertexId> ids;
        for (VertexId i = 0; i < 1000; ++i)
            ids.push_back(i * stride);
        RowList rows(ids.size());
        numbering.number(ids, rows);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const auto at =
                expected.emplace(ids[i], static_cast<buffer::RowKey>(expected.size())).first;
            ASSERT_EQ(rows[i], at->second) << ids[i];
        }
    }
    for (const auto& [vertex, row] : expected)
        EXPECT_EQ(numbering.vertex(row), vertex);
    EXPECT_GE(numbering.bytes(), expected.size() * sizeof(VertexId));
}

INSTANTIATE_TEST_SUITE_P(Both, RowNumberings,
                         testing::Values(buffer::RowNumbering::direct_limit, VertexId{0}),
                         [](const auto& of) { return of.param == 0 ? "Hashed" : "Direct"; });

// ---- residents ---------------------------------------------------------------------------------

TEST(Residents, TakeTheLowestSlotsFirst) {
    buffer::Residents residents(4, 4);
    residents.know(10);
    for (const buffer::SlotId slot : {0U, 1U, 2U, 3U})
        EXPECT_EQ(residents.place(9 - slot), slot);
    EXPECT_EQ(residents.room(), 0U);
    EXPECT_EQ(residents.remove(8), 1U);
    EXPECT_EQ(residents.place(0), 1U);  // the one that became free last
    EXPECT_EQ(residents.row_at(1), 0U);
    EXPECT_FALSE(residents.holds(8));
}

TEST(Residents, FollowAMapThroughRandomChanges) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const RandomStream stream({Purpose::test, seed, 31});
        Draws draws(stream, 0);
        constexpr buffer::SlotId slots = 12;
        buffer::Residents residents(slots, slots / 2);
        std::map<buffer::RowKey, buffer::SlotId> expected;
        buffer::RowKey known = 0;
        for (int round = 0; round < 400; ++round) {
            if (draws.below(10) == 0) known += static_cast<buffer::RowKey>(draws.below(8));
            residents.know(known);
            if (draws.below(20) == 0) {
                const auto capacity = static_cast<buffer::SlotId>(draws.below(slots + 1));
                residents.set_capacity(capacity);
                while (expected.size() > capacity) {
                    residents.remove(expected.begin()->first);
                    expected.erase(expected.begin());
                }
            }
            if (known == 0) continue;
            const auto row = static_cast<buffer::RowKey>(draws.below(known));
            if (const auto found = expected.find(row); found != expected.end()) {
                ASSERT_EQ(residents.remove(row), found->second);
                expected.erase(found);
            } else if (residents.room() > 0) {
                const buffer::SlotId slot = residents.place(row);
                for (const auto& [other, taken] : expected)
                    ASSERT_NE(slot, taken) << "of row " << other;
                expected.emplace(row, slot);
            }
            ASSERT_EQ(residents.count(), expected.size());
            ASSERT_EQ(residents.room(), residents.capacity() - expected.size());
            for (buffer::RowKey r = 0; r < known; ++r)
                ASSERT_EQ(residents.holds(r), expected.contains(r));
            for (const auto& [held, slot] : expected)
                ASSERT_EQ(residents.row_at(slot), held);
        }
    }
}

TEST(Residents, LookingUpCountsTheHits) {
    buffer::Residents residents(3, 2);
    residents.know(6);
    residents.place(4);
    residents.place(1);
    const RowList rows{4, 0, 1, 5};
    std::vector<buffer::SlotId> slots(rows.size());
    EXPECT_EQ(residents.look_up(rows, slots), 2U);
    EXPECT_EQ(slots, (std::vector<buffer::SlotId>{0, buffer::no_slot, 1, buffer::no_slot}));
    EXPECT_EQ(residents.look_up({}, {}), 0U);
}

TEST(Residents, ACapacityBeyondTheSlotsIsOurFault) {
    EXPECT_THROW(buffer::Residents(3, 4), InternalError);
    buffer::Residents residents(3, 3);
    EXPECT_THROW(residents.set_capacity(4), InternalError);
    residents.set_capacity(0);
    EXPECT_EQ(residents.room(), 0U);
    EXPECT_EQ(residents.slots(), 3U);
}

TEST(Residents, KnowingFewerRowsForgetsNone) {
    buffer::Residents residents(2, 2);
    residents.know(5);
    residents.place(4);
    residents.know(1);
    EXPECT_TRUE(residents.holds(4));
    EXPECT_GT(residents.bytes(), 0U);
}

// ---- distinct rows -----------------------------------------------------------------------------

TEST(DistinctRows, AreInTheOrderOfTheirFirstUse) {
    buffer::RowNumbering numbering(100, std::vector<VertexId>{10, 20});
    buffer::DistinctRows distinct(numbering);
    RowList rows;
    std::vector<std::uint32_t> positions;
    distinct.begin();
    distinct.add(std::vector<VertexId>{20, 5, 20, 10}, rows, positions);
    EXPECT_EQ(rows, (RowList{1, 2, 0}));
    EXPECT_EQ(positions, (std::vector<std::uint32_t>{0, 1, 0, 2}));
    distinct.add(std::vector<VertexId>{10, 5, 6, 6}, rows, positions);  // of the same list
    EXPECT_EQ(rows, (RowList{1, 2, 0, 3}));
    EXPECT_EQ(positions, (std::vector<std::uint32_t>{2, 1, 3, 3}));
    distinct.begin();
    rows.clear();
    distinct.add(std::vector<VertexId>{6, 5, 6, 5}, rows, positions);
    EXPECT_EQ(rows, (RowList{3, 2}));
    EXPECT_EQ(positions, (std::vector<std::uint32_t>{0, 1, 0, 1}));
}

/// What DistinctRows is to find, the slow way.
struct SlowList {
    std::map<VertexId, std::uint32_t> position;
    std::vector<VertexId> order;

    std::uint32_t add(VertexId id) {
        const auto [at, fresh] = position.emplace(id, static_cast<std::uint32_t>(order.size()));
        if (fresh) order.push_back(id);
        return at->second;
    }
};

void expect_distinct(std::uint64_t seed, std::size_t most, VertexId universe) {
    const RandomStream stream({Purpose::test, seed, 32});
    Draws draws(stream, 0);
    buffer::RowNumbering numbering(universe, {});
    buffer::DistinctRows distinct(numbering);
    for (int list = 0; list < 4; ++list) {
        SlowList slow;
        RowList rows;
        distinct.begin();
        for (std::uint64_t part = draws.below(3) + 1; part-- > 0;) {
            const auto ids = random_ids(draws, most / 2 + draws.below(most / 2 + 1), universe);
            std::vector<std::uint32_t> positions;
            distinct.add(ids, rows, positions);
            for (std::size_t i = 0; i < ids.size(); ++i)
                ASSERT_EQ(positions[i], slow.add(ids[i])) << "seed " << seed;
        }
        ASSERT_EQ(rows.size(), slow.order.size());
        for (std::size_t i = 0; i < rows.size(); ++i)
            ASSERT_EQ(numbering.vertex(rows[i]), slow.order[i]);
    }
}

TEST(DistinctRows, EqualTheSlowVersion) {
    for (std::uint64_t seed = 0; seed < 30; ++seed)
        expect_distinct(seed, 60, 50);
}

TEST(DistinctRows, OfLongListsEqualTheSlowVersion) {
    expect_distinct(1, std::size_t{1} << 17, 90000);  // found on several threads
}

// ---- local rows --------------------------------------------------------------------------------

TEST(LocalRows, AreThoseOfTheRanges) {
    const std::vector<buffer::LocalRange> ranges{{10, 20}, {40, 41}, {50, 50}};
    const buffer::LocalRows local(ranges, 1);
    for (VertexId v = 0; v < 60; ++v)
        EXPECT_EQ(local.contains(v), (v >= 10 && v < 20) || v == 40) << v;
    EXPECT_TRUE(local.counts_once());
    EXPECT_FALSE(buffer::LocalRows(ranges, 2).counts_once());
    EXPECT_FALSE(buffer::LocalRows({}, 2).contains(0));
}

TEST(LocalRows, OfOneBatchAreCountedAsTheyCome) {
    buffer::LocalRows local(std::vector<buffer::LocalRange>{{0, 100}}, 1);
    local.begin();
    EXPECT_EQ(local.add(std::vector<VertexId>{1, 2, 3}), 3U);
}

TEST(LocalRows, OfSeveralBatchesAreCountedOnceAStep) {
    const std::vector<buffer::LocalRange> ranges{{5, 70}, {100, 300}, {1000, 1064}};
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
        const RandomStream stream({Purpose::test, seed, 33});
        Draws draws(stream, 0);
        buffer::LocalRows local(ranges, 3);
        for (int step = 0; step < 6; ++step) {
            local.begin();
            std::set<VertexId> seen;
            for (int batch = 0; batch < 3; ++batch) {
                std::vector<VertexId> ids;
                for (std::uint64_t i = draws.below(80); i-- > 0;) {
                    const buffer::LocalRange& range = ranges[draws.below(ranges.size())];
                    ids.push_back(range.begin + draws.below(range.end - range.begin));
                }
                const std::size_t before = seen.size();
                seen.insert(ids.begin(), ids.end());
                ASSERT_EQ(local.add(ids), seen.size() - before) << "seed " << seed;
            }
        }
    }
}

// ---- landings ----------------------------------------------------------------------------------

TEST(Landings, AreUsedAgain) {
    const auto pool = std::make_shared<buffer::LandingPool>(16);
    const std::byte* first = nullptr;
    {
        const auto landing = pool->take(10);
        EXPECT_EQ(landing->ids.size(), 10U);
        EXPECT_EQ(landing->rows.size(), 160U);
        first = landing->rows.data();
    }
    const std::uint64_t bytes = pool->bytes();
    EXPECT_GE(bytes, 160U);
    const auto again = pool->take(8);
    EXPECT_EQ(again->rows.data(), first);
    EXPECT_EQ(again->rows.size(), 128U);
    EXPECT_EQ(pool->bytes(), bytes);
    const auto other = pool->take(8);  // at the same time
    EXPECT_NE(other->rows.data(), first);
    EXPECT_GT(pool->bytes(), bytes);
}

TEST(Landings, TheSmallestThatIsLargeEnoughIsTaken) {
    const auto pool = std::make_shared<buffer::LandingPool>(4);
    auto small = pool->take(10);
    auto large = pool->take(1000);
    const std::byte* little = small->rows.data();
    const std::byte* much = large->rows.data();
    small.reset();
    large.reset();
    const std::uint64_t bytes = pool->bytes();
    EXPECT_EQ(pool->take(900)->rows.data(), much);
    EXPECT_EQ(pool->take(9)->rows.data(), little);
    EXPECT_EQ(pool->take(11)->rows.data(), little);  // there is room for a quarter more
    EXPECT_EQ(pool->take(20)->rows.data(), much);
    EXPECT_EQ(pool->bytes(), bytes);
    const auto larger = pool->take(2000);  // the largest grows
    EXPECT_EQ(pool->take(5)->rows.data(), little);
    EXPECT_GT(pool->bytes(), bytes);
}

TEST(Landings, MayOutliveTheirPool) {
    auto pool = std::make_shared<buffer::LandingPool>(8);
    const auto landing = pool->take(3);
    pool.reset();
    std::ranges::fill(landing->rows, std::byte{1});
    EXPECT_EQ(landing->rows.size(), 24U);
}

}  // namespace
}  // namespace rudder::test
