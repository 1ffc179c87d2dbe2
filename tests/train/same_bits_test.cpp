// The same training, bit for bit, whatever it runs on.
#include <random>
#include <set>

#include <gtest/gtest.h>

#include "rudder/core/parallel.hpp"
#include "rudder/steer/agent_registry.hpp"
#include "train/fixture.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

class SameBits : public testing::Test {
protected:
    /// Made once: all tests here train on the same parts.
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {});
        return parts;
    }
    static const Trained& alone() {
        static const Trained trained = train_alone(data(), small_options());
        return trained;
    }
    static void expect_same(const Trained& other) {
        EXPECT_EQ(other.result.digest, alone().result.digest);
        EXPECT_EQ(other.result.steps, alone().result.steps);
        EXPECT_EQ(other.weights, alone().weights);
        ASSERT_EQ(other.result.epochs.size(), alone().result.epochs.size());
        for (std::size_t e = 0; e < other.result.epochs.size(); ++e) {
            const train::Scores& a = other.result.epochs[e].scores;
            const train::Scores& b = alone().result.epochs[e].scores;
            EXPECT_EQ(a.train.correct, b.train.correct);
            EXPECT_EQ(a.valid.correct, b.valid.correct);
            EXPECT_EQ(a.valid.loss, b.valid.loss);
            EXPECT_EQ(a.test.correct, b.test.correct);
        }
    }
};

TEST_F(SameBits, Repeated) {
    EXPECT_NE(alone().result.digest, 0U);
    EXPECT_GT(alone().result.steps, 4U);
    expect_same(train_alone(data(), small_options()));
    expect_closed(alone().result);
}

TEST_F(SameBits, AnotherSeedIsAnotherRun) {
    train::TrainOptions options = small_options();
    options.seed = 8;
    EXPECT_NE(train_alone(data(), options).result.digest, alone().result.digest);
}

TEST_F(SameBits, AnyNumberOfThreads) {
    for (const int threads : {1, 2, 4}) {
        set_thread_count(threads);
        expect_same(train_alone(data(), small_options()));
    }
    set_thread_count(0);
}

/// Rounded gradients are another training; but the same on any ranks and threads.
TEST_F(SameBits, GradientsInBfloat16OnAnyRanksAndThreads) {
    train::TrainOptions options = small_options();
    options.gradient_precision = "bfloat16";
    const Trained rounded = train_alone(data(), options);
    EXPECT_NE(rounded.result.digest, alone().result.digest);
    EXPECT_EQ(rounded.result.steps, alone().result.steps);
    set_thread_count(3);
    EXPECT_EQ(train_alone(data(), options).result.digest, rounded.result.digest);
    set_thread_count(0);
    for (const int ranks : {2, 4}) {
        const auto all = train_simulated(data(), options, {.ranks = ranks, .seed = 3});
        for (const Trained& mine : all) {
            EXPECT_EQ(mine.result.digest, rounded.result.digest) << ranks << " ranks";
            EXPECT_EQ(mine.weights, rounded.weights) << ranks << " ranks";
        }
        expect_closed(all[0].result);
        const auto whole = train_simulated(data(), small_options(), {.ranks = ranks, .seed = 3});
        const auto bytes = [](const Trained& mine) {
            return static_cast<double>(mine.result.bytes.gradients);
        };
        // Losses and wishes travel as they are.
        EXPECT_LT(bytes(all[0]), 0.65 * bytes(whole[0]));
        EXPECT_GT(bytes(all[0]), 0.5 * bytes(whole[0]));
    }
}

/// Samples drawn in another way are another training; but the same wherever it runs.
TEST_F(SameBits, SamplesOnAnyRanksThreadsTopologyAndPolicy) {
    using Draws = std::pair<sample::Sampler, std::optional<std::uint64_t>>;
    for (const auto& [sampler, redraw] :
         {Draws{sample::Sampler::plain, {}}, Draws{sample::Sampler::shared, 1},
          Draws{sample::Sampler::shared, 4}}) {
        train::TrainOptions options = small_options();
        options.sampler = sampler;
        options.redraw = redraw;
        const Trained first = train_alone(data(), options);
        EXPECT_NE(first.result.digest, alone().result.digest) << "the default redraws otherwise";
        set_thread_count(3);
        options.sample_tasks = 3;
        EXPECT_EQ(train_alone(data(), options).result.digest, first.result.digest);
        set_thread_count(0);
        for (const int ranks : {2, 4}) {
            for (const char* policy : {"none", "window:4"}) {
                options.policy = policy;
                options.topology = ranks == 2 ? train::TopologyChoice::partitioned
                                              : train::TopologyChoice::replicated;
                const auto all = train_simulated(data(), options, {.ranks = ranks, .seed = 3});
                EXPECT_EQ(all[0].result.digest, first.result.digest) << ranks << policy;
                expect_closed(all[0].result);
            }
        }
    }
}

