// Edges that carry something: built, imported, exported, refused.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/io/export.hpp"
#include "rudder/core/random.hpp"

#include "io_support.hpp"

namespace rudder::test {
namespace {

using Int = std::int32_t;
using Long = std::int64_t;

/// What random edges carry.
struct Carried {
    std::vector<float> weight;
    std::vector<Long> time;

    Carried(std::uint64_t seed, std::size_t edges) {
        const RandomStream stream({.purpose = Purpose::test, .seed = seed});
        Draws draws(stream, 3);
        for (std::size_t e = 0; e < edges; ++e) {
            weight.push_back(static_cast<float>(draws.below(4)));
            time.push_back(static_cast<Long>(draws.below(6)) - 2);
        }
    }
};

struct NaiveEntry {
    VertexId row;
    VertexId id;
    Long time;
    std::size_t number;
    float weight;
};

/// The slow, obvious way to build rows whose entries carry weights and, unless times are left out,
/// times.
std::vector<NaiveEntry> naive_entries(const RandomEdges& random, const Carried& carried,
                                      const graph::BuildOptions& options, bool timed) {
    std::vector<NaiveEntry> all;
    for (std::size_t e = 0; e < random.edges.size(); ++e) {
        const auto [source, target] = random.edges[e];
        const Long time = timed ? carried.time[e] : 0;
        if (source == target && !options.keep_self_loops) continue;
        all.push_back({target, source, time, e, carried.weight[e]});
        if (source != target && options.symmetrise)
            all.push_back({source, target, time, e, carried.weight[e]});
    }
    std::ranges::sort(
        all, {}, [](const NaiveEntry& a) { return std::tuple(a.row, a.id, a.time, a.number); });
    if (timed || options.keep_duplicates) return all;
    std::vector<NaiveEntry> merged;
    for (const NaiveEntry& entry : all) {
        if (!merged.empty() && merged.back().row == entry.row && merged.back().id == entry.id) {
            merged.back().weight += entry.weight;
        } else {
            merged.push_back(entry);
        }
    }
    return merged;
}

TEST(PayloadBuilder, GivesWhatTheObviousWayGives) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        const RandomEdges random = random_edges(seed);
        const Carried carried(seed, random.edges.size());
        const graph::BuildOptions options{seed % 2 == 0, seed % 3 == 0, seed % 5 == 0};
        const bool timed = seed % 4 < 2;
        graph::EdgePayload payload;
        payload.weight = carried.weight;
        if (timed) payload.time = carried.time;
        payload.rows = timed;
        const graph::EdgeSpan source(random.vertices, std::span<const graph::Edge>(random.edges));
        const graph::BuiltTopology built = graph::build_topology(source, payload, options);
        const std::vector<NaiveEntry> expected = naive_entries(random, carried, options, timed);
        const graph::TopologyView graph = built.topology.view();
        ASSERT_EQ(graph.edges(), expected.size());
        EXPECT_EQ(built.time.has_value(), timed);
        EXPECT_EQ(built.origin.has_value(), timed);
        std::size_t at = 0;
        for (VertexId v = 0; v < random.vertices; ++v) {
            for (EdgeIndex e = graph.offsets[v]; e < graph.offsets[v + 1]; ++e, ++at) {
                EXPECT_EQ(expected[at].row, v);
                EXPECT_EQ(expected[at].id, graph.neighbours[e]);
                EXPECT_EQ(expected[at].weight, (*built.weight)[e]);
                if (!timed) continue;
                EXPECT_EQ(expected[at].time, (*built.time)[e]);
                EXPECT_EQ(expected[at].number, (*built.origin)[e]);
            }
        }
        const graph::TopologyCounts counts = graph::count_irregular(graph);
        EXPECT_EQ(built.kept.self_loops, counts.self_loops);
        EXPECT_EQ(built.kept.duplicates, counts.duplicates);
    }
}

