// Loads, limits, repair: what the fast bookkeeping says against counting everything afresh.
#include "partition/loads.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <gmock/gmock.h>

#include "partition/repair.hpp"
#include "rudder/core/random.hpp"

#include "fixture.hpp"
#include "support/random_graph.hpp"

namespace rudder {
namespace {

using partition::balance_kinds;
using partition::Loads;
using partition::Weights;
using test::make_graph;
using test::TestGraph;

constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

partition::PartitionOptions balance_options(PartId parts, const char* balance,
                                            double slack = 0.05) {
    partition::PartitionOptions options;
    options.parts = parts;
    options.method = "ldg";
    options.balance = partition::parse_balance(balance);
    options.slack = slack;
    return options;
}

/// A random graph whose vertices lie in random parts.
struct Scattered {
    TestGraph graph;
    std::vector<PartId> parts;
};
Scattered scattered_parts(std::uint64_t seed, PartId parts) {
    const auto random = test::random_edges(seed, 90);
    Scattered made{make_graph(random.vertices, random.edges, 1 + seed % 3), {}};
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 9);
    for (VertexId v = 0; v < random.vertices; ++v)
        made.parts.push_back(static_cast<PartId>(draws.below(parts)));
    return made;
}

/// The loads of every part, from nothing.
std::vector<Weights> slow_loads(const Scattered& made, PartId parts) {
    std::vector<Weights> sums(parts);
    const auto rows = test::rows_of(made.graph.topology.view());
    for (VertexId v = 0; v < rows.size(); ++v) {
        Weights& sum = sums[made.parts[v]];
        sum[0] += 1;
        sum[1] += made.graph.roles[v] == graph::Role::train ? 1U : 0U;
        sum[2] += rows[v].size();
    }
    return sums;
}

/// By how much the loads exceed the limits, each over its mean.
double slow_excess(const std::vector<Weights>& sums, const Loads& limits) {
    double total = 0;
    for (std::size_t c = 0; c < balance_kinds; ++c) {
        if (!limits.active(c)) continue;
        std::uint64_t all = 0;
        for (const Weights& sum : sums)
            all += sum[c];
        const double mean = static_cast<double>(all) / static_cast<double>(sums.size());
        for (const Weights& sum : sums) {
            if (sum[c] > limits.limit(c))
                total += static_cast<double>(sum[c] - limits.limit(c)) / mean;
        }
    }
    return total;
}

TEST(Loads, LimitsOfKnownAnswers) {
    // 10 vertices in a ring: 20 arcs; vertices 0, 3, 6, 9 are trained on.
    std::vector<graph::Edge> ring;
    for (VertexId v = 0; v < 10; ++v)
        ring.push_back({v, (v + 1) % 10});
    const TestGraph graph = make_graph(10, ring, 3);
    const Loads all(graph.input(), balance_options(4, "vertices,train,edges", 0));
    EXPECT_EQ(all.limit(0), 3U) << "no part can have 2.5 vertices";
    EXPECT_EQ(all.limit(1), 1U);
    EXPECT_EQ(all.limit(2), 5U);
    const Loads loose(graph.input(), balance_options(4, "vertices,train,edges", 0.7));
    EXPECT_EQ(loose.limit(0), 4U) << "floor(1.7 * 2.5)";
    EXPECT_EQ(loose.limit(1), 1U) << "floor(1.7 * 1)";
    EXPECT_EQ(loose.limit(2), 8U) << "floor(1.7 * 5)";
    const Loads one(graph.input(), balance_options(4, "train", 0));
    EXPECT_FALSE(one.active(0));
    EXPECT_EQ(one.limit(0), unlimited);
    EXPECT_TRUE(one.active(1));
    EXPECT_EQ(one.limit(2), unlimited);
}

TEST(Loads, WhatDoesNotOccurHasNoLimit) {
    const TestGraph graph = make_graph(6, {}, 0);
    const Loads loads(graph.input(), balance_options(2, "vertices,train,edges"));
    EXPECT_TRUE(loads.active(0));
    EXPECT_FALSE(loads.active(1)) << "no training vertices";
    EXPECT_FALSE(loads.active(2)) << "no edges";
    EXPECT_EQ(loads.imbalance(1), 1);
    EXPECT_EQ(loads.imbalance(2), 1);
    // Without roles nobody is trained on.
    const partition::PartitionInput bare{graph.topology.view(), graph.topology.view(), {}};
    EXPECT_EQ(partition::weights_of(bare, 0), (Weights{1, 0, 0}));
}

TEST(Loads, EdgesAreThoseStoredNotThoseBothWays) {
    const std::vector<graph::Edge> edges{{0, 1}, {0, 2}, {0, 3}};
    const TestGraph both = make_graph(4, edges, 0);
    const graph::Topology stored =
        graph::build_topology(graph::EdgeSpan(4, std::span<const graph::Edge>(edges)),
                              {.symmetrise = false})
            .topology;
    const partition::PartitionInput input{both.topology.view(), stored.view(), both.roles};
    std::uint64_t sum = 0;
    for (VertexId v = 0; v < 4; ++v) {
        EXPECT_EQ(partition::weights_of(input, v)[2], stored.view().degree(v));
        sum += partition::weights_of(input, v)[2];
    }
    EXPECT_EQ(sum, 3U);
}

TEST(Loads, KeepUpWithVerticesThatComeAndGo) {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
        SCOPED_TRACE(seed);
        const auto parts = static_cast<PartId>(1 + seed % 6);
        Scattered made = scattered_parts(seed, parts);
        const auto options = balance_options(parts, "vertices,train,edges", 0.1);
        Loads loads(made.graph.input(), options);
        loads.count(made.graph.input(), made.parts);
        const RandomStream stream({.purpose = Purpose::test, .seed = seed});
        Draws draws(stream, 10);
        for (int move = 0; move < 50; ++move) {
            const VertexId v = draws.below(made.parts.size());
            const auto to = static_cast<PartId>(draws.below(parts));
            const Weights w = partition::weights_of(made.graph.input(), v);
            const double before = slow_excess(slow_loads(made, parts), loads);
            const double promised = loads.relief(made.parts[v], to, w);
            loads.remove(made.parts[v], w);
            loads.add(to, w);
            const bool moved = made.parts[v] != to;
            made.parts[v] = to;
            const double after = slow_excess(slow_loads(made, parts), loads);
            if (moved) {
                EXPECT_NEAR(before - after, promised, 1e-9);
            }
        }
        const auto sums = slow_loads(made, parts);
        for (PartId p = 0; p < parts; ++p) {
            EXPECT_EQ(loads[p], sums[p]);
            bool over = false;
            for (std::size_t c = 0; c < balance_kinds; ++c)
                over = over || sums[p][c] > loads.limit(c);
            EXPECT_EQ(loads.over(p), over);
        }
        loads.clear();
        for (PartId p = 0; p < parts; ++p)
            EXPECT_EQ(loads[p], Weights{});
    }
}

