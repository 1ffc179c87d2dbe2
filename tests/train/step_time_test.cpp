// Where the time of steps goes: parts that add up, and waits that are told by their cause.
#include "core/step_time.hpp"

#include <map>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "comm/simulated_cluster.hpp"
#include "core/executor/executor.hpp"
#include "rudder/steer/agent_registry.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

/// Keeps the records of all ranks.
struct TimeBook final : train::TrainObserver {
    void records(std::span<const train::StepRecord> records) override {
        all.insert(all.end(), records.begin(), records.end());
    }
    [[nodiscard]] Seconds sum() const {
        Seconds seconds;
        for (const train::StepRecord& record : all)
            seconds += record.seconds;
        return seconds;
    }
    std::vector<train::StepRecord> all;
};

/// Of every step of every rank: each part is none or some, and together they are the step.
void expect_adds_up(const TimeBook& book) {
    ASSERT_FALSE(book.all.empty());
    for (const train::StepRecord& record : book.all) {
        double sum = 0;
        for (const StepPart& part : step_parts) {
            EXPECT_GE(record.seconds.*part.seconds, 0) << part.key;
            sum += record.seconds.*part.seconds;
        }
        EXPECT_NEAR(sum, record.seconds.step, 1e-9) << record.step << " of rank " << record.rank;
    }
}

TimeBook timed_run(const partition::PartitionedDataset& data, const train::TrainOptions& options,
                   const comm::SimulationOptions& cluster) {
    TimeBook book;
    comm::SimulatedCluster machines(cluster);
    machines.run([&](const comm::Communicator& comm) {
        train::Trainer trainer(comm, data, options);
        train::TrainObserver other;
        static_cast<void>(trainer.run(comm.rank() == 0 ? book : other));
    });
    return book;
}

train::TrainOptions few_steps() {
    train::TrainOptions options = small_options();
    options.epochs = 2;
    options.eval_every = 0;
    return options;
}

TEST(StepTime, AddsUpInSimulatedTime) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    const TimeBook book =
        timed_run(data, few_steps(),
                  {.ranks = 4, .seed = 3, .link = {.delay = 100us, .bytes_per_second = 1e6}});
    expect_adds_up(book);
    EXPECT_GT(book.sum().wait_rows, 0);
    EXPECT_GT(book.sum().wait_gradients, 0);
}

TEST(StepTime, AddsUpOnThreads) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    TimeBook book;
    const comm::Communicator comm = comm::Communicator::local();
    train::Trainer trainer(comm, data, few_steps());
    static_cast<void>(trainer.run(book));
    expect_adds_up(book);
    EXPECT_GT(book.sum().compute, 0);
}

/// Many short messages of rows fill the link: gradients, which are few, do not queue behind them.
TEST(StepTime, RowsThatTakeAllOfTheWireAreWaitedForAsRows) {
    const TempDir folder;
    const auto data = make_parts(folder.path(), {.vertices = 400, .degree = 12, .width = 64});
    train::TrainOptions options = few_steps();
    options.hidden = 2;
    options.policy = "none";
    options.sampler = sample::Sampler::plain;
    const TimeBook book = timed_run(
        data, options, {.ranks = 4, .seed = 4, .link = {.delay = 10us, .bytes_per_second = 2e6}});
    expect_adds_up(book);
    const Seconds sum = book.sum();
    EXPECT_GT(sum.wait_rows, 0.75 * sum.step);
    EXPECT_LT(sum.wait_gradients, 0.15 * sum.step);
}

/// Thinks for a while and keeps everything as it is.
class Ponders final : public steer::Agent {
    steer::Answer decide(const steer::Observation& /*seen*/) override {
        Executor::current().sleep_for(20ms);
        return {.action = steer::Action::keep(steer::Reason::none)};
    }
};

const steer::AgentInfo ponders_info{
    {"ponders", "Thinks for 20 ms, for tests."}, "nothing", "nothing", /*decides=*/true};

/// Ranks that share a buffer with the one that asks wait for the agent, too.
TEST(StepTime, AnAgentThatIsWaitedForIsNotTakenForRows) {
    steer::register_agent(ponders_info,
                          [](const steer::AgentSpec& /*spec*/,
                             const steer::AgentFacts& /*facts*/) -> std::unique_ptr<steer::Agent> {
                              return std::make_unique<Ponders>();
                          });
    const TempDir folder;
    const auto data = make_parts(folder.path(), {});
    train::TrainOptions options = few_steps();
    options.policy = "scored";
    options.steer.agent = "ponders";
    const comm::SimulationOptions cluster{.ranks = 4,
                                          .ranks_per_host = 2,
                                          .seed = 5,
                                          .link = {.delay = 100us, .bytes_per_second = 1e8}};
    const Seconds unasked = timed_run(data, options, cluster).sum();
    EXPECT_EQ(unasked.wait_agent, 0) << "nobody waits for it";
    options.steer.mode = steer::AgentMode::sync;
    const TimeBook book = timed_run(data, options, cluster);
    expect_adds_up(book);
    const Seconds sum = book.sum();
    EXPECT_GT(sum.wait_agent, 0.5 * sum.step);
    EXPECT_LT(sum.wait_rows, sum.wait_agent / 2);
    std::map<std::uint32_t, double> by_rank;
    for (const train::StepRecord& record : book.all)
        by_rank[record.rank] += record.seconds.wait_agent;
    for (const auto& [rank, seconds] : by_rank)
        EXPECT_GT(seconds, 0.1 * sum.wait_agent) << rank;
}

}  // namespace
}  // namespace rudder::test
