// The loader: the batches, rows and targets that training computes on, without its network.
#include "train/loader.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "train/checkpoints/digest.hpp"
#include "train/fixture.hpp"
#include "train/learner.hpp"
#include "train/steps/gradient_exchange.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

/// Training by hand on what a loader gives.
struct ByHand {
    std::uint64_t digest = 0;
    std::uint64_t steps = 0;
    train::LoaderStats stats;
};

/// One rank: a network of ours over the loader's steps. Collective.
ByHand train_by_hand(const comm::Communicator& comm, const partition::PartitionedDataset& data,
                     const train::TrainOptions& options) {
    train::Ground ground(comm.duplicate(), data, options);
    train::Learner learner(ground);
    train::GradientExchange exchange(
        comm, ground.share, data.parts(),
        {.size = learner.weights().size(), .buckets = learner.network().buckets()});
    train::Loader loader(comm.duplicate(), data, {.train = options});
    train::LossDigest digest;
    ByHand made;
    while (true) {
        const float weight = 1.0F / static_cast<float>(loader.seed_count());
        const auto step = loader.next();
        if (step == nullptr) break;
        EXPECT_EQ(step->sampled.step, made.steps);
        std::vector<float> losses;
        for (std::size_t i = 0; i < step->batches.size(); ++i) {
            const train::LoadedBatch& batch = step->batches[i];
            const bool last = i + 1 == step->batches.size();
            losses.push_back(learner.network()
                                 .train(step->sampled.batches[i], batch.rows, batch.targets, weight,
                                        exchange.gradient(i),
                                        [&](std::size_t bucket) {
                                            if (last) exchange.bucket_ready(bucket);
                                        })
                                 .loss);
        }
        digest.add(exchange.finish(losses, {}, {}).loss);
        learner.update(made.steps++, exchange.sum(), 1);
    }
    loader.close();
    made.stats = loader.stats();
    made.digest = digest.value();
    ground.stop();
    return made;
}

class Loading : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {});
        return parts;
    }
    static train::TrainOptions options() {
        train::TrainOptions options = small_options();
        options.batch = 5;  // 8 steps per epoch
        options.policy = "window:4";
        return options;
    }
    /// By rank.
    static std::vector<ByHand> simulated(const train::TrainOptions& options,
                                         const comm::SimulationOptions& cluster) {
        std::vector<ByHand> ranks(static_cast<std::size_t>(cluster.ranks));
        comm::SimulatedCluster machines(cluster);
        machines.run([&](const comm::Communicator& comm) {
            ranks[static_cast<std::size_t>(comm.rank())] = train_by_hand(comm, data(), options);
        });
        return ranks;
    }
    /// What all ranks fetched, and how, must be what training fetches, to the row.
    static void expect_as_training(const train::TrainOptions& options,
                                   const comm::SimulationOptions& cluster) {
        const auto trained = train_simulated(data(), options, cluster);
        const auto by_hand = simulated(options, cluster);
        Rows rows;
        comm::Bytes bytes;
        for (const ByHand& mine : by_hand) {
            EXPECT_EQ(mine.digest, trained.front().result.digest);
            EXPECT_EQ(mine.steps, trained.front().result.steps);
            rows += mine.stats.rows;
            bytes += mine.stats.bytes;
        }
        EXPECT_EQ(rows, trained.front().result.rows);
        EXPECT_EQ(bytes.features, trained.front().result.bytes.features);
        EXPECT_EQ(bytes.features, rows.fetched() * by_hand.front().stats.row_bytes);
    }
};

TEST_F(Loading, AloneTheStepsAreThoseOfTraining) {
    const Trained trained = train_alone(data(), options());
    const ByHand by_hand = train_by_hand(comm::Communicator::local(), data(), options());
    EXPECT_EQ(by_hand.digest, trained.result.digest);
    EXPECT_EQ(by_hand.steps, trained.result.steps);
    EXPECT_EQ(by_hand.stats.rows, trained.result.rows);
    EXPECT_EQ(by_hand.stats.edges, trained.result.edges);
}

