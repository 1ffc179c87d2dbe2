// What training must come to wherever it runs, cut or not, and however it is scored.
#pragma once

#include <gtest/gtest.h>

#include "rudder/core/parallel.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {

/// The same losses and weights to the bit, and the same scores of every epoch.
inline void expect_same_training(const Trained& a, const Trained& b) {
    EXPECT_EQ(a.result.digest, b.result.digest);
    EXPECT_EQ(a.weights, b.weights);
    ASSERT_EQ(a.result.epochs.size(), b.result.epochs.size());
    for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
        const train::Scores& x = a.result.epochs[e].scores;
        const train::Scores& y = b.result.epochs[e].scores;
        EXPECT_EQ(x.valid.correct, y.valid.correct);
        EXPECT_EQ(x.valid.loss, y.valid.loss);
        EXPECT_EQ(x.test.correct, y.test.correct);
    }
}

/// The same training for other numbers of threads and ranks, topologies, policies and hosts; gives
/// that of one rank, which must have more than `steps` steps.
inline Trained expect_same_everywhere(const partition::PartitionedDataset& data,
                                      const train::TrainOptions& asked, std::uint64_t steps = 4) {
    const Trained alone = train_alone(data, asked);
    EXPECT_NE(alone.result.digest, 0U);
    EXPECT_GT(alone.result.steps, steps);
    expect_closed(alone.result);
    set_thread_count(3);
    expect_same_training(train_alone(data, asked), alone);
    set_thread_count(0);
    for (const int ranks : {2, 4}) {
        for (const train::TopologyChoice topology :
             {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
            train::TrainOptions elsewhere = asked;
            elsewhere.topology = topology;
            elsewhere.policy = ranks == 2 ? "window" : "lru";
            const auto all = train_simulated(data, elsewhere, {.ranks = ranks, .seed = 5});
            for (const Trained& mine : all)
                expect_same_training(mine, alone);
            expect_closed(all.front().result);
        }
    }
    train::TrainOptions without = asked;
    without.policy = "none";
    const auto all = train_simulated(data, without, {.ranks = 2, .ranks_per_host = 2, .seed = 1});
    expect_same_training(all.front(), alone);
    expect_closed(all.front().result);
    return alone;
}

/// Three epochs on two ranks, left alone, or cut in the middle and resumed on four.
inline void expect_same_resumed(const partition::PartitionedDataset& data,
                                train::TrainOptions asked) {
    asked.epochs = 3;
    const TempDir whole;
    const auto expected = stretch(data, asked, whole.path(), 2, 0);
    const TempDir cut;
    static_cast<void>(stretch(data, asked, cut.path(), 2, expected.front().result.steps / 2));
    const auto resumed = stretch(data, asked, cut.path(), 4, 0);
    EXPECT_EQ(resumed.front().result.digest, expected.front().result.digest);
    EXPECT_EQ(resumed.front().weights, expected.front().weights);
}

/// Exact evaluation is what sampling all neighbours gives; `asked` then asks for both.
inline void expect_scores_of_all_neighbours(const partition::PartitionedDataset& data,
                                            train::TrainOptions& asked) {
    asked.fanout = {-1, -1};
    asked.eval = "exact";
    train::TrainOptions sampled = asked;
    sampled.eval = "sampled";
    const Trained a = train_alone(data, asked);
    const Trained b = train_alone(data, sampled);
    EXPECT_EQ(a.result.digest, b.result.digest);
    for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
        const train::Scores& x = a.result.epochs[e].scores;
        const train::Scores& y = b.result.epochs[e].scores;
        EXPECT_EQ(x.valid.correct, y.valid.correct);
        EXPECT_EQ(x.test.correct, y.test.correct);
        EXPECT_GT(x.test.answers, 0U);
    }
}

}  // namespace rudder::test
