// Training by the weights of edges and by their times.
#include <set>

#include <gtest/gtest.h>

#include "rudder/core/parallel.hpp"
#include "train/fixture.hpp"

#include "support/refusal.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

class Carried : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts =
            make_parts(folder.path(), {.carried = true});
        return parts;
    }
    static train::TrainOptions options(bool weighted, sample::Temporal temporal) {
        train::TrainOptions options = small_options();
        options.weighted = weighted;
        options.temporal = temporal;
        options.sampler.reset();
        options.redraw.reset();
        return options;
    }
    static void expect_same(const Trained& a, const Trained& b) {
        EXPECT_EQ(a.result.digest, b.result.digest);
        EXPECT_EQ(a.weights, b.weights);
        ASSERT_EQ(a.result.epochs.size(), b.result.epochs.size());
        for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
            EXPECT_EQ(a.result.epochs[e].scores.valid.correct,
                      b.result.epochs[e].scores.valid.correct);
            EXPECT_EQ(a.result.epochs[e].scores.valid.loss, b.result.epochs[e].scores.valid.loss);
            EXPECT_EQ(a.result.epochs[e].scores.test.correct,
                      b.result.epochs[e].scores.test.correct);
        }
    }
    /// The same training wherever it runs.
    static void run_everywhere(const train::TrainOptions& asked) {
        const Trained alone = train_alone(data(), asked);
        EXPECT_GT(alone.result.steps, 4U);
        expect_closed(alone.result);
        set_thread_count(3);
        expect_same(train_alone(data(), asked), alone);
        set_thread_count(0);
        for (const int ranks : {2, 4}) {
            for (const train::TopologyChoice topology :
                 {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
                train::TrainOptions elsewhere = asked;
                elsewhere.topology = topology;
                elsewhere.policy = ranks == 2 ? "window" : "lru";
                const auto all = train_simulated(data(), elsewhere, {.ranks = ranks, .seed = 5});
                for (const Trained& mine : all)
                    expect_same(mine, alone);
                expect_closed(all.front().result);
            }
        }
        train::TrainOptions without = asked;
        without.policy = "none";
        const auto all =
            train_simulated(data(), without, {.ranks = 2, .ranks_per_host = 2, .seed = 1});
        expect_same(all.front(), alone);
        expect_closed(all.front().result);
    }
};

TEST_F(Carried, WeightedTrainingIsTheSameEverywhere) {
    run_everywhere(options(true, sample::Temporal::off));
}

TEST_F(Carried, TheNewestAreTheSameEverywhere) {
    run_everywhere(options(false, sample::Temporal::newest));
}

TEST_F(Carried, UniformDrawsAmongThePastAreTheSameEverywhere) {
    run_everywhere(options(false, sample::Temporal::uniform));  // shared, since nobody says plain
}

TEST_F(Carried, WeightedDrawsAmongThePastAreTheSameEverywhere) {
    run_everywhere(options(true, sample::Temporal::uniform));
}

/// Exact evaluation is what sampling all neighbours gives: by shares of the same weights, and of
/// the same past.
TEST_F(Carried, ExactScoresAreThoseOfAllNeighbours) {
    for (const sample::Temporal temporal : {sample::Temporal::off, sample::Temporal::uniform}) {
        train::TrainOptions exact = options(true, temporal);
        exact.fanout = {-1, -1};
        exact.eval = "exact";
        train::TrainOptions sampled = exact;
        sampled.eval = "sampled";
        const Trained a = train_alone(data(), exact);
        const Trained b = train_alone(data(), sampled);
        EXPECT_EQ(a.result.digest, b.result.digest);
        for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
            const train::Scores& x = a.result.epochs[e].scores;
            const train::Scores& y = b.result.epochs[e].scores;
            EXPECT_EQ(x.valid.correct, y.valid.correct);
            EXPECT_EQ(x.test.correct, y.test.correct);
            EXPECT_GT(x.test.answers, 0U);
        }
    }
}

TEST_F(Carried, WeightsAndTimesChangeTheTraining) {
    std::set<std::uint64_t> digests;
    digests.insert(train_alone(data(), options(false, sample::Temporal::off)).result.digest);
    digests.insert(train_alone(data(), options(true, sample::Temporal::off)).result.digest);
    digests.insert(train_alone(data(), options(false, sample::Temporal::newest)).result.digest);
    digests.insert(train_alone(data(), options(false, sample::Temporal::uniform)).result.digest);
    digests.insert(train_alone(data(), options(true, sample::Temporal::newest)).result.digest);
    EXPECT_EQ(digests.size(), 5U);
}

TEST_F(Carried, RefusesWhatDoesNotGoTogether) {
    const auto refused = [&](auto change) {
        train::TrainOptions asked = options(false, sample::Temporal::off);
        change(asked);
        const Refusal refusal = refusal_of([&] { check_options(asked); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage);
        return refusal.problem;
    };
    using O = train::TrainOptions;
    EXPECT_EQ(refused([](O& o) { o.weighted = true, o.model = "gat"; }),
              "model 'gat' does not take the weights of edges");
    EXPECT_EQ(refused([](O& o) { o.weighted = true, o.sampler = sample::Sampler::shared; }),
              "shared samples are not drawn by weight");
    EXPECT_EQ(refused([](O& o) { o.temporal = sample::Temporal::uniform, o.model = "gcn"; }),
              "model 'gcn' reads the degrees of the whole graph, future edges included");
    EXPECT_EQ(
        refused([](O& o) { o.temporal = sample::Temporal::newest, o.with_replacement = true; }),
        "the newest edges are not drawn with replacement");
}

TEST_F(Carried, RefusesDataWithoutWhatIsAskedFor) {
    const TempDir folder;
    const partition::PartitionedDataset plain = make_parts(folder.path(), {});
    const auto refused = [&](bool weighted, sample::Temporal temporal) {
        const Refusal refusal =
            refusal_of([&] { static_cast<void>(train_alone(plain, options(weighted, temporal))); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        return refusal.problem;
    };
    EXPECT_EQ(refused(true, sample::Temporal::off), "its edges have no weights");
    EXPECT_EQ(refused(false, sample::Temporal::newest), "its edges have no times");
}

}  // namespace
}  // namespace rudder::test