TEST_F(Loading, OnTwoHostsTheRowsAreThoseOfTraining) {
    for (const char* policy : {"window:4", "lru", "none", "scored,every:4"}) {
        SCOPED_TRACE(policy);
        train::TrainOptions asked = options();
        asked.policy = policy;
        expect_as_training(asked, {.ranks = 2, .seed = 5});
    }
}

TEST_F(Loading, RanksThatShareABufferFetchWhatTrainingDoes) {
    expect_as_training(options(), {.ranks = 4, .ranks_per_host = 2, .seed = 6});
}

/// Facts of agents travel in every step, whatever their scope; answers that are waited for come at
/// the same steps as in training.
TEST_F(Loading, AgentsSteerAsInTraining) {
    for (const auto scope : {steer::AgentScope::host, steer::AgentScope::job}) {
        train::TrainOptions asked = options();
        asked.policy = "scored";
        asked.steer.agent = "random:0.5";
        asked.steer.mode = steer::AgentMode::sync;
        asked.steer.scope = scope;
        SCOPED_TRACE(static_cast<int>(scope));
        expect_as_training(asked, {.ranks = 2, .seed = 7});
    }
}

TEST_F(Loading, TheFloorIsThatOfTraining) {
    train::TrainOptions asked = options();
    asked.floor = true;
    const comm::SimulationOptions cluster{.ranks = 2, .seed = 8};
    const auto trained = train_simulated(data(), asked, cluster);
    std::uint64_t floor = 0;
    for (const ByHand& mine : simulated(asked, cluster)) {
        ASSERT_TRUE(mine.stats.floor);
        floor += *mine.stats.floor;
    }
    EXPECT_GT(floor, 0U);
    EXPECT_EQ(floor, trained.front().result.floor);
}

/// Steps that someone holds stay as they are, whatever comes after them.
TEST_F(Loading, AStepStaysWhileItIsHeld) {
    train::Loader loader(comm::Communicator::local(), data(), {.train = options()});
    std::vector<std::shared_ptr<train::LoadedStep>> held;
    std::vector<std::vector<float>> rows;
    std::vector<std::vector<VertexId>> vertices;
    std::set<const float*> memory;
    while (auto step = loader.next()) {
        for (std::size_t i = 0; i < step->batches.size(); ++i) {
            const auto& batch = step->batches[i];
            const auto& sampled = step->sampled.batches[i];
            EXPECT_EQ(batch.rows.size(), sampled.vertices.size() * data().info().features.width);
            rows.emplace_back(batch.rows.begin(), batch.rows.end());
            vertices.emplace_back(sampled.vertices.begin(), sampled.vertices.end());
            EXPECT_TRUE(memory.insert(batch.rows.data()).second);
        }
        held.push_back(std::move(step));
    }
    ASSERT_GT(held.size(), 8U);
    std::size_t n = 0;
    for (const auto& step : held) {
        for (std::size_t i = 0; i < step->batches.size(); ++i, ++n) {
            EXPECT_TRUE(std::ranges::equal(step->batches[i].rows, rows[n]));
            EXPECT_TRUE(std::ranges::equal(step->sampled.batches[i].vertices, vertices[n]));
        }
    }
}

/// Those that nobody holds are filled again: a run needs the memory of a few steps.
TEST_F(Loading, MemoryOfStepsIsUsedAgain) {
    train::TrainOptions asked = options();
    asked.epochs = 20;
    train::Loader loader(comm::Communicator::local(), data(), {.train = asked});
    std::set<const void*> places;
    std::uint64_t steps = 0;
    while (const auto step = loader.next()) {
        places.insert(step.get());
        ++steps;
    }
    EXPECT_GT(steps, 90U);
    EXPECT_LE(places.size(), 4U);
}

TEST_F(Loading, StepsOutliveTheLoader) {
    std::shared_ptr<train::LoadedStep> step;
    std::vector<float> rows;
    {
        train::Loader loader(comm::Communicator::local(), data(), {.train = options()});
        step = loader.next();
        rows.assign(step->batches[0].rows.begin(), step->batches[0].rows.end());
    }
    EXPECT_TRUE(std::ranges::equal(step->batches[0].rows, rows));
}

