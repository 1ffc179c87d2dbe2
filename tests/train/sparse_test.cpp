// Training on sparse rows: the same bits whatever it runs on, close to dense rows, true accounts.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/nn/flat_network.hpp"
#include "rudder/nn/model_registry.hpp"
#include "train/exact_bed.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

constexpr std::array sparse_models{"sage", "gcn", "gat", "gatv2"};

train::TrainOptions options_for(const std::string& model,
                                store::SparseChoice sparse = store::SparseChoice::choose) {
    train::TrainOptions options = small_options();
    options.model = model;
    options.sparse = sparse;
    return options;
}

void expect_equal(const Trained& a, const Trained& b) {
    EXPECT_EQ(a.result.digest, b.result.digest);
    EXPECT_EQ(a.weights, b.weights);
    ASSERT_EQ(a.result.epochs.size(), b.result.epochs.size());
    for (std::size_t e = 0; e < a.result.epochs.size(); ++e) {
        const train::Scores& x = a.result.epochs[e].scores;
        const train::Scores& y = b.result.epochs[e].scores;
        EXPECT_EQ(x.train.correct, y.train.correct);
        EXPECT_EQ(x.valid.loss, y.valid.loss);
        EXPECT_EQ(x.test.correct, y.test.correct);
    }
}

/// The sums have another order: close, not equal.
void expect_close_runs(const Trained& sparse, const Trained& dense) {
    const auto near = [](float a, float b, double tolerance) {
        EXPECT_NEAR(static_cast<double>(a), static_cast<double>(b),
                    tolerance * (1 + std::fabs(static_cast<double>(b))));
    };
    near(sparse.result.first_loss, dense.result.first_loss, 1e-5);
    near(sparse.result.last_loss, dense.result.last_loss, 1e-2);
    ASSERT_EQ(sparse.weights.size(), dense.weights.size());
    double most = 0;
    for (std::size_t i = 0; i < sparse.weights.size(); ++i)
        most = std::max(most, std::fabs(static_cast<double>(sparse.weights[i] - dense.weights[i])));
    EXPECT_LT(most, 0.02);
}

class SparseTraining : public testing::Test {
protected:
    static constexpr std::uint64_t words = 12;
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts =
            make_parts(folder.path(), {.width = 400, .words = words});
        return parts;
    }
    static Trained alone(const std::string& model,
                         store::SparseChoice sparse = store::SparseChoice::choose) {
        return train_alone(data(), options_for(model, sparse));
    }
};

TEST_F(SparseTraining, TakesSparseRowsByItself) {
    const Trained sparse = alone("sage");
    EXPECT_TRUE(sparse.result.sparse);
    EXPECT_EQ(sparse.result.row_bytes, 2 + words * 3);
    const Trained dense = alone("sage", store::SparseChoice::off);
    EXPECT_FALSE(dense.result.sparse);
    EXPECT_EQ(dense.result.row_bytes, 400U);
    EXPECT_LT(10 * sparse.result.in_flight_bytes, 2 * dense.result.in_flight_bytes);
    EXPECT_NE(sparse.result.digest, dense.result.digest);
}

TEST_F(SparseTraining, EveryModelIsCloseToDenseRows) {
    for (const char* model : sparse_models) {
        SCOPED_TRACE(model);
        expect_close_runs(alone(model), alone(model, store::SparseChoice::off));
    }
}

TEST_F(SparseTraining, TheSameBitsOnAnyThreadsRanksAndTopology) {
    for (const char* model : sparse_models) {
        SCOPED_TRACE(model);
        const Trained first = alone(model);
        for (const int threads : {1, 3}) {
            set_thread_count(threads);
            expect_equal(alone(model), first);
        }
        set_thread_count(0);
        for (const int ranks : {2, 4}) {
            for (const int per_host : {1, 2}) {
                SCOPED_TRACE(fmt::format("{} ranks, {} per host", ranks, per_host));
                train::TrainOptions options = options_for(model);
                options.topology = per_host == 1 ? train::TopologyChoice::partitioned
                                                 : train::TopologyChoice::replicated;
                const auto all = train_simulated(
                    data(), options, {.ranks = ranks, .ranks_per_host = per_host, .seed = 5});
                for (const Trained& mine : all)
                    expect_equal(mine, first);
                expect_closed(all[0].result);
            }
        }
    }
}