/// Rows of a few bits are another training; but the same on any ranks, threads, shards and policy.
TEST_F(SameBits, SmallRowsOnAnyRanksThreadsShardsAndPolicy) {
    train::TrainOptions options = small_options();
    const auto whole = train_simulated(data(), options, {.ranks = 4, .seed = 3});
    for (const auto& [precision, smaller] :
         {std::pair{store::Precision::int8, 4U}, std::pair{store::Precision::int4, 8U}}) {
        SCOPED_TRACE(to_string(precision));
        options.precision = precision;
        options.policy = small_options().policy;
        const Trained rounded = train_alone(data(), options);
        EXPECT_NE(rounded.result.digest, alone().result.digest);
        set_thread_count(3);
        EXPECT_EQ(train_alone(data(), options).result.digest, rounded.result.digest);
        set_thread_count(0);
        for (const int ranks : {2, 4}) {
            for (const char* policy : {"none", "window:16", "lru"}) {
                options.policy = policy;
                options.shards = ranks == 2 ? store::Shards::shared : store::Shards::mapped;
                const auto all = train_simulated(data(), options, {.ranks = ranks, .seed = 3});
                for (const Trained& mine : all) {
                    EXPECT_EQ(mine.result.digest, rounded.result.digest) << ranks << policy;
                    EXPECT_EQ(mine.weights, rounded.weights) << ranks << policy;
                }
                expect_closed(all[0].result);
            }
        }
        options.policy = small_options().policy;
        const auto same = train_simulated(data(), options, {.ranks = 4, .seed = 3});
        EXPECT_EQ(same[0].result.bytes.features * smaller, whole[0].result.bytes.features);
    }
}

