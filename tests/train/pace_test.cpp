// How often epochs are evaluated: known answers, and whole runs on a clock that is simulated.
#include "train/evaluation/pace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "train/fixture.hpp"
#include "train/summary.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using train::EpochRecord;
using train::EvaluationCost;

/// An epoch of so many seconds; `waited` for its evaluation, if it was evaluated.
struct Lap {
    double seconds;
    std::optional<double> waited{};
};

std::vector<EpochRecord> records(const std::vector<Lap>& laps) {
    std::vector<EpochRecord> all;
    for (const Lap& lap : laps) {
        EpochRecord& record = all.emplace_back();
        record.epoch = static_cast<std::uint32_t>(all.size() - 1);
        record.seconds = lap.seconds;
        record.scores.evaluated = lap.waited.has_value();
        record.evaluation_seconds = lap.waited.value_or(0);
    }
    return all;
}

TEST(EvaluationPace, CostIsWhatTrainingWaitedAndByWhatAnEpochGotLonger) {
    EvaluationCost cost = train::evaluation_cost(records({}));
    EXPECT_EQ(cost.all, 0);
    EXPECT_EQ(cost.epoch, 0);
    // Of an evaluation that has not ended nothing is known.
    cost = train::evaluation_cost(records({{10}}));
    EXPECT_EQ(cost.all, 0);
    EXPECT_EQ(cost.epoch, 10);
    cost = train::evaluation_cost(records({{10, 3}, {14}}));
    EXPECT_EQ(cost.last, 7);
    EXPECT_EQ(cost.all, 7);
    EXPECT_EQ(cost.epoch, 10);
    // A first epoch that was slow hides it, until there is a faster one.
    cost = train::evaluation_cost(records({{15, 3}, {14}}));
    EXPECT_EQ(cost.last, 3);
    cost = train::evaluation_cost(records({{15, 3}, {14}, {10, 4}, {15}}));
    EXPECT_EQ(cost.last, 9);
    EXPECT_EQ(cost.all, 16);
    EXPECT_EQ(cost.epoch, 10);
}

TEST(EvaluationPace, IntervalsKeepItToAFifth) {
    const auto interval = [](double last, double epoch, double all = 100) {
        return train::evaluation_interval({.all = all, .last = last, .epoch = epoch});
    };
    EXPECT_EQ(interval(0, 10), 1U);
    EXPECT_EQ(interval(2.5, 10), 1U);  // 2.5 of 12.5 seconds are a fifth
    EXPECT_EQ(interval(2.6, 10), 2U);
    EXPECT_EQ(interval(5, 10), 2U);
    EXPECT_EQ(interval(20, 10), 8U);
    EXPECT_EQ(interval(20.1, 10), 9U);
    // Less than a second in all is free, however short epochs are.
    EXPECT_EQ(interval(0.3, 0.01, 0.9), 1U);
    EXPECT_EQ(interval(0.3, 0.01, 1.2), 120U);
    EXPECT_GE(interval(5, 0), 1U);
    for (double cost = 0.01; cost < 50; cost *= 1.3) {
        const double epochs = interval(cost, 1);
        EXPECT_LE(cost / (epochs + cost), train::evaluation_share * (1 + 1e-12)) << cost;
        if (epochs == 1) continue;
        EXPECT_GT(cost / (epochs - 1 + cost), train::evaluation_share) << cost;
    }
}

/// Which of 20 epochs are evaluated, if an evaluation takes so long and runs after the epoch.
std::vector<std::uint32_t> evaluated(double cost, train::TrainOptions options = {}) {
    options.epochs = 20;
    std::vector<EpochRecord> all;
    std::vector<std::uint32_t> which;
    for (std::uint32_t e = 0; e < options.epochs; ++e) {
        EpochRecord& record = all.emplace_back();
        record.epoch = e;
        record.seconds = 10;
        if (!train::evaluation_due(options, all)) continue;
        // Asked again, as whoever goes on with a run does: the same answer.
        EXPECT_TRUE(train::evaluation_due(options, all));
        record.scores.evaluated = true;
        record.evaluation_seconds = cost;
        which.push_back(e + 1);
    }
    return which;
}

TEST(EvaluationPace, TheFirstEpochTheLastAndSomeBetween) {
    using testing::ElementsAre;
    EXPECT_EQ(evaluated(2).size(), 20U);
    EXPECT_THAT(evaluated(5), ElementsAre(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 20));
    EXPECT_THAT(evaluated(20), ElementsAre(1, 9, 17, 20));
    EXPECT_THAT(evaluated(1000), ElementsAre(1, 20));
}

