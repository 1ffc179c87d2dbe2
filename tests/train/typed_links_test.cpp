// Links of one type of edges in a graph of several: which they are, that what is asked about passes
// no messages, the same bits everywhere, ranks among targets of the type, predictions.
#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"
#include "train/evaluation/exact_evaluator.hpp"
#include "train/evaluation/link_ranker.hpp"
#include "train/fixture.hpp"
#include "train/ground.hpp"
#include "train/loader.hpp"
#include "train/prediction/inference.hpp"
#include "train/saved_run.hpp"
#include "train/typed_parts.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using graph::Role;
using Pair = std::pair<VertexId, VertexId>;
constexpr std::array<Role, 3> roles{Role::train, Role::valid, Role::test};

const partition::PartitionedDataset& typed_data() {
    static const TempDir folder;
    static const partition::PartitionedDataset parts = make_typed_parts(folder.path(), 400);
    return parts;
}

train::TrainOptions typed_link_options(const std::string& type) {
    train::TrainOptions options = small_options();
    options.task = train::TaskKind::link;
    options.links.type = type;
    options.links.eval_negatives = 40;
    options.batch = 40;
    options.eval_every = 1;
    return options;
}

std::size_t type_of(VertexId v) {
    return typed_data().types().type(typed_data().book().owner(v), v);
}

/// Edges of a type (source, target), of all parts.
std::set<Pair> edges_of(std::size_t type) {
    std::set<Pair> edges;
    for (const partition::Part& part : typed_data().all_parts()) {
        for (VertexId v = 0; v < part.own(); ++v) {
            for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + 1]; ++e) {
                const VertexId u = part.global(part.neighbours()[e]);
                const VertexId global = part.range().begin + v;
                if (part.edge_data().type[e] == type && u != global) edges.insert({u, global});
            }
        }
    }
    return edges;
}

/// How all parts were divided.
struct Divided {
    std::map<Role, std::set<Pair>> links;
    std::vector<std::set<Pair>> messages;  ///< by type of edges
};

Divided divide_all(const train::TrainOptions& options, int ranks) {
    Divided all;
    all.messages.resize(typed_data().info().types.edges.size());
    std::mutex mutex;
    comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
    cluster.run([&](const comm::Communicator& comm) {
        const auto parts = train::open_parts(comm, typed_data(), false);
        const auto ground = train::divide(comm, typed_data(), parts, options);
        const std::lock_guard lock(mutex);
        for (std::size_t p = 0; p < parts.size(); ++p) {
            for (const Role role : roles) {
                const sample::LinkList& list = ground->divided.links[p].of(role);
                for (std::size_t l = 0; l < list.size(); ++l) {
                    const Pair link{parts[p].global(list.sources[l]), list.targets[l]};
                    EXPECT_TRUE(all.links[role].insert(link).second);
                }
            }
            const sample::MessageRows& rows = ground->divided.messages[p];
            for (VertexId v = 0; v < parts[p].own(); ++v) {
                for (EdgeIndex e = rows.offsets[v]; e < rows.offsets[v + 1]; ++e) {
                    all.messages[rows.types[e]].insert(
                        {parts[p].global(rows.neighbours[e]), parts[p].range().begin + v});
                }
            }
        }
    });
    return all;
}

std::set<Pair> turned(const std::set<Pair>& pairs) {
    std::set<Pair> all;
    for (const auto& [a, b] : pairs)
        all.insert({b, a});
    return all;
}

class TypedLinks : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Types, TypedLinks, testing::Values("cites", "writes"),
                         [](const auto& type) { return std::string(type.param); });

TEST_P(TypedLinks, EachEdgeIsOneLinkAndTrainingLinksPassMessages) {
    const train::TrainOptions options = typed_link_options(GetParam());
    const auto typed = train::typed_links(typed_data().info(), options);
    ASSERT_TRUE(typed.has_value());
    EXPECT_EQ(typed->symmetric, std::string(GetParam()) == "cites");
    const Divided all = divide_all(options, 1);
    const std::set<Pair> edges = edges_of(typed->edges.type);
    std::set<Pair> together;
    std::size_t count = 0;
    for (const auto& [role, links] : all.links) {
        count += links.size();
        for (const auto& [source, target] : links) {
            EXPECT_EQ(type_of(source), typed->from);
            EXPECT_EQ(type_of(target), typed->to);
            together.insert({source, target});
            if (typed->symmetric) together.insert({target, source});
        }
    }
    EXPECT_EQ(together, edges);
    EXPECT_EQ(count, edges.size() / (typed->symmetric ? 2 : 1));
    EXPECT_GT(all.links.at(Role::test).size(), 10U);
    std::set<Pair> trained = all.links.at(Role::train);
    for (std::size_t t = 0; t < all.messages.size(); ++t) {
        std::set<Pair> expected = edges_of(t);
        if (t == typed->edges.type) expected = trained;
        if (t == typed->edges.type && typed->symmetric) expected.merge(turned(trained));
        if (t == typed->edges.reverse) expected = turned(trained);
        EXPECT_EQ(all.messages[t], expected) << t;
    }
    EXPECT_EQ(typed->edges.reverse.has_value(), !typed->symmetric);
    for (const int ranks : {2, 4}) {
        const Divided elsewhere = divide_all(options, ranks);
        EXPECT_EQ(elsewhere.links, all.links);
        EXPECT_EQ(elsewhere.messages, all.messages);
    }
}