class EdgeDataImport : public ImportTest {
protected:
    static std::vector<ZipEntry> events(std::vector<ZipEntry> more = {}) {
        std::vector<ZipEntry> entries{{"num_nodes", npy<Int>({3})},
                                      {"src", npy<Int>({0, 2, 0, 1})},
                                      {"dst", npy<Int>({1, 1, 1, 0})},
                                      {"y", npy<Int>({0, 1, 0})}};
        entries.insert(entries.end(), more.begin(), more.end());
        return entries;
    }
};

using testing::ElementsAre;

TEST_F(EdgeDataImport, WeightsOfDuplicatesAreAddedUp) {
    const graph::Dataset data =
        import(write_npz(events({{"edge_weight", npy<double>({1, 2, 4, 8})}})));
    EXPECT_EQ(rows_of(data.topology()), (std::vector<std::vector<VertexId>>{{1}, {0, 2}, {1}}));
    EXPECT_THAT(data.edge_data().weight, ElementsAre(13, 13, 2, 2));
    EXPECT_TRUE(data.info().edge_weight);
    EXPECT_EQ(data.info().duplicates, 0U);
}

TEST_F(EdgeDataImport, EventsAreAllKeptInTheOrderOfTheirTimes) {
    const graph::Dataset data = import(
        {.input = write_npz(events({{"edge_time", npy<Long>({5, 1, 3, 4})},
                                    {"edge_weight", npy<float>({1, 2, 4, 8})},
                                    {"edge_attr", npy<float>({0, 10, 1, 11, 2, 12, 3, 13}, 2)},
                                    {"node_time", npy<Int>({7, 8, 9})}})),
         .output = {},
         .directed = true});
    EXPECT_EQ(rows_of(data.topology()), (std::vector<std::vector<VertexId>>{{1}, {0, 0, 2}, {}}));
    EXPECT_THAT(data.edge_data().time, ElementsAre(4, 3, 5, 1));
    EXPECT_THAT(data.edge_data().weight, ElementsAre(8, 4, 1, 2));
    EXPECT_THAT(data.vertex_times(), ElementsAre(7, 8, 9));
    const graph::FeatureView rows = data.edge_data().features;
    ASSERT_EQ(rows.info.width, 2U);
    std::vector<float> row(2);
    graph::decode_row(rows.info, rows.row(1), {}, row);
    EXPECT_THAT(row, ElementsAre(2, 12));
}

TEST_F(EdgeDataImport, RoundTripChangesNothing) {
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
        SCOPED_TRACE(seed);
        const RandomEdges random = random_edges(seed);
        const Carried carried(seed, random.edges.size());
        std::vector<Long> sources;
        std::vector<Long> targets;
        std::vector<float> features;
        for (const graph::Edge& edge : random.edges) {
            sources.push_back(static_cast<Long>(edge.source));
            targets.push_back(static_cast<Long>(edge.target));
            features.push_back(static_cast<float>(features.size()) / 3);
        }
        std::vector<Long> times(random.vertices, 4);
        std::vector<ZipEntry> entries{
            {"num_nodes", npy<Long>({static_cast<Long>(random.vertices)})},
            {"src", npy(sources)},
            {"dst", npy(targets)},
            {"edge_weight", npy(carried.weight)}};
        if (seed % 2 == 0) entries.push_back({"edge_time", npy(carried.time)});
        if (seed % 3 == 0) entries.push_back({"edge_feat", npy(features, 1)});
        if (seed % 4 == 0) entries.push_back({"time", npy(times)});
        graph::ImportOptions options{.input = write_npz(entries), .output = folder_ / "first"};
        options.directed = seed % 3 == 1;
        options.keep_self_loops = seed % 5 == 0;
        options.force = true;
        graph::import_dataset(options);
        const graph::Dataset first(options.output);
        first.check();
        std::filesystem::remove(folder_ / "again.npz");
        graph::export_dataset({options.output, folder_ / "again.npz"});
        options.input = folder_ / "again.npz";
        options.output = folder_ / "second";
        graph::import_dataset(options);
        const graph::Dataset second(options.output);
        second.check();
        EXPECT_EQ(rows_of(first.topology()), rows_of(second.topology()));
        EXPECT_TRUE(std::ranges::equal(first.edge_data().weight, second.edge_data().weight));
        EXPECT_TRUE(std::ranges::equal(first.edge_data().time, second.edge_data().time));
        EXPECT_TRUE(std::ranges::equal(first.edge_data().features.bytes(),
                                       second.edge_data().features.bytes()));
        EXPECT_TRUE(std::ranges::equal(first.vertex_times(), second.vertex_times()));
        EXPECT_EQ(first.info().version(), 2U);
    }
}

