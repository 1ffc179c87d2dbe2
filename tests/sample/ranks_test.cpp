// Identical batches whoever samples them: any ranks, hosts, tasks, window and topology.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "sample/bed.hpp"
#include "sample/suite.hpp"

#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

std::string simulated(const Bed& bed, const comm::SimulationOptions& simulation,
                      const SamplingRun& options) {
    std::vector<std::string> texts(static_cast<std::size_t>(simulation.ranks));
    comm::SimulatedCluster cluster(simulation);
    cluster.run([&](const comm::Communicator& comm) {
        comm.set_paranoid(true);
        texts[static_cast<std::size_t>(comm.rank())] = run_sampling(comm, bed.data(), options);
    });
    for (const std::string& text : texts)
        EXPECT_EQ(text, texts.front());
    return texts.front();
}

class Ranks : public ::testing::TestWithParam<sample::SeedOrder> {};
INSTANTIATE_TEST_SUITE_P(Orders, Ranks,
                         ::testing::Values(sample::SeedOrder::random, sample::SeedOrder::clustered),
                         [](const auto& order) {
                             const bool random = order.param == sample::SeedOrder::random;
                             return random ? "random" : "clustered";
                         });

TEST_P(Ranks, SameBatchesForAnyRanksTasksWindowAndTopology) {
    for (const bool uneven : {false, true}) {
        const Bed bed({.uneven = uneven});
        const std::string expected =
            run_sampling(comm::Communicator::local(), bed.data(), {.order = GetParam()});
        for (const int ranks : {1, 2, 4}) {
            for (const bool partitioned : {false, true}) {
                for (const int tasks : {1, 2, 4}) {
                    for (const std::uint64_t window : {1U, 16U}) {
                        const auto seed = static_cast<std::uint64_t>(ranks * 10 + tasks);
                        EXPECT_EQ(simulated(bed,
                                            {.ranks = ranks,
                                             .ranks_per_host = 1 + tasks % 2,
                                             .seed = seed,
                                             .jitter = 100us},
                                            {.partitioned = partitioned,
                                             .tasks = tasks,
                                             .window = window,
                                             .order = GetParam(),
                                             .max_bytes = tasks == 2 ? 20000U : 0U}),
                                  expected)
                            << ranks << " ranks, " << tasks << " tasks, window " << window
                            << (partitioned ? ", partitioned" : ", replicated");
                    }
                }
            }
        }
    }
}

TEST(RanksThatShareNumbers, SameBatchesForAnyRanksTasksAndTopology) {
    const Bed bed({.vertices = 1500, .degree = 30});
    for (const std::uint64_t redraw : {1U, 16U}) {
        SamplingRun run{.sampler = sample::Sampler::shared, .redraw = redraw};
        const std::string expected = run_sampling(comm::Communicator::local(), bed.data(), run);
        run.sampler = sample::Sampler::plain;
        EXPECT_NE(run_sampling(comm::Communicator::local(), bed.data(), run), expected);
        run.sampler = sample::Sampler::shared;
        for (const int ranks : {1, 2, 4}) {
            for (const bool partitioned : {false, true}) {
                run.partitioned = partitioned;
                run.tasks = 1 + ranks % 3;
                EXPECT_EQ(simulated(bed, {.ranks = ranks, .ranks_per_host = 1, .seed = 3}, run),
                          expected)
                    << ranks << " ranks" << (partitioned ? ", partitioned" : ", replicated");
            }
        }
    }
}

TEST(CodedRanks, SameBatches) {
    const Bed bed;
    const std::string expected = run_sampling(comm::Communicator::local(), bed.data(), {});
    for (const int ranks : {2, 4}) {
        for (const int tasks : {1, 3}) {
            EXPECT_EQ(
                simulated(
                    bed, {.ranks = ranks, .seed = 2, .jitter = 100us},
                    {.partitioned = true, .tasks = tasks, .coding = comm::CodingMode::always}),
                expected);
        }
    }
}

TEST(RanksOnThreads, SameBatchesForAnyTasks) {
    const Bed bed;
    const std::string expected = run_sampling(comm::Communicator::local(), bed.data(), {});
    for (const int tasks : {2, 4}) {
        for (const bool partitioned : {false, true}) {
            EXPECT_EQ(run_sampling(comm::Communicator::local(), bed.data(),
                                   {.partitioned = partitioned, .tasks = tasks, .window = 7}),
                      expected);
        }
    }
}

