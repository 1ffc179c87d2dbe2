// Knobs that are changed while a run goes on: who is told, and when.
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "rudder/buffer/trace.hpp"
#include "steer/scripted_agent.hpp"
#include "steer/steered_replay.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

/// Keeps what rank 0 is told of all ranks.
class AllSteps final : public train::TrainObserver {
public:
    void records(std::span<const train::StepRecord> records) override {
        for (const train::StepRecord& record : records)
            knobs[record.step][record.rank] = record.knobs;
    }
    std::map<std::uint64_t, std::map<std::uint32_t, buffer::Knobs>> knobs;
};

struct KnobRun {
    train::TrainResult result;
    AllSteps seen;
};

class LiveKnobs : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {});
        return parts;
    }
    /// Of which a step needs little.
    static const partition::PartitionedDataset& wide_data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts =
            make_parts(folder.path(), {.vertices = 1200});
        return parts;
    }
    static train::TrainOptions options_of(const std::string& policy, std::uint32_t epochs) {
        train::TrainOptions options = small_options();
        options.policy = policy;
        options.epochs = epochs;
        options.steer.mode = steer::AgentMode::sync;
        return options;
    }
    /// Runs, and holds the digest of every rank against a run without a buffer.
    static KnobRun run(const train::TrainOptions& options, const comm::SimulationOptions& cluster,
                       const partition::PartitionedDataset& on = data()) {
        train::TrainOptions plain = options;
        plain.policy = "none";
        plain.steer = {};
        plain.trace.clear();
        const std::uint64_t digest = train_alone(on, plain).result.digest;
        KnobRun run;
        comm::SimulatedCluster machines(cluster);
        machines.run([&](const comm::Communicator& comm) {
            train::Trainer trainer(comm, on, options);
            AllSteps other;
            const bool first = comm.rank() == 0;
            train::TrainResult result = trainer.run(first ? run.seen : other);
            EXPECT_EQ(result.digest, digest) << "rank " << comm.rank();
            if (first) run.result = std::move(result);
        });
        expect_closed(run.result);
        return run;
    }
};

// ---- the window --------------------------------------------------------------------------------

/// What a run fetches after a window has become longer is what its trace says, where every step is
/// known to who asks: ranks that share a buffer have looked as far ahead by the same step.
TEST_F(LiveKnobs, ALongerWindowIsSeenByAllWhoShareABufferInTheSameStep) {
    const TempDir folder;
    const auto longer = [](std::uint64_t at) {
        return scripted("scripted-knobs", [at](const steer::Observation& seen) {
            if (seen.step != at) return answer(steer::Action::keep());
            return answer(
                steer::Action::set({{steer::KnobId::window, 32.0}}, steer::Reason::trying));
        });
    };
    std::map<std::uint64_t, std::set<std::uint64_t>> fetched;  // by the step of the change
    for (const std::uint64_t seed : {1U, 2U}) {
        for (const std::uint64_t at : {20U, 60U}) {
            const int per_host = seed == 1 && at == 20 ? 1 : 2;
            train::TrainOptions options = options_of("window:4", 3);
            options.batch = 4;
            options.fanout = {2, 3};
            options.buffer = 0.3;
            options.in_flight = 1 + seed;
            options.trace = folder.path() / fmt::format("{}-{}", seed, at);
            options.steer.agent = longer(at);
            const KnobRun live =
                run(options, {.ranks = 4, .ranks_per_host = per_host, .seed = seed, .jitter = 2ms},
                    wide_data());
            EXPECT_EQ(live.seen.knobs.at(at - 1).at(3).policy.whole("window"), 4U);
            EXPECT_EQ(live.seen.knobs.at(at).at(3).policy.whole("window"), 32U);
            const buffer::Trace trace = buffer::read_trace(options.trace);
            ASSERT_EQ(trace.size(), 4U / static_cast<unsigned>(per_host));
            const Rows known =
                steer::steered_replay(trace, {.policy = train::policy_of(options),
                                              .size = {.fraction = options.buffer},
                                              .agent = steer::AgentSpec::parse(longer(at))})
                    .rows;
            EXPECT_EQ(live.result.rows.hit, known.hit) << per_host << " " << at;
            EXPECT_EQ(live.result.rows.demand, known.demand) << per_host << " " << at;
            EXPECT_EQ(live.result.rows.ahead, known.ahead) << per_host << " " << at;
            EXPECT_EQ(live.result.rows.replacement, known.replacement);
            if (per_host == 2) fetched[at].insert(known.fetched());
        }
    }
    ASSERT_EQ(fetched.size(), 2U);
    ASSERT_EQ(fetched[60].size(), 1U) << "it does not depend on the schedule";
    EXPECT_LT(*fetched[20].begin(), *fetched[60].begin()) << "it matters when";
}

}  // namespace
}  // namespace rudder::test
