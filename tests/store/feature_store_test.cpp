#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "comm/simulated_cluster.hpp"
#include "rudder/core/error.hpp"

#include "suite.hpp"
#include "support/mpirun.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

constexpr std::array all_types{ElementType::f32, ElementType::f16, ElementType::bf16,
                               ElementType::i8, ElementType::u8};

void run_simulated(const comm::SimulationOptions& options, const PullPlan& plan) {
    comm::SimulatedCluster cluster(options);
    cluster.run([&](const comm::Communicator& comm) { pull_and_check(comm, plan); });
}

/// One data set of each type, made once.
class FeatureStores : public ::testing::Test {
protected:
    static const std::filesystem::path& folder(std::size_t type, bool normalise) {
        static const TempDir temp;
        static std::map<std::pair<std::size_t, bool>, std::filesystem::path> made;
        auto& path = made[{type, normalise}];
        if (path.empty()) {
            path = temp / fmt::format("{}-{}", type, normalise);
            std::filesystem::create_directories(path);
            static_cast<void>(store_data(
                path, {.width = 9, .type = all_types[type], .row_normalise = normalise}));
            path /= "parts";
        }
        return path;
    }

    /// Everything varied by the seed.
    static void run_seed(std::uint64_t seed) {
        SCOPED_TRACE(seed);
        const int ranks = std::array{1, 2, 4}[seed % 3];
        PullPlan plan{.folder = folder(seed % all_types.size(), seed % 7 == 0)};
        plan.options.precision = static_cast<store::Precision>(seed % 11 % 5);
        plan.options.shards = static_cast<store::Shards>(seed % 13 % 2);
        plan.seed = seed;
        comm::SimulationOptions options{.ranks = ranks,
                                        .ranks_per_host = seed % 5 == 0 ? 2 : 1,
                                        .seed = seed,
                                        .jitter = std::chrono::microseconds(seed % 4 * 300)};
        if (seed % 3 != 0) options.link = comm::parse_link("20us,1gbit");
        ASSERT_NO_THROW(run_simulated(options, plan));
    }
};
class LongFeatureStores : public FeatureStores {};

TEST_F(FeatureStores, EveryTypeAndPrecisionMappedAndShared) {
    for (std::size_t type = 0; type < all_types.size(); ++type) {
        for (const bool normalise : {false, true}) {
            for (const int precision : {0, 1, 2, 3, 4}) {
                for (const store::Shards shards : {store::Shards::mapped, store::Shards::shared}) {
                    SCOPED_TRACE(fmt::format("type {}, normalised {}, precision {}, shards {}",
                                             type, normalise, precision, static_cast<int>(shards)));
                    PullPlan plan{.folder = folder(type, normalise), .tasks = 1, .pulls = 4};
                    plan.options = {static_cast<store::Precision>(precision), shards};
                    EXPECT_NO_THROW(run_simulated({.ranks = 2, .seed = type}, plan));
                }
            }
        }
    }
}

TEST_F(FeatureStores, TheSameRowsCoded) {
    for (std::size_t type = 0; type < all_types.size(); ++type) {
        for (const int precision : {0, 1, 2}) {
            for (const int tasks : {1, 3}) {
                SCOPED_TRACE(fmt::format("type {}, precision {}", type, precision));
                PullPlan plan{.folder = folder(type, type % 2 == 0),
                              .tasks = tasks,
                              .coding = comm::CodingMode::always};
                plan.options.precision = static_cast<store::Precision>(precision);
                EXPECT_NO_THROW(run_simulated(
                    {.ranks = 4, .ranks_per_host = tasks == 3 ? 2 : 1, .seed = type, .jitter = 1ms},
                    plan));
            }
        }
    }
}

TEST_F(FeatureStores, AnyNumberOfRanksAndHosts) {
    for (const int ranks : {1, 2, 4}) {
        for (const int per_host : {1, 2, 4}) {
            for (const store::Shards shards : {store::Shards::mapped, store::Shards::shared}) {
                SCOPED_TRACE(fmt::format("{} ranks, {} per host", ranks, per_host));
                PullPlan plan{.folder = folder(0, false)};
                plan.options.shards = shards;
                EXPECT_NO_THROW(
                    run_simulated({.ranks = ranks, .ranks_per_host = per_host, .seed = 3}, plan));
            }
        }
    }
}

TEST_F(FeatureStores, JitteryNetworksBySeed) {
    for (std::uint64_t seed = 0; seed < 50; ++seed)
        run_seed(seed);
}

TEST_F(LongFeatureStores, JitteryNetworksBySeed) {
    for (std::uint64_t seed = 50; seed < 550; ++seed)
        run_seed(seed);
}

