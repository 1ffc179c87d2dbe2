// Links ranked in a stream, against all scores at once; and the best targets of vertices.
#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "partition/share.hpp"
#include "rudder/core/random.hpp"
#include "sample/sampler.hpp"
#include "train/evaluation/exact_evaluator.hpp"
#include "train/evaluation/link_ranker.hpp"
#include "train/fixture.hpp"
#include "train/ground.hpp"
#include "train/input_rows.hpp"
#include "train/learner.hpp"
#include "train/prediction/inference.hpp"
#include "train/saved_run.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using graph::Role;

constexpr std::size_t columns = 5;

/// A row for each vertex: small whole numbers, so that many pairs score the same.
std::vector<float> some_rows(VertexId vertices) {
    std::vector<float> rows(vertices * columns);
    const RandomStream stream({.purpose = Purpose::test, .seed = 4});
    Draws draws(stream, 1);
    for (float& value : rows)
        value = static_cast<float>(draws.below(4)) - 1.F;
    return rows;
}

std::unique_ptr<nn::Network> pair_network(nn::PairScorer scorer) {
    return nn::make_network({.objective = nn::Objective::links,
                             .inputs = 4,
                             .hidden = 8,
                             .outputs = 1,
                             .seed = 3,
                             .pairs = nn::PairOptions{.scorer = scorer, .width = columns}});
}

/// What each rank found, added up, and all links that were ranked.
struct Ranked {
    train::LinkScores scores;
    train::Score pairs;
    std::set<std::pair<VertexId, VertexId>> links;
};

/// Pairs that are given for every second vertex.
std::vector<VertexId> given_for(VertexId v, VertexId vertices) {
    if (v % 2 != 0) return {};
    std::set<VertexId> targets;
    for (VertexId i = 0; i < 12; ++i)
        targets.insert((v * 7 + i * i * 13 + 1) % vertices);
    return {targets.begin(), targets.end()};
}

/// Whether some pairs are given.
enum class Given : bool { no, yes };

Ranked rank_all(const partition::PartitionedDataset& data, int ranks, nn::PairScorer scorer,
                const train::RankingOptions& options, Given given = Given::no) {
    const std::vector<float> rows = some_rows(data.info().vertices);
    train::LinkRanking sum;
    Ranked all;
    std::mutex mutex;
    comm::SimulatedCluster cluster({.ranks = ranks, .seed = 2});
    cluster.run([&](const comm::Communicator& comm) {
        const auto parts = train::open_parts(comm, data, false);
        train::TrainOptions train;
        train.task = train::TaskKind::link;
        const auto links = train::divide(comm, data, parts, train);
        const train::RankRanges ranges = train::ranges_of(comm, data);
        const auto here = ranges.here();
        const std::vector<float> own(
            rows.begin() + static_cast<std::ptrdiff_t>(here.begin * columns),
            rows.begin() + static_cast<std::ptrdiff_t>(here.end * columns));
        train::VertexRows shared(comm, ranges, own, columns);
        const train::KnownLinks known(parts, links->divided.links, data.info().symmetric);
        const auto network = pair_network(scorer);
        sample::GivenPairs pairs{.first = here.begin};
        pairs.offsets.push_back(0);
        for (VertexId v = here.begin; v < here.end; ++v) {
            for (const VertexId target : given_for(v, data.info().vertices))
                pairs.targets.push_back(target);
            pairs.offsets.push_back(pairs.targets.size());
        }
        train::RankedLinks sums;
        std::vector<VertexId> sources;
        for (std::size_t p = 0; p < parts.size(); ++p) {
            const sample::LinkList& list = links->divided.links[p].test;
            sources.clear();
            for (const LocalId v : list.sources)
                sources.push_back(parts[p].range().begin + v);
            train::LinkRanker(*network, shared, known, options, links->targets,
                              given == Given::yes ? &pairs : nullptr)
                .rank(sources, list.targets, sums);
            const std::lock_guard lock(mutex);
            for (std::size_t l = 0; l < list.size(); ++l)
                all.links.insert({sources[l], list.targets[l]});
        }
        shared.stop();
        const std::lock_guard lock(mutex);
        sum += sums.ranking;
        all.pairs += sums.pairs;
    });
    all.scores = sum.scores();
    return all;
}

