// New ids, owners and shares against slow versions; what is refused, to the letter.
#include "partition/renumber.hpp"

#include <algorithm>
#include <fstream>
#include <map>

#include <gmock/gmock.h>

#include "core/json.hpp"
#include "partition/assignment.hpp"
#include "partition/original_order.hpp"
#include "partition/partition.hpp"
#include "partition/share.hpp"
#include "rudder/core/random.hpp"

#include "fixture.hpp"
#include "support/random_graph.hpp"
#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder {
namespace {

using test::Refusal;
using test::refusal_of;
using test::TempDir;
using test::TestGraph;

/// A part for every vertex, none empty.
std::vector<PartId> dealt_parts(std::uint64_t seed, VertexId vertices, PartId parts) {
    const RandomStream stream({.purpose = Purpose::test, .seed = seed});
    Draws draws(stream, 3);
    std::vector<PartId> dealt;
    for (VertexId v = 0; v < vertices; ++v)
        dealt.push_back(v < parts ? static_cast<PartId>(v)
                                  : static_cast<PartId>(draws.below(parts)));
    return dealt;
}

TEST(Renumber, IsAPermutationByPartAndCluster) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        const auto random = test::random_edges(seed, 120);
        const TestGraph graph = test::make_graph(random.vertices, random.edges);
        partition::PartitionOptions options;
        options.method = seed % 2 == 0 ? "ldg" : "hash";
        options.parts = static_cast<PartId>(1 + seed % std::min<VertexId>(5, random.vertices));
        options.cluster_size = 1 + seed % 12;
        options.seed = seed;
        const auto parts = dealt_parts(seed, random.vertices, options.parts);
        const auto order = partition::renumber(graph.topology.view(), parts, options);
        ASSERT_EQ(order.book.vertices(), random.vertices);
        ASSERT_EQ(order.book.parts(), options.parts);
        // Each original id once, and both directions agree.
        std::vector<bool> seen(random.vertices, false);
        for (VertexId v = 0; v < random.vertices; ++v) {
            ASSERT_LT(order.original[v], random.vertices);
            ASSERT_FALSE(seen[order.original[v]]);
            seen[order.original[v]] = true;
            EXPECT_EQ(order.renumbered[order.original[v]], v);
            EXPECT_EQ(order.book.owner(v), parts[order.original[v]]) << "its part is kept";
        }
        for (PartId p = 0; p < options.parts; ++p) {
            const auto range = order.book.range(p);
            EXPECT_EQ(range.size(), static_cast<VertexId>(std::ranges::count(parts, p)));
            const auto& clusters = order.clusters[p];
            ASSERT_GE(clusters.size(), 2U);
            EXPECT_EQ(clusters.front(), 0U);
            EXPECT_EQ(clusters.back(), range.size());
            for (std::size_t c = 1; c < clusters.size(); ++c) {
                ASSERT_LT(clusters[c - 1], clusters[c]) << "no cluster is empty";
                // Inside a cluster the old order stays.
                for (VertexId i = clusters[c - 1] + 1; i < clusters[c]; ++i)
                    EXPECT_LT(order.original[range.begin + i - 1], order.original[range.begin + i]);
            }
        }
    }
}

TEST(Renumber, OneClusterKeepsTheOldOrder) {
    const TestGraph graph = test::make_graph(6, {{0, 1}, {2, 3}, {4, 5}});
    partition::PartitionOptions options;
    options.parts = 2;
    options.cluster_size = 100;
    const std::vector<PartId> parts{1, 0, 1, 0, 1, 0};
    const auto order = partition::renumber(graph.topology.view(), parts, options);
    EXPECT_THAT(order.original.span(), testing::ElementsAre(1, 3, 5, 0, 2, 4));
    EXPECT_THAT(order.renumbered.span(), testing::ElementsAre(3, 0, 4, 1, 5, 2));
    EXPECT_THAT(order.clusters[0], testing::ElementsAre(0, 3));
}

TEST(Renumber, ClustersFollowTheEdges) {
    // Two cliques of eight in one part, their vertices interleaved: each becomes a cluster.
    std::vector<graph::Edge> edges;
    for (VertexId a = 0; a < 16; ++a)
        for (VertexId b = a + 2; b < 16; b += 2)
            edges.push_back({a, b});
    const TestGraph graph = test::make_graph(16, edges);
    partition::PartitionOptions options;
    options.method = "metis";
    options.cluster_size = 8;
    const std::vector<PartId> parts(16, 0);
    const auto order = partition::renumber(graph.topology.view(), parts, options);
    ASSERT_THAT(order.clusters[0], testing::ElementsAre(0, 8, 16));
    for (VertexId i = 1; i < 8; ++i)
        EXPECT_EQ(order.original[i] % 2, order.original[0] % 2);
}