TEST_F(SameBits, CodedOrNot) {
    for (const int ranks : {1, 2, 4}) {
        for (const int threads : {1, 3}) {
            for (const auto topology :
                 {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
                set_thread_count(threads);
                train::TrainOptions options = small_options();
                options.topology = topology;
                options.force_coding = true;
                const auto all = train_simulated(data(), options, {.ranks = ranks, .seed = 5});
                for (const Trained& mine : all)
                    expect_same(mine);
                expect_closed(all[0].result);
                ASSERT_TRUE(all[0].result.coding.has_value());
                const comm::CodingTotals& coding = *all[0].result.coding;
                if (ranks == 1) continue;
                const bool asked = topology == train::TopologyChoice::partitioned;
                for (const auto& [of, used] :
                     {std::pair{coding.features, true}, std::pair{coding.gradients, true},
                      std::pair{coding.evaluation, true}, std::pair{coding.topology, asked}}) {
                    EXPECT_EQ(of.messages > 0, used);
                    // Short messages do not shrink.
                    const bool long_ones = used && of.plain / of.messages >= 256;
                    EXPECT_GE(of.coded > 0, long_ones) << "every kind has some that shrink";
                }
            }
        }
    }
    set_thread_count(0);
}

/// Where coding takes no time it pays on any link with a rate, and on none without.
TEST_F(SameBits, CodedWhereItPays) {
    train::TrainOptions options = small_options();
    options.coding = "auto";
    for (const double rate : {1e6, 0.0}) {
        const comm::LinkModel link{.delay = std::chrono::microseconds(50),
                                   .bytes_per_second = rate};
        const auto all = train_simulated(data(), options, {.ranks = 4, .seed = 5, .link = link});
        for (const Trained& mine : all)
            expect_same(mine);
        expect_closed(all[0].result);
        EXPECT_GT(all[0].result.coding->gradients.coded, 0U);
    }
    EXPECT_FALSE(train_alone(data(), options).result.coding) << "one host";
    EXPECT_FALSE(train_simulated(data(), small_options(), {.ranks = 2})[0].result.coding);
}

TEST_F(SameBits, AnyLookAheadTasksAndInFlight) {
    for (const std::uint64_t window : {1U, 16U}) {
        for (const std::uint64_t in_flight : {1U, 2U, 4U}) {
            for (const int tasks : {1, 3}) {
                train::TrainOptions options = small_options();
                options.window = window;
                options.in_flight = in_flight;
                options.sample_tasks = tasks;
                expect_same(train_alone(data(), options));
            }
        }
    }
}

/// Changes what acts on time at every step, at random and not alike on all ranks.
class RestlessAgent final : public steer::Agent {
public:
    explicit RestlessAgent(std::uint64_t seed) : engine_(seed) {}
    steer::Answer decide(const steer::Observation& seen) override {
        const auto number = [this](std::uint64_t from, std::uint64_t to) {
            return static_cast<double>(from + engine_() % (to - from + 1));
        };
        // Orders may be few: these are another number each time, if there is one.
        const auto next = [](std::uint64_t now, std::uint64_t from, std::uint64_t to) {
            return static_cast<double>(now == to ? from : now + 1);
        };
        steer::Answer answer;
        answer.action = steer::Action::set(
            {{steer::KnobId::bulk, number(0, 50)},
             {steer::KnobId::sample_threads, number(1, seen.limits.sample_threads)},
             {steer::KnobId::fetch_threads, number(1, seen.limits.fetch_threads)},
             {steer::KnobId::demand_first, seen.setting.demand_first == 0 ? 1.0 : 0.0},
             {steer::KnobId::in_flight, next(seen.setting.in_flight, 1, seen.limits.in_flight)},
             {steer::KnobId::buckets, next(seen.setting.buckets, 0, seen.limits.buckets)}},
            steer::Reason::chance);
        return answer;
    }

private:
    std::mt19937_64 engine_;
};

const steer::AgentInfo restless_info{
    {"restless", "Changes what acts on time at random."}, "nothing", "nothing", false, true};

/// What acted on time in the steps of rank 0.
class TimeWitness final : public train::TrainObserver {
public:
    void step_done(const train::StepRecord& record, std::uint64_t /*steps*/) override {
        bulks.insert(record.knobs.bulk);
        in_flight.insert(record.knobs.in_flight);
        orders.insert(record.knobs.demand_first);
        groups.insert(record.knobs.buckets);
    }
    std::set<std::uint64_t> bulks;
    std::set<std::uint64_t> in_flight;
    std::set<std::uint64_t> orders;
    std::set<std::uint64_t> groups;
};

TEST_F(SameBits, WhatActsOnTimeChangedAtAnyStep) {
    steer::register_agent(restless_info,
                          [](const steer::AgentSpec&,
                             const steer::AgentFacts& facts) -> std::unique_ptr<steer::Agent> {
                              return std::make_unique<RestlessAgent>(facts.seed * 100 + facts.rank);
                          });
    train::TrainOptions longer = small_options();
    longer.epochs = 10;  // so that not most steps have begun before the first order
    const Trained plain = train_alone(data(), longer);
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        train::TrainOptions options = longer;
        const bool job = seed >= 4;  // orders reach all ranks at the same step
        if (job) options.steer.scope = steer::AgentScope::job;
        options.in_flight = 1 + seed % 4;
        options.bulk = seed;
        options.steer.agent = "restless";
        options.steer.mode = seed % 2 == 0 ? steer::AgentMode::sync : steer::AgentMode::async;
        comm::SimulatedCluster machines(
            {.ranks = 4, .ranks_per_host = 1 + static_cast<int>(seed % 2), .seed = seed});
        machines.run([&](const comm::Communicator& comm) {
            train::Trainer trainer(comm, data(), options);
            TimeWitness observer;
            Trained mine;
            mine.result = trainer.run(observer);
            mine.weights.assign(trainer.weights().begin(), trainer.weights().end());
            EXPECT_EQ(mine.result.digest, plain.result.digest);
            EXPECT_EQ(mine.weights, plain.weights);
            if (comm.rank() != 0) return;
            expect_closed(mine.result);
            EXPECT_GE(observer.bulks.size(), 2U) << "the orders are done";
            EXPECT_EQ(observer.orders.size(), 2U);
            EXPECT_LE(*observer.in_flight.rbegin(), options.in_flight);
            EXPECT_EQ(observer.in_flight.size() > 1, options.in_flight > 1);
            EXPECT_EQ(observer.groups.size() > 1, job);
            EXPECT_GT(mine.result.agent.totals.applied, 2U);
        });
    }
}

