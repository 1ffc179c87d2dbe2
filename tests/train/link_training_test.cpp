// Training on links: the same bits wherever it runs, planted structure found, what is refused.
#include <algorithm>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/parallel.hpp"
#include "train/checkpoints/options_json.hpp"
#include "train/fixture.hpp"
#include "train/ground.hpp"
#include "train/link_options.hpp"
#include "train/summary.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using train::TaskKind;
using train::TrainOptions;

TrainOptions link_options() {
    TrainOptions options = small_options();
    options.task = TaskKind::link;
    options.batch = 64;
    options.eval_every = 1;
    options.links.negatives = "uniform:2";
    options.links.eval_negatives = 0;
    return options;
}

void expect_same_scores(const train::LinkScore& a, const train::LinkScore& b) {
    EXPECT_GT(a.links, 0U);
    EXPECT_EQ(a.links, b.links);
    EXPECT_EQ(a.mrr, b.mrr);
    EXPECT_EQ(a.hits_1, b.hits_1);
    EXPECT_EQ(a.hits_10, b.hits_10);
    EXPECT_EQ(a.auc, b.auc);
}

void expect_same_run(const Trained& a, const Trained& b) {
    EXPECT_EQ(a.result.digest, b.result.digest);
    EXPECT_EQ(a.weights, b.weights);
    EXPECT_EQ(a.result.best_epoch, b.result.best_epoch);
    ASSERT_EQ(a.result.epochs.size(), b.result.epochs.size());
    for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
        const train::Scores& left = a.result.epochs[e].scores;
        const train::Scores& right = b.result.epochs[e].scores;
        EXPECT_EQ(left.train.correct, right.train.correct);
        EXPECT_EQ(left.valid.correct, right.valid.correct);
        ASSERT_TRUE(left.valid_links && right.valid_links);
        expect_same_scores(*left.valid_links, *right.valid_links);
        expect_same_scores(*left.test_links, *right.test_links);
    }
}

class LinkTraining : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {});
        return parts;
    }
};

TEST_F(LinkTraining, TheSameBitsOnAnyRanksThreadsTopologyAndPolicy) {
    struct Way {
        nn::PairScorer scorer;
        nn::LinkLoss loss;
        const char* negatives;
        const char* model;
        sample::Sampler sampler;
    };
    std::vector<std::uint64_t> digests;
    for (const Way& way : {Way{nn::PairScorer::dot, nn::LinkLoss::binary, "uniform:2", "sage",
                               sample::Sampler::shared},
                           Way{nn::PairScorer::distmult, nn::LinkLoss::softmax, "in-batch:3", "gcn",
                               sample::Sampler::plain},
                           Way{nn::PairScorer::network, nn::LinkLoss::bpr, "degree", "gat",
                               sample::Sampler::shared}}) {
        TrainOptions options = link_options();
        options.links.scorer = way.scorer;
        options.links.loss = way.loss;
        options.links.negatives = way.negatives;
        options.model = way.model;
        options.sampler = way.sampler;
        const Trained alone = train_alone(data(), options);
        digests.push_back(alone.result.digest);
        EXPECT_GT(alone.result.steps, 4U);
        set_thread_count(3);
        options.sample_tasks = 3;
        expect_same_run(train_alone(data(), options), alone);
        set_thread_count(0);
        for (const int ranks : {2, 4}) {
            for (const char* policy : {"none", "window:4", "lru"}) {
                for (const auto topology :
                     {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
                    options.policy = policy;
                    options.topology = topology;
                    const auto all = train_simulated(data(), options, {.ranks = ranks, .seed = 3});
                    SCOPED_TRACE(std::string(policy) + " on " + std::to_string(ranks));
                    expect_same_run(all[0], alone);
                    expect_closed(all[0].result);
                }
            }
        }
    }
    EXPECT_NE(digests[0], digests[1]);
    EXPECT_NE(digests[1], digests[2]);
}

TEST_F(LinkTraining, CutAndGoneOnWithElsewhere) {
    const TempDir folder;
    TrainOptions options = link_options();
    options.links.scorer = nn::PairScorer::distmult;
    options.epochs = 3;
    const Trained whole = train_alone(data(), options);
    for (const std::uint64_t step : {std::uint64_t{1}, whole.result.steps / 2}) {
        const auto run = folder.path() / ("run" + std::to_string(step));
        EXPECT_TRUE(stretch(data(), options, run, 2, step).front().result.interrupted);
        const auto second = stretch(data(), options, run, 4, 0);
        EXPECT_GT(second.front().result.resumed_at, 0U);
        expect_same_run(second.front(), whole);
    }
    TrainOptions other = options;
    other.links.negatives = "degree:2";
    EXPECT_NE(train_alone(data(), other).result.digest, whole.result.digest);
}

TEST_F(LinkTraining, EveryLinkIsTrainedOnOnceAnEpoch) {
    TrainOptions options = link_options();
    options.links.negatives = "in-batch:3";
    options.epochs = 1;
    const Trained trained = train_alone(data(), options);
    std::uint64_t links = 0;
    const train::Ground ground(comm::Communicator::local(), data(), options);
    for (const sample::PartLinks& part : ground.links->divided.links)
        links += part.train.size();
    EXPECT_EQ(trained.result.epochs[0].scores.train.answers, 3 * links)
        << "three pairs beside each";
}

TEST(LinkStructure, PlantedCommunitiesAreFound) {
    const TempDir folder;
    const auto data = make_parts(
        folder.path(), {.vertices = 400, .degree = 14, .classes = 20, .width = 24, .parts = 2});
    TrainOptions options = link_options();
    options.epochs = 20;
    options.hidden = 32;
    options.fanout = {10, 10};
    options.dropout = 0;
    const Trained trained = train_alone(data, options);
    const train::LinkScore& test = *trained.result.epochs.back().scores.test_links;
    const double chance = 6.57 / 400;  // the mean of one over 1 ... 400
    EXPECT_GT(test.mrr, 5 * chance);
    EXPECT_GT(test.auc, 0.8);
    const train::Summary summary = train::summary_of(trained.result, options, {});
    ASSERT_TRUE(summary.mrr && summary.hits && summary.auc);
    ASSERT_TRUE(summary.best_epoch);
    EXPECT_GT(summary.mrr->valid, 5 * chance);
    double best = 0;
    for (const train::EpochRecord& epoch : trained.result.epochs)
        best = std::max(best, epoch.scores.valid_links->mrr);
    EXPECT_EQ(summary.mrr->valid, best) << "the best epoch is that by MRR";
    const Json json = train::to_json(summary);
    EXPECT_EQ(json.at("mrr").at("test").get<double>(), summary.mrr->test);
    EXPECT_GE(json.at("hits").at("100").at("test").get<double>(),
              json.at("hits").at("10").at("test").get<double>());
    EXPECT_EQ(train::to_json(train::summary_from_json(json, "here")), json);
}

TEST(LinkStructure, OfVerticesNothingIsSaidOfLinks) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    const Trained trained = train_alone(data, small_options());
    const Json json = train::to_json(train::summary_of(trained.result, small_options(), {}));
    for (const char* key : {"mrr", "hits", "auc"})
        EXPECT_TRUE(json.at(key).is_null()) << key;
}