/// All scores at once, and ranks by counting.
Ranked rank_naively(const partition::PartitionedDataset& data, const Ranked& of,
                    nn::PairScorer scorer, bool filtered, Given given = Given::no) {
    const VertexId vertices = data.info().vertices;
    const std::vector<float> rows = some_rows(vertices);
    const auto network = pair_network(scorer);
    std::vector<std::set<VertexId>> joined(vertices);
    for (const partition::Part& part : data.all_parts()) {
        for (LocalId v = 0; v < part.own(); ++v) {
            for (const LocalId u : part.row(v)) {
                joined[part.global(u)].insert(part.global(v));  // u -> v
                if (data.info().symmetric) joined[part.global(v)].insert(part.global(u));
            }
        }
    }
    train::LinkRanking ranking;
    Ranked all;
    for (const auto& [source, target] : of.links) {
        std::vector<LocalId> from(vertices, static_cast<LocalId>(source));
        std::vector<LocalId> to(vertices);
        for (std::size_t v = 0; v < vertices; ++v)
            to[v] = static_cast<LocalId>(v);
        std::vector<float> scores(vertices);
        network->score_pairs({rows.data(), vertices, columns, columns},
                             {.sources = from, .targets = to}, scores);
        std::vector<float> others;
        std::vector<VertexId> among;
        if (given == Given::yes) among = given_for(source, vertices);
        for (VertexId v = 0; v < vertices; ++v) {
            if (v == source || v == target || (filtered && joined[source].contains(v))) continue;
            if (!among.empty() && !std::ranges::binary_search(among, v)) continue;
            others.push_back(scores[v]);
            all.pairs.correct += scores[v] < scores[target] ? 1U : 0U;
            ++all.pairs.answers;
        }
        ranking.add(scores[target], others);
    }
    all.scores = ranking.scores();
    return all;
}

void expect_equal(const Ranked& a, const Ranked& b) {
    EXPECT_EQ(a.scores.links, b.scores.links);
    EXPECT_EQ(a.scores.mrr, b.scores.mrr);
    EXPECT_EQ(a.scores.hits, b.scores.hits);
    EXPECT_EQ(a.scores.auc, b.scores.auc);
    EXPECT_EQ(a.pairs.correct, b.pairs.correct);
    EXPECT_EQ(a.pairs.answers, b.pairs.answers);
}

TEST(LinkRanker, RanksAmongAllVerticesAsByCounting) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {.vertices = 330, .degree = 10});
    for (const auto scorer : {nn::PairScorer::dot, nn::PairScorer::network}) {
        for (const bool filtered : {true, false}) {
            const train::RankingOptions options{.others = 0, .filtered = filtered};
            const Ranked first = rank_all(data, 1, scorer, options);
            ASSERT_GT(first.scores.links, 50U);
            expect_equal(first, rank_naively(data, first, scorer, filtered));
            for (const int ranks : {2, 4})
                expect_equal(rank_all(data, ranks, scorer, options), first);
        }
    }
}