TEST_P(TypedLinks, NoMessagePassesAlongWhatIsAskedAbout) {
    train::TrainOptions options = typed_link_options(GetParam());
    options.links.negatives = "uniform:2";
    options.epochs = 1;
    const auto typed = train::typed_links(typed_data().info(), options);
    const Divided all = divide_all(options, 1);
    train::Loader loader(comm::Communicator::local(), typed_data(), {.train = options});
    std::set<Pair> seen;
    std::set<VertexId> drawn;
    std::uint64_t edges = 0;
    for (auto step = loader.next(); step != nullptr; step = loader.next()) {
        for (std::size_t p = 0; p < step->batches.size(); ++p) {
            const sample::Batch& batch = step->sampled.batches[p];
            std::set<Pair> asked;
            for (std::size_t i = 0; i < batch.seed_positions.size(); i += 4) {
                const auto seed = [&](std::size_t at) {
                    return batch.vertices[batch.seed_positions[i + at]];
                };
                asked.insert({seed(0), seed(1)});
                for (const std::size_t other : {2U, 3U}) {
                    EXPECT_EQ(type_of(seed(other)), typed->to);
                    drawn.insert(seed(other));
                }
            }
            seen.insert(asked.begin(), asked.end());
            for (const sample::Block& block : batch.blocks) {
                for (std::uint32_t d = 0; d < block.destinations; ++d) {
                    for (auto e = block.offsets[d]; e < block.offsets[d + 1U]; ++e) {
                        const VertexId u = batch.vertices[block.neighbours[e]];
                        const VertexId v = batch.vertices[d];
                        const bool forth = block.types[e] == typed->edges.type;
                        if (!forth && block.types[e] != typed->edges.reverse) continue;
                        ++edges;
                        EXPECT_FALSE(asked.contains(forth ? Pair{u, v} : Pair{v, u}));
                        EXPECT_FALSE(typed->symmetric && asked.contains({v, u}));
                    }
                }
            }
            // Pairs by type are the same vertices.
            const train::LoadedBatch& loaded = step->batches[p];
            const auto& from = loaded.types.vertices[typed->from].ids;
            const auto& to = loaded.types.vertices[typed->to].ids;
            const train::TypeNumbers numbers(typed_data().book(), typed_data().types());
            const std::size_t pairs = loaded.pairs.size() / 2;
            for (std::size_t i = 0; i < pairs / 3; ++i) {
                const VertexId source = batch.vertices[batch.seed_positions[4 * i]];
                const VertexId target = batch.vertices[batch.seed_positions[4 * i + 1]];
                EXPECT_EQ(from[static_cast<std::size_t>(loaded.pairs[i])],
                          static_cast<std::int64_t>(numbers.of(source).number));
                EXPECT_EQ(to[static_cast<std::size_t>(loaded.pairs[pairs + i])],
                          static_cast<std::int64_t>(numbers.of(target).number));
            }
        }
    }
    loader.close();
    EXPECT_EQ(seen, all.links.at(Role::train));
    EXPECT_GT(drawn.size(), 20U);
    EXPECT_GT(edges, 100U);
}

void expect_same_links(const Trained& a, const Trained& b) {
    EXPECT_EQ(a.result.digest, b.result.digest);
    EXPECT_EQ(a.weights, b.weights);
    ASSERT_EQ(a.result.epochs.size(), b.result.epochs.size());
    for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
        for (const auto& links : {&train::Scores::valid_links, &train::Scores::test_links}) {
            const auto& mine = a.result.epochs[e].scores.*links;
            const auto& theirs = b.result.epochs[e].scores.*links;
            ASSERT_TRUE(mine.has_value() && theirs.has_value());
            EXPECT_EQ(mine->mrr, theirs->mrr);
            EXPECT_EQ(mine->auc, theirs->auc);
            EXPECT_GT(mine->links, 0U);
        }
    }
}