TEST(EvaluationPace, WhoeverWaitsForScoresGetsThemAfterEveryEpoch) {
    train::TrainOptions options;
    options.patience = 5;
    EXPECT_EQ(evaluated(1000, options).size(), 20U);
    options.patience = 0;
    options.lr_schedule = "plateau:3,0.5";
    EXPECT_EQ(evaluated(1000, options).size(), 20U);
    // A number is a number.
    options.eval_every = 7;
    EXPECT_THAT(evaluated(1000, options), testing::ElementsAre(7, 14, 20));
    options.eval_every = 0;
    EXPECT_TRUE(evaluated(1000, options).empty());
}

/// Few seeds, much to evaluate, and links on which that takes seconds.
class PacedRuns : public testing::Test {
protected:
    [[nodiscard]] partition::PartitionedDataset data() {
        return make_parts(folder_.path(),
                          {.vertices = 600, .width = 40, .role = [](PartId, VertexId v) {
                               return v % 40 == 0 ? graph::Role::train : graph::Role::valid;
                           }});
    }
    [[nodiscard]] static train::TrainOptions options() {
        train::TrainOptions made = small_options();
        made.epochs = 14;
        made.fanout = {2, 2};
        return made;
    }
    [[nodiscard]] static std::vector<Trained> run(const partition::PartitionedDataset& data,
                                                  const train::TrainOptions& options) {
        using namespace std::chrono_literals;
        return train_simulated(
            data, options,
            {.ranks = 4, .seed = 3, .link = {.delay = 1ms, .bytes_per_second = 20e3}});
    }
    TempDir folder_;
};

TEST_F(PacedRuns, EvaluateAsOftenAsIsCheapAndAtTheEnd) {
    const auto parts = data();
    const auto paced = run(parts, options());
    train::TrainOptions every = options();
    every.eval_every = 1;
    const auto always = run(parts, every);
    const auto& epochs = paced.front().result.epochs;
    ASSERT_EQ(epochs.size(), 14U);
    EXPECT_TRUE(epochs.front().scores.evaluated);
    EXPECT_TRUE(epochs.back().scores.evaluated);
    const std::uint32_t times = train::evaluations(epochs);
    EXPECT_LT(times, 10U);
    EXPECT_EQ(train::evaluations(always.front().result.epochs), 14U);
    for (std::size_t rank = 0; rank < paced.size(); ++rank) {
        // Which epochs were evaluated changes no weight, and all ranks agree on it.
        EXPECT_EQ(paced[rank].weights, always[rank].weights);
        EXPECT_EQ(paced[rank].result.digest, always[rank].result.digest);
        for (std::size_t e = 0; e < epochs.size(); ++e) {
            const train::Scores& scores = paced[rank].result.epochs[e].scores;
            ASSERT_EQ(scores.evaluated, epochs[e].scores.evaluated) << rank << ' ' << e;
            if (!scores.evaluated) continue;
            EXPECT_EQ(scores.valid.loss, always[rank].result.epochs[e].scores.valid.loss);
        }
    }
    const train::Summary summary = train::summary_of(paced.front().result, options(), {});
    EXPECT_EQ(summary.evaluations, times);
    EXPECT_GT(summary.eval_every.value_or(0), 1U);
    const Json json = train::to_json(summary);
    EXPECT_EQ(json.at("evaluations"), times);
    EXPECT_EQ(json.at("eval_every"), *summary.eval_every);
    EXPECT_TRUE(json.at("accuracy_last").at("valid").is_number());
}

TEST_F(PacedRuns, PatienceNeedsEveryEpoch) {
    train::TrainOptions patient = options();
    patient.patience = 100;
    const auto trained = run(data(), patient);
    EXPECT_EQ(train::evaluations(trained.front().result.epochs), 14U);
    EXPECT_EQ(train::summary_of(trained.front().result, patient, {}).eval_every, 1U);
}

TEST_F(PacedRuns, SampledEvaluationIsPacedToo) {
    train::TrainOptions sampled = options();
    sampled.eval = "sampled";
    const auto trained = run(data(), sampled);
    EXPECT_LT(train::evaluations(trained.front().result.epochs), 10U);
    EXPECT_TRUE(trained.front().result.epochs.back().scores.evaluated);
}

}  // namespace
}  // namespace rudder::test