TEST(LinkOptions, WhatDoesNotGoWithLinksIsRefused) {
    const auto refusal = [](const std::function<void(TrainOptions&)>& change) {
        TrainOptions options = link_options();
        change(options);
        return refusal_of([&] { check_options(options); });
    };
    const std::vector<std::pair<const char*, std::function<void(TrainOptions&)>>> cases{
        {"--weighted", [](auto& o) { o.weighted = true, o.sampler = sample::Sampler::plain; }},
        {"--temporal", [](auto& o) { o.temporal = sample::Temporal::newest; }},
        {"--seed-order clustered", [](auto& o) { o.seed_order = sample::SeedOrder::clustered; }},
        {"--class-weights", [](auto& o) { o.class_weights = "balanced"; }},
        {"--eval sampled", [](auto& o) { o.eval = "sampled"; }},
    };
    for (const auto& [option, change] : cases) {
        const Refusal refused = refusal(change);
        EXPECT_EQ(refused.kind, ErrorKind::usage);
        EXPECT_EQ(refused.where, "task");
        EXPECT_EQ(refused.problem, std::string("task 'link' does not go with ") + option);
    }
    for (const char* text : {"", "random", "uniform:", "uniform:0", "uniform:-1", "uniform:1x",
                             "degree:100001", "in-batch:4294967296"}) {
        const Refusal refused = refusal([&](auto& o) { o.links.negatives = text; });
        EXPECT_EQ(refused.kind, ErrorKind::usage);
        EXPECT_EQ(refused.where, "negatives");
        EXPECT_EQ(refused.problem, std::string("invalid negatives: '") + text + "'");
    }
    EXPECT_EQ(train::parse_negatives("degree").count, 1U);
    EXPECT_EQ(train::parse_negatives("in-batch:7").count, 7U);
    EXPECT_EQ(train::parse_negatives("in-batch:7").kind, sample::Negatives::batch);
}

TEST(LinkOptions, NetworksOfPairsAreSavedAndDamagedOnesRefused) {
    nn::NetworkOptions network{.objective = nn::Objective::links,
                               .inputs = 3,
                               .outputs = 1,
                               .pairs = nn::PairOptions{.scorer = nn::PairScorer::network,
                                                        .loss = nn::LinkLoss::bpr,
                                                        .width = 48,
                                                        .relations = 2}};
    const Json json = train::network_json(network);
    const nn::NetworkOptions back = train::network_from_json(json, "here");
    ASSERT_TRUE(back.pairs);
    EXPECT_EQ(back.objective, nn::Objective::links);
    EXPECT_EQ(back.pairs->scorer, nn::PairScorer::network);
    EXPECT_EQ(back.pairs->loss, nn::LinkLoss::bpr);
    EXPECT_EQ(back.pairs->width, 48U);
    EXPECT_EQ(back.pairs->relations, 2U);
    const auto refused = [&](const std::function<void(Json&)>& damage) {
        Json bad = json;
        damage(bad);
        EXPECT_EQ(
            refusal_of([&] { static_cast<void>(train::network_from_json(bad, "here")); }).kind,
            ErrorKind::input)
            << bad.dump();
    };
    refused([](Json& bad) { bad.erase("pairs"); });
    refused([](Json& bad) { bad["pairs"].erase("scorer"); });
    refused([](Json& bad) { bad["pairs"]["loss"] = "hinge"; });
    refused([](Json& bad) { bad["pairs"]["relations"] = 0; });
    refused([](Json& bad) { bad["outputs"] = 2; });
}

}  // namespace
}  // namespace rudder::test