TEST(RanksUnderMpi, SameBatchesAsAlone) {
    if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
    const Bed bed;
    const std::string expected = run_sampling(comm::Communicator::local(), bed.data(), {}) + "\n";
    for (const char* topology : {"replicated", "partitioned"}) {
        for (const auto& [ranks, per_host] : {std::pair{4, 0}, {4, 2}, {2, 1}}) {
            const Outcome outcome = mpirun({{ranks,
                                             {RUDDER_SAMPLE_RANKS, bed.folder().string(), topology,
                                              std::to_string(per_host), "2"}}});
            EXPECT_EQ(outcome.code, 0) << outcome.err;
            EXPECT_EQ(outcome.out, expected) << topology << ", " << ranks << " ranks";
        }
    }
}

// ---- degrees -----------------------------------------------------------------------------------

TEST(Degrees, AreThoseOfTheWholeGraphOnEverySource) {
    const Bed bed;
    const auto rows = global_rows(bed.data());
    for (const int per_host : {1, 2}) {
        for (const bool partitioned : {false, true}) {
            comm::SimulatedCluster cluster({.ranks = 4, .ranks_per_host = per_host, .seed = 1});
            cluster.run([&](const comm::Communicator& comm) {
                const auto own = own_parts(comm, bed.data());
                const auto source =
                    partitioned
                        ? sample::make_partitioned_source(comm, bed.data().book(), own, true)
                        : sample::make_replicated_source(comm, bed.data().book(), own);
                sample::NeighbourSampler sampler(*source, {.fanout = {2, 2}, .degrees = true});
                sample::Batch batch;
                sampler.sample({}, std::vector<VertexId>{5, 1, rows.size() - 1}, batch);
                ASSERT_EQ(batch.degrees.size(), batch.vertices.size());
                for (std::size_t i = 0; i < batch.vertices.size(); ++i)
                    ASSERT_EQ(batch.degrees[i], rows[batch.vertices[i]].size());
                sample::NeighbourSampler without(*source, {.fanout = {2, 2}});
                without.sample({}, std::vector<VertexId>{5}, batch);
                EXPECT_TRUE(batch.degrees.empty());
                source->stop();
            });
        }
    }
}

// ---- bytes -------------------------------------------------------------------------------------

TEST(SourceBytes, ReplicatedTopologyCrossesOncePerHost) {
    const Bed bed;
    for (const int per_host : {1, 2, 4}) {
        comm::SimulatedCluster cluster({.ranks = 4, .ranks_per_host = per_host, .seed = 1});
        std::uint64_t received = 0;
        std::uint64_t bytes = 0;
        cluster.run([&](const comm::Communicator& comm) {
            const auto own = own_parts(comm, bed.data());
            const auto source = sample::make_replicated_source(comm, bed.data().book(), own);
            received += comm.accounts().received[static_cast<std::size_t>(comm::Kind::topology)];
            bytes = source->bytes();
        });
        // Each host lacks the rows of the others; the number after the last offset is nobody's.
        const auto hosts = static_cast<std::uint64_t>(4 / per_host);
        EXPECT_EQ(received, (hosts - 1) * (bytes - sizeof(EdgeIndex)));
    }
}

TEST(SourceBytes, QuestionsCountUnderTheirKind) {
    const Bed bed;
    for (const comm::Kind kind : {comm::Kind::topology, comm::Kind::evaluation}) {
        comm::SimulatedCluster cluster({.ranks = 2, .seed = 1});
        cluster.run([&](const comm::Communicator& comm) {
            const auto own = own_parts(comm, bed.data());
            const auto source = sample::make_partitioned_source(comm, bed.data().book(), own);
            comm.barrier();
            const comm::AccountTotals before = comm.accounts();
            sample::NeighbourSampler sampler(*source, {.fanout = {4, 4}, .kind = kind});
            sample::Batch batch;
            sampler.sample({}, std::vector<VertexId>{1, 2, 3}, batch);
            const comm::AccountTotals after = comm.accounts();
            for (std::size_t k = 0; k < comm::kind_count; ++k) {
                if (k == static_cast<std::size_t>(kind)) {
                    EXPECT_GT(after.received[k], before.received[k]);
                } else if (k != static_cast<std::size_t>(comm::Kind::control)) {
                    EXPECT_EQ(after.received[k], before.received[k]);
                }
            }
            source->stop();
        });
    }
}

}  // namespace
}  // namespace rudder::test