TEST(PartitionBook, OwnersAreThoseOfASlowSearch) {
    for (std::uint64_t seed = 0; seed < 80; ++seed) {
        const RandomStream stream({.purpose = Purpose::test, .seed = seed});
        Draws draws(stream, 4);
        std::vector<VertexId> starts{0};
        for (std::uint64_t p = 1 + draws.below(20); p > 0; --p) {
            const VertexId most = draws.below(5) == 0 ? 1000 : 4;
            starts.push_back(starts.back() + 1 + draws.below(most));
        }
        const partition::PartitionBook book(starts);
        for (VertexId v = 0; v < book.vertices(); ++v) {
            PartId slow = 0;
            while (starts[slow + 1] <= v)
                ++slow;
            ASSERT_EQ(book.owner(v), slow) << seed;
            EXPECT_TRUE(book.range(slow).contains(v));
            EXPECT_EQ(book.global(slow, book.local(slow, v)), v);
        }
    }
}

TEST(PartShare, EveryPartHasOneRank) {
    for (PartId parts = 1; parts <= 24; ++parts) {
        for (int ranks = 1; ranks <= static_cast<int>(parts); ++ranks) {
            if (parts % static_cast<PartId>(ranks) != 0) continue;
            EXPECT_NO_THROW(partition::check_ranks(ranks, parts));
            std::vector<int> holders(parts, -1);
            for (int rank = 0; rank < ranks; ++rank) {
                const auto share = partition::share_of(parts, ranks, rank);
                EXPECT_EQ(share.size(), parts / static_cast<PartId>(ranks));
                for (PartId p = share.first; p < share.last; ++p) {
                    EXPECT_EQ(holders[p], -1);
                    holders[p] = rank;
                    EXPECT_TRUE(share.contains(p));
                }
            }
            for (PartId p = 0; p < parts; ++p)
                EXPECT_EQ(partition::rank_of(p, parts, ranks), holders[p]);
        }
    }
    const Refusal refused = refusal_of([] { partition::check_ranks(4, 6); });
    EXPECT_EQ(refused.kind, ErrorKind::usage);
    EXPECT_EQ(refused.problem, "4 ranks cannot share 6 parts evenly");
    EXPECT_EQ(refused.remedy, "use 1, 2, 3, 6 ranks, or partition into another number of parts");
}

