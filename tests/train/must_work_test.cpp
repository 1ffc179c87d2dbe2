// Graphs and settings at the edges of what can be trained on.
#include <gtest/gtest.h>

#include "core/interrupt.hpp"
#include "rudder/core/error.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

/// Trains alone and on four (or `ranks`) simulated ranks, and expects the same of both.
void expect_works(const SmallGraph& graph, const train::TrainOptions& options, int ranks = 4) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), graph);
    const Trained alone = train_alone(data, options);
    EXPECT_GT(alone.result.steps, 0U);
    expect_closed(alone.result);
    const auto spread = train_simulated(data, options, {.ranks = ranks, .seed = 5});
    for (const Trained& rank : spread) {
        EXPECT_EQ(rank.result.digest, alone.result.digest);
        EXPECT_EQ(rank.weights, alone.weights);
    }
    expect_closed(spread.front().result);
}

TEST(MustWork, ARankWithoutSeeds) {
    SmallGraph graph;
    graph.role = [](PartId part, VertexId) {
        return part == 2 ? graph::Role::test : graph::Role::train;
    };
    expect_works(graph, small_options());
}

TEST(MustWork, VeryDifferentNumbersOfSeeds) {
    SmallGraph graph;
    graph.role = [](PartId part, VertexId v) {
        if (part == 0) return graph::Role::train;
        return v < 4 * part ? graph::Role::train : graph::Role::valid;
    };
    expect_works(graph, small_options());
}

TEST(MustWork, ABatchLargerThanTheSplit) {
    train::TrainOptions options = small_options();
    options.batch = 1'000'000;
    expect_works({}, options);
}

TEST(MustWork, OneVertex) {
    SmallGraph graph{.vertices = 1, .degree = 1, .parts = 1};
    graph.role = [](PartId, VertexId) { return graph::Role::train; };
    expect_works(graph, small_options(), 1);
}

TEST(MustWork, IsolatedSeeds) {
    expect_works({.vertices = 120, .degree = 0.2}, small_options());
}

TEST(MustWork, AFanoutLargerThanEveryDegree) {
    train::TrainOptions options = small_options();
    options.fanout = {1000, 1000};
    train::TrainOptions all = options;
    all.fanout = {-1, -1};
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    EXPECT_EQ(train_alone(data, options).result.digest, train_alone(data, all).result.digest);
}

TEST(MustWork, NoTestSet) {
    SmallGraph graph;
    graph.role = [](PartId, VertexId v) {
        return v % 3 == 0 ? graph::Role::valid : graph::Role::train;
    };
    expect_works(graph, small_options());
}

TEST(MustWork, NoValidationSet) {
    SmallGraph graph;
    graph.role = [](PartId, VertexId) { return graph::Role::train; };
    expect_works(graph, small_options());
}

TEST(MustWork, OneToFourLayers) {
    for (int layers = 1; layers <= 4; ++layers) {
        train::TrainOptions options = small_options();
        options.layers = layers;
        options.fanout.assign(static_cast<std::size_t>(layers), 3);
        options.epochs = 1;
        expect_works({}, options, 2);
    }
}

TEST(MustWork, AllPrecisionsOfAllTypes) {
    for (const ElementType type : {ElementType::f32, ElementType::f16, ElementType::bf16}) {
        for (const store::Precision precision :
             {store::Precision::native, store::Precision::float32, store::Precision::bfloat16,
              store::Precision::int8, store::Precision::int4}) {
            train::TrainOptions options = small_options();
            options.precision = precision;
            options.epochs = 1;
            expect_works({.type = type}, options, 2);
        }
    }
}

TEST(MustWork, EveryKindOfTarget) {
    for (const graph::TargetKind kind :
         {graph::TargetKind::multilabel, graph::TargetKind::regression})
        expect_works({.targets = kind}, small_options(), 2);
}