TEST_F(SameBits, EitherTopologyAndShards) {
    for (const auto topology :
         {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
        for (const auto shards : {store::Shards::mapped, store::Shards::shared}) {
            train::TrainOptions options = small_options();
            options.topology = topology;
            options.shards = shards;
            expect_same(train_alone(data(), options));
        }
    }
}

TEST_F(SameBits, SimulatedRanks) {
    for (const auto topology :
         {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
        for (const int ranks : {1, 2, 4}) {
            for (const int per_host : {1, 2}) {
                train::TrainOptions options = small_options();
                options.topology = topology;
                const auto trained = train_simulated(
                    data(), options, {.ranks = ranks, .ranks_per_host = per_host, .seed = 3});
                for (const Trained& rank : trained)
                    expect_same(rank);
                expect_closed(trained.front().result);
                if (ranks > per_host) {
                    EXPECT_GT(trained.front().result.rows.demand, 0U);
                }
            }
        }
    }
}

TEST_F(SameBits, SlowJitteryNetworksBySeed) {
    using namespace std::chrono_literals;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        train::TrainOptions options = small_options();
        options.topology =
            seed % 2 == 0 ? train::TopologyChoice::replicated : train::TopologyChoice::partitioned;
        options.window = 1 + seed;
        options.in_flight = 1 + seed % 3;
        const auto trained = train_simulated(data(), options,
                                             {.ranks = 4,
                                              .seed = seed,
                                              .link = {.delay = 100us, .bytes_per_second = 125e6},
                                              .jitter = 1ms});
        for (const Trained& rank : trained)
            expect_same(rank);
        expect_closed(trained.front().result);
    }
}

/// Every model and norm, on one rank and on several, in either topology.
TEST_F(SameBits, EveryModelAndNorm) {
    for (const char* model : {"sage", "gcn", "gat", "gatv2"}) {
        for (const char* norm : {"none", "batch", "layer"}) {
            train::TrainOptions options = small_options();
            options.model = model;
            options.norm = norm;
            options.residual = norm != std::string("none");
            options.class_weights = norm == std::string("layer") ? "balanced" : "none";
            const Trained expected = train_alone(data(), options);
            EXPECT_LT(expected.result.last_loss, expected.result.first_loss);
            for (const auto topology :
                 {train::TopologyChoice::replicated, train::TopologyChoice::partitioned}) {
                options.topology = topology;
                for (const int ranks : {2, 4}) {
                    for (const Trained& rank :
                         train_simulated(data(), options, {.ranks = ranks, .seed = 3})) {
                        EXPECT_EQ(rank.result.digest, expected.result.digest)
                            << model << " " << norm << " " << ranks;
                        EXPECT_EQ(rank.weights, expected.weights);
                        EXPECT_EQ(rank.result.epochs.back().scores.valid.correct,
                                  expected.result.epochs.back().scores.valid.correct);
                    }
                }
            }
        }
    }
}

TEST(LongSameBits, HundredSchedules) {
    using namespace std::chrono_literals;
    const TempDir folder;
    const partition::PartitionedDataset data = make_parts(folder.path(), {});
    train::TrainOptions options = small_options();
    const Trained alone = train_alone(data, options);
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        options.topology =
            seed % 2 == 0 ? train::TopologyChoice::replicated : train::TopologyChoice::partitioned;
        options.window = 1 + seed % 17;
        options.in_flight = 1 + seed % 4;
        options.sample_tasks = 1 + static_cast<int>(seed % 3);
        const auto trained = train_simulated(data, options,
                                             {.ranks = seed % 3 == 0 ? 2 : 4,
                                              .ranks_per_host = 1 + static_cast<int>(seed / 50),
                                              .seed = seed,
                                              .link = {.delay = 50us, .bytes_per_second = 125e6},
                                              .jitter = 500us});
        for (const Trained& rank : trained)
            ASSERT_EQ(rank.result.digest, alone.result.digest) << "seed " << seed;
        expect_closed(trained.front().result);
    }
}

}  // namespace
}  // namespace rudder::test