TEST_F(FeatureStores, OneRankAlone) {
    PullPlan plan{.folder = folder(0, false)};
    pull_and_check(comm::Communicator::local(), plan);
}

TEST_F(FeatureStores, AnswersInManyPieces) {
    const TempDir temp;
    // 200 rows of 24 kB each: several pieces per owner.
    static_cast<void>(store_data(temp.path(), {.width = 6000}, 400));
    PullPlan plan{.folder = temp / "parts", .tasks = 2, .pulls = 2, .ids = 300};
    EXPECT_NO_THROW(run_simulated({.ranks = 4, .seed = 1, .jitter = 1ms}, plan));
}

TEST_F(FeatureStores, KnownDuplicates) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 4});
    cluster.run([&](const comm::Communicator& comm) {
        const partition::PartitionedDataset data(folder(0, false));
        store::FeatureStore store(comm, data, {});
        const VertexId last = data.info().vertices - 1;
        const VertexId far = comm.rank() == 0 ? last : 0;
        const VertexId near = last - far;
        const std::vector<VertexId> first{far, near, far};
        const std::vector<VertexId> second{near, far};
        const std::size_t width = store.format().width();
        std::vector<float> rows(5 * width, -1.0F);
        const std::array wanted{store::RowsWanted{first, std::span(rows).first(3 * width)},
                                store::RowsWanted{second, std::span(rows).last(2 * width)}};
        store::Pull pull = store.pull(wanted);
        const store::Pulled& accounts = pull.wait();
        EXPECT_EQ(accounts.rows.needed, 2U);
        EXPECT_EQ(accounts.rows.local, 1U);
        EXPECT_EQ(accounts.rows.demand, 1U);
        EXPECT_EQ(accounts.rows.saved, 3U);
        EXPECT_EQ(accounts.bytes_by_owner[comm.rank() == 0 ? 1 : 0], width * sizeof(float));
        const std::array ids{far, near, far, near, far};
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const partition::Part part = data.part(data.book().owner(ids[i]));
            const auto stored = part.features().row(ids[i] - part.range().begin);
            EXPECT_EQ(std::memcmp(rows.data() + i * width, stored.data(), stored.size()), 0) << i;
        }
        store.stop();
    });
}

TEST_F(FeatureStores, APullThatNobodyWaitsForHarmsNobody) {
    comm::SimulatedCluster cluster({.ranks = 2, .seed = 5, .jitter = 1ms});
    cluster.run([&](const comm::Communicator& comm) {
        const partition::PartitionedDataset data(folder(0, false));
        store::FeatureStore store(comm, data, {});
        std::vector<VertexId> ids(data.info().vertices);
        for (VertexId v = 0; v < ids.size(); ++v)
            ids[v] = v;
        std::vector<float> rows(ids.size() * store.format().width());
        const store::RowsWanted wanted{ids, rows};
        { const store::Pull dropped = store.pull({&wanted, 1}); }
        store::Pull pull = store.pull({&wanted, 1});
        EXPECT_EQ(pull.wait().rows.needed, ids.size());
        store.stop();
    });
}

TEST_F(FeatureStores, BytesOfItsOwn) {
    comm::SimulatedCluster cluster({.ranks = 2, .ranks_per_host = 2});
    cluster.run([&](const comm::Communicator& comm) {
        const partition::PartitionedDataset data(folder(0, false));
        store::FeatureStore mapped(comm, data, {});
        EXPECT_EQ(mapped.bytes(), 0U);
        mapped.stop();
        store::FeatureStore shared(comm, data, {store::Precision::bfloat16, store::Shards::shared});
        EXPECT_EQ(shared.bytes(), data.info().vertices * 9 * 2);
        shared.stop();
        store::FeatureStore bytes(comm, data, {store::Precision::int8, store::Shards::mapped});
        EXPECT_EQ(bytes.bytes(), 9U * 2 * sizeof(float)) << "a zero and a step per column";
        bytes.stop();
        store::FeatureStore nibbles(comm, data, {store::Precision::int4, store::Shards::shared});
        EXPECT_EQ(nibbles.bytes(), data.info().vertices * 5 + 9U * 2 * sizeof(float));
        nibbles.stop();
    });
}

/// What all ranks are told when a store cannot be made.
std::vector<std::string> refusals(int ranks, const std::filesystem::path& folder,
                                  store::Shards shards, ErrorKind kind) {
    std::vector<std::string> texts(static_cast<std::size_t>(ranks));
    comm::SimulatedCluster cluster({.ranks = ranks});
    cluster.run([&](const comm::Communicator& comm) {
        try {
            const partition::PartitionedDataset data(folder);
            const store::FeatureStore store(comm, data, {store::Precision::native, shards});
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), kind);
            texts[static_cast<std::size_t>(comm.rank())] = error.what();
        }
    });
    return texts;
}