TEST(MustWork, WithReplacementAndClusteredSeeds) {
    train::TrainOptions options = small_options();
    options.with_replacement = true;
    options.seed_order = sample::SeedOrder::clustered;
    expect_works({}, options);
}

TEST(MustWork, EveryOptimiserAndSchedule) {
    for (const char* optimiser : {"adam", "adamw", "sgd"}) {
        for (const char* schedule : {"constant", "cosine", "linear", "step:1,0.5"}) {
            train::TrainOptions options = small_options();
            options.optimiser.name = optimiser;
            options.optimiser.weight_decay = 0.01;
            options.optimiser.clip = 1;
            options.lr_schedule = schedule;
            options.warmup = 3;
            const TempDir folder;
            const partition::PartitionedDataset data = make_parts(folder.path(), {});
            EXPECT_EQ(train_simulated(data, options, {.ranks = 2}).front().result.digest,
                      train_alone(data, options).result.digest);
        }
    }
}

TEST(Learns, PlantedCommunities) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {.vertices = 1200});
    train::TrainOptions options = small_options();
    options.epochs = 15;
    const train::TrainResult result = train_alone(data, options).result;
    ASSERT_TRUE(result.best_epoch.has_value());
    EXPECT_GT(result.epochs[*result.best_epoch].scores.test.share(), 0.85);
    EXPECT_LT(result.last_loss, result.first_loss * 0.5F);
}

TEST(BrokenLoss, NamesStepAndRank) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    train::TrainOptions options = small_options();
    options.optimiser.name = "sgd";
    options.optimiser.learning_rate = 1e30;
    try {
        static_cast<void>(train_simulated(data, options, {.ranks = 2}));
        FAIL() << "a loss that is no number went unnoticed";
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 1);
        EXPECT_NE(std::string(error.what()).find("step"), std::string::npos);
        EXPECT_NE(std::string(error.what()).find("rank"), std::string::npos);
    }
}

/// Interrupts after some steps, as a signal would.
class Interrupter final : public train::TrainObserver {
public:
    explicit Interrupter(std::uint64_t after) : after_(after) {}
    void step_done(const train::StepRecord& record, std::uint64_t) override {
        if (record.step + 1 == after_) set_interrupted(true);
    }

private:
    std::uint64_t after_;
};

TEST(Interrupted, AllRanksStopAtOneStepAndAccountsClose) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    std::vector<train::TrainResult> results(4);
    comm::SimulatedCluster machines({.ranks = 4, .seed = 9});
    machines.run([&](const comm::Communicator& comm) {
        train::Trainer trainer(comm, data, small_options());
        Interrupter observer(3);
        results[static_cast<std::size_t>(comm.rank())] = trainer.run(observer);
    });
    set_interrupted(false);
    for (const train::TrainResult& result : results) {
        EXPECT_TRUE(result.interrupted);
        EXPECT_EQ(result.steps, results.front().steps);
        EXPECT_EQ(result.digest, results.front().digest);
    }
    EXPECT_LE(results.front().steps, 5U);
    expect_closed(results.front());
}

TEST(Plan, IsTheSameOnAllRanksAndTrainingCanFollow) {
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    const Trained alone = train_alone(data, small_options());
    comm::SimulatedCluster machines({.ranks = 4, .seed = 2});
    std::vector<std::uint64_t> needed(4);
    machines.run([&](const comm::Communicator& comm) {
        train::Trainer trainer(comm, data, small_options());
        const train::TrainPlan plan = trainer.plan();
        needed[static_cast<std::size_t>(comm.rank())] = plan.needed_bytes();
        EXPECT_GT(plan.remote_rows, 0);
        EXPECT_GT(plan.gradient_bytes, 0);
        train::TrainObserver observer;
        EXPECT_EQ(trainer.run(observer).digest, alone.result.digest);
    });
    for (const std::uint64_t bytes : needed)
        EXPECT_EQ(bytes, needed.front());
}

}  // namespace
}  // namespace rudder::test
