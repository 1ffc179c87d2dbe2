// What edges carry stays with them in large graphs, and splits by time are those of a slow sort.
#include <algorithm>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "rudder/core/parallel.hpp"
#include "rudder/graph/dataset.hpp"
#include "rudder/graph/split.hpp"
#include "rudder/graph/topology_builder.hpp"

#include "support/random_graph.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using graph::BuildOptions;
using graph::EdgePayload;
using graph::Role;

/// Edges of a graph of many blocks, with hubs, loops and duplicates, and what they carry.
struct ManyEdges {
    VertexId vertices = 40000;
    std::vector<graph::Edge> edges;
    std::vector<graph::NarrowEdge> narrow;
    std::vector<float> weight;
    std::vector<std::int64_t> time;

    explicit ManyEdges(std::uint64_t seed, std::size_t count = 150000) {
        std::mt19937_64 random(seed);
        for (std::size_t e = 0; e < count; ++e) {
            const VertexId target = random() % 4 == 0 ? random() % 7 : random() % vertices;
            const VertexId source =
                random() % 50 == 0 ? target : random() % (e % 2 == 0 ? 90 : vertices);
            edges.push_back({source, target});
            narrow.push_back(
                {static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(target)});
            weight.push_back(static_cast<float>(random() % 16));
            time.push_back(static_cast<std::int64_t>(random() % 5));
        }
    }
};

struct CarriedEntry {
    VertexId row;
    VertexId id;
    std::int64_t time;
    std::size_t number;
    auto operator<=>(const CarriedEntry&) const = default;
};

std::vector<CarriedEntry> sorted_entries(const ManyEdges& many, const BuildOptions& options,
                                         bool timed) {
    std::vector<CarriedEntry> all;
    for (std::size_t e = 0; e < many.edges.size(); ++e) {
        const auto [source, target] = many.edges[e];
        if (source == target && !options.keep_self_loops) continue;
        const std::int64_t time = timed ? many.time[e] : 0;
        all.push_back({target, source, time, e});
        if (options.symmetrise && source != target) all.push_back({source, target, time, e});
    }
    std::ranges::sort(all);
    return all;
}

TEST(CarriedEdges, EventsOfALargeGraphInTheOrderOfASlowSort) {
    const ManyEdges many(1);
    for (const int threads : {1, 2, 3}) {
        set_thread_count(threads);
        const BuildOptions options{.symmetrise = threads != 2, .keep_self_loops = threads == 1};
        const bool timed = threads != 3;  // else in the order of their numbers alone
        EdgePayload payload;
        payload.weight = many.weight;
        if (timed) payload.time = many.time;
        payload.rows = true;
        const auto expected = sorted_entries(many, options, timed);
        const auto built = graph::build_topology(
            graph::EdgeSpan(many.vertices, std::span<const graph::Edge>(many.edges)), payload,
            options);
        const graph::TopologyView graph = built.topology.view();
        ASSERT_EQ(graph.edges(), expected.size());
        EXPECT_EQ(built.dropped.duplicates, 0U) << "events are all kept";
        std::size_t wrong = 0;
        std::size_t at = 0;
        for (VertexId v = 0; v < graph.vertices(); ++v) {
            for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e, ++at) {
                const CarriedEntry& entry = expected[at];
                const bool right = entry.row == v && entry.id == graph.neighbours[e] &&
                                   entry.number == (*built.origin)[e] &&
                                   many.weight[entry.number] == (*built.weight)[e] &&
                                   (!timed || many.time[entry.number] == (*built.time)[e]);
                wrong += right ? 0U : 1U;
            }
        }
        EXPECT_EQ(wrong, 0U) << threads;
    }
    set_thread_count(0);
}

TEST(CarriedEdges, WeightsOfDuplicatesInALargeGraphAddUp) {
    const ManyEdges many(2);
    EdgePayload payload;
    payload.weight = many.weight;
    const BuildOptions options{.symmetrise = false, .keep_self_loops = true};
    const auto wide = graph::build_topology(
        graph::EdgeSpan(many.vertices, std::span<const graph::Edge>(many.edges)), payload, options);
    const auto narrow = graph::build_topology(
        graph::EdgeSpan(many.vertices, std::span<const graph::NarrowEdge>(many.narrow)), payload,
        options);
    EXPECT_EQ(rows_of(wide.topology.view()), rows_of(narrow.topology.view()));
    EXPECT_TRUE(std::ranges::equal(wide.weight->span(), narrow.weight->span()));
    // The rows are those of the same graph without weights.
    const auto plain = graph::build_topology(
        graph::EdgeSpan(many.vertices, std::span<const graph::Edge>(many.edges)), options);
    EXPECT_EQ(rows_of(wide.topology.view()), rows_of(plain.topology.view()));
    EXPECT_EQ(wide.dropped.duplicates, plain.dropped.duplicates);
    EXPECT_GT(plain.dropped.duplicates, 0U);
    EXPECT_EQ(wide.kept.self_loops, plain.kept.self_loops);
    // Nothing of the weights is lost: sums of small whole numbers are exact.
    double given = 0;
    double kept = 0;
    for (const float weight : many.weight)
        given += static_cast<double>(weight);
    for (const float weight : wide.weight->span())
        kept += static_cast<double>(weight);
    EXPECT_EQ(kept, given);
}

TEST(CarriedEdges, NothingCarriedIsAnOrdinaryGraph) {
    const RandomEdges random = random_edges(5);
    const graph::EdgeSpan source(random.vertices, std::span<const graph::Edge>(random.edges));
    const auto built = graph::build_topology(source, EdgePayload{}, BuildOptions{});
    EXPECT_EQ(rows_of(built.topology.view()), naive_rows(random, {}));
    EXPECT_FALSE(built.weight || built.time || built.origin);
}

