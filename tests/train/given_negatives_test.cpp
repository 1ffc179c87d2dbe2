// Pairs that are not joined, given in a table: read, dealt out, trained on, ranked among.
#include "train/given_negatives.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/fixture.hpp"
#include "train/ground.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using graph::Role;
using testing::HasSubstr;
using Pair = std::pair<VertexId, VertexId>;

std::filesystem::path write_file(const TempDir& folder, const std::string& text) {
    const auto file = folder / "pairs.csv";
    std::ofstream(file) << text;
    return file;
}

/// Original ids by global one.
std::vector<VertexId> originals_of(const partition::PartitionedDataset& data) {
    std::vector<VertexId> originals(data.info().vertices);
    for (const partition::Part& part : data.all_parts()) {
        for (LocalId v = 0; v < part.own(); ++v)
            originals[part.global(v)] = part.original_ids()[v];
    }
    return originals;
}

/// What all ranks together hold for links of a role, in original ids.
std::set<Pair> given_for(const partition::PartitionedDataset& data, int ranks,
                         const std::filesystem::path& file, Role role) {
    const std::vector<VertexId> originals = originals_of(data);
    std::set<Pair> all;
    std::mutex mutex;
    comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
    cluster.run([&](const comm::Communicator& comm) {
        const auto parts = train::open_parts(comm, data, false);
        const auto given = train::read_given_negatives(comm, data, parts, file);
        const std::lock_guard lock(mutex);
        for (const partition::Part& part : parts) {
            for (VertexId v = part.range().begin; v < part.range().end; ++v) {
                const auto targets = given.of(role).of(v);
                EXPECT_TRUE(std::ranges::is_sorted(targets));
                for (const VertexId target : targets)
                    EXPECT_TRUE(all.insert({originals[v], originals[target]}).second);
            }
        }
    });
    return all;
}

TEST(GivenNegatives, AreDealtOutToTheOwnersOfTheirSources) {
    const TempDir folder;
    const auto file = write_file(folder, "target,source\n7,3\n290,3\n3,11\n7,3\n");
    for (const bool directed : {true, false}) {
        const auto data = make_parts(folder.path() / (directed ? "one" : "both"),
                                     {.edge_split = true, .directed = directed});
        std::set<Pair> expected{{3, 7}, {3, 290}, {11, 3}};
        if (!directed) expected.insert({{7, 3}, {290, 3}, {3, 11}});
        for (const int ranks : {1, 2, 4}) {
            for (const Role role : {Role::train, Role::valid, Role::test})
                EXPECT_EQ(given_for(data, ranks, file, role), expected);
        }
    }
}

TEST(GivenNegatives, MayBeForLinksOfOneRole) {
    const TempDir folder;
    const auto data = make_parts(folder.path() / "data", {.edge_split = true, .directed = true});
    const auto file =
        write_file(folder, "source,target,split\n1,2,train\n1,3,valid\n1,4,test\n1,5,\n6,2,val\n");
    for (const int ranks : {1, 4}) {
        EXPECT_EQ(given_for(data, ranks, file, Role::train), (std::set<Pair>{{1, 2}, {1, 5}}));
        EXPECT_EQ(given_for(data, ranks, file, Role::valid),
                  (std::set<Pair>{{1, 3}, {1, 5}, {6, 2}}));
        EXPECT_EQ(given_for(data, ranks, file, Role::test), (std::set<Pair>{{1, 4}, {1, 5}}));
    }
}

