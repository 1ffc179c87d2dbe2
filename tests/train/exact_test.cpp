// Exact inference: what the formula says, whatever it runs on and however little memory it has.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partition/share.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/random.hpp"
#include "train/exact_bed.hpp"

#include "support/all_sum.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

/// The least memory of the rank that needs most, on so many ranks of one host each.
std::uint64_t least_memory(const partition::PartitionedDataset& data,
                           const train::SavedNetwork& saved, int ranks) {
    std::uint64_t least = 0;
    comm::SimulatedCluster machines({.ranks = ranks});
    machines.run([&](const comm::Communicator& comm) {
        std::vector<partition::Part> parts;
        const partition::PartShare share =
            partition::share_of(data.parts(), comm.size(), comm.rank());
        for (PartId p = share.first; p < share.last; ++p)
            parts.push_back(data.part(p));
        store::FeatureStore store(comm, data, {});
        const train::ExactEvaluator evaluator(comm, data, parts, store, {.network = saved.options});
        least = std::max(least, evaluator.least_bytes());
        EXPECT_GE(evaluator.planned_bytes(), evaluator.least_bytes());
        store.stop();
    });
    return least;
}

class Exact : public testing::Test {
protected:
    partition::PartitionedDataset make(const SmallGraph& graph) {
        return make_parts(folder_.path(), graph);
    }
    TempDir folder_;
};

TEST_F(Exact, EqualsTheFormula) {
    const auto data = make({.vertices = 1500, .degree = 7, .parts = 2});
    for (int layers = 1; layers <= 4; ++layers) {
        SCOPED_TRACE(layers);
        const train::SavedNetwork saved = random_network(data, layers, 24);
        expect_near(infer_alone(data, saved), infer_naively(data, saved));
    }
}

TEST_F(Exact, OnRandomGraphs) {
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
        SCOPED_TRACE(seed);
        const RandomStream stream({.purpose = Purpose::test, .seed = seed});
        Draws draws(stream, 0);
        const VertexId vertices = 40 + draws.below(1200);
        const auto parts = static_cast<PartId>(1 + draws.below(4));
        const auto data = make({.vertices = vertices,
                                .degree = 0.5 + static_cast<double>(draws.below(12)),
                                .classes = 2 + draws.below(5),
                                .width = 1 + draws.below(40),
                                .parts = parts,
                                .seed = seed});
        const train::SavedNetwork saved =
            random_network(data, 1 + static_cast<int>(draws.below(3)), 1 + draws.below(40), seed);
        const AllRows alone = infer_alone(data, saved);
        expect_near(alone, infer_naively(data, saved));
        const AllRows ranks =
            infer_simulated(data, saved, {.ranks = static_cast<int>(parts), .seed = seed});
        EXPECT_TRUE(ranks == alone);
    }
}

TEST_F(Exact, SameBitsOnAnyRanksHostsAndThreads) {
    const auto data = make({.vertices = 2900, .degree = 9, .parts = 4});
    const train::SavedNetwork saved = random_network(data, 3, 20);
    const AllRows alone = infer_alone(data, saved);
    for (const int ranks : {1, 2, 4}) {
        for (const int per_host : {1, 2}) {
            EXPECT_TRUE(
                infer_simulated(data, saved, {.ranks = ranks, .ranks_per_host = per_host}) == alone)
                << ranks << " ranks, " << per_host << " per host";
        }
    }
    for (const int threads : {1, 3}) {
        set_thread_count(threads);
        EXPECT_TRUE(infer_alone(data, saved) == alone) << threads << " threads";
    }
    set_thread_count(0);
}