TEST_F(EdgeDataImport, TargetsAndRolesGoWithTheirEdge) {
    const graph::Dataset data =
        import({.input = write_npz(events({{"edge_label", npy<Long>({2, 0, -1, 1})},
                                           {"num_edge_classes", npy<Long>({4})},
                                           {"edge_split", npy<Int>({1, 2, 0, 3})}})),
                .output = {},
                .directed = true});
    // Edges that carry such are events, and all are kept, in their own order.
    EXPECT_EQ(rows_of(data.topology()), (std::vector<std::vector<VertexId>>{{1}, {0, 0, 2}, {}}));
    EXPECT_THAT(data.edge_data().targets.classes, ElementsAre(1, 2, -1, 0));
    EXPECT_THAT(data.edge_data().roles, ElementsAre(graph::Role::test, graph::Role::train,
                                                    graph::Role::none, graph::Role::valid));
    EXPECT_EQ(data.info().edge_targets.count, 4U);
    EXPECT_EQ(data.info().edge_targets.labelled, 3U);
    EXPECT_EQ(data.info().edge_split, (graph::SplitCounts{1, 1, 1}));
    EXPECT_EQ(data.info().version(), 2U);
}

TEST_F(EdgeDataImport, TargetsOfEveryKindComeBackFromAnExport) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const std::vector<ZipEntry> kinds{
        {"edge_label", npy<Long>({2, 0, -1, 1})},
        {"edge_label", npy<std::uint8_t>({0, 1, 1, 0, 255, 255, 1, 1}, 2)},
        {"edge_label", npy<float>({0.5F, 2, -1, 3, nan, nan, 0, 1}, 2)}};
    for (const ZipEntry& labels : kinds) {
        for (const bool directed : {false, true}) {
            graph::ImportOptions options{
                .input = write_npz(events({labels, {"edge_split", npy<Int>({1, 2, 0, 3})}})),
                .output = folder_ / "first"};
            options.directed = directed;
            options.force = true;
            graph::import_dataset(options);
            const graph::Dataset first(options.output);
            first.check();
            std::filesystem::remove(folder_ / "again.npz");
            graph::export_dataset({options.output, folder_ / "again.npz"});
            options.input = folder_ / "again.npz";
            options.output = folder_ / "second";
            graph::import_dataset(options);
            const graph::Dataset second(options.output);
            second.check();
            EXPECT_EQ(first.folder().manifest().at("arrays"),
                      second.folder().manifest().at("arrays"));
            EXPECT_EQ(first.info().edge_targets.kind, second.info().edge_targets.kind);
            EXPECT_EQ(first.info().edge_targets.labelled, directed ? 3U : 6U);
            EXPECT_EQ(first.info().edge_split, second.info().edge_split);
        }
    }
}

TEST_F(EdgeDataImport, DamagedTargetsAndRolesAreFound) {
    for (const std::string array : {"edge_labels", "edge_split"}) {
        const graph::Dataset data = import(write_npz(events(
            {{"edge_label", npy<Long>({2, 0, -1, 1})}, {"edge_split", npy<Int>({1, 2, 0, 3})}})));
        const graph::DatasetInfo info = data.info();
        graph::EdgeArrays arrays = graph::EdgeArrays::open(data.folder(), info);
        arrays.check_bounds(info, "here");
        // Mapped arrays cannot be written: the same values with one that is out of range.
        if (array == "edge_labels") {
            auto classes = Array<Int>::uninitialised(info.edges);
            std::ranges::copy(arrays.targets.classes, classes.begin());
            classes[1] = 3;
            arrays.targets.classes = std::move(classes);
        } else {
            auto roles = Array<std::uint8_t>::uninitialised(info.edges);
            std::ranges::copy(arrays.targets.roles, roles.begin());
            roles[1] = 4;
            arrays.targets.roles = std::move(roles);
        }
        for (const bool all : {false, true}) {
            expect_error(
                [&] {
                    all ? arrays.check(info, data.topology(), "here")
                        : arrays.check_bounds(info, "here");
                },
                ErrorKind::input, {"array '" + array + "', position 1"});
        }
    }
}