TEST(GivenNegatives, AreRefusedWhereTheyStand) {
    const TempDir folder;
    const auto data = make_parts(folder.path() / "data", {});
    struct Case {
        const char* text;
        const char* where;
        const char* problem;
    };
    for (const Case& c : {
             Case{"source,target\n1,2\n3,300\n", "line 3, column 'target'", "unknown vertex '300'"},
             Case{"source,target\n1,2\nx,3\n", "line 3, column 'source'", "unknown vertex 'x'"},
             Case{"source,target\n-1,2\n", "line 2, column 'source'", "unknown vertex '-1'"},
             Case{"source,target\n1,2\n4,4\n", "line 3, column 'target'",
                  "a pair is a vertex with itself"},
             Case{"source,target\n1,\n", "line 2, column 'target'", "a pair lacks a vertex"},
             Case{"source,target,split\n1,2,both\n", "line 2, column 'split'",
                  "invalid split: 'both'"},
             Case{"source,target\n", "pairs.csv", "the table has no pair"},
             Case{"source,other\n1,2\n", "pairs.csv", "target"},
         }) {
        const auto file = write_file(folder, c.text);
        for (const int ranks : {1, 2}) {
            const Refusal refused =
                refusal_of([&] { static_cast<void>(given_for(data, ranks, file, Role::train)); });
            EXPECT_EQ(refused.kind, ErrorKind::input) << c.text;
            EXPECT_THAT(refused.where + refused.problem, HasSubstr(c.where)) << c.text;
            EXPECT_THAT(refused.problem, HasSubstr(c.problem)) << c.text;
        }
    }
}

train::TrainOptions link_options(const std::filesystem::path& file) {
    train::TrainOptions options = small_options();
    options.task = train::TaskKind::link;
    options.batch = 64;
    options.eval_every = 1;
    options.links.negatives = "given:3";
    options.links.negatives_from = file.string();
    return options;
}

/// Six pairs for each vertex of a graph.
std::string pairs_of_all(VertexId vertices) {
    std::string text = "source,target\n";
    for (VertexId v = 0; v < vertices; ++v) {
        for (VertexId i = 1; i <= 6; ++i)
            text += fmt::format("{},{}\n", v, (v + i * 31) % vertices);
    }
    return text;
}

TEST(GivenNegatives, LinksAreTrainedBesideAndRankedAmongThem) {
    const TempDir folder;
    const auto data = make_parts(folder.path() / "data", {.edge_split = true, .directed = true});
    const auto file = write_file(folder, pairs_of_all(300));
    const train::TrainOptions options = link_options(file);
    const Trained alone = train_alone(data, options);
    const train::Scores& scores = alone.result.epochs.back().scores;
    ASSERT_TRUE(scores.test_links);
    EXPECT_GT(scores.test_links->links, 20U);
    // Six pairs each, but those that happen to be joined.
    EXPECT_LE(scores.test.answers, 6 * scores.test_links->links);
    EXPECT_GT(scores.test.answers, 5 * scores.test_links->links);
    for (const int ranks : {2, 4}) {
        const auto all = train_simulated(data, options, {.ranks = ranks, .seed = 3});
        EXPECT_EQ(all[0].result.digest, alone.result.digest);
        EXPECT_EQ(all[0].result.epochs.back().scores.test_links->mrr, scores.test_links->mrr);
    }
    train::TrainOptions drawn = options;
    drawn.links.negatives = "uniform:3";
    EXPECT_NE(train_alone(data, drawn).result.digest, alone.result.digest);
}

TEST(GivenNegatives, WithoutATableOrPairsForTrainingAreRefused) {
    train::TrainOptions options = link_options("");
    Refusal refused = refusal_of([&] { check_options(options); });
    EXPECT_EQ(refused.kind, ErrorKind::usage);
    EXPECT_EQ(refused.problem, "no pairs are given");
    const TempDir folder;
    const auto data = make_parts(folder.path() / "data", {.directed = true});
    options = link_options(write_file(folder, "source,target,split\n1,2,test\n"));
    refused = refusal_of([&] { static_cast<void>(train_alone(data, options)); });
    EXPECT_EQ(refused.kind, ErrorKind::input);
    EXPECT_EQ(refused.problem, "no pair is given for training");
    options = link_options(folder / "missing.csv");
    EXPECT_EQ(refusal_of([&] { static_cast<void>(train_alone(data, options)); }).kind,
              ErrorKind::input);
}

}  // namespace
}  // namespace rudder::test
