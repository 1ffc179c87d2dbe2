// Knobs that act on time and the window, changed while a run goes on: who is told, and when.
#include <array>
#include <chrono>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "partition/share.hpp"
#include "rudder/buffer/trace.hpp"
#include "rudder/core/random.hpp"
#include "steer/scripted_agent.hpp"
#include "steer/steered_replay.hpp"
#include "train/fixture.hpp"
#include "train/steps/pipeline.hpp"

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
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        made.insert(made.end(), decisions.begin(), decisions.end());
    }
    std::map<std::uint64_t, std::map<std::uint32_t, buffer::Knobs>> knobs;
    std::vector<steer::DecisionRecord> made;
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

// ---- several knobs at once ---------------------------------------------------------------------

/// From one setting to the other and back, as often as it is asked.
steer::Answer swing(const steer::Observation& seen) {
    const bool back = seen.setting.demand_first == 0;
    const auto most = static_cast<double>(seen.limits.in_flight);
    return answer(steer::Action::set(
        {{steer::KnobId::window, back ? 16.0 : 8.0},
         {steer::KnobId::demand_first, back ? 1.0 : 0.0},
         {steer::KnobId::in_flight, back ? most : 1.0},
         {steer::KnobId::buckets, back ? 0.0 : static_cast<double>(seen.limits.buckets)}},
        steer::Reason::trying));
}

TEST_F(LiveKnobs, OneActionSetsSeveralOnAllRanksOfAJob) {
    for (const int per_host : {1, 2}) {
        train::TrainOptions options = options_of("window:16", 12);
        options.in_flight = 3;
        options.steer.scope = steer::AgentScope::job;
        options.steer.agent = scripted("scripted-knobs", swing);
        const KnobRun all = run(options, {.ranks = 4, .ranks_per_host = per_host, .seed = 6});
        EXPECT_GE(all.result.agent.totals.applied, 3U);
        EXPECT_EQ(all.result.agent.totals.refused, 0U);
        std::set<std::uint64_t> groups;
        for (const auto& [step, ranks] : all.seen.knobs) {
            ASSERT_EQ(ranks.size(), 4U);
            for (const auto& [rank, knobs] : ranks) {
                EXPECT_EQ(knobs.buckets, ranks.at(0).buckets) << "step " << step;
                EXPECT_EQ(knobs.policy, ranks.at(0).policy) << "step " << step;
                EXPECT_EQ(knobs.buckets != 0, knobs.policy.whole("window") == 8);
                groups.insert(knobs.buckets);
            }
        }
        ASSERT_EQ(groups.size(), 2U);
        EXPECT_GE(*groups.rbegin(), 2U) << "there is more than one group";
        // What each rank does by itself reaches those that share a buffer a little later.
        for (std::uint32_t rank = 0; rank < 4; ++rank) {
            std::set<std::uint64_t> orders;
            std::set<std::uint64_t> in_flight;
            for (const auto& [step, ranks] : all.seen.knobs) {
                orders.insert(ranks.at(rank).demand_first);
                in_flight.insert(ranks.at(rank).in_flight);
            }
            EXPECT_EQ(orders, (std::set<std::uint64_t>{0, 1})) << "rank " << rank;
            EXPECT_EQ(in_flight, (std::set<std::uint64_t>{1, 3})) << "rank " << rank;
        }
        // The log says when, and what was seen.
        for (const steer::DecisionRecord& record : all.seen.made) {
            if (record.status != steer::DecisionStatus::applied) continue;
            EXPECT_EQ(record.action.knobs.size(), 4U);
            const auto at = all.seen.knobs.find(record.effective_step);
            if (at == all.seen.knobs.end()) continue;
            EXPECT_EQ(static_cast<double>(at->second.at(3).buckets),
                      std::get<double>(record.action.knobs[3].value));
        }
    }
}

TEST_F(LiveKnobs, AnAgentOfOneHostCannotDivideGradients) {
    train::TrainOptions options = options_of("window:16", 6);
    options.steer.agent = scripted("scripted-knobs", [](const steer::Observation& seen) {
        EXPECT_EQ(seen.limits.buckets, 0U);
        if (seen.step != 2) return answer(steer::Action::keep());
        return answer(steer::Action::set({{steer::KnobId::buckets, 2.0}}, steer::Reason::trying));
    });
    const KnobRun all = run(options, {.ranks = 4, .ranks_per_host = 2, .seed = 6});
    EXPECT_EQ(all.result.agent.totals.refused, 2U) << "of either host";
    std::size_t told = 0;
    for (const steer::DecisionRecord& record : all.seen.made) {
        if (record.status != steer::DecisionStatus::refused) continue;
        ++told;
        EXPECT_THAT(record.problem, testing::HasSubstr("'buckets': 2"));
        EXPECT_THAT(record.problem, testing::HasSubstr("--agent-scope job"));
    }
    EXPECT_EQ(told, 2U);
    for (const auto& [step, ranks] : all.seen.knobs)
        for (const auto& [rank, knobs] : ranks)
            EXPECT_EQ(knobs.buckets, 0U);
}