/// Edges go hop by hop, and each is one of its block.
TEST_F(Loading, EdgesAreThoseOfTheBlocks) {
    train::Loader loader(comm::Communicator::local(), data(), {.train = options()});
    const auto step = loader.next();
    for (std::size_t i = 0; i < step->batches.size(); ++i) {
        const sample::Batch& sampled = step->sampled.batches[i];
        const train::LoadedBatch& batch = step->batches[i];
        ASSERT_EQ(batch.edges.size(), 2 * sampled.edges());
        std::size_t at = 0;
        for (auto block = sampled.blocks.rbegin(); block != sampled.blocks.rend(); ++block) {
            for (std::size_t d = 0; d < block->destinations; ++d) {
                for (auto e = block->offsets[d]; e < block->offsets[d + 1]; ++e, ++at) {
                    EXPECT_EQ(batch.edges[at], std::int64_t{block->neighbours[e]});
                    EXPECT_EQ(batch.edges[sampled.edges() + at], static_cast<std::int64_t>(d));
                }
            }
        }
        EXPECT_EQ(at, sampled.edges());
    }
}

/// An epoch that was left early is passed over: the next one is as if it had not been.
TEST_F(Loading, TheNextEpochAfterOneThatWasLeft) {
    const auto first_of_second = [](std::uint64_t taken) {
        train::Loader loader(comm::Communicator::local(), data(), {.train = options()});
        for (std::uint64_t i = 0; i < taken; ++i)
            static_cast<void>(loader.next());
        loader.skip_epoch();
        EXPECT_EQ(loader.step(), loader.steps_per_epoch());
        const auto step = loader.next();
        EXPECT_EQ(step->sampled.epoch, 1U);
        const auto& vertices = step->sampled.batches[0].vertices;
        return std::vector<VertexId>(vertices.begin(), vertices.end());
    };
    const auto whole = first_of_second(5);
    EXPECT_EQ(first_of_second(1), whole);
    EXPECT_EQ(first_of_second(3), whole);
}

/// What is left of it is not drawn: steps that were ahead by then are, and no others.
TEST_F(Loading, TheRestOfAnEpochThatIsLeftIsNotDrawn) {
    train::TrainOptions asked = options();
    asked.batch = 1;  // 36 steps per epoch
    asked.policy = "window:2";
    asked.sample_tasks = 1;
    const auto edges_of_epoch = [&](const auto& leave) {
        train::Loader loader(comm::Communicator::local(), data(), {.train = asked});
        EXPECT_GT(loader.steps_per_epoch(), 20U);
        static_cast<void>(loader.next());
        leave(loader);
        while (loader.step() < loader.steps_per_epoch())
            static_cast<void>(loader.next());
        loader.pause();
        EXPECT_EQ(loader.stats().steps, loader.steps_per_epoch());
        const std::uint64_t edges = loader.stats().edges;
        const auto step = loader.next();  // the next epoch is drawn again
        EXPECT_GT(step->sampled.batches[0].seeds, 0U);
        return edges;
    };
    const std::uint64_t all = edges_of_epoch([](train::Loader&) {});
    const std::uint64_t left = edges_of_epoch([](train::Loader& loader) { loader.leave_epoch(); });
    EXPECT_LT(left * 3, all * 2);
}

/// On ranks that meet in every step, too, whoever leaves.
TEST_F(Loading, OneRankMayLeaveAnEpoch) {
    train::TrainOptions asked = options();
    asked.policy = "scored";
    asked.steer.agent = "random:0.5";
    std::vector<std::uint64_t> steps(2);
    comm::SimulatedCluster machines({.ranks = 2, .seed = 11});
    machines.run([&](const comm::Communicator& comm) {
        train::Loader loader(comm, data(), {.train = asked});
        static_cast<void>(loader.next());
        if (comm.rank() == 0) loader.skip_epoch();
        while (loader.next() != nullptr) {
        }
        steps[static_cast<std::size_t>(comm.rank())] = loader.step();
        loader.close();
    });
    EXPECT_GT(steps[0], 0U);
    EXPECT_EQ(steps[0], steps[1]);
}