TEST_F(Exact, SameBitsInAnyMemory) {
    const auto data = make({.vertices = 4100, .degree = 9, .parts = 4});
    const train::SavedNetwork saved = random_network(data, 3, 20);
    const AllRows alone = infer_alone(data, saved);
    for (const int ranks : {1, 2, 4}) {
        const std::uint64_t least = least_memory(data, saved, ranks);
        for (const double more : {1.0, 1.1, 1.5, 2.0, 4.0}) {
            const auto memory = static_cast<std::uint64_t>(static_cast<double>(least) * more);
            EXPECT_TRUE(infer_simulated(data, saved, {.ranks = ranks}, memory) == alone)
                << ranks << " ranks, " << more << " times the least";
        }
    }
}

TEST_F(Exact, EveryModelOnAnyRanksInAnyMemory) {
    const auto data = make({.vertices = 2300, .degree = 9, .parts = 4});
    for (const std::string_view model : nn::model_names()) {
        if (!nn::model_knows_one_type(model)) continue;  // train.Typed.ExactScores...
        for (const char* norm : {"none", "batch", "layer"}) {
            SCOPED_TRACE(std::string(model) + ", norm " + norm);
            train::SavedNetwork saved = random_network(data, 2, 16, 3, std::string(model));
            nn::NetworkOptions options = saved.options;
            options.norm = norm;
            options.residual = norm == std::string_view("layer");
            saved.options = options;
            const auto network = nn::make_network(options);
            saved.weights.assign(network->weights().begin(), network->weights().end());
            const AllRows alone = infer_alone(data, saved);
            const std::vector<float> expected = predict_at_once(data, saved);
            for (std::size_t i = 0; i < expected.size(); ++i)
                ASSERT_NEAR(alone.scores[i], expected[i],
                            1e-5F * std::max(1.0F, std::fabs(expected[i])));
            for (const int ranks : {2, 4}) {
                const std::uint64_t least = least_memory(data, saved, ranks);
                for (const std::uint64_t memory : {least, least * 5 / 4, std::uint64_t{0}}) {
                    EXPECT_TRUE(infer_simulated(data, saved, {.ranks = ranks}, memory) == alone)
                        << ranks << " ranks, " << memory << " bytes";
                }
            }
        }
    }
}

/// Rows that are wider than what they are mapped to, from the features on.
TEST_F(Exact, ProductsFirstWhereThatLeavesFewerColumns) {
    const auto data = make({.vertices = 2100, .degree = 9, .width = 70, .parts = 4});
    for (const char* model : {"sage", "gcn"}) {
        for (const int layers : {1, 2, 3}) {
            SCOPED_TRACE(std::string(model) + ", layers: " + std::to_string(layers));
            const train::SavedNetwork saved = random_network(data, layers, 34, 5, model);
            EXPECT_EQ(nn::make_network(saved.options)->layer_reads(0), layers == 1 ? 16U : 48U);
            const AllRows alone = infer_alone(data, saved);
            if (model == std::string_view("sage")) expect_near(alone, infer_naively(data, saved));
            const std::vector<float> expected = predict_at_once(data, saved);
            for (std::size_t i = 0; i < expected.size(); ++i)
                ASSERT_NEAR(alone.scores[i], expected[i],
                            1e-5F * std::max(1.0F, std::fabs(expected[i])));
            for (const int ranks : {1, 2, 4}) {
                const std::uint64_t least = least_memory(data, saved, ranks);
                for (const std::uint64_t memory : {least, least * 5 / 4, std::uint64_t{0}}) {
                    EXPECT_TRUE(infer_simulated(data, saved, {.ranks = ranks}, memory) == alone)
                        << ranks << " ranks, " << memory << " bytes";
                }
            }
        }
    }
}

