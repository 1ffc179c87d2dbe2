// The keyed draws: against the rule's own words, all code paths alike, and uniform.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "rudder/core/random.hpp"
#include "sample/bed.hpp"

#include "draw_positions.hpp"
#include "draw_rows.hpp"
#include "id_map.hpp"

namespace rudder::test {
namespace {

constexpr std::array codes{sample::DrawCode::portable, sample::DrawCode::avx2,
                           sample::DrawCode::avx512};

sample::LaneGroup random_group(Draws& draws, std::uint32_t least, std::uint32_t most) {
    sample::LaneGroup group{};
    for (std::size_t lane = 0; lane < sample::draw_lanes; ++lane) {
        group.low[lane] = draws.next32();
        group.high[lane] = draws.below(2) == 0 ? 0 : draws.next32();
        group.degree[lane] = least + static_cast<std::uint32_t>(draws.below(most - least + 1));
    }
    return group;
}

TEST(Draw, EveryCodePathGivesWhatTheRuleSays) {
    const RandomStream random({.purpose = Purpose::test, .seed = 3});
    Draws draws(random, 0);
    const RandomStream stream({.purpose = Purpose::sample, .seed = 11, .step = 5, .layer = 1});
    std::array<sample::LanePositions, codes.size()> positions{};
    sample::SingleDraw single;
    for (int round = 0; round < 200; ++round) {
        const auto fanout = static_cast<std::uint32_t>(1 + draws.below(sample::lane_fanout_limit));
        const bool replace = draws.below(3) == 0;
        const std::uint32_t most = round % 3 == 0 ? 0xFFFFFFFFU : fanout * 2;
        const sample::LaneGroup group = random_group(draws, replace ? 1 : fanout + 1, most);
        for (std::size_t c = 0; c < codes.size(); ++c) {
            if (sample::can_run(codes[c]))
                sample::draw_positions(codes[c], stream.key(), group, fanout, replace,
                                       positions[c]);
        }
        for (std::size_t lane = 0; lane < sample::draw_lanes; ++lane) {
            const VertexId v = VertexId{group.high[lane]} << 32 | group.low[lane];
            std::vector<EdgeIndex> expected(fanout);
            single.draw(stream, v, group.degree[lane], replace, expected);
            std::set<EdgeIndex> distinct(expected.begin(), expected.end());
            if (!replace) {
                ASSERT_EQ(distinct.size(), fanout);
            }
            ASSERT_LT(*distinct.rbegin(), group.degree[lane]);
            for (std::size_t c = 0; c < codes.size(); ++c) {
                if (!sample::can_run(codes[c])) continue;
                for (std::uint32_t j = 0; j < fanout; ++j)
                    ASSERT_EQ(positions[c][j * sample::draw_lanes + lane], expected[j]) << round;
            }
        }
    }
}

TEST(Draw, DegreesBeyondThirtyTwoBits) {
    const RandomStream stream({.purpose = Purpose::sample, .seed = 1});
    sample::SingleDraw single;
    constexpr EdgeIndex degree = EdgeIndex{1} << 40;
    std::vector<EdgeIndex> drawn(1000);
    single.draw(stream, 5, degree, false, drawn);
    EXPECT_EQ(std::set<EdgeIndex>(drawn.begin(), drawn.end()).size(), drawn.size());
    const double mean = std::accumulate(drawn.begin(), drawn.end(), 0.0) / 1000;
    EXPECT_NEAR(mean / static_cast<double>(degree), 0.5, 0.05);
    EXPECT_LT(*std::ranges::max_element(drawn), degree);
}

/// The chi-square statistic of counts that should be equal.
double chi_square(std::span<const std::uint64_t> counts) {
    const double expected =
        static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0})) /
        static_cast<double>(counts.size());
    double sum = 0;
    for (const std::uint64_t count : counts) {
        const double off = static_cast<double>(count) - expected;
        sum += off * off / expected;
    }
    return sum;
}

/// About five standard deviations above the mean of the statistic.
double limit(std::size_t cells) {
    const auto freedom = static_cast<double>(cells - 1);
    return freedom + 5 * std::sqrt(2 * freedom);
}