/// The number of an edge names its ends in the rows of the whole graph.
TEST_F(Loading, EdgesHaveTheirNumbers) {
    std::vector<EdgeIndex> offsets{0};
    std::vector<VertexId> neighbours;
    for (PartId p = 0; p < data().parts(); ++p) {
        const partition::Part part = data().part(p);
        for (LocalId v = 0; v < part.own(); ++v) {
            for (const LocalId u : part.row(v))
                neighbours.push_back(part.global(u));
            offsets.push_back(neighbours.size());
        }
    }
    for (const auto sampler : {sample::Sampler::plain, sample::Sampler::shared}) {
        train::TrainOptions asked = options();
        asked.sampler = sampler;
        train::Loader loader(comm::Communicator::local(), data(),
                             {.train = asked, .edge_numbers = true});
        std::uint64_t partial = 0;
        while (const auto step = loader.next()) {
            for (std::size_t i = 0; i < step->batches.size(); ++i) {
                const sample::Batch& sampled = step->sampled.batches[i];
                const train::LoadedBatch& batch = step->batches[i];
                ASSERT_EQ(batch.edge_numbers.size(), sampled.edges());
                for (std::size_t e = 0; e < sampled.edges(); ++e) {
                    const auto number = static_cast<std::size_t>(batch.edge_numbers[e]);
                    const auto row =
                        std::ranges::upper_bound(offsets, number) - offsets.begin() - 1;
                    const auto ends = std::span(batch.edges);
                    EXPECT_EQ(neighbours.at(number),
                              sampled.vertices[static_cast<std::size_t>(ends[e])]);
                    const auto to =
                        sampled.vertices[static_cast<std::size_t>(ends[sampled.edges() + e])];
                    EXPECT_EQ(static_cast<VertexId>(row), to);
                    partial += number != offsets[static_cast<std::size_t>(row)] ? 1U : 0U;
                }
            }
        }
        EXPECT_GT(partial, 0U);
    }
}

TEST_F(Loading, EdgeNumbersNeedTheWholeTopology) {
    train::TrainOptions asked = options();
    asked.topology = train::TopologyChoice::partitioned;
    EXPECT_THROW(
        train::Loader(comm::Communicator::local(), data(), {.train = asked, .edge_numbers = true}),
        Error);
}

/// Links of a role come once per epoch, those to train on as a Trainer's batches have them; no
/// message passes along one that is asked about.
TEST_F(Loading, LinksOfARole) {
    for (const auto role : {graph::Role::train, graph::Role::valid}) {
        train::TrainOptions asked = options();
        asked.task = train::TaskKind::link;
        asked.links.negatives = "uniform:2";
        asked.epochs = 1;
        train::Loader loader(comm::Communicator::local(), data(), {.train = asked, .role = role});
        std::set<std::pair<VertexId, VertexId>> links;
        std::set<std::int64_t> positions;
        std::size_t count = 0;
        while (const auto step = loader.next()) {
            for (std::size_t i = 0; i < step->batches.size(); ++i) {
                const auto& vertices = step->sampled.batches[i].vertices;
                const train::LoadedBatch& batch = step->batches[i];
                const std::size_t pairs = batch.pairs.size() / 2;
                const auto vertex = [&](std::int64_t at) {
                    return vertices[static_cast<std::size_t>(at)];
                };
                std::set<std::pair<VertexId, VertexId>> asked_about;
                for (std::size_t pair = 0; pair < pairs; ++pair) {
                    const VertexId source = vertex(batch.pairs[pair]);
                    EXPECT_EQ(source, vertex(batch.pairs[pair % (pairs / 3)]));
                    if (pair >= pairs / 3) continue;
                    const VertexId target = vertex(batch.pairs[pairs + pair]);
                    asked_about.insert({std::min(source, target), std::max(source, target)});
                }
                count += pairs / 3;
                links.insert(asked_about.begin(), asked_about.end());
                positions.insert(batch.positions.begin(), batch.positions.end());
                EXPECT_EQ(batch.positions.size(), pairs / 3);
                const std::size_t edges = batch.edges.size() / 2;
                for (std::size_t e = 0; e < edges; ++e) {
                    const VertexId a = vertex(batch.edges[e]);
                    const VertexId b = vertex(batch.edges[edges + e]);
                    EXPECT_FALSE(asked_about.contains({std::min(a, b), std::max(a, b)}));
                }
            }
        }
        EXPECT_GT(count, 20U);
        EXPECT_EQ(links.size(), count);
        EXPECT_EQ(positions.size(), count);
        EXPECT_EQ(*positions.rbegin(), static_cast<std::int64_t>(count) - 1);
    }
}

