// Worlds that change under a run of 16 simulated ranks: a link that falls to a tenth and comes
// back, a rank that computes slowly for a while. Results stay, and agents notice what is theirs.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/executor/executor.hpp"
#include "rudder/nn/model_registry.hpp"
#include "steer/log/decision_log.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t changes_at = 130;
constexpr std::uint64_t changes_back_at = 260;
constexpr std::uint64_t world_steps = 390;
/// Steps within which an agent notices.
constexpr std::uint64_t soon = 32;

/// GraphSAGE whose passes take time, which nothing else does where time is simulated.
class TimedNetwork final : public nn::Network {
public:
    explicit TimedNetwork(std::unique_ptr<nn::Network> inner) : inner_(std::move(inner)) {}

    std::span<float> weights() noexcept override { return inner_->weights(); }
    [[nodiscard]] std::span<const nn::Parameter> parameters() const noexcept override {
        return inner_->parameters();
    }
    [[nodiscard]] std::span<const nn::Bucket> buckets() const noexcept override {
        return inner_->buckets();
    }
    nn::BatchResult train(const sample::Batch& batch, const nn::InputRows& rows,
                          const nn::SeedTargets& targets, float weight, std::span<float> gradient,
                          FunctionRef<void(std::size_t)> ready) override {
        Executor::current().sleep_for(1ms);
        return inner_->train(batch, rows, targets, weight, gradient, ready);
    }
    void predict(const sample::Batch& batch, const nn::InputRows& rows,
                 std::span<float> scores) override {
        inner_->predict(batch, rows, scores);
    }
    [[nodiscard]] std::size_t layers() const noexcept override { return inner_->layers(); }
    [[nodiscard]] std::size_t layer_inputs(std::size_t layer) const noexcept override {
        return inner_->layer_inputs(layer);
    }
    [[nodiscard]] std::size_t layer_outputs(std::size_t layer) const noexcept override {
        return inner_->layer_outputs(layer);
    }
    void infer_layer(std::size_t layer, const sample::Block& block,
                     std::span<const std::uint32_t> degrees, const nn::InputRows& sources,
                     std::span<float> out) override {
        inner_->infer_layer(layer, block, degrees, sources, out);
    }
    [[nodiscard]] std::uint64_t activation_bytes(const sample::Batch& batch) const override {
        return inner_->activation_bytes(batch);
    }

private:
    std::unique_ptr<nn::Network> inner_;
};

std::unique_ptr<nn::Network> make_timed(const nn::NetworkOptions& options) {
    nn::NetworkOptions plain = options;
    plain.model = "sage";
    return std::make_unique<TimedNetwork>(nn::make_network(plain));
}

/// A part for each rank. Rows are long, so that messages of them are: short ones pass others.
const partition::PartitionedDataset& world_data(int ranks) {
    static const TempDir folder;
    static std::map<int, partition::PartitionedDataset> made;
    const auto parts = static_cast<PartId>(ranks);
    auto found = made.find(ranks);
    if (found == made.end()) {
        const SmallGraph graph{
            .vertices = VertexId{100} * parts, .degree = 6, .width = 1024, .parts = parts};
        found = made.emplace(ranks, make_parts(folder / std::to_string(ranks), graph)).first;
    }
    return found->second;
}

train::TrainOptions world_options() {
    static const bool once = [] {
        nn::register_model({.name = "timed", .make = make_timed});
        return true;
    }();
    static_cast<void>(once);
    train::TrainOptions options = small_options();
    options.model = "timed";
    options.hidden = 2;  // few gradients beside many rows
    options.batch = 20;
    options.epochs = 130;
    options.eval_every = 0;
    options.sampler = sample::Sampler::plain;  // other rows in every step
    options.policy = "window:16";
    options.buffer = 0.05;
    options.steer.agent = "bandit";
    options.steer.link = true;
    return options;
}

/// The digest of such a run without an agent, a buffer, or time.
std::uint64_t world_digest(int ranks) {
    train::TrainOptions options = world_options();
    options.model = "sage";
    options.policy = "none";
    options.steer.agent = "never";
    return train_alone(world_data(ranks), options).result.digest;
}

/// A run, and what rank 0 was told of it.
struct World final : train::TrainObserver {
    void records(std::span<const train::StepRecord> records) override {
        for (const train::StepRecord& record : records)
            own[record.rank].push_back(record.seconds.own());
    }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        for (const steer::DecisionRecord& record : decisions) {
            if (record.note.find("times as long: tries all again") != std::string::npos)
                noticed[record.rank].push_back(record.step);
        }
    }
    /// Mean seconds of a rank's own, or of all ranks', over some steps.
    [[nodiscard]] double mean(std::uint64_t from, std::uint64_t to, int rank = -1) const {
        double sum = 0;
        double count = 0;
        for (const auto& [of, steps] : own) {
            if (rank >= 0 && of != static_cast<std::uint32_t>(rank)) continue;
            for (std::uint64_t step = from; step < to; ++step, ++count)
                sum += steps.at(step);
        }
        return sum / count;
    }
    /// Ranks whose agents noticed a change in those steps.
    [[nodiscard]] std::set<std::uint32_t> noticed_in(std::uint64_t from, std::uint64_t to) const {
        std::set<std::uint32_t> ranks;
        for (const auto& [rank, steps] : noticed)
            for (const std::uint64_t step : steps)
                if (step >= from && step < to) ranks.insert(rank);
        return ranks;
    }

    std::map<std::uint32_t, std::vector<double>> own;
    std::map<std::uint32_t, std::vector<std::uint64_t>> noticed;
    train::TrainResult result;
};