TEST(Draw, EveryPositionIsEquallyLikely) {
    for (const auto& [degree, fanout] :
         {std::pair{11U, 10U}, {30U, 10U}, {26U, 25U}, {1000U, 25U}}) {
        std::vector<std::uint64_t> counts(degree, 0);
        sample::LanePositions positions{};
        for (std::uint32_t round = 0; round < 2000; ++round) {
            const RandomStream stream({.purpose = Purpose::sample, .seed = 2, .step = round});
            sample::LaneGroup group{};
            for (std::uint32_t lane = 0; lane < sample::draw_lanes; ++lane) {
                group.low[lane] = lane;
                group.degree[lane] = degree;
            }
            sample::draw_positions(sample::best_draw_code(), stream.key(), group, fanout, false,
                                   positions);
            for (std::size_t i = 0; i < std::size_t{fanout} * sample::draw_lanes; ++i)
                ++counts[positions[i]];
        }
        // Draws without replacement vary less than independent ones, so the limit is generous.
        EXPECT_LT(chi_square(counts), limit(degree)) << degree << ", " << fanout;
    }
}

TEST(Draw, EverySetIsEquallyLikely) {
    constexpr std::uint32_t degree = 6;
    constexpr std::uint32_t fanout = 3;
    std::map<std::set<EdgeIndex>, std::uint64_t> sets;
    const RandomStream stream({.purpose = Purpose::sample, .seed = 4});
    sample::SingleDraw single;
    for (VertexId v = 0; v < 40000; ++v) {
        std::vector<EdgeIndex> drawn(fanout);
        single.draw(stream, v, degree, false, drawn);
        ++sets[{drawn.begin(), drawn.end()}];
    }
    std::vector<std::uint64_t> counts;
    for (const auto& [set, count] : sets)
        counts.push_back(count);
    ASSERT_EQ(counts.size(), 20U);
    EXPECT_LT(chi_square(counts), limit(counts.size()));
}

TEST(Draw, WithReplacementIsUniform) {
    const RandomStream stream({.purpose = Purpose::sample, .seed = 6});
    std::vector<std::uint64_t> counts(7, 0);
    sample::SingleDraw single;
    for (VertexId v = 0; v < 5000; ++v) {
        std::vector<EdgeIndex> drawn(20);
        single.draw(stream, v, counts.size(), true, drawn);
        for (const EdgeIndex position : drawn)
            ++counts[position];
    }
    EXPECT_LT(chi_square(counts), limit(counts.size()));
}

// ---- rows in 64-bit ids ------------------------------------------------------------------------

TEST(Draw, WideRowsGiveWhatNarrowOnesGive) {
    const Bed bed;
    const auto rows = global_rows(bed.data());
    std::vector<EdgeIndex> offsets{0};
    std::vector<std::uint32_t> narrow;
    std::vector<std::uint64_t> wide;
    for (const auto& row : rows) {
        for (const VertexId u : row) {
            narrow.push_back(static_cast<std::uint32_t>(u));
            wide.push_back(u);
        }
        offsets.push_back(narrow.size());
    }
    std::vector<VertexId> all(rows.size());
    std::iota(all.begin(), all.end(), VertexId{0});
    for (const std::int32_t fanout : {-1, 1, 10, 129, 300}) {
        for (const bool replace : {false, true}) {
            const sample::DrawRequest request{.key = {.purpose = Purpose::sample, .seed = 8},
                                              .vertices = all,
                                              .fanout = fanout,
                                              .with_replacement = replace};
            sample::DrawnNeighbours a;
            sample::DrawnNeighbours b;
            sample::draw_rows<std::uint32_t>(
                sample::WholeRows<std::uint32_t>{offsets.data(), narrow.data()}, request, a);
            sample::draw_rows<std::uint64_t>(
                sample::WholeRows<std::uint64_t>{offsets.data(), wide.data()}, request, b);
            EXPECT_EQ(a.offsets, b.offsets);
            EXPECT_TRUE(std::ranges::equal(a.narrow, b.wide));
            for (VertexId v = 0; v < rows.size(); ++v) {
                const auto expected = plain_draw(rows[v], request.key, v, fanout, replace);
                ASSERT_TRUE(std::equal(expected.begin(), expected.end(),
                                       a.narrow.begin() + a.offsets[v],
                                       a.narrow.begin() + a.offsets[v + 1]));
            }
        }
    }
}