TEST(PartitionOptions, AreRefusedByName) {
    const auto refused = [](auto&& change, VertexId vertices = 10) {
        partition::PartitionOptions options;
        change(options);
        const Refusal refusal = refusal_of([&] { partition::check_options(options, vertices); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        return refusal.where + ": " + refusal.problem;
    };
    using O = partition::PartitionOptions;
    EXPECT_EQ(refused([](O& o) { o.parts = 0; }), "--parts: invalid number of parts: 0");
    EXPECT_EQ(refused([](O& o) { o.parts = 11; }),
              "--parts: 11 parts are more than the 10 vertices");
    EXPECT_EQ(refused([](O& o) { o.passes = 0; }), "--passes: invalid number of passes: 0");
    EXPECT_EQ(refused([](O& o) { o.slack = -1; }), "--slack: invalid slack: -1");
    EXPECT_EQ(refused([](O& o) { o.slack = 10.5; }), "--slack: invalid slack: 10.5");
    EXPECT_EQ(refused([](O& o) { o.slack = 0.0 / 0.0; }).substr(0, 23), "--slack: invalid slack:");
    EXPECT_EQ(refused([](O& o) { o.cluster_size = 0; }), "--cluster-size: invalid cluster size: 0");
    EXPECT_EQ(refused([](O& o) {
                  o.balance = partition::BalanceSet{false, false, false};
              }),
              "--balance: nothing to balance on");
    const Refusal balance = refusal_of([] { (void)partition::parse_balance("vertices,nodes"); });
    EXPECT_EQ(balance.problem, "invalid balance: 'nodes'");
    const Refusal order = refusal_of([] { (void)partition::parse_stream_order("sorted"); });
    EXPECT_EQ(order.problem, "invalid order: 'sorted'");
}

TEST(PartitionOptions, BalanceIsWrittenAsItIsRead) {
    for (unsigned bits = 1; bits < 8; ++bits) {
        const partition::BalanceSet set{(bits & 1U) != 0, (bits & 2U) != 0, (bits & 4U) != 0};
        EXPECT_EQ(partition::parse_balance(to_string(set)), set);
    }
    EXPECT_TRUE(partition::default_balance("metis").edges);
    EXPECT_FALSE(partition::default_balance("ldg").edges);
    for (const auto order : {partition::StreamOrder::random, partition::StreamOrder::natural})
        EXPECT_EQ(partition::parse_stream_order(to_string(order)), order);
}

TEST(PartitionSummary, IsReadAsItIsWritten) {
    partition::PartitionSummary summary;
    partition::set_figures(summary,
                           {{.vertices = 6, .train = 1, .edges = 10, .crossing = 2, .halo = 2},
                            {.vertices = 2, .train = 3, .edges = 30, .crossing = 8, .halo = 5}});
    EXPECT_DOUBLE_EQ(summary.cut, 0.25);
    EXPECT_DOUBLE_EQ(summary.balance, 1.5);
    EXPECT_DOUBLE_EQ(summary.train_balance, 1.5);
    EXPECT_DOUBLE_EQ(summary.edge_balance, 1.5);
    summary.method = "ldg";
    summary.warnings = {"one", "two"};
    Json manifest = Json::object();
    describe(summary, manifest);
    const auto read = partition::partition_summary(manifest, "m.json");
    EXPECT_EQ(read.halo, summary.halo);
    EXPECT_EQ(read.cut, summary.cut);
    EXPECT_EQ(read.warnings, summary.warnings);
    const auto problem = [&](const char* key, const Json& value) {
        Json bad = manifest;
        bad[Json::json_pointer(key)] = value;
        const Refusal refusal =
            refusal_of([&] { (void)partition::partition_summary(bad, "m.json"); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        EXPECT_THAT(refusal.where, testing::HasSubstr("m.json"));
        return refusal.problem;
    };
    EXPECT_EQ(problem("/parts", 0U), "invalid number of parts: 0");
    EXPECT_EQ(problem("/halo", Json::array({1})), "invalid halo: not one number per part");
    EXPECT_EQ(problem("/halo/1", -1), "invalid halo: not all integers");
    EXPECT_EQ(problem("/warnings/0", 7), "invalid warning: not a string");
    EXPECT_EQ(problem("/options/balance", "rows"), "invalid balance: 'rows'");
    EXPECT_EQ(problem("/options/order", "rows"), "invalid order: 'rows'");
    partition::set_figures(summary, {{}, {}});
    EXPECT_EQ(summary.cut, 0) << "no arcs";
    EXPECT_EQ(summary.train_balance, 1) << "nobody trained on";
}

TEST(AssignmentFile, NamesLineAndColumn) {
    const TempDir temp;
    const auto refused = [&](const std::string& text) {
        std::ofstream(temp / "p.txt") << text;
        const Refusal refusal =
            refusal_of([&] { (void)partition::read_assignment_text(temp / "p.txt", 3, 2); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        return refusal.problem + " @" + refusal.where.substr(refusal.where.find("p.txt") + 5);
    };
    EXPECT_EQ(refused("0\n  x\n1\n"), "invalid part: 'x' @, line 2, column 3");
    EXPECT_EQ(refused("0\n\n1\n"), "invalid part: '' @, line 2, column 1");
    EXPECT_EQ(refused("0\n1\n 2\n"), "part 2 is outside 0..1 @, line 3, column 2");
    EXPECT_EQ(refused("0\n1\n0\n1\n"),
              "there are more lines than the 3 vertices @, line 4, column 1");
    EXPECT_EQ(refused("0\n1\n"), "there are 2 lines for 3 vertices @");
    EXPECT_EQ(refused("0\n" + std::string(60, 'y') + "\n"),
              "invalid part: '" + std::string(40, 'y') + "' @, line 2, column 1");
    const std::vector<PartId> parts{0, 0, 2};
    const Refusal empty = refusal_of([&] { partition::check_assignment(parts, 3, 3, "here"); });
    EXPECT_EQ(empty.problem, "part 1 of 3 has no vertex");
    EXPECT_EQ(empty.where, "here");
}

TEST(OriginalOrder, RefusesIdsThatOccurTwice) {
    const TempDir temp;
    const graph::Dataset data = test::random_dataset(temp / "data", 5, {}, 30);
    partition::PartitionOptions options;
    options.method = "ldg";
    partition::partition_dataset(data, temp / "parts", options, Existing::refuse);
    const auto file = temp.path() / "parts" / partition::part_folder(0) / "original_ids.bin";
    std::fstream stream(file, std::ios::binary | std::ios::in | std::ios::out);
    std::uint64_t second = 0;
    stream.seekg(8).read(reinterpret_cast<char*>(&second), 8);
    stream.seekp(0).write(reinterpret_cast<const char*>(&second), 8);
    stream.close();
    const partition::PartitionedDataset divided(temp / "parts");
    const Refusal refusal = refusal_of([&] { const partition::OriginalOrder back(divided); });
    EXPECT_EQ(refusal.problem, "id " + std::to_string(second) + " is out of range or occurs twice");
    EXPECT_THAT(refusal.where, testing::EndsWith("array 'original_ids', position 1"));
}

TEST(OriginalOrder, NothingIsARefusalOfItsOwn) {
    const TempDir temp;
    const Refusal refusal = refusal_of([&] { partition::PartitionedDataset{temp.path()}; });
    EXPECT_EQ(refusal.problem, "not a Rudder partition (manifest.json missing)");
    EXPECT_EQ(refusal.where, temp.path().string());
}

}  // namespace
}  // namespace rudder