TEST_F(SparseTraining, TheSameBitsWithEveryPolicyAndEvaluation) {
    const Trained first = alone("sage");
    for (const char* policy : {"none", "static-degree", "lru", "periodic", "scored,every:2",
                               "scored-faithful,every:4", "window:4"}) {
        SCOPED_TRACE(policy);
        train::TrainOptions options = options_for("sage");
        options.policy = policy;
        const auto all = train_simulated(data(), options, {.ranks = 4, .seed = 9});
        expect_equal(all[2], first);
        expect_closed(all[0].result);
    }
    for (const char* model : sparse_models) {
        train::TrainOptions options = options_for(model);
        options.eval = "sampled";
        const Trained one = train_alone(data(), options);
        const auto all = train_simulated(data(), options, {.ranks = 2, .seed = 1});
        expect_equal(all[1], one);
    }
}

/// Rows travel sparse, the model gets them dense: as if they had never been sparse.
TEST_F(SparseTraining, AModelThatTakesDenseRowsGetsThem) {
    static const bool registered = [] {
        nn::register_model({.name = "dense-sage", .make = nn::make_sage});
        return true;
    }();
    ASSERT_TRUE(registered);
    const Trained dense = alone("sage", store::SparseChoice::off);
    for (const int ranks : {1, 4}) {
        const auto all =
            train_simulated(data(), options_for("dense-sage"), {.ranks = ranks, .seed = 2});
        expect_equal(all[0], dense);
        EXPECT_TRUE(all[0].result.sparse);
        EXPECT_EQ(all[0].result.row_bytes, 2 + words * 3);
        expect_closed(all[0].result);
    }
}

TEST_F(SparseTraining, RowsOfOnesAndNormalisedRows) {
    for (const bool normalise : {false, true}) {
        const TempDir folder;
        const auto ones = make_parts(
            folder.path(),
            {.width = 300, .words = 20, .most_of_a_word = 1, .row_normalise = normalise});
        const Trained sparse = train_alone(ones, options_for("gcn"));
        EXPECT_EQ(sparse.result.row_bytes, 2 + 20 * 2U);
        const auto all = train_simulated(ones, options_for("gcn"), {.ranks = 4, .seed = 3});
        expect_equal(all[3], sparse);
        expect_close_runs(sparse, train_alone(ones, options_for("gcn", store::SparseChoice::off)));
    }
}