TEST(Loads, FitsIsExactAtTheLimit) {
    std::vector<graph::Edge> ring;
    for (VertexId v = 0; v < 8; ++v)
        ring.push_back({v, (v + 1) % 8});
    const TestGraph graph = make_graph(8, ring, 1);
    Loads loads(graph.input(), balance_options(2, "vertices,train,edges", 0));
    const Weights one = partition::weights_of(graph.input(), 0);
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(loads.fits(0, one)) << i;
        loads.add(0, one);
    }
    EXPECT_FALSE(loads.fits(0, one));
    EXPECT_TRUE(loads.fits(1, one));
    EXPECT_FALSE(loads.over(0)) << "full is not over";
    EXPECT_EQ(loads.fullness(0), 1);
    EXPECT_EQ(loads.fullness(1), 0);
    loads.add(0, one);
    EXPECT_TRUE(loads.over(0));
    EXPECT_DOUBLE_EQ(loads.imbalance(0), 1.25);
    EXPECT_TRUE(loads.fits(0, Weights{0, 0, 0})) << "what adds nothing fits anywhere";
}

TEST(Loads, SharesOfWhatIsPlacedHaveAHeadStart) {
    const TestGraph graph = make_graph(100, {}, 0);
    Loads loads(graph.input(), balance_options(4, "vertices"));
    const auto at_start = loads.per_placed(1.0 / 16);
    EXPECT_DOUBLE_EQ(at_start[0], 16.0 / 25);
    EXPECT_EQ(at_start[1], 0);
    for (int i = 0; i < 50; ++i)
        loads.add(0, {1, 0, 0});
    const auto half = loads.per_placed(1.0 / 16);
    EXPECT_DOUBLE_EQ(half[0], 2.0 / 25);
    EXPECT_DOUBLE_EQ(loads.fullness(0, half), 4) << "one of four parts has all that is placed";
}