TEST(LinkRanker, RanksAmongGivenPairsWhereItsSourceHasAny) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {.vertices = 330, .degree = 10});
    for (const bool filtered : {true, false}) {
        const train::RankingOptions options{.others = 0, .filtered = filtered};
        const Ranked first = rank_all(data, 1, nn::PairScorer::dot, options, Given::yes);
        expect_equal(first, rank_naively(data, first, nn::PairScorer::dot, filtered, Given::yes));
        EXPECT_LT(first.pairs.answers,
                  rank_all(data, 1, nn::PairScorer::dot, options).pairs.answers * 2 / 3);
        for (const int ranks : {2, 4})
            expect_equal(rank_all(data, ranks, nn::PairScorer::dot, options, Given::yes), first);
    }
    // Beside drawn ones, too.
    const train::RankingOptions drawn{.others = 40, .filtered = false, .seed = 6};
    const Ranked mixed = rank_all(data, 1, nn::PairScorer::dot, drawn, Given::yes);
    EXPECT_LE(mixed.pairs.answers, 40 * mixed.scores.links);
    expect_equal(rank_all(data, 4, nn::PairScorer::dot, drawn, Given::yes), mixed);
}

TEST(LinkRanker, DrawnOthersAreSpreadOverAllAndOnAnyRanksTheSame) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {.vertices = 330, .degree = 10});
    const train::RankingOptions options{.others = 40, .filtered = false, .seed = 6};
    const Ranked first = rank_all(data, 1, nn::PairScorer::dot, options);
    for (const int ranks : {2, 4})
        expect_equal(rank_all(data, ranks, nn::PairScorer::dot, options), first);
    // All but those that happen to be the source or the target.
    const auto drawn = static_cast<double>(first.pairs.answers);
    EXPECT_LE(drawn, 40.0 * static_cast<double>(first.scores.links));
    EXPECT_GT(drawn, 39.0 * static_cast<double>(first.scores.links));
    const Ranked all = rank_all(data, 1, nn::PairScorer::dot, {.others = 0, .filtered = false});
    EXPECT_NEAR(first.pairs.share(), all.pairs.share(), 0.02);
    EXPECT_NE(first.pairs.correct,
              rank_all(data, 1, nn::PairScorer::dot, {.others = 40, .filtered = false, .seed = 7})
                  .pairs.correct);
    expect_equal(rank_all(data, 1, nn::PairScorer::dot, {.others = 5000, .filtered = false}), all);
}

train::TrainOptions evaluated_options() {
    train::TrainOptions options = small_options();
    options.task = train::TaskKind::link;
    options.batch = 64;
    options.eval_every = 1;
    options.links.eval_negatives = 50;
    return options;
}

TEST(LinkEvaluation, OfASavedNetworkIsThatOfTheRun) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    train::Scores scores;
    const auto saved = trained_network(data, evaluated_options(), scores);
    for (const int ranks : {1, 4}) {
        comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
        cluster.run([&](const comm::Communicator& comm) {
            const auto result = train::run_inference(comm, data, saved, {});
            ASSERT_TRUE(result.scores.test_links);
            EXPECT_EQ(result.scores.test_links->mrr, scores.test_links->mrr);
            EXPECT_EQ(result.scores.valid_links->auc, scores.valid_links->auc);
        });
    }
}