TEST_F(EdgeDataImport, WithoutItNothingChanges) {
    const graph::Dataset data = import(write_npz(events({{"time", npy<float>({1, 2})}})));
    EXPECT_EQ(data.info().version(), 1U);
    const std::string manifest = read_text(folder_ / "out" / "manifest.json", 1 << 20);
    EXPECT_NE(manifest.find("\"version\": 1"), std::string::npos);
    EXPECT_EQ(manifest.find("edge_"), std::string::npos);
    EXPECT_TRUE(data.edge_data().weight.empty());
}

TEST_F(EdgeDataImport, RefusesWhatCannotBeMeant) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    refuse(write_npz(events({{"edge_weight", npy<float>({1, -2, 4, 8})}})),
           {"invalid weight: -2", "edge_weight", "position 1"});
    refuse(write_npz(events({{"edge_weight", npy<float>({1, 2, nan, 8})}})),
           {"invalid weight: nan", "position 2"});
    refuse(write_npz(events({{"edge_weight", npy<float>({1, 2})}})), {"for 4 edges"});
    refuse(write_npz(events({{"edge_time", npy<float>({1, 2, 3, 4})}})), {"whole numbers"});
    refuse(write_npz(events({{"edge_attr", npy<float>({1, 2, 3, nan})}})), {"edge_attr"});
    refuse(write_npz(events({{"node_time", npy<Long>({1, 2})}})), {"for 3 vertices"});
    refuse(write_npz(events({{"edge_label", npy<Long>({1, 2})}})), {"edge_label", "for 4 edges"});
    refuse(write_npz(events({{"edge_split", npy<Int>({1, 2, 0, 4})}})),
           {"invalid role: 4", "edge_split", "position 3", "0 (none)"});
    refuse(write_npz(events({{"edge_weight", npy<float>({1, 2, 3, 4})},
                             {"dev_src", npy<Int>({0})},
                             {"dev_dst", npy<Int>({1})}})),
           {"several sets of edges"});
    refuse(write_npz(events({{"edge_weight", npy<float>({3e38F, 2, 3e38F, 0})}})),
           {"add up to more than float32 holds"});
}

TEST_F(EdgeDataImport, SplitsByTime) {
    std::vector<ZipEntry> entries{{"src", npy<Int>({0, 1})}, {"dst", npy<Int>({1, 2})}};
    std::vector<Int> labels;
    std::vector<Long> times;
    for (int v = 0; v < 20; ++v) {
        labels.push_back(v % 2);
        times.push_back(100 - v);
    }
    entries.push_back({"y", npy(labels)});
    entries.push_back({"node_time", npy(times)});
    const graph::Dataset data = import(
        {.input = write_npz(entries), .output = {}, .split = graph::parse_split("time:50/25/25")});
    EXPECT_EQ(data.info().split, (graph::SplitCounts{10, 5, 5}));
    for (VertexId v = 0; v < 20; ++v) {
        const auto role = v >= 10  ? graph::Role::train
                          : v >= 5 ? graph::Role::valid
                                   : graph::Role::test;
        EXPECT_EQ(data.roles()[v], role) << v;
    }
    entries.pop_back();
    std::filesystem::remove_all(folder_ / "out");
    refuse(
        {.input = write_npz(entries), .output = {}, .split = graph::parse_split("time:50/25/25")},
        {"has no time"});
}

}  // namespace
}  // namespace rudder::test