TEST(Draw, AnyMixOfRowsGivesWhatTheRuleSays) {
    const RandomStream random({.purpose = Purpose::test, .seed = 13});
    Draws draws(random, 0);
    for (int round = 0; round < 40; ++round) {
        // From rows that are all drawn from to hundreds in turn that are taken whole, or empty.
        const std::uint64_t most = std::uint64_t{1} << (round % 9);
        const auto fanout = static_cast<std::int32_t>(1 + draws.below(round % 2 == 0 ? 8 : 40));
        std::vector<std::vector<VertexId>> rows(1 + draws.below(700));
        std::vector<EdgeIndex> offsets{0};
        std::vector<std::uint32_t> ids;
        for (auto& row : rows) {
            row.resize(draws.below(20) == 0 ? draws.below(900) : draws.below(most + 1));
            for (VertexId& u : row) {
                u = draws.next32();
                ids.push_back(static_cast<std::uint32_t>(u));
            }
            offsets.push_back(ids.size());
        }
        std::vector<VertexId> asked(draws.below(1500));
        for (VertexId& v : asked)
            v = draws.below(rows.size());
        const sample::DrawRequest request{.key = {.purpose = Purpose::sample, .seed = 8},
                                          .vertices = asked,
                                          .fanout = draws.below(10) == 0 ? -1 : fanout,
                                          .with_replacement = draws.below(4) == 0};
        sample::DrawnNeighbours drawn;
        sample::draw_rows<std::uint32_t>(
            sample::WholeRows<std::uint32_t>{offsets.data(), ids.data()}, request, drawn);
        ASSERT_EQ(drawn.offsets.size(), asked.size() + 1);
        ASSERT_EQ(drawn.offsets.back(), drawn.narrow.size());
        for (std::size_t i = 0; i < asked.size(); ++i) {
            const auto expected = plain_draw(rows[asked[i]], request.key, asked[i], request.fanout,
                                             request.with_replacement);
            ASSERT_TRUE(std::equal(expected.begin(), expected.end(),
                                   drawn.narrow.begin() + drawn.offsets[i],
                                   drawn.narrow.begin() + drawn.offsets[i + 1]))
                << round << ", " << i;
        }
    }
}

// ---- positions of ids --------------------------------------------------------------------------

/// Batches of random ids, against a standard map. `wide` ids where the map takes them.
template <class Map>
void expect_positions(Map map, bool wide) {
    const RandomStream random({.purpose = Purpose::test, .seed = 1});
    Draws draws(random, 0);
    for (int batch = 0; batch < 5; ++batch) {
        std::map<VertexId, LocalId> expected;
        for (int i = 0; i < 3000; ++i) {
            map.reserve(expected.size() + 1);
            const VertexId v = draws.below(2000) << (wide ? draws.below(2) * 40 : 0);
            LocalId& entry = map.at(v);
            const auto found = expected.find(v);
            ASSERT_EQ(entry > map.base(), found != expected.end());
            if (found != expected.end()) {
                ASSERT_EQ(entry - map.base(), found->second);
                continue;
            }
            const auto place = static_cast<LocalId>(expected.size() + 1);
            expected[v] = place;
            entry = map.base() + place;
        }
        map.end(expected.size());
    }
}

/// Bases from which numbers run out: within the first batch, within the third, or not.
constexpr std::array<LocalId, 3> map_bases{0xFFFFFFFFU - 700, 0xFFFFFFFFU - 4900, 0};

TEST(IdMaps, KeepEntriesWhileTheyGrowAndForgetThemAfterwards) {
    for (const LocalId base : map_bases) {
        expect_positions(sample::HashMap<VertexId>(4, base), true);
        expect_positions(sample::HashMap<std::uint32_t>(4, base), false);
        expect_positions(sample::DirectMap(2000, base), false);
    }
}

}  // namespace
}  // namespace rudder::test