TEST_F(SparseTraining, MoreColumnsThan16BitsHold) {
    const TempDir folder;
    const auto wide = make_parts(folder.path(), {.vertices = 100, .width = 66'000, .words = 9});
    train::TrainOptions options = options_for("sage");
    options.hidden = 8;
    options.epochs = 1;
    const Trained sparse = train_alone(wide, options);
    EXPECT_EQ(sparse.result.row_bytes, 4 + 9 * 5U);
    const auto all = train_simulated(wide, options, {.ranks = 2, .seed = 3});
    expect_equal(all[1], sparse);
    options.sparse = store::SparseChoice::off;
    expect_close_runs(sparse, train_alone(wide, options));
}

/// Rows with nothing in them, and rows with everything where someone insists.
TEST_F(SparseTraining, EmptyRowsAndFullRows) {
    const TempDir folder;
    const auto full = make_parts(folder.path(), {});
    for (const char* model : sparse_models) {
        SCOPED_TRACE(model);
        const Trained sparse = train_alone(full, options_for(model, store::SparseChoice::on));
        EXPECT_TRUE(sparse.result.sparse);
        EXPECT_EQ(sparse.result.row_bytes, 2 + 12 * 6U);
        const auto all = train_simulated(full, options_for(model, store::SparseChoice::on),
                                         {.ranks = 4, .ranks_per_host = 2, .seed = 3});
        expect_equal(all[2], sparse);
        EXPECT_FALSE(train_alone(full, options_for(model)).result.sparse);
        expect_close_runs(sparse, train_alone(full, options_for(model)));
    }
}

TEST_F(SparseTraining, PrecisionChangesNothingOrIsRefused) {
    const Trained sparse = alone("sage");
    for (const store::Precision precision :
         {store::Precision::float32, store::Precision::bfloat16}) {
        train::TrainOptions options = options_for("sage");
        options.precision = precision;
        expect_equal(train_alone(data(), options), sparse);
    }
    train::TrainOptions options = options_for("sage", store::SparseChoice::on);
    options.precision = store::Precision::bfloat16;
    try {
        train::check_options(options);
        FAIL() << "not refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_THAT(error.problem(), testing::HasSubstr("sparse rows stay exact"));
    }
}

TEST_F(SparseTraining, CutAndResumedOnOtherRanks) {
    const Trained whole = alone("gat");
    const TempDir run;
    static_cast<void>(stretch(data(), options_for("gat"), run.path(), 4, whole.result.steps / 2));
    const auto rest = stretch(data(), options_for("gat"), run.path(), 2, 0);
    EXPECT_EQ(rest[0].result.digest, whole.result.digest);
    EXPECT_EQ(rest[0].weights, whole.weights);
}

/// Exact inference, whole and in chunks, against one pass over the whole graph on dense rows.
TEST_F(SparseTraining, InferenceOnAnyRanksAndMemory) {
    for (const char* model : sparse_models) {
        SCOPED_TRACE(model);
        const train::SavedNetwork saved = random_network(data(), 2, 8, 5, model);
        const AllRows exact = infer_alone(data(), saved);
        const std::vector<float> expected = predict_at_once(data(), saved);
        ASSERT_EQ(exact.scores.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            ASSERT_NEAR(static_cast<double>(exact.scores[i]), static_cast<double>(expected[i]),
                        1e-4);
        for (const int ranks : {1, 2, 4}) {
            for (const std::uint64_t memory : {0U, 500'000U}) {
                SCOPED_TRACE(fmt::format("{} ranks, {} bytes", ranks, memory));
                EXPECT_TRUE(exact ==
                            infer_simulated(data(), saved, {.ranks = ranks, .seed = 4}, memory));
            }
        }
    }
}

/// What is planned of memory and bytes is of sparse rows.
TEST_F(SparseTraining, PlansAreOfSparseRows) {
    const auto plan = [](store::SparseChoice sparse) {
        train::TrainPlan result;
        comm::SimulatedCluster machines({.ranks = 4, .seed = 1});
        machines.run([&](const comm::Communicator& comm) {
            train::Trainer trainer(comm, data(), options_for("sage", sparse));
            const train::TrainPlan own = trainer.plan();
            if (comm.rank() == 0) result = own;
        });
        return result;
    };
    const train::TrainPlan sparse = plan(store::SparseChoice::choose);
    const train::TrainPlan dense = plan(store::SparseChoice::off);
    EXPECT_EQ(sparse.feature_bytes / sparse.remote_rows, 2.0 + words * 3);
    EXPECT_EQ(dense.feature_bytes / dense.remote_rows, 400.0);
    // Steps that are assembled at once have room for somewhat more rows.
    EXPECT_NEAR(static_cast<double>(sparse.in_flight_bytes) * 400 / (2 * (words + 1)),
                static_cast<double>(dense.in_flight_bytes),
                0.02 * static_cast<double>(dense.in_flight_bytes));
    EXPECT_LT(sparse.network_bytes, dense.network_bytes);
    EXPECT_GT(sparse.store_bytes, 0U);
}

}  // namespace
}  // namespace rudder::test