TEST(CarriedEdges, SumsBeyondFloatAreRefusedUnlessDuplicatesStay) {
    const std::vector<graph::Edge> edges{{0, 1}, {2, 1}, {0, 1}};
    const float most = std::numeric_limits<float>::max();
    const std::vector<float> weight{most, 1, most};
    EdgePayload payload;
    payload.weight = weight;
    const graph::EdgeSpan source(3, std::span<const graph::Edge>(edges));
    const Refusal refusal =
        refusal_of([&] { (void)graph::build_topology(source, payload, {.symmetrise = false}); });
    EXPECT_EQ(refusal.kind, ErrorKind::input);
    EXPECT_EQ(refusal.problem, "the weights of the edges 0 -> 1 add up to more than float32 holds");
    const auto kept =
        graph::build_topology(source, payload, {.symmetrise = false, .keep_duplicates = true});
    EXPECT_EQ(kept.kept.duplicates, 1U);
    EXPECT_EQ((*kept.weight)[0], most);
    EXPECT_EQ((*kept.weight)[1], most);
    EXPECT_EQ((*kept.weight)[2], 1.0F);
}

/// Labels, times and the split by time of random vertices.
struct TimedVertices {
    std::vector<std::int32_t> classes;
    std::vector<std::int64_t> times;
    graph::TargetInfo info{.kind = graph::TargetKind::classes, .count = 3};

    explicit TimedVertices(std::uint64_t seed, std::int64_t span) {
        std::mt19937_64 random(seed);
        classes.resize(1 + random() % 200);
        for (std::int32_t& label : classes) {
            label = static_cast<std::int32_t>(random() % 4) - 1;
            // Those without a label need no time.
            times.push_back(
                label < 0 && random() % 2 == 0
                    ? graph::no_time
                    : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(span)) -
                          span / 2);
        }
    }
    [[nodiscard]] Array<Role> split(const graph::SplitRule& rule, std::uint64_t seed) const {
        return graph::make_split(classes.size(), info, {classes, {}, {}}, rule, seed, times);
    }
};

TEST(TimedSplits, EarlierOnesTrain) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        const TimedVertices vertices(seed, seed % 2 == 0 ? 1'000'000'000 : 6);
        const double train = static_cast<double>(seed % 7) / 10;
        const double valid = static_cast<double>(seed % 3) / 10;
        const graph::SplitFractions shares{train, valid, seed % 5 == 0 ? 0.05 : 1 - train - valid};
        const auto roles = vertices.split(graph::SplitByTime{shares}, seed);
        // As many of each as without times, and none of the unlabelled.
        const auto shuffled = vertices.split(shares, seed);
        EXPECT_EQ(graph::count_split(roles.span()), graph::count_split(shuffled.span()));
        std::vector<std::pair<std::int64_t, int>> order;  // roles by time
        for (std::size_t v = 0; v < vertices.classes.size(); ++v) {
            if (vertices.classes[v] < 0) {
                EXPECT_EQ(roles[v], Role::none);
                continue;
            }
            order.emplace_back(vertices.times[v],
                               roles[v] == Role::none ? 4 : static_cast<int>(roles[v]));
        }
        std::ranges::sort(order);
        EXPECT_TRUE(std::ranges::is_sorted(order, {}, &std::pair<std::int64_t, int>::second))
            << "who is later never has an earlier role";
    }
}

TEST(TimedSplits, DistinctTimesDecideAloneEqualOnesByTheSeed) {
    TimedVertices vertices(3, 1'000'000'000);
    const graph::SplitRule rule = graph::SplitByTime{{0.5, 0.2, 0.3}};
    const auto one = vertices.split(rule, 1);
    const auto two = vertices.split(rule, 2);
    EXPECT_TRUE(std::ranges::equal(one.span(), two.span())) << "no draw is needed";
    for (std::int64_t& time : vertices.times)
        time = 7;
    const auto same = vertices.split(rule, 1);
    const auto shuffled = vertices.split(graph::SplitFractions{0.5, 0.2, 0.3}, 1);
    EXPECT_TRUE(std::ranges::equal(same.span(), shuffled.span())) << "all at once: shuffled";
    const auto other = vertices.split(rule, 2);
    EXPECT_FALSE(std::ranges::equal(same.span(), other.span()));
}

TEST(TimedSplits, LabelledOnesWithoutTimeAreRefused) {
    TimedVertices vertices(4, 100);
    vertices.classes[0] = 1;
    vertices.times[0] = graph::no_time;
    const graph::SplitRule rule = graph::parse_split("time:60/20/20");
    const Refusal refusal = refusal_of([&] { (void)vertices.split(rule, 1); });
    EXPECT_EQ(refusal.kind, ErrorKind::input);
    EXPECT_EQ(refusal.problem, "vertex 0 has no time");
    EXPECT_EQ(refusal.where, "--split");
    vertices.classes[0] = graph::no_label;
    EXPECT_NO_THROW((void)vertices.split(rule, 1));
    vertices.times.clear();
    EXPECT_EQ(refusal_of([&] { (void)vertices.split(rule, 1); }).kind, ErrorKind::input);
    for (const std::string text :
         {"time:", "time:60/20", "time:60/20/30", "time:a/b/c", "Time:1/1/1"})
        EXPECT_EQ(refusal_of([&] { (void)graph::parse_split(text); }).problem,
                  "invalid split: '" + text + "'");
}

}  // namespace
}  // namespace rudder::test