/// With room for it every row of another rank comes once per layer, as wide as it is read; and once
/// what the first layer sums up is kept, its features do not come again.
TEST_F(Exact, RowsOfOtherRanksComeOnce) {
    const auto data = make({.vertices = 1900, .degree = 9, .parts = 4});
    const train::SavedNetwork saved = random_network(data, 2, 40);  // 12 to 40 to 4
    const std::uint64_t first = 12 * sizeof(float);
    const std::uint64_t second = 16 * sizeof(float);
    comm::SimulatedCluster machines({.ranks = 4});
    machines.run([&](const comm::Communicator& comm) {
        std::vector<partition::Part> parts;
        parts.push_back(data.part(static_cast<PartId>(comm.rank())));
        const std::int64_t halo =
            all_sum(comm, static_cast<std::int64_t>(parts.front().halo().size()));
        store::FeatureStore store(comm, data, {});
        for (const bool again : {false, true}) {
            train::ExactEvaluator evaluator(comm, data, parts, store,
                                            {.network = saved.options, .again = again});
            const auto network = nn::make_network(saved.options);
            std::ranges::copy(saved.weights, network->weights().begin());
            train::Scores before;
            for (int round = 0; round < 3; ++round) {
                const auto received = [&] {
                    comm.barrier();
                    const auto kind = static_cast<std::size_t>(comm::Kind::evaluation);
                    return all_sum(comm, static_cast<std::int64_t>(comm.accounts().received[kind]));
                };
                const std::int64_t start = received();
                train::Scores scores;
                evaluator.evaluate(*network, scores);
                const std::int64_t moved = received() - start;
                const std::uint64_t row = second + (again && round > 0 ? 0 : first);
                // Each layer's questions take up to 2 bytes per row, and the scores of all parts
                // are exchanged, too: some bytes of each rank.
                const auto rows = static_cast<std::int64_t>(row) * halo;
                EXPECT_GE(moved, rows) << again << round;
                EXPECT_LE(moved, rows + 2 * 2 * halo + 4 * 4 * 256) << again << round;
                if (round == 0) before = scores;
                EXPECT_EQ(scores.valid.loss, before.valid.loss);
                EXPECT_EQ(scores.train.correct, before.train.correct);
            }
        }
        store.stop();
    });
}

TEST_F(Exact, SlowJitteryNetworksBySeed) {
    using namespace std::chrono_literals;
    const auto data = make({.vertices = 1300, .degree = 9, .parts = 4});
    const train::SavedNetwork saved = random_network(data, 3, 12);
    const AllRows alone = infer_alone(data, saved);
    const std::uint64_t least = least_memory(data, saved, 4);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const comm::SimulationOptions cluster{.ranks = 4,
                                              .seed = seed,
                                              .link = {.delay = 100us, .bytes_per_second = 125e6},
                                              .jitter = 1ms};
        EXPECT_TRUE(infer_simulated(data, saved, cluster, seed % 2 == 0 ? least : 0) == alone);
    }
}

TEST_F(Exact, UnevenPartsAndIsolatedVertices) {
    const auto data = make({.vertices = 1200, .degree = 0.8, .parts = 4, .part = [](VertexId v) {
                                return v < 3 ? static_cast<PartId>(v) : PartId{3};
                            }});
    const train::SavedNetwork saved = random_network(data, 2, 16);
    const AllRows alone = infer_alone(data, saved);
    expect_near(alone, infer_naively(data, saved));
    for (const int ranks : {2, 4})
        EXPECT_TRUE(infer_simulated(data, saved, {.ranks = ranks}) == alone);
}

TEST_F(Exact, OneVertex) {
    const auto data = make({.vertices = 1, .degree = 0, .classes = 1, .parts = 1});
    const train::SavedNetwork saved = random_network(data, 2, 8);
    expect_near(infer_alone(data, saved), infer_naively(data, saved));
}