/// By ascending id, each once, with the positions that say so.
TEST_F(Loading, VerticesOfARoleInTheirOrder) {
    for (const auto role : {graph::Role::valid, graph::Role::test}) {
        train::TrainOptions asked = options();
        asked.epochs = 1;
        train::Loader loader(comm::Communicator::local(), data(),
                             {.train = asked, .role = role, .shuffled = false});
        std::vector<std::vector<VertexId>> seeds(data().parts());
        std::vector<std::vector<std::int64_t>> positions(data().parts());
        while (const auto step = loader.next()) {
            for (std::size_t i = 0; i < step->batches.size(); ++i) {
                const sample::Batch& batch = step->sampled.batches[i];
                seeds[i].insert(seeds[i].end(), batch.vertices.begin(),
                                batch.vertices.begin() + batch.seeds);
                const auto& own = step->batches[i].positions;
                positions[i].insert(positions[i].end(), own.begin(), own.end());
            }
        }
        std::int64_t position = 0;
        for (PartId p = 0; p < data().parts(); ++p) {
            const partition::Part part = data().part(p);
            std::vector<VertexId> wanted;
            for (VertexId v = 0; v < part.own(); ++v) {
                if (part.roles()[v] == role) wanted.push_back(part.range().begin + v);
            }
            EXPECT_FALSE(wanted.empty());
            EXPECT_EQ(seeds[p], wanted);
            for (const std::int64_t own : positions[p])
                EXPECT_EQ(own, position++);
        }
    }
}

/// Whoever takes less than the others, wherever they share something, does not keep them.
TEST_F(Loading, RanksMayTakeUnequallyManySteps) {
    for (const int ranks_per_host : {1, 2, 4}) {
        for (const char* agent : {"never", "random:0.5"}) {
            train::TrainOptions asked = options();
            asked.policy = "scored";
            asked.steer.agent = agent;
            SCOPED_TRACE(agent);
            std::vector<std::uint64_t> taken(4);
            comm::SimulatedCluster machines(
                {.ranks = 4, .ranks_per_host = ranks_per_host, .seed = 9});
            machines.run([&](const comm::Communicator& comm) {
                train::Loader loader(comm, data(), {.train = asked});
                const auto rank = static_cast<std::size_t>(comm.rank());
                while (taken[rank] < 3 * (4 - rank) && loader.next() != nullptr)
                    ++taken[rank];
                loader.close();
            });
            EXPECT_EQ(taken, (std::vector<std::uint64_t>{12, 9, 6, 3}));
        }
    }
}

/// Sparse features come as rows of floats, as many as the data set has columns.
TEST_F(Loading, SparseRowsComeDense) {
    const TempDir folder;
    const auto words = make_parts(folder.path(), {.width = 200, .words = 5, .parts = 2, .seed = 3});
    train::TrainOptions asked = options();
    asked.sparse = store::SparseChoice::on;
    train::TrainOptions dense = options();
    dense.sparse = store::SparseChoice::off;
    train::Loader loader(comm::Communicator::local(), words, {.train = asked});
    train::Loader other(comm::Communicator::local(), words, {.train = dense});
    const auto step = loader.next();
    const auto same = other.next();
    const auto rows = step->batches[0].rows;
    EXPECT_EQ(rows.size(), step->sampled.batches[0].vertices.size() * 200);
    EXPECT_TRUE(std::ranges::equal(rows, same->batches[0].rows));
    EXPECT_GT(std::ranges::count_if(rows, [](float x) { return x != 0; }), 0);
}

}  // namespace
}  // namespace rudder::test