TEST_P(TypedLinks, TheSameEverywhere) {
    train::TrainOptions asked = typed_link_options(GetParam());
    asked.model = std::string(GetParam()) == "cites" ? "sage" : "rgcn";
    asked.links.scorer = nn::PairScorer::distmult;
    asked.links.negatives = std::string(GetParam()) == "cites" ? "degree:2" : "uniform:2";
    const Trained alone = train_alone(typed_data(), asked);
    EXPECT_NE(alone.result.digest, 0U);
    expect_closed(alone.result);
    set_thread_count(3);
    expect_same_links(train_alone(typed_data(), asked), alone);
    set_thread_count(0);
    for (const int ranks : {2, 4}) {
        for (const train::TopologyChoice topology :
             {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
            train::TrainOptions elsewhere = asked;
            elsewhere.topology = topology;
            elsewhere.policy = ranks == 2 ? "window" : "lru";
            const auto all = train_simulated(typed_data(), elsewhere, {.ranks = ranks, .seed = 5});
            for (const Trained& mine : all)
                expect_same_links(mine, alone);
            expect_closed(all.front().result);
        }
    }
}

/// Cut after any step, on other ranks than it goes on.
TEST_P(TypedLinks, ResumedIsTheSame) {
    train::TrainOptions options = typed_link_options(GetParam());
    options.epochs = 2;
    options.batch = 120;
    const TempDir folder;
    const auto whole = stretch(typed_data(), options, folder / "whole", 2, 0);
    const std::uint64_t steps = whole.front().result.steps;
    ASSERT_GT(steps, 3U);
    for (std::uint64_t stop = 1; stop < steps; ++stop) {
        const std::filesystem::path run = folder / std::to_string(stop);
        const auto cut = stretch(typed_data(), options, run, stop % 2 == 0 ? 1 : 4, stop);
        ASSERT_TRUE(cut.front().result.interrupted);
        const auto resumed = stretch(typed_data(), options, run, stop % 2 == 0 ? 2 : 1, 0);
        expect_same_links(resumed.front(), whole.front());
        expect_closed(resumed.front().result);
    }
}

/// Random rows, and a scorer without weights.
TEST_P(TypedLinks, LinksAreRankedAmongVerticesOfTheTargetsType) {
    constexpr std::size_t columns = 4;
    const train::TrainOptions options = typed_link_options(GetParam());
    const auto typed = train::typed_links(typed_data().info(), options);
    std::vector<float> rows(typed_data().info().vertices * columns);
    for (std::size_t i = 0; i < rows.size(); ++i)
        rows[i] = static_cast<float>((i * 2654435761U >> 7U) % 101) - 50;
    const auto score = [&](VertexId a, VertexId b) {
        float sum = 0;
        for (std::size_t c = 0; c < columns; ++c)
            sum += rows[a * columns + c] * rows[b * columns + c];
        return sum;
    };
    const auto network = nn::make_network({.objective = nn::Objective::links,
                                           .inputs = 4,
                                           .hidden = 8,
                                           .outputs = 1,
                                           .seed = 3,
                                           .pairs = nn::PairOptions{.width = columns}});
    const std::set<Pair> edges = edges_of(typed->edges.type);
    for (const int ranks : {1, 4}) {
        train::LinkRanking sum;
        double reciprocal = 0;
        std::uint64_t count = 0;
        std::mutex mutex;
        comm::SimulatedCluster cluster({.ranks = ranks, .seed = 2});
        cluster.run([&](const comm::Communicator& comm) {
            const auto parts = train::open_parts(comm, typed_data(), false);
            const auto links = train::divide(comm, typed_data(), parts, options);
            const train::RankRanges ranges = train::ranges_of(comm, typed_data());
            const auto here = ranges.here();
            const std::vector<float> own(
                rows.begin() + static_cast<std::ptrdiff_t>(here.begin * columns),
                rows.begin() + static_cast<std::ptrdiff_t>(here.end * columns));
            train::VertexRows shared(comm, ranges, own, columns);
            const train::KnownLinks known(parts, links->divided.links, links->symmetric,
                                          links->edge_types());
            train::RankedLinks sums;
            std::vector<VertexId> sources;
            for (std::size_t p = 0; p < parts.size(); ++p) {
                const sample::LinkList& list = links->divided.links[p].test;
                sources.clear();
                for (const LocalId v : list.sources)
                    sources.push_back(parts[p].range().begin + v);
                train::LinkRanker(*network, shared, known, {.others = 0}, links->targets)
                    .rank(sources, list.targets, sums);
                const std::lock_guard lock(mutex);
                for (std::size_t l = 0; l < list.size(); ++l, ++count) {
                    std::uint64_t above = 0;
                    std::uint64_t equal = 0;
                    const float own_score = score(sources[l], list.targets[l]);
                    for (VertexId v = 0; v < typed_data().info().vertices; ++v) {
                        if (type_of(v) != typed->to || v == sources[l] ||
                            edges.contains({sources[l], v}))
                            continue;
                        above += score(sources[l], v) > own_score ? 1U : 0U;
                        equal += score(sources[l], v) == own_score ? 1U : 0U;
                    }
                    reciprocal +=
                        1 / (1 + static_cast<double>(above) + static_cast<double>(equal) / 2);
                }
            }
            shared.stop();
            const std::lock_guard lock(mutex);
            sum += sums.ranking;
        });
        const train::LinkScores scores = sum.scores();
        ASSERT_EQ(scores.links, count);
        EXPECT_NEAR(scores.mrr, reciprocal / static_cast<double>(count), 2e-3);
    }
}

/// The user's ids of a type count from 0.
VertexId number_of(std::size_t type, VertexId original) {
    return original - typed_data().info().types.vertices[type].first;
}

TEST_P(TypedLinks, PredictionsAreOfTheTypesThatAreJoined) {
    constexpr std::size_t top = 3;
    const train::TrainOptions options = typed_link_options(GetParam());
    const auto typed = train::typed_links(typed_data().info(), options);
    train::Scores scores;
    const auto saved = trained_network(typed_data(), options, scores);
    const TempDir folder;
    for (const int ranks : {1, 4}) {
        comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
        cluster.run([&](const comm::Communicator& comm) {
            const auto result = train::run_inference(comm, typed_data(), saved, {});
            ASSERT_TRUE(result.scores.test_links.has_value());
            EXPECT_EQ(result.scores.test_links->mrr, scores.test_links->mrr);
            static_cast<void>(train::write_link_predictions(
                comm, typed_data(), saved,
                {.output = folder / (std::to_string(ranks) + ".csv"), .top = top}));
        });
    }
    EXPECT_EQ(file_bytes(folder / "4.csv"), file_bytes(folder / "1.csv"));
    std::map<VertexId, VertexId> originals;
    for (const partition::Part& part : typed_data().all_parts()) {
        for (LocalId v = 0; v < part.own(); ++v)
            originals[part.global(v)] = part.original_ids()[v];
    }
    std::set<Pair> joined;
    for (const auto& [u, v] : edges_of(typed->edges.type)) {
        joined.insert({number_of(typed->from, originals[u]), number_of(typed->to, originals[v])});
    }
    const auto& types = typed_data().info().types.vertices;
    std::ifstream file(folder / "1.csv");
    std::string line;
    std::getline(file, line);
    EXPECT_EQ(line, "source,target,score");
    std::size_t lines = 0;
    while (std::getline(file, line)) {
        const auto words = split(std::string_view(line), ',');
        const VertexId source = *parse_u64(words[0]);
        const VertexId target = *parse_u64(words[1]);
        EXPECT_EQ(source, lines++ / top);
        EXPECT_LT(target, types[typed->to].vertices);
        EXPECT_FALSE(joined.contains({source, target}));
        EXPECT_FALSE(typed->from == typed->to && source == target);
    }
    EXPECT_EQ(lines, types[typed->from].vertices * top);
}

template <class Act>
void expect_usage(Act&& act, const std::string& word) {
    try {
        act();
        FAIL() << "not refused: " << word;
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage) << error.what();
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
}

TEST(TypedLinkTraining, WhatIsRefused) {
    const auto refused = [](const train::TrainOptions& options, const std::string& word) {
        expect_usage([&] { static_cast<void>(train_alone(typed_data(), options)); }, word);
    };
    refused(typed_link_options(""), "4 types of edges that may be links");
    refused(typed_link_options("cite"), "unknown type of edges 'cite'");
    refused(typed_link_options("rev_writes"), "those of 'writes'");
    train::TrainOptions given = typed_link_options("cites");
    given.links.negatives_from = "pairs.csv";
    refused(given, "--negatives-from");
    train::TrainOptions vertices = typed_link_options("cites");
    vertices.task = train::TaskKind::vertex;
    refused(vertices, "--link-type says which edges are links");
    const TempDir folder;
    const partition::PartitionedDataset plain = make_parts(folder.path(), {});
    expect_usage([&] { static_cast<void>(train_alone(plain, typed_link_options("cites"))); },
                 "one type of edges");
}

}  // namespace
}  // namespace rudder::test