/// Some of all knobs that the present policy has, or another policy, within what the run allows.
steer::Answer some_knobs(const steer::Observation& seen, std::uint64_t seed) {
    rudder::Draws draws(RandomStream({.purpose = Purpose::test, .seed = seed}), seen.step);
    if (draws.below(3) == 0) return answer(steer::Action::keep());
    const std::array<std::string, 4> policies{"window:9", "lru", "scored,every:3", "window:24"};
    const auto whole = [&](std::uint64_t from, std::uint64_t to) {
        return static_cast<double>(from + draws.below(to - from + 1));
    };
    const std::vector<steer::KnobChange> all{
        {steer::KnobId::window, whole(1, 40)},
        {steer::KnobId::capacity, whole(0, seen.limits.slots)},
        {steer::KnobId::decay, whole(1, 8) / 8},
        {steer::KnobId::fraction, whole(0, 8) / 8},
        {steer::KnobId::distance, whole(0, 6)},
        {steer::KnobId::bulk, whole(0, 40)},
        {steer::KnobId::sample_threads, whole(1, seen.limits.sample_threads)},
        {steer::KnobId::fetch_threads, whole(1, seen.limits.fetch_threads)},
        {steer::KnobId::demand_first, whole(0, 1)},
        {steer::KnobId::in_flight, whole(1, seen.limits.in_flight)},
        {steer::KnobId::buckets, whole(0, seen.limits.buckets)}};
    const bool other = draws.below(3) == 0;
    std::vector<steer::KnobChange> changes;
    if (other) changes.push_back({steer::KnobId::policy, policies[draws.below(policies.size())]});
    for (const steer::KnobChange& change : all) {
        const bool of_policy =
            change.id != steer::KnobId::capacity && change.id < steer::KnobId::bulk;
        const bool there = steer::knob_value(seen.setting, change.id) && !(of_policy && other);
        if (there && draws.below(2) == 0) changes.push_back(change);
    }
    if (changes.empty()) return answer(steer::Action::keep());
    return answer(steer::Action::set(std::move(changes), steer::Reason::chance));
}

/// Who steers which buffers, and so many ranks on a host.
struct Steered4 {
    steer::AgentScope scope;
    buffer::BufferScope buffers;
    int per_host;
};

TEST_F(LiveKnobs, AnyOfThemAtAnyStepChangesNoDigestAndAccountsClose) {
    constexpr std::array all_ways{Steered4{steer::AgentScope::host, buffer::BufferScope::host, 1},
                                  Steered4{steer::AgentScope::host, buffer::BufferScope::host, 2},
                                  Steered4{steer::AgentScope::host, buffer::BufferScope::rank, 2},
                                  Steered4{steer::AgentScope::rank, buffer::BufferScope::rank, 2},
                                  Steered4{steer::AgentScope::job, buffer::BufferScope::host, 1},
                                  Steered4{steer::AgentScope::job, buffer::BufferScope::host, 2},
                                  Steered4{steer::AgentScope::job, buffer::BufferScope::rank, 2}};
    std::set<steer::KnobId> changed;
    std::set<std::uint64_t> groups;
    std::uint64_t seed = 0;
    for (const Steered4& way : all_ways) {
        ++seed;
        train::TrainOptions options = options_of("window:16", 10);
        options.steer.scope = way.scope;
        options.buffer_scope = way.buffers;
        options.in_flight = 1 + seed % 4;
        if (seed % 2 == 0) options.steer.mode = steer::AgentMode::async;
        options.steer.agent = scripted("scripted-knobs", [seed](const steer::Observation& seen) {
            return some_knobs(seen, seed);
        });
        const KnobRun all =
            run(options, {.ranks = 4, .ranks_per_host = way.per_host, .seed = seed, .jitter = 1ms});
        EXPECT_GE(all.result.agent.totals.applied, 2U) << seed;
        EXPECT_EQ(all.result.agent.totals.invalid, 0U) << seed;
        for (const steer::DecisionRecord& record : all.seen.made) {
            if (record.status != steer::DecisionStatus::applied) continue;
            for (const steer::KnobChange& change : record.action.knobs)
                changed.insert(change.id);
        }
        for (const auto& [step, ranks] : all.seen.knobs)
            for (const auto& [rank, knobs] : ranks) {
                groups.insert(knobs.buckets);
                EXPECT_EQ(knobs.buckets, ranks.at(0).buckets) << seed << " " << step;
            }
    }
    EXPECT_EQ(changed.size(), steer::knob_count) << "all of them";
    EXPECT_EQ(groups.size(), 3U) << "0, 1 and 2";
}

