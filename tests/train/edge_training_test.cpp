// Training on what edges carry: the same bits wherever it runs, planted targets found, saved
// networks and predictions held against each other, what is refused.
#include <algorithm>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/parallel.hpp"
#include "train/checkpoints/options_json.hpp"
#include "train/fixture.hpp"
#include "train/ground.hpp"
#include "train/prediction/data_match.hpp"
#include "train/prediction/inference.hpp"
#include "train/saved_run.hpp"
#include "train/steps/class_weights.hpp"
#include "train/summary.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using graph::TargetKind;
using train::TaskKind;
using train::TrainOptions;

TrainOptions edge_options() {
    TrainOptions options = small_options();
    options.task = TaskKind::edge;
    options.batch = 64;
    options.eval_every = 1;
    return options;
}

void expect_same_score(const train::Score& a, const train::Score& b) {
    EXPECT_GT(a.answers, 0U);
    EXPECT_EQ(a.answers, b.answers);
    EXPECT_EQ(a.correct, b.correct);
    EXPECT_EQ(a.loss, b.loss);
}

void expect_same_edge_run(const Trained& a, const Trained& b) {
    EXPECT_EQ(a.result.digest, b.result.digest);
    EXPECT_EQ(a.weights, b.weights);
    EXPECT_EQ(a.result.best_epoch, b.result.best_epoch);
    ASSERT_EQ(a.result.epochs.size(), b.result.epochs.size());
    for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
        const train::Scores& left = a.result.epochs[e].scores;
        const train::Scores& right = b.result.epochs[e].scores;
        expect_same_score(left.train, right.train);
        expect_same_score(left.valid, right.valid);
        expect_same_score(left.test, right.test);
        EXPECT_FALSE(left.valid_links);
    }
}

SmallGraph edge_graph(bool directed = false) {
    return {.edge_targets = TargetKind::classes, .edge_split = true, .directed = directed};
}