/// The rows of the last layer by sampling all that messages pass along, vertex by vertex.
TEST(LinkEvaluation, ReadsAlongTrainingLinksAlone) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    const comm::Communicator comm = comm::Communicator::local();
    const train::TrainOptions options = evaluated_options();
    train::Ground ground(comm, data, options);
    const train::Learner learner(ground);
    const auto network = nn::make_network(learner.options());
    train::ExactEvaluator exact(
        comm, data, ground.parts, ground.store,
        {.network = learner.options(), .messages = ground.links->divided.messages});
    const std::size_t width = options.hidden;
    std::vector<float> rows(data.info().vertices * width);
    train::Scores none;
    exact.evaluate(*network, none, [&](const train::InferredRows& some) {
        const VertexId first = some.part.range().begin + some.first;
        std::ranges::copy(some.scores, rows.begin() + static_cast<std::ptrdiff_t>(first * width));
    });
    EXPECT_EQ(none.valid.answers, 0U) << "vertices have no answers";
    sample::NeighbourSampler sampler(*ground.source, {.fanout = {-1, -1}});
    std::vector<VertexId> seeds(data.info().vertices);
    std::iota(seeds.begin(), seeds.end(), VertexId{0});
    sample::Batch batch;
    sampler.sample({}, seeds, batch);
    std::vector<float> features(batch.vertices.size() * ground.store.format().row_floats());
    const store::RowsWanted wanted{batch.vertices, features, true};
    static_cast<void>(ground.store.pull(std::span(&wanted, 1), comm::Kind::evaluation).wait());
    std::vector<float> expected(rows.size());
    network->predict(batch, train::input_rows(ground.store.format(), features), expected);
    for (std::size_t i = 0; i < rows.size(); ++i)
        ASSERT_NEAR(rows[i], expected[i], 1e-4) << i;
    std::uint64_t left = 0;
    for (std::size_t p = 0; p < ground.parts.size(); ++p)
        left += ground.parts[p].neighbours().size() -
                ground.links->divided.messages[p].neighbours.size();
    EXPECT_GT(left, 100U) << "some edges are kept back";
    ground.stop();
}

struct Line {
    VertexId source;
    VertexId target;
    float score;
};

std::vector<Line> read_lines(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string text;
    std::getline(in, text);
    EXPECT_EQ(text, "source,target,score");
    std::vector<Line> lines;
    while (std::getline(in, text)) {
        std::replace(text.begin(), text.end(), ',', ' ');
        std::istringstream cells(text);
        Line line{};
        cells >> line.source >> line.target >> line.score;
        lines.push_back(line);
    }
    return lines;
}

TEST(LinkPredictions, AreTheBestOfAllThatAreNotJoined) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    train::Scores scores;
    const auto saved = trained_network(data, evaluated_options(), scores);
    for (const char* ending : {"csv", "npz"}) {
        for (const int ranks : {1, 2, 4}) {
            const std::string name = "out-" + std::to_string(ranks) + "." + ending;
            comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
            cluster.run([&](const comm::Communicator& comm) {
                static_cast<void>(train::write_link_predictions(
                    comm, data, saved, {.output = folder / name, .top = 5}));
            });
            EXPECT_EQ(file_bytes(folder / name),
                      file_bytes(folder / ("out-1." + std::string(ending))));
        }
    }
    std::map<VertexId, std::set<VertexId>> joined;
    for (const partition::Part& part : data.all_parts()) {
        std::map<VertexId, VertexId> originals;
        for (const partition::Part& other : data.all_parts()) {
            for (LocalId v = 0; v < other.own(); ++v)
                originals[other.global(v)] = other.original_ids()[v];
        }
        for (LocalId v = 0; v < part.own(); ++v) {
            auto& of = joined[part.original_ids()[v]];
            of.insert(part.original_ids()[v]);
            for (const LocalId u : part.row(v))
                of.insert(originals[part.global(u)]);
        }
    }
    const auto lines = read_lines(folder / "out-1.csv");
    ASSERT_EQ(lines.size(), 300U * 5);
    // Of a list of all, the first five are the same.
    static_cast<void>(train::write_link_predictions(comm::Communicator::local(), data, saved,
                                                    {.output = folder / "all.csv", .top = 300}));
    std::map<VertexId, std::vector<Line>> all;
    for (const Line& line : read_lines(folder / "all.csv"))
        all[line.source].push_back(line);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const Line& line = lines[i];
        EXPECT_EQ(line.source, i / 5);
        EXPECT_FALSE(joined[line.source].contains(line.target));
        EXPECT_EQ(line.target, all[line.source][i % 5].target);
    }
    for (const auto& [source, list] : all) {
        EXPECT_EQ(list.size(), 300 - joined[source].size()) << "all that are not joined";
        EXPECT_TRUE(std::ranges::is_sorted(list, std::ranges::greater{}, &Line::score));
    }
}

}  // namespace
}  // namespace rudder::test