// ---- the window --------------------------------------------------------------------------------

/// What a run fetches after a window has become longer is what its trace says, where every step is
/// known to who asks: ranks that share a buffer have looked as far ahead by the same step.
TEST_F(LiveKnobs, ALongerWindowIsSeenByAllWhoShareABufferInTheSameStep) {
    const TempDir folder;
    // A list of the user's, as a repeated log is.
    const auto longer = [](std::uint64_t at, std::vector<steer::KnobChange> others) {
        return scripted("scripted-knobs", [at, others](const steer::Observation& seen) {
            if (seen.step != at) return answer(steer::Action::keep());
            std::vector<steer::KnobChange> changes = others;
            changes.push_back({steer::KnobId::window, 32.0});
            return answer(steer::Action::set(std::move(changes), steer::Reason::trying));
        });
    };
    // What acts on time does nothing to rows, and is not refused in a replay.
    const std::vector<steer::KnobChange> timed{{steer::KnobId::in_flight, 9.0},
                                               {steer::KnobId::demand_first, 0.0},
                                               {steer::KnobId::buckets, 3.0},
                                               {steer::KnobId::sample_threads, 9.0}};
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
            options.steer.agent = longer(at, {});
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
                                              .agent = steer::AgentSpec::parse(longer(at, timed))})
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

// ---- steps at a time ---------------------------------------------------------------------------

/// While a step is in hand, the rows of so many others are fetched and no more.
TEST_F(LiveKnobs, SoManyStepsAreAssembledAtATime) {
    comm::SimulatedCluster machines({.ranks = 2, .seed = 2});
    machines.run([&](const comm::Communicator& comm) {
        sample::LookAheadOptions ahead{.window = 16, .last_step = 8};
        std::vector<partition::Part> parts;
        const auto share = partition::share_of(data().parts(), comm.size(), comm.rank());
        for (PartId p = share.first; p < share.last; ++p) {
            parts.push_back(data().part(p));
            ahead.parts.push_back(p);
        }
        const sample::Schedule schedule(comm, parts, data().parts(), {.batch = 16, .seed = 1});
        const auto source = sample::make_replicated_source(comm, data().book(), parts);
        store::FeatureStore store(comm, data(), {});
        {
            train::Pipeline pipeline(schedule, *source, store, {.fanout = {3, 4}, .seed = 1}, ahead,
                                     4);
            const auto fetched = [&] {
                return comm.accounts().received[static_cast<std::size_t>(comm::Kind::features)];
            };
            std::uint64_t known = 0;  // bytes of the steps that were in hand
            std::vector<std::uint64_t> beyond;
            for (const std::uint64_t steps : {1U, 3U, 9U, 1U}) {
                buffer::TimeKnobs times = pipeline.times();
                times.in_flight = steps;
                pipeline.set_times(times);
                EXPECT_EQ(pipeline.times().in_flight, std::min<std::uint64_t>(steps, 4));
                known += pipeline.next().received.travelled;
                Executor::current().sleep_for(1s);
                beyond.push_back(fetched() - known);
                pipeline.release();
            }
            EXPECT_EQ(beyond[0], 0U) << "the step in hand alone";
            EXPECT_GT(beyond[1], 0U);
            EXPECT_GT(beyond[2], beyond[1]) << "one step more";
            EXPECT_LT(beyond[3], beyond[2]) << "what is there stays, and nothing is added";
            while (beyond[3] > 0) {
                const std::uint64_t received = pipeline.next().received.travelled;
                Executor::current().sleep_for(1s);
                EXPECT_EQ(fetched() - known, beyond[3]) << "until all of it has been in hand";
                pipeline.release();
                known += received;
                beyond[3] -= std::min(beyond[3], received);
            }
            static_cast<void>(pipeline.stop());
        }
        comm.barrier();
        source->stop();
        store.stop();
    });
}

}  // namespace
}  // namespace rudder::test