TEST(Repair, EmptyPartsGetTheLeastConnected) {
    // A star: the hub has 9 neighbours, every leaf one; 10 and 11 have none.
    std::vector<graph::Edge> star;
    for (VertexId v = 1; v < 10; ++v)
        star.push_back({0, v});
    const TestGraph graph = make_graph(12, star, 0);
    const auto options = balance_options(4, "vertices");
    std::vector<PartId> parts(12, 0);
    Loads loads(graph.input(), options);
    loads.count(graph.input(), parts);
    partition::fill_empty_parts(graph.input(), parts, loads);
    EXPECT_EQ(std::set<PartId>(parts.begin(), parts.end()).size(), 4U);
    EXPECT_EQ(parts[0], 0U) << "the hub stays";
    EXPECT_NE(parts[10], 0U);
    EXPECT_NE(parts[11], 0U);
    EXPECT_EQ(std::ranges::count(parts, 0U), 9) << "no more move than must";
}

TEST(Repair, FillsEveryPartAndKeepsTheLoads) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        const auto random = test::random_edges(seed, 40);
        const auto most = static_cast<PartId>(random.vertices);
        const auto count = static_cast<PartId>(1 + seed % most);
        Scattered made{make_graph(random.vertices, random.edges, 2), {}};
        made.parts.assign(random.vertices, static_cast<PartId>(seed % count));
        Loads loads(made.graph.input(), balance_options(count, "vertices,edges"));
        loads.count(made.graph.input(), made.parts);
        partition::fill_empty_parts(made.graph.input(), made.parts, loads);
        const auto sums = slow_loads(made, count);
        for (PartId p = 0; p < count; ++p) {
            EXPECT_GE(sums[p][0], 1U);
            EXPECT_EQ(loads[p], sums[p]);
        }
    }
}

TEST(Repair, NeverMakesTheExcessLarger) {
    int mended = 0;
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
        SCOPED_TRACE(seed);
        const auto count = static_cast<PartId>(2 + seed % 5);
        Scattered made = scattered_parts(seed, count);
        if (made.parts.size() < count) continue;
        // All into one part, every third time.
        if (seed % 3 == 0) std::ranges::fill(made.parts, 0U);
        Loads loads(made.graph.input(), balance_options(count, "vertices,train,edges", 0.2));
        loads.count(made.graph.input(), made.parts);
        const double before = slow_excess(slow_loads(made, count), loads);
        const auto was = made.parts;
        partition::repair_balance(made.graph.input(), made.parts, loads);
        const auto sums = slow_loads(made, count);
        for (PartId p = 0; p < count; ++p)
            EXPECT_EQ(loads[p], sums[p]) << p;
        const double after = slow_excess(sums, loads);
        EXPECT_LE(after, before + 1e-9);
        if (before == 0) {
            EXPECT_EQ(made.parts, was) << "what is balanced is left alone";
        }
        if (before > 0 && after == 0) ++mended;
    }
    EXPECT_GT(mended, 15);
}

TEST(Repair, TakesTheCheapestVertexOut) {
    // Two cliques of five. Vertex 4 belongs to the second by its edges but lies in the first's
    // part.
    std::vector<graph::Edge> edges;
    const auto clique = [&](std::vector<VertexId> members) {
        for (const VertexId a : members)
            for (const VertexId b : members)
                if (a < b) edges.push_back({a, b});
    };
    clique({0, 1, 2, 3});
    clique({4, 5, 6, 7});
    const TestGraph graph = make_graph(8, edges, 0);
    std::vector<PartId> parts{0, 0, 0, 0, 0, 1, 1, 1};
    Loads loads(graph.input(), balance_options(2, "vertices", 0));
    loads.count(graph.input(), parts);
    partition::repair_balance(graph.input(), parts, loads);
    EXPECT_THAT(parts, testing::ElementsAre(0, 0, 0, 0, 1, 1, 1, 1));
}

TEST(Repair, SaysWhatItCouldNotMend) {
    // One vertex has all edges: edges cannot be balanced.
    std::vector<graph::Edge> star;
    for (VertexId v = 1; v < 9; ++v)
        star.push_back({0, v});
    const TestGraph graph = make_graph(9, star, 0);
    const auto options = balance_options(3, "edges", 0);
    auto given = Array<PartId>::zeroed(9);
    const auto done = partition::finish_assignment(graph.input(), options, std::move(given));
    ASSERT_EQ(done.warnings.size(), 1U);
    EXPECT_EQ(done.warnings[0],
              "the edges are not balanced: the largest part has 1.500 times the mean, 1.000 was "
              "asked for (vertex 0 alone has 8 of 16 edges)");
    EXPECT_EQ(std::set<PartId>(done.parts.begin(), done.parts.end()).size(), 3U);
}

}  // namespace
}  // namespace rudder