void run_world(const train::TrainOptions& options, const comm::SimulationOptions& cluster,
               World& world) {
    const partition::PartitionedDataset& data = world_data(cluster.ranks);
    const std::uint64_t digest = world_digest(cluster.ranks);
    comm::SimulatedCluster machines(cluster);
    machines.run([&](const comm::Communicator& comm) {
        train::Trainer trainer(comm, data, options);
        train::TrainObserver other;
        train::TrainResult result = trainer.run(comm.rank() == 0 ? world : other);
        EXPECT_EQ(result.digest, digest) << comm.rank();
        if (comm.rank() == 0) world.result = std::move(result);
    });
    expect_closed(world.result);
    ASSERT_EQ(world.result.steps, world_steps);
    ASSERT_EQ(world.own.size(), static_cast<std::size_t>(cluster.ranks));
    EXPECT_EQ(world.result.agent.totals.invalid + world.result.agent.totals.late, 0U);
}

comm::LinkModel world_link(double share) {
    return {.delay = 50us, .bytes_per_second = share * 1e9};
}

/// Whether an agent's last words say that the run changed.
bool tells_of_a_change(const std::string& learned) {
    return learned.find("the run changed ") != std::string::npos &&
           learned.find("the run changed 0 times") == std::string::npos;
}

void expect_fallen_link_noticed(int ranks) {
    World world;
    run_world(world_options(),
              {.ranks = ranks,
               .seed = 5,
               .link_changes = {{changes_at, world_link(0.1)}, {changes_back_at, world_link(1)}},
               .link = world_link(1)},
              world);
    const auto all = static_cast<std::size_t>(ranks);
    EXPECT_EQ(world.noticed_in(0, changes_at).size(), 0U);
    EXPECT_EQ(world.noticed_in(changes_at, changes_back_at).size(), all) << "all links fell";
    const auto& learned = world.result.agent.learned;
    EXPECT_EQ(learned.size(), all);
    EXPECT_TRUE(std::ranges::all_of(learned, tells_of_a_change));
    // What steps cost is back where it was.
    const double before = world.mean(soon, changes_at);
    EXPECT_GT(world.mean(changes_at + soon, changes_back_at), 1.5 * before);
    EXPECT_LE(world.mean(changes_back_at + soon, world_steps), 1.05 * before);
}

/// Whether the slow rank's agent noticed it soon. Times are not looked at while another rank's
/// agent tries something on the clock, so that depends on the schedule; that it notices, alone,
/// does not.
bool slow_rank_is_noticed_soon(int ranks, std::uint64_t seed) {
    constexpr int slow = 3;
    train::TrainOptions options = world_options();
    options.slow = fmt::format("{}:8:{}-{}", slow, changes_at, changes_back_at);
    World world;
    run_world(options, {.ranks = ranks, .seed = seed, .link = world_link(1)}, world);
    const std::set<std::uint32_t> itself{slow};
    EXPECT_EQ(world.noticed_in(0, world_steps), itself) << "the others only wait for it";
    EXPECT_EQ(world.noticed_in(changes_at, changes_back_at), itself);
    EXPECT_EQ(world.noticed_in(changes_back_at, changes_back_at + soon), itself);
    EXPECT_TRUE(tells_of_a_change(world.result.agent.learned.at(slow)));
    const double before = world.mean(soon, changes_at, slow);
    EXPECT_GT(world.mean(changes_at, changes_back_at, slow), 6 * before);
    EXPECT_LE(world.mean(changes_back_at + soon, world_steps, slow), 1.05 * before);
    EXPECT_LE(world.mean(changes_at, changes_back_at, slow - 1),
              1.05 * world.mean(soon, changes_at, slow - 1));
    return world.noticed_in(changes_at, changes_at + soon) == itself;
}

void expect_slow_rank_noticed(int ranks, std::uint64_t seeds) {
    std::uint64_t at_once = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        SCOPED_TRACE(fmt::format("seed {}", seed));
        if (slow_rank_is_noticed_soon(ranks, seed)) ++at_once;
    }
    EXPECT_GT(2 * at_once, seeds);
}

TEST(LiveWorlds, ALinkThatFallsToATenthAndComesBackIsNoticed) {
    expect_fallen_link_noticed(4);
}

TEST(LiveWorlds, ARankThatIsSlowForAWhileIsNoticedByItsOwnAgentAlone) {
    expect_slow_rank_noticed(4, 3);
}

TEST(LongLiveWorlds, ALinkThatFallsToATenthAndComesBackIsNoticedOnSixteenRanks) {
    expect_fallen_link_noticed(16);
}

TEST(LongLiveWorlds, ASlowRankIsNoticedByItsOwnAgentAloneOnSixteenRanks) {
    expect_slow_rank_noticed(16, 5);
}

}  // namespace
}  // namespace rudder::test