TEST_F(Exact, OtherTargetsAndRolesThatNobodyHas) {
    for (const graph::TargetKind kind :
         {graph::TargetKind::multilabel, graph::TargetKind::regression}) {
        const auto data = make({.targets = kind, .role = [](PartId, VertexId v) {
                                    return v % 2 == 0 ? graph::Role::train : graph::Role::none;
                                }});
        const train::SavedNetwork saved = random_network(data, 2, 8);
        const AllRows alone = infer_alone(data, saved);
        EXPECT_EQ(alone.scored, (std::array<std::uint64_t, 3>{150, 0, 0}));
        EXPECT_EQ(alone.sums.train.answers, kind == graph::TargetKind::multilabel ? 600U : 0U);
        EXPECT_GT(alone.sums.train.loss, 0);
        EXPECT_EQ(alone.sums.test.answers, 0U);
        EXPECT_TRUE(infer_simulated(data, saved, {.ranks = 4}) == alone);
    }
}

TEST_F(Exact, PrecisionIsThatOfTheRun) {
    const auto data = make({.type = ElementType::f16});
    train::SavedNetwork saved = random_network(data, 2, 8);
    expect_near(infer_alone(data, saved), infer_naively(data, saved));
    const AllRows native = infer_alone(data, saved);
    saved.train.precision = store::Precision::bfloat16;
    const AllRows rounded = infer_alone(data, saved);
    EXPECT_FALSE(rounded == native);
    EXPECT_TRUE(infer_simulated(data, saved, {.ranks = 4}) == rounded);
}

TEST_F(Exact, TooLittleMemoryIsRefusedByAllRanks) {
    const auto data = make({.vertices = 600, .parts = 2});
    const train::SavedNetwork saved = random_network(data, 2, 64);
    try {
        static_cast<void>(infer_simulated(data, saved, {.ranks = 2}, 30'000));
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_THAT(error.problem(), testing::HasSubstr("needs at least"));
        EXPECT_THAT(error.what(), testing::HasSubstr("--memory"));
    }
}

TEST_F(Exact, BesideOtherCollectivesOnASnapshot) {
    using namespace std::chrono_literals;
    const auto data = make({.vertices = 700, .parts = 4});
    const train::SavedNetwork saved = random_network(data, 2, 12);
    const AllRows alone = infer_alone(data, saved);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        comm::SimulatedCluster machines({.ranks = 4, .seed = seed, .jitter = 1ms});
        machines.run([&](const comm::Communicator& comm) {
            std::vector<partition::Part> parts;
            parts.push_back(data.part(static_cast<PartId>(comm.rank())));
            store::FeatureStore store(comm, data, {});
            std::optional<train::ExactEvaluator> made;
            train::ExactEvaluator& evaluator = made.emplace(
                comm, data, parts, store, train::ExactEvaluator::Options{saved.options});
            for (int round = 0; round < 2; ++round) {
                std::vector<float> weights = saved.weights;
                evaluator.start(weights);
                std::ranges::fill(weights, 0.0F);  // it has a copy
                // Ranks come to `finish` at different times, with collectives of their own before.
                for (int i = 0; i < 5; ++i) {
                    EXPECT_EQ(all_sum(comm, 1), 4);
                    Executor::current().sleep_for(comm.rank() * 200us);
                }
                const train::Scores scores = evaluator.finish();
                EXPECT_EQ(scores.valid.loss, alone.sums.valid.loss);
                EXPECT_EQ(scores.train.correct, alone.sums.train.correct);
                EXPECT_TRUE(scores.evaluated);
            }
            evaluator.start(saved.weights);  // and nobody asks for this one
            made.reset();
            store.stop();
        });
    }
}

TEST_F(Exact, AnotherDataSetIsRefused) {
    const auto data = make({});
    train::SavedNetwork saved = random_network(data, 2, 8);
    EXPECT_NO_THROW(train::check_same_data(saved, data));
    saved.data_checksum[0] = saved.data_checksum[0] == 'f' ? '0' : 'f';
    saved.options.inputs = 99;
    try {
        train::check_same_data(saved, data);
        FAIL() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::input);
        EXPECT_THAT(error.what(), testing::HasSubstr("99 in the run, 12 here"));
        EXPECT_THAT(error.what(), testing::HasSubstr(saved.data_checksum));
    }
}

}  // namespace
}  // namespace rudder::test