TEST(FeatureStoreRefuses, DataWithoutFeatures) {
    const TempDir temp;
    static_cast<void>(store_data(temp.path(), {}));
    for (const auto& text : refusals(2, temp / "parts", store::Shards::mapped, ErrorKind::input))
        EXPECT_THAT(text, ::testing::HasSubstr("has no features"));
}

TEST(FeatureStoreRefuses, RanksThatDoNotDivideTheParts) {
    const TempDir temp;
    static_cast<void>(store_data(temp.path(), {.width = 2}));
    for (const auto& text : refusals(3, temp / "parts", store::Shards::mapped, ErrorKind::usage))
        EXPECT_THAT(text, ::testing::HasSubstr("3 ranks cannot share 4 parts"));
}

TEST(FeatureStoreRefuses, APartThatIsMissingOrCutShortOnOneRank) {
    const TempDir temp;
    static_cast<void>(store_data(temp.path(), {.width = 2}));
    const auto part = temp / "parts" / "part-00002";
    std::filesystem::path features;
    for (const auto& entry : std::filesystem::directory_iterator(part)) {
        if (entry.path().filename().string().starts_with("features")) features = entry.path();
    }
    ASSERT_FALSE(features.empty());
    std::filesystem::resize_file(features, std::filesystem::file_size(features) - 1);
    for (const store::Shards shards : {store::Shards::mapped, store::Shards::shared}) {
        // Every rank names the rank that holds the part, and the file.
        for (const auto& text : refusals(2, temp / "parts", shards, ErrorKind::input)) {
            EXPECT_THAT(text, ::testing::HasSubstr("rank 1: "));
            EXPECT_THAT(text, ::testing::HasSubstr(features.filename().string()));
        }
    }
    std::filesystem::remove_all(part);
    for (const auto& text : refusals(4, temp / "parts", store::Shards::shared, ErrorKind::input)) {
        EXPECT_THAT(text, ::testing::HasSubstr("rank 2: "));
        EXPECT_THAT(text, ::testing::HasSubstr("part-00002"));
    }
}

// ---- under MPI ---------------------------------------------------------------------------------

class StoreMpi : public FeatureStores {
protected:
    void SetUp() override {
        if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
    }
};

TEST_F(StoreMpi, RowsAndAccountsAreTheSame) {
    for (const std::vector<std::string>& arguments :
         {std::vector<std::string>{"0", ""}, {"1", ""}, {"2", ""}, {"1", "50us,1gbit"}}) {
        const Outcome outcome = mpirun(
            {{4, {RUDDER_STORE_RANKS, folder(3, true).string(), arguments[0], arguments[1]}}});
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        EXPECT_THAT(outcome.out, ::testing::HasSubstr("store passed"));
    }
}

/// Rows fetched ahead are asked for first, then some that a step waits for.
TEST(FetchOrder, RowsThatAStepWaitsForPassThoseFetchedAheadUnlessToldOtherwise) {
    const TempDir temp;
    const auto data = store_data(temp.path(), {.width = 256, .type = ElementType::f32}, 2000, 2);
    for (const bool first : {true, false}) {
        comm::SimulatedCluster cluster(
            {.ranks = 2, .seed = 3, .link = comm::parse_link("50us,100mbit")});
        cluster.run([&](const comm::Communicator& comm) {
            store::FeatureStore store(comm, data, {});
            EXPECT_TRUE(store.demand_first());
            store.set_demand_first(first);
            EXPECT_EQ(store.demand_first(), first);
            if (comm.rank() == 0) {
                const auto range = data.book().range(1);
                ASSERT_GT(range.size(), 300U);
                std::vector<VertexId> ids(range.size());
                std::iota(ids.begin(), ids.end(), range.begin);
                const std::size_t row = store.format().row_bytes();
                std::vector<std::byte> rows(ids.size() * row);
                const std::size_t soon = 64;
                const std::span<const VertexId> all(ids);
                const std::span<std::byte> places(rows);
                store::RemoteFetch ahead = store.fetch(
                    all.subspan(soon), places.subspan(soon * row), comm::Kind::requests_ahead);
                store::RemoteFetch now = store.fetch(all.first(soon), places.first(soon * row));
                now.wait();
                EXPECT_EQ(ahead.done(), !first);
                ahead.wait();
            }
            comm.barrier();
            store.stop();
        });
    }
}

}  // namespace
}  // namespace rudder::test
