// Numbers that samples share: against the rule's own words, uniform for each vertex, shared by all.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "rudder/core/random.hpp"
#include "sample/bed.hpp"

#include "draw_any.hpp"
#include "hub_draws.hpp"
#include "shared_numbers.hpp"
#include "shared_rows.hpp"

namespace rudder::test {
namespace {

constexpr std::array all_codes{sample::DrawCode::portable, sample::DrawCode::avx2,
                               sample::DrawCode::avx512};

StreamKey key_of(std::uint64_t step, std::uint32_t layer = 0) {
    return {.purpose = Purpose::sample, .seed = 21, .epoch = 3, .step = step, .layer = layer};
}

/// Rows of a small graph, and draws from them that keep their memory.
struct Rows {
    std::vector<std::vector<VertexId>> rows;
    std::vector<EdgeIndex> offsets{0};
    std::vector<std::uint32_t> ids;
    sample::DrawnNeighbours drawn;

    void add(std::vector<VertexId> row) {
        for (const VertexId u : row)
            ids.push_back(static_cast<std::uint32_t>(u));
        offsets.push_back(ids.size());
        rows.push_back(std::move(row));
    }
    /// Of every row, in a step and layer.
    void draw(std::int32_t fanout, std::uint64_t redraw, const StreamKey& key) {
        std::vector<VertexId> asked(rows.size());
        std::iota(asked.begin(), asked.end(), VertexId{0});
        const sample::DrawRequest request{.key = key,
                                          .vertices = asked,
                                          .fanout = fanout,
                                          .sampler = sample::Sampler::shared,
                                          .redraw = redraw};
        sample::draw_any<std::uint32_t>(
            sample::WholeRows<std::uint32_t>{offsets.data(), ids.data()}, request, drawn);
    }
    [[nodiscard]] std::vector<VertexId> kept(std::size_t row) const {
        return {drawn.narrow.begin() + drawn.offsets[row],
                drawn.narrow.begin() + drawn.offsets[row + 1]};
    }
};

/// Distinct ids, ascending.
std::vector<VertexId> random_row(Draws& draws, std::size_t size, VertexId below) {
    std::set<VertexId> row;
    while (row.size() < size)
        row.insert(draws.below(below));
    return {row.begin(), row.end()};
}

TEST(SharedNumbers, EveryCodePathGivesWhatTheRuleSays) {
    const RandomStream random({.purpose = Purpose::test, .seed = 1});
    Draws draws(random, 0);
    for (int round = 0; round < 100; ++round) {
        const std::uint64_t redraw =
            round % 4 == 0 ? 1 : 1 + draws.below(round % 4 == 1 ? 9 : 1000);
        const StreamKey key = key_of(draws.below(5000), static_cast<std::uint32_t>(round % 3));
        const sample::SharedNumbers numbers(key, redraw);
        std::vector<std::uint32_t> ids(draws.below(100));
        for (std::uint32_t& id : ids)
            id = draws.next32();
        const std::uint32_t limit = round % 5 == 0 ? ~0U : draws.next32();  // sometimes all
        std::vector<std::uint32_t> expected;
        for (const std::uint32_t id : ids)
            expected.push_back(numbers.number(id));
        for (const sample::DrawCode code : all_codes) {
            if (!sample::can_run(code)) continue;
            std::vector<std::uint32_t> few_ids(ids.size() + 16);
            std::vector<std::uint32_t> few(ids.size() + 16);
            few.resize(
                numbers.collect(code, ids.data(), ids.size(), limit, few_ids.data(), few.data()));
            std::vector<std::uint32_t> wanted;
            std::ranges::copy_if(expected, std::back_inserter(wanted),
                                 [=](std::uint32_t number) { return number <= limit; });
            ASSERT_EQ(few, wanted);
            for (std::size_t i = 0; i < few.size(); ++i)
                ASSERT_EQ(numbers.number(few_ids[i]), few[i]);
        }
    }
}

TEST(SharedNumbers, TheSmallestAreKeptInOrderAndTiesAreLeftOpen) {
    const RandomStream random({.purpose = Purpose::test, .seed = 2});
    Draws draws(random, 0);
    for (int round = 0; round < 400; ++round) {
        const std::size_t count = 2 + draws.below(90);
        const std::size_t wanted = 1 + draws.below(count - 1);
        // Few different numbers: ties; and numbers that guesses go wrong on.
        const std::uint64_t range = round % 3 == 0 ? 6 : std::uint64_t{1} << 32;
        std::vector<std::uint32_t> numbers(count);
        std::vector<std::uint32_t> ids(count);
        for (std::size_t i = 0; i < count; ++i) {
            const auto number = static_cast<std::uint32_t>(draws.below(range));
            numbers[i] = round % 3 == 1 ? number >> draws.below(32) : number;
            ids[i] = static_cast<std::uint32_t>(i);
        }
        std::vector<std::uint32_t> sorted = numbers;
        std::ranges::sort(sorted);
        const bool open = sorted[wanted - 1] == sorted[wanted];
        std::vector<std::uint32_t> expected;
        std::ranges::copy_if(ids, std::back_inserter(expected),
                             [&](std::uint32_t i) { return numbers[i] < sorted[wanted]; });
        for (const sample::DrawCode code : all_codes) {
            if (!sample::can_run(code)) continue;
            std::vector<std::uint32_t> kept(wanted, 77);
            ASSERT_EQ(
                sample::keep_smallest(code, ids.data(), numbers.data(), count, wanted, kept.data()),
                !open);
            if (!open) {
                ASSERT_EQ(kept, expected);
            }
        }
    }
}

TEST(SharedNumbers, FewAreKeptByTheirNumbersWithoutWritingThem) {
    const RandomStream random({.purpose = Purpose::test, .seed = 7});
    Draws draws(random, 0);
    for (int round = 0; round < 400; ++round) {
        const std::size_t count = 2 + draws.below(sample::SharedNumbers::most_few - 1);
        const std::size_t wanted = 1 + draws.below(count - 1);
        const std::uint64_t step = draws.below(900);
        const std::vector<VertexId> row = random_row(draws, count, 1 << 20);
        const std::vector<std::uint32_t> ids(row.begin(), row.end());
        const auto expected =
            shared_draw(row, key_of(step), static_cast<std::int32_t>(wanted), 1 + step % 40);
        const sample::SharedNumbers numbers(key_of(step), 1 + step % 40);
        for (const sample::DrawCode code : all_codes) {
            if (!sample::can_run(code)) continue;
            std::vector<std::uint32_t> kept(wanted + 1, 77);
            ASSERT_TRUE(numbers.keep_few(code, ids.data(), count, wanted, kept.data()));
            EXPECT_EQ(kept.back(), 77U) << "nothing is written behind";
            kept.pop_back();
            ASSERT_EQ((std::vector<VertexId>{kept.begin(), kept.end()}), expected);
        }
    }
}

TEST(SharedNumbers, PairsOfSomePhasesAreDroppedAndTheOthersStayInOrder) {
    const RandomStream random({.purpose = Purpose::test, .seed = 8});
    Draws draws(random, 0);
    for (int round = 0; round < 400; ++round) {
        const auto redraw = static_cast<std::uint32_t>(2 + draws.below(round % 2 == 0 ? 5 : 500));
        const auto first = static_cast<std::uint32_t>(draws.below(redraw));
        const auto length = static_cast<std::uint32_t>(1 + draws.below(redraw - 1));
        const sample::SharedNumbers numbers(key_of(3), redraw);
        std::vector<std::uint32_t> ids(draws.below(70));
        std::vector<std::uint32_t> stay;
        for (std::uint32_t& id : ids) {
            id = draws.next32();
            if ((numbers.phase(id) + redraw - first) % redraw >= length) stay.push_back(id);
        }
        for (const sample::DrawCode code : all_codes) {
            if (!sample::can_run(code)) continue;
            std::vector<std::uint32_t> left = ids;
            std::vector<std::uint32_t> values = ids;
            left.resize(numbers.drop(code, first, length, left.data(), values.data(), ids.size()));
            values.resize(left.size());
            ASSERT_EQ(left, stay) << first << " " << length << " of " << redraw;
            ASSERT_EQ(values, stay);
        }
    }
}

TEST(SharedDraws, AnyMixOfRowsInAnyOrderOfStepsGivesWhatTheRuleSays) {
    const RandomStream random({.purpose = Purpose::test, .seed = 3});
    Draws draws(random, 0);
    for (const std::uint64_t redraw : {1U, 3U, 4U, 32U, 100U}) {
        Rows graph;
        for (const std::size_t size :
             {0U, 1U, 9U, 10U, 11U, 40U, 64U, 65U, 255U, 511U, 512U, 600U, 5000U})
            graph.add(random_row(draws, size, 20000));
        std::uint64_t step = 500;
        for (int round = 0; round < 60; ++round) {
            // Onwards, backwards, the same once more, and far away.
            step += draws.below(4);
            if (round % 7 == 0) step -= std::min<std::uint64_t>(step, draws.below(3 * redraw));
            if (round % 13 == 0) step = draws.below(100000);
            const auto layer = static_cast<std::uint32_t>(round % 2);
            const auto fanout = static_cast<std::int32_t>(layer == 0 ? 25 : 10);
            graph.draw(fanout, redraw, key_of(step, layer));
            for (std::size_t r = 0; r < graph.rows.size(); ++r) {
                ASSERT_EQ(graph.kept(r),
                          shared_draw(graph.rows[r], key_of(step, layer), fanout, redraw))
                    << "redraw " << redraw << ", step " << step << ", row " << r;
            }
        }
    }
}

TEST(SharedDraws, HubsWithoutRoomAreDrawnAllTheSame) {
    const RandomStream random({.purpose = Purpose::test, .seed = 4});
    Draws draws(random, 0);
    Rows graph;
    for (int i = 0; i < 3; ++i)
        graph.add(random_row(draws, 2000, 9000));
    graph.drawn.memory = std::make_shared<sample::SharedMemory>();
    graph.drawn.memory->hubs = sample::HubDraws(10000);  // one of them
    for (std::uint64_t step = 0; step < 40; ++step) {
        graph.draw(7, 16, key_of(step));
        for (std::size_t r = 0; r < graph.rows.size(); ++r)
            ASSERT_EQ(graph.kept(r), shared_draw(graph.rows[r], key_of(step), 7, 16));
    }
    EXPECT_GT(graph.drawn.memory->hubs.bytes(), 8000U);
    EXPECT_LE(graph.drawn.memory->hubs.bytes(), 10000U);
}

TEST(SharedDraws, NothingOfHubsIsKeptForAnotherSeedPurposeOrRedraw) {
    const RandomStream random({.purpose = Purpose::test, .seed = 7});
    Draws draws(random, 0);
    Rows graph;
    for (int i = 0; i < 3; ++i)
        graph.add(random_row(draws, 2000, 9000));
    struct Kept {
        Purpose purpose;
        std::uint64_t seed;
        std::uint64_t redraw;
    };
    for (const Kept& kept : {Kept{Purpose::sample, 21, 16}, Kept{Purpose::sample, 21, 64},
                             Kept{Purpose::sample, 21, 8}, Kept{Purpose::sample, 22, 8},
                             Kept{Purpose::evaluate, 22, 8}, Kept{Purpose::sample, 21, 16}}) {
        for (std::uint64_t step = 0; step < 20; ++step) {
            StreamKey key = key_of(step);
            key.purpose = kept.purpose;
            key.seed = kept.seed;
            graph.draw(7, kept.redraw, key);
            for (std::size_t r = 0; r < graph.rows.size(); ++r) {
                ASSERT_EQ(graph.kept(r), shared_draw(graph.rows[r], key, 7, kept.redraw))
                    << "seed " << kept.seed << ", redraw " << kept.redraw << ", step " << step;
            }
        }
    }
}

TEST(SharedDraws, WideRowsGiveWhatTheRuleSays) {
    const RandomStream random({.purpose = Purpose::test, .seed = 5});
    Draws draws(random, 0);
    const std::vector<VertexId> row = random_row(draws, 700, VertexId{1} << 34);
    const std::vector<EdgeIndex> offsets{0, row.size()};
    const std::vector<std::uint64_t> ids(row.begin(), row.end());
    const std::vector<VertexId> asked{0};
    for (std::uint64_t step = 0; step < 20; ++step) {
        const sample::DrawRequest request{.key = key_of(step),
                                          .vertices = asked,
                                          .fanout = 12,
                                          .sampler = sample::Sampler::shared,
                                          .redraw = 8};
        sample::DrawnNeighbours drawn;
        sample::draw_any<std::uint64_t>(
            sample::WholeRows<std::uint64_t>{offsets.data(), ids.data()}, request, drawn);
        ASSERT_TRUE(std::ranges::equal(drawn.wide, shared_draw(row, request.key, 12, 8)));
    }
}

// ---- each vertex's sample is uniform -----------------------------------------------------------

/// How far counts that should be equal are from it, in standard deviations of the statistic.
double surprise(const std::vector<double>& counts) {
    const double mean =
        std::accumulate(counts.begin(), counts.end(), 0.0) / static_cast<double>(counts.size());
    double sum = 0;
    for (const double count : counts)
        sum += (count - mean) * (count - mean) / mean;
    const auto freedom = static_cast<double>(counts.size() - 1);
    return (sum - freedom) / std::sqrt(2 * freedom);
}

TEST(SharedDraws, EverySubsetOfSmallNeighbourhoodsIsEquallyLikely) {
    // Short rows, and one that is kept as a hub's; over steps that are independent of each other.
    for (const auto& [degree, fanout, redraw] :
         {std::tuple{5U, 2, 1U}, {6U, 3, 1U}, {7U, 4, 8U}, {300U, 1, 8U}}) {
        Rows graph;
        std::vector<VertexId> row(degree);
        std::iota(row.begin(), row.end(), VertexId{1000});
        graph.add(row);
        std::map<std::vector<VertexId>, double> sets;
        constexpr std::uint64_t draws = 30000;
        for (std::uint64_t i = 0; i < draws; ++i) {
            graph.draw(fanout, redraw, key_of(i * redraw));
            ++sets[graph.kept(0)];
        }
        std::vector<double> counts;
        for (const auto& [set, count] : sets)
            counts.push_back(count);
        double subsets = 1;
        for (int j = 0; j < fanout; ++j)
            subsets = subsets * (degree - static_cast<double>(j)) / (j + 1);
        ASSERT_EQ(static_cast<double>(counts.size()), std::round(subsets));
        EXPECT_LT(std::abs(surprise(counts)), 5) << degree << " choose " << fanout;
    }
}

// ---- what is shared, and what is not -----------------------------------------------------------

std::size_t common(const std::vector<VertexId>& a, const std::vector<VertexId>& b) {
    std::vector<VertexId> both;
    std::ranges::set_intersection(a, b, std::back_inserter(both));
    return both.size();
}

TEST(SharedDraws, VerticesOfOneNeighbourhoodKeepTheSameAndLayersDoNot) {
    const RandomStream random({.purpose = Purpose::test, .seed = 6});
    Draws draws(random, 0);
    Rows graph;
    const std::vector<VertexId> row = random_row(draws, 100, 5000);
    graph.add(row);
    graph.add(row);
    graph.draw(20, 1, key_of(4, 0));
    const auto first = graph.kept(0);
    EXPECT_EQ(first, graph.kept(1));
    graph.draw(20, 1, key_of(4, 1));
    EXPECT_LT(common(first, graph.kept(0)), 15U);  // 4 by chance
    graph.draw(20, 1, key_of(5, 0));
    EXPECT_LT(common(first, graph.kept(0)), 15U);
}

TEST(SharedDraws, EveryVertexRedrawsOnceInSoManySteps) {
    constexpr std::uint64_t redraw = 8;
    std::vector<std::uint32_t> ids(1000);
    std::iota(ids.begin(), ids.end(), 0U);
    std::vector<int> redrawn(ids.size(), 0);
    for (std::uint64_t step = 100; step < 100 + redraw; ++step) {
        const sample::SharedNumbers now(key_of(step), redraw);
        const sample::SharedNumbers next(key_of(step + 1), redraw);
        int changed = 0;
        for (const std::uint32_t id : ids) {
            if (now.number(id) == next.number(id)) continue;
            ++redrawn[id];
            ++changed;
        }
        EXPECT_NEAR(changed, 125, 40) << step;
    }
    EXPECT_TRUE(std::ranges::all_of(redrawn, [](int times) { return times == 1; }));
}

}  // namespace
}  // namespace rudder::test