TEST(EdgeTraining, TheSameBitsOnAnyRanksThreadsTopologyAndPolicy) {
    const TempDir folder;
    std::vector<std::uint64_t> digests;
    for (const bool directed : {false, true}) {
        const auto data =
            make_parts(folder.path() / (directed ? "one" : "both"), edge_graph(directed));
        TrainOptions options = edge_options();
        options.model = directed ? "gat" : "sage";
        options.class_weights = directed ? "balanced" : "none";
        const Trained alone = train_alone(data, options);
        digests.push_back(alone.result.digest);
        EXPECT_GT(alone.result.steps, 4U);
        set_thread_count(3);
        options.sample_tasks = 3;
        expect_same_edge_run(train_alone(data, options), alone);
        set_thread_count(0);
        for (const int ranks : {2, 4}) {
            for (const char* policy : {"none", "window:4"}) {
                for (const auto topology :
                     {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
                    options.policy = policy;
                    options.topology = topology;
                    const auto all = train_simulated(data, options, {.ranks = ranks, .seed = 3});
                    SCOPED_TRACE(std::string(policy) + " on " + std::to_string(ranks));
                    expect_same_edge_run(all[0], alone);
                    expect_closed(all[0].result);
                }
            }
        }
    }
    EXPECT_NE(digests[0], digests[1]);
}

TEST(EdgeTraining, CutAndGoneOnWithElsewhere) {
    const TempDir folder;
    const auto data = make_parts(folder.path() / "data", edge_graph());
    TrainOptions options = edge_options();
    options.epochs = 3;
    const Trained whole = train_alone(data, options);
    const auto run = folder.path() / "run";
    EXPECT_TRUE(stretch(data, options, run, 2, whole.result.steps / 2).front().result.interrupted);
    const auto second = stretch(data, options, run, 4, 0);
    EXPECT_GT(second.front().result.resumed_at, 0U);
    expect_same_edge_run(second.front(), whole);
}

/// Edges of each role by what the rows of parts say, each edge once.
std::map<graph::Role, std::uint64_t> labelled_by_role(const partition::PartitionedDataset& data) {
    std::map<graph::Role, std::uint64_t> entries;
    for (const partition::Part& part : data.all_parts()) {
        const graph::EdgeData carried = part.edge_data();
        for (EdgeIndex e = 0; e < part.info().edges; ++e) {
            if (graph::is_labelled(part.info().edge_targets, carried.targets, e))
                ++entries[carried.roles[e]];
        }
    }
    if (data.info().symmetric) {
        for (auto& [role, count] : entries)
            count /= 2;
    }
    return entries;
}

TEST(EdgeTraining, EveryEdgeWithATargetIsLearnedOrScoredOnce) {
    const TempDir folder;
    for (const bool directed : {false, true}) {
        const auto data =
            make_parts(folder.path() / (directed ? "one" : "both"), edge_graph(directed));
        const Trained trained = train_alone(data, edge_options());
        auto expected = labelled_by_role(data);
        const train::Scores& scores = trained.result.epochs[0].scores;
        EXPECT_EQ(scores.train.answers, expected[graph::Role::train]);
        EXPECT_EQ(scores.valid.answers, expected[graph::Role::valid]);
        EXPECT_EQ(scores.test.answers, expected[graph::Role::test]);
        EXPECT_GT(expected[graph::Role::none], 0U) << "some edges only pass messages";
    }
}

TEST(EdgeTraining, PlantedTargetsAreFound) {
    struct Case {
        const char* name;
        bool directed;
        bool split;
    };
    for (const Case& c :
         {Case{"both", false, true}, Case{"one", true, true}, Case{"drawn", false, false}}) {
        const TempDir folder;
        SmallGraph graph = edge_graph(c.directed);
        graph.edge_split = c.split;
        const auto data = make_parts(folder.path(), graph);
        TrainOptions options = edge_options();
        options.epochs = 25;
        options.hidden = 32;
        options.dropout = 0;
        const Trained trained = train_alone(data, options);
        const train::Scores& scores = trained.result.epochs.back().scores;
        // A network that cannot tell u -> v from v -> u is right in half of the cases at most
        // where classes differ.
        EXPECT_GT(scores.test.share(), 0.8) << c.name;
        const train::Summary summary = train::summary_of(trained.result, options, {});
        EXPECT_FALSE(summary.mrr) << c.name;
        ASSERT_TRUE(summary.best_epoch) << c.name;
    }
}

TEST(EdgeTraining, NumbersAndSeveralLabelsAreLearned) {
    for (const TargetKind kind : {TargetKind::regression, TargetKind::multilabel}) {
        const TempDir folder;
        SmallGraph graph = edge_graph();
        graph.edge_targets = kind;
        const auto data = make_parts(folder.path(), graph);
        TrainOptions options = edge_options();
        options.epochs = 25;
        options.dropout = 0;
        const Trained trained = train_alone(data, options);
        const auto& first = trained.result.epochs.front().scores.test;
        const auto& last = trained.result.epochs.back().scores.test;
        EXPECT_LT(last.loss, first.loss / 2) << to_string(kind);
        EXPECT_EQ(last.answers > 0, kind == TargetKind::multilabel);
    }
}

struct EdgeLine {
    VertexId source;
    VertexId target;
    std::string label;
};

/// source,target,class,score_x,score_y,score_z
std::vector<EdgeLine> read_edge_lines(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string text;
    std::getline(in, text);
    EXPECT_EQ(text, "source,target,class,score_x,score_y,score_z");
    std::vector<EdgeLine> lines;
    while (std::getline(in, text)) {
        std::replace(text.begin(), text.end(), ',', ' ');
        std::istringstream cells(text);
        EdgeLine line{};
        cells >> line.source >> line.target >> line.label;
        lines.push_back(line);
    }
    return lines;
}

/// The share of edges of a role whose class a file of predictions has, as the parts say it.
train::Score score_of(const partition::PartitionedDataset& data, const std::vector<EdgeLine>& lines,
                      graph::Role role) {
    std::map<std::pair<VertexId, VertexId>, std::string> said;
    for (const EdgeLine& line : lines)
        EXPECT_TRUE(said.emplace(std::pair(line.source, line.target), line.label).second);
    std::map<VertexId, VertexId> originals;
    for (const partition::Part& part : data.all_parts()) {
        for (LocalId v = 0; v < part.own(); ++v)
            originals[part.global(v)] = part.original_ids()[v];
    }
    train::Score score;
    for (const partition::Part& part : data.all_parts()) {
        const graph::EdgeData carried = part.edge_data();
        for (LocalId v = 0; v < part.own(); ++v) {
            for (EdgeIndex e = part.offsets()[v]; e < part.offsets()[v + std::size_t{1}]; ++e) {
                const VertexId source = originals[part.global(part.neighbours()[e])];
                const VertexId target = originals[part.global(v)];
                if (data.info().symmetric && source > target) continue;
                const std::int32_t label = carried.targets.classes[e];
                if (label == graph::no_label || carried.roles[e] != role) continue;
                ++score.answers;
                const std::string name(1, static_cast<char>('x' + label));
                score.correct += said.at({source, target}) == name ? 1U : 0U;
            }
        }
    }
    return score;
}

TEST(EdgeEvaluation, OfASavedNetworkIsThatOfTheRunAndOfItsPredictions) {
    for (const bool directed : {false, true}) {
        const TempDir folder;
        const auto data = make_parts(folder.path(), edge_graph(directed));
        train::Scores scores;
        const auto saved = trained_network(data, edge_options(), scores);
        for (const int ranks : {1, 4}) {
            comm::SimulatedCluster cluster({.ranks = ranks, .seed = 1});
            cluster.run([&](const comm::Communicator& comm) {
                const auto result = train::run_inference(comm, data, saved, {});
                expect_same_score(result.scores.valid, scores.valid);
                expect_same_score(result.scores.test, scores.test);
                EXPECT_EQ(result.scored[2], scores.test.answers);
                EXPECT_EQ(result.unknown, 0U);
            });
            for (const char* ending : {"csv", "npz"}) {
                const std::string name = "out-" + std::to_string(ranks) + "." + ending;
                comm::SimulatedCluster writers({.ranks = ranks, .seed = 1});
                writers.run([&](const comm::Communicator& comm) {
                    static_cast<void>(train::write_edge_predictions(comm, data, saved,
                                                                    {.output = folder / name}));
                });
                EXPECT_EQ(file_bytes(folder / name),
                          file_bytes(folder / ("out-1." + std::string(ending))));
            }
        }
        const auto lines = read_edge_lines(folder / "out-1.csv");
        EXPECT_EQ(lines.size(), data.info().symmetric ? data.info().edges / 2 : data.info().edges);
        EXPECT_TRUE(std::ranges::is_sorted(lines, {}, [](const EdgeLine& line) {
            return std::pair(line.target, line.source);
        })) << "as edges are exported";
        const train::Score valid = score_of(data, lines, graph::Role::valid);
        EXPECT_EQ(valid.answers, scores.valid.answers);
        EXPECT_EQ(valid.correct, scores.valid.correct);
        EXPECT_EQ(score_of(data, lines, graph::Role::test).correct, scores.test.correct);
    }
}

TEST(EdgeEvaluation, ClassesOfAnotherDataSetAreMatchedByName) {
    const TempDir folder;
    const auto data = make_parts(folder.path() / "one", edge_graph());
    train::Scores scores;
    auto saved = trained_network(data, edge_options(), scores);
    // The same graph, whose checksum is another's, and a network whose outputs are turned round.
    SmallGraph other = edge_graph();
    other.names = {"a", "b", "c", "d"};
    const auto again = make_parts(folder.path() / "two", other);
    auto match = train::match_other(saved, again.info(), "two");
    EXPECT_EQ(match.classes, train::ClassMatch::by_name);
    const auto scored = [&](const train::DataMatch& how) {
        return train::run_inference(comm::Communicator::local(), again, saved, {.match = how});
    };
    expect_same_score(scored(match).scores.test, scores.test);
    // A class that the network does not know is not scored.
    saved.trained_on->class_names = {"x", "y", "other"};
    match = train::match_other(saved, again.info(), "two");
    EXPECT_THAT(match.unknown, testing::ElementsAre("z"));
    const auto part = scored(match);
    EXPECT_GT(part.unknown, 0U);
    EXPECT_EQ(part.scores.test.answers + part.scores.valid.answers + part.scores.train.answers +
                  part.unknown,
              scores.test.answers + scores.valid.answers + scores.train.answers);
    SmallGraph bare = edge_graph();
    bare.edge_targets = TargetKind::regression;
    const auto numbers = make_parts(folder.path() / "three", bare);
    const Refusal refused =
        refusal_of([&] { static_cast<void>(train::match_other(saved, numbers.info(), "three")); });
    EXPECT_EQ(refused.kind, ErrorKind::input);
    EXPECT_THAT(refused.problem, testing::HasSubstr("targets: classes in the run, numbers here"));
}

TEST(EdgeOptions, WhatDoesNotGoWithEdgesIsRefused) {
    const std::vector<std::pair<const char*, std::function<void(TrainOptions&)>>> cases{
        {"--temporal", [](auto& o) { o.temporal = sample::Temporal::newest; }},
        {"--seed-order clustered", [](auto& o) { o.seed_order = sample::SeedOrder::clustered; }},
        {"--eval sampled", [](auto& o) { o.eval = "sampled"; }},
    };
    for (const auto& [option, change] : cases) {
        TrainOptions options = edge_options();
        change(options);
        const Refusal refused = refusal_of([&] { check_options(options); });
        EXPECT_EQ(refused.kind, ErrorKind::usage);
        EXPECT_EQ(refused.problem, std::string("task 'edge' does not go with ") + option);
    }
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    const Refusal refused =
        refusal_of([&] { static_cast<void>(train_alone(data, edge_options())); });
    EXPECT_EQ(refused.kind, ErrorKind::input);
    EXPECT_THAT(refused.problem, testing::HasSubstr("the edges of the data set have no labels"));
}

TEST(EdgeOptions, NetworksAreSavedWithWhatTheyRead) {
    const nn::NetworkOptions network{
        .objective = nn::Objective::classes,
        .inputs = 3,
        .outputs = 5,
        .pairs = nn::PairOptions{.scorer = nn::PairScorer::network, .input = nn::PairInput::rows}};
    Json json = train::network_json(network);
    EXPECT_EQ(train::network_from_json(json, "here").pairs->input, nn::PairInput::rows);
    json["pairs"].erase("input");  // as earlier versions wrote it
    EXPECT_EQ(train::network_from_json(json, "here").pairs->input, nn::PairInput::products);
    json["pairs"]["scorer"] = "dot";
    EXPECT_EQ(refusal_of([&] { static_cast<void>(train::network_from_json(json, "here")); }).kind,
              ErrorKind::input)
        << "five numbers of one product";
}

}  // namespace
}  // namespace rudder::test
