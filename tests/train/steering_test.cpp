// Agents in training: never a bit changed, whatever they say, whenever and to whomever.
#include <atomic>
#include <mutex>

#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "steer/helm/guard.hpp"
#include "steer/llm/local/random_model.hpp"
#include "steer/log/decision_log.hpp"
#include "steer/scripted_agent.hpp"
#include "train/fixture.hpp"
#include "train/summary.hpp"

#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;

/// Keeps all that rank 0 is told.
class Witness final : public train::TrainObserver {
public:
    void records(std::span<const train::StepRecord> records) override {
        steps.insert(steps.end(), records.begin(), records.end());
    }
    void decisions(std::span<const steer::DecisionRecord> decisions) override {
        made.insert(made.end(), decisions.begin(), decisions.end());
    }
    std::vector<train::StepRecord> steps;
    std::vector<steer::DecisionRecord> made;
};

/// A run: its result, and what rank 0 saw.
struct Seen {
    train::TrainResult result;
    Witness witness;
};

class Steered : public testing::Test {
protected:
    static const partition::PartitionedDataset& data() {
        static const TempDir folder;
        static const partition::PartitionedDataset parts = make_parts(folder.path(), {});
        return parts;
    }
    static train::TrainOptions with(const std::string& policy, const std::string& agent) {
        train::TrainOptions options = small_options();
        options.policy = policy;
        options.steer.agent = agent;
        options.steer.deadline = 1;
        return options;
    }
    /// The digest of so many epochs.
    static std::uint64_t plain(std::uint32_t epochs = small_options().epochs) {
        static std::map<std::uint32_t, std::uint64_t> digests;
        auto found = digests.find(epochs);
        if (found == digests.end()) {
            train::TrainOptions options = with("none", "never");
            options.epochs = epochs;
            found = digests.emplace(epochs, train_alone(data(), options).result.digest).first;
        }
        return found->second;
    }
    static Seen run(const train::TrainOptions& options, const comm::SimulationOptions& cluster) {
        Seen seen;
        const std::uint64_t digest = plain(options.epochs);
        comm::SimulatedCluster machines(cluster);
        machines.run([&](const comm::Communicator& comm) {
            train::Trainer trainer(comm, data(), options);
            Witness other;
            const bool first = comm.rank() == 0;
            train::TrainResult result = trainer.run(first ? seen.witness : other);
            EXPECT_EQ(result.digest, digest) << options.steer.agent;
            if (first) seen.result = std::move(result);
        });
        expect_closed(seen.result);
        return seen;
    }
    static std::string refusal(const train::TrainOptions& options,
                               const comm::SimulationOptions& cluster) {
        try {
            check_options(options);
            static_cast<void>(run(options, cluster));
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), 2) << error.what();
            return error.what();
        }
        return "";
    }
};

/// Where agents may stand, and the clusters that make it possible.
struct Place {
    steer::AgentScope scope;
    buffer::BufferScope buffers;
    int per_host;
};
const std::vector<Place> places{{steer::AgentScope::host, buffer::BufferScope::host, 1},
                                {steer::AgentScope::host, buffer::BufferScope::host, 2},
                                {steer::AgentScope::host, buffer::BufferScope::rank, 2},
                                {steer::AgentScope::rank, buffer::BufferScope::rank, 2},
                                {steer::AgentScope::rank, buffer::BufferScope::host, 1},
                                {steer::AgentScope::job, buffer::BufferScope::host, 1},
                                {steer::AgentScope::job, buffer::BufferScope::host, 2},
                                {steer::AgentScope::job, buffer::BufferScope::rank, 2}};

void put_at(train::TrainOptions& options, comm::SimulationOptions& cluster, const Place& place) {
    options.steer.scope = place.scope;
    options.buffer_scope = place.buffers;
    cluster.ranks = 4;
    cluster.ranks_per_host = place.per_host;
}

TEST_F(Steered, DigestsAreEqualUnderAllAgentsScopesAndModes) {
    std::uint64_t seed = 0;
    for (const char* agent : {"always", "every:3", "threshold:0.9", "random:0.5"}) {
        for (const Place& place : places) {
            train::TrainOptions options = with("scored", agent);
            options.steer.mode = seed % 2 == 0 ? steer::AgentMode::async : steer::AgentMode::sync;
            options.in_flight = 1 + seed % 3;
            comm::SimulationOptions cluster{.seed = ++seed};
            if (seed % 3 == 0) cluster.jitter = 2ms;
            put_at(options, cluster, place);
            const Seen seen = run(options, cluster);
            EXPECT_GT(seen.result.agent.totals.decisions, 0U) << agent;
            EXPECT_EQ(seen.result.agent.totals.decisions, seen.witness.made.size());
            EXPECT_EQ(seen.result.agent.totals.invalid, 0U);
        }
    }
}

TEST_F(Steered, LearnersChangeNoDigest) {
    std::uint64_t seed = 0;
    for (const char* agent :
         {"bandit", "bandit,knobs:decide", "mixture:every:2+random:0.5+every:5"}) {
        for (const Place& place : places) {
            train::TrainOptions options = with("scored", agent);
            options.epochs = 6;
            options.steer.mode = seed % 2 == 0 ? steer::AgentMode::async : steer::AgentMode::sync;
            options.steer.link = seed % 3 == 0;
            comm::SimulationOptions cluster{.seed = ++seed};
            put_at(options, cluster, place);
            const Seen seen = run(options, cluster);
            EXPECT_GT(seen.result.agent.totals.decisions, 0U) << agent;
            EXPECT_EQ(seen.result.agent.totals.invalid, 0U) << agent;
        }
    }
}

TEST_F(Steered, AModelInThisProcessChangesNoDigestAndSaysNothingInvalid) {
    const TempDir folder;
    std::uint64_t seed = 0;
    for (const Place& place : places) {
        steer::SteeringModel model = random_model({.layers = 1,
                                                   .width = 8,
                                                   .heads = 1,
                                                   .kv_heads = 1,
                                                   .hidden = 8,
                                                   .context = 12288,
                                                   .rope_base = 10000,
                                                   .norm_eps = 1e-5},
                                                  fixed_pieces(), ++seed);
        write_model(folder / "model", model);
        train::TrainOptions options =
            with("scored", "llm,interval:4,file:" + (folder / "model").string());
        options.steer.mode = seed % 2 == 0 ? steer::AgentMode::async : steer::AgentMode::sync;
        comm::SimulationOptions cluster{.seed = seed};
        put_at(options, cluster, place);
        const Seen seen = run(options, cluster);
        EXPECT_GT(seen.result.agent.totals.decisions, 0U);
        EXPECT_EQ(seen.result.agent.totals.invalid, 0U);
    }
}

TEST_F(Steered, DecisionsComeInOrderWithTheRankOfTheirAgent) {
    train::TrainOptions options = with("scored", "every:2");
    options.steer.mode = steer::AgentMode::sync;
    const Seen seen = run(options, {.ranks = 4, .ranks_per_host = 2, .seed = 5});
    std::set<std::uint32_t> ranks;
    std::uint64_t last = 0;
    for (const steer::DecisionRecord& record : seen.witness.made) {
        ranks.insert(record.rank);
        EXPECT_GE(record.step, last);
        last = record.step;
        const bool second = record.step % 2 == 1;
        EXPECT_EQ(record.action.kind,
                  second ? steer::ActionKind::replace : steer::ActionKind::keep);
        EXPECT_EQ(record.effective_step, record.step);
    }
    EXPECT_EQ(ranks, (std::set<std::uint32_t>{0, 2}));
    // The rule lives in the agent or in the policy: the rows are the same.
    const Seen own = run(with("scored,every:2", "never"), {.ranks = 4, .ranks_per_host = 2});
    EXPECT_EQ(seen.result.rows.demand, own.result.rows.demand);
    EXPECT_EQ(seen.result.rows.replacement, own.result.rows.replacement);
}

/// Sets knobs at some steps.
train::TrainOptions changing(train::TrainOptions options) {
    options.steer.agent = scripted("scripted-knobs", [](const steer::Observation& seen) {
        const std::vector<std::string> policies{"window:4", "lru", "scored,every:2", "lfu"};
        if (seen.step % 5 != 0) return answer(steer::Action::keep());
        const double half = static_cast<double>(seen.limits.slots / 2);
        return answer(steer::Action::set({{steer::KnobId::policy, policies[seen.step / 5 % 4]},
                                          {steer::KnobId::capacity, half},
                                          {steer::KnobId::bulk, 7.0},
                                          {steer::KnobId::fetch_threads, 1.0}},
                                         steer::Reason::trying));
    });
    return options;
}

/// The policy of every rank at every step.
std::map<std::uint64_t, std::map<std::uint32_t, std::string>> policies_of(const Witness& witness) {
    std::map<std::uint64_t, std::map<std::uint32_t, std::string>> policies;
    for (const train::StepRecord& record : witness.steps)
        policies[record.step][record.rank] = record.knobs.policy.text();
    return policies;
}

TEST_F(Steered, OneAgentForSeveralBuffersChangesThemAtTheSameStep) {
    for (const Place& place : places) {
        if (place.scope == steer::AgentScope::rank) continue;
        for (const std::uint64_t in_flight : {1U, 3U}) {
            // No guard overrules a rule that the user asked for.
            train::TrainOptions options = changing(with("window:16", "every:1"));
            options.in_flight = in_flight;
            options.epochs = 6;
            options.steer.mode = steer::AgentMode::sync;
            comm::SimulationOptions cluster{.seed = in_flight};
            put_at(options, cluster, place);
            const Seen seen = run(options, cluster);
            EXPECT_GE(seen.result.agent.totals.applied, 2U);
            std::set<std::string> all;
            for (const auto& [step, ranks] : policies_of(seen.witness)) {
                ASSERT_EQ(ranks.size(), 4U);
                const int group = place.scope == steer::AgentScope::job ? 4 : place.per_host;
                for (const auto& [rank, policy] : ranks) {
                    EXPECT_EQ(policy, ranks.at(rank - rank % static_cast<unsigned>(group))) << step;
                    all.insert(policy);
                }
            }
            EXPECT_GE(all.size(), 3U);
            // What the log calls the effective step is where the knobs change.
            for (const steer::DecisionRecord& record : seen.witness.made) {
                if (record.action.kind != steer::ActionKind::set ||
                    record.status != steer::DecisionStatus::applied)
                    continue;
                const auto policies = policies_of(seen.witness);
                const auto at = policies.find(record.effective_step);
                if (at == policies.end()) continue;
                EXPECT_EQ(
                    at->second.at(record.rank),
                    buffer::PolicySpec::parse(std::get<std::string>(record.action.knobs[0].value))
                        .text());
            }
        }
    }
}

TEST_F(Steered, TheJobsAgentSeesAllHosts) {
    train::TrainOptions options = with("lru", "every:1");
    options.steer.scope = steer::AgentScope::job;
    options.steer.mode = steer::AgentMode::sync;
    options.epochs += 2;  // so that those on their way are few
    Rows last;
    options.steer.agent = scripted("scripted-knobs", [&](const steer::Observation& seen) {
        last = seen.total;
        return answer(steer::Action::keep());
    });
    const Seen seen = run(options, {.ranks = 4, .seed = 2});
    const auto all = static_cast<double>(seen.result.rows.hit + seen.result.rows.demand);
    // The last steps are on their way when it is asked last.
    EXPECT_GT(static_cast<double>(last.needed), 0.6 * all);
    EXPECT_LE(static_cast<double>(last.needed), all);
}

// ---- agents at fault ---------------------------------------------------------------------------

/// What must be counted of a fault.
void expect_counted(const std::string& fault, const steer::HelmTotals& totals) {
    const bool talks = fault == "wants all at once";
    EXPECT_EQ(totals.applied == 0, !talks) << totals.applied;
    EXPECT_EQ(totals.kept, 0U);
    if (fault == "throws") {
        EXPECT_GE(totals.invalid, steer::Breaker::most_failures);
    } else if (fault == "talks nonsense") {
        EXPECT_GE(totals.refused, steer::Breaker::most_failures);
    } else if (!talks) {
        EXPECT_EQ(totals.invalid + totals.refused, 0U) << "it says nothing that could be";
        EXPECT_GE(totals.late, 1U);
    }
    if (fault == "throws" || fault == "talks nonsense") {
        EXPECT_GE(totals.breaker_openings, 1U);
    }
}

TEST_F(Steered, AgentsAtFaultDoNoHarm) {
    for (const Fault& fault : faults()) {
        SCOPED_TRACE(fault.name);
        for (const steer::AgentScope scope : {steer::AgentScope::host, steer::AgentScope::job}) {
            train::TrainOptions options = with("scored", "every:1");
            options.steer.scope = scope;
            options.steer.agent = scripted("scripted", fault.script);
            options.steer.deadline = 1e-4;  // a step takes longer, on this link
            const Seen seen = run(options, {.ranks = 4,
                                            .ranks_per_host = 2,
                                            .seed = 3,
                                            .link = {.delay = 200us, .bytes_per_second = 125e6}});
            expect_counted(fault.name, seen.result.agent.totals);
        }
    }
}

// ---- refused -----------------------------------------------------------------------------------

TEST_F(Steered, WhatCannotBeMeantIsRefused) {
    EXPECT_NE(refusal(with("scored", "evry:3"), {.ranks = 2}).find("every"), std::string::npos);
    EXPECT_NE(refusal(with("scored", "every:0"), {.ranks = 2}), "");
    EXPECT_NE(refusal(with("scored,every:4", "every:3"), {.ranks = 2}).find("decides when"),
              std::string::npos);
    train::TrainOptions apart = with("scored", "every:3");
    apart.steer.scope = steer::AgentScope::rank;
    EXPECT_NE(refusal(apart, {.ranks = 4, .ranks_per_host = 2}).find("--buffer-scope rank"),
              std::string::npos);
    train::TrainOptions late = with("scored", "every:3");
    late.steer.deadline = 0;
    EXPECT_NE(refusal(late, {.ranks = 2}).find("agent-deadline"), std::string::npos);
}

TEST_F(Steered, ARuleThatNobodyAsksChangesNothingAndSaysSo) {
    const train::TrainOptions options = with("window:4", "every:3");
    EXPECT_NE(train::agent_advice(train::agent_of(options), train::policy_of(options))
                  .find("--policy scored"),
              std::string::npos);
    EXPECT_EQ(run(options, {.ranks = 4}).result.agent.totals.decisions, 0U);
    EXPECT_EQ(train::agent_advice(steer::AgentSpec::parse("every:3"),
                                  buffer::PolicySpec::parse("scored")),
              "");
    EXPECT_NE(
        train::agent_advice(steer::AgentSpec::parse("every:3"), buffer::PolicySpec::parse("none")),
        "");
}

TEST_F(Steered, NoBufferAndBuffersOfNothing) {
    EXPECT_EQ(run(with("none", "every:3"), {.ranks = 4}).result.agent.totals.decisions, 0U);
    for (const Place& place : places) {
        train::TrainOptions options = with("scored", "every:3");
        options.buffer_rows = 0;
        comm::SimulationOptions cluster;
        put_at(options, cluster, place);
        static_cast<void>(run(options, cluster));
    }
}

TEST_F(Steered, TheSummarySaysWhatItCameTo) {
    train::TrainOptions options = with("scored", "every:3");
    const Seen seen = run(options, {.ranks = 4, .seed = 1});
    const Json agent = train::summary_json(seen.result, options, {}).at("agent");
    EXPECT_EQ(agent.at("name"), "every:3");
    EXPECT_GT(agent.at("decisions"), 0);
    EXPECT_TRUE(agent.at("regret").is_number());
    for (const char* key : {"applied", "late", "invalid", "correct", "no_effect", "better",
                            "refused", "undone", "judged", "breaker_openings", "mailbox_seconds",
                            "waited_seconds", "cpu_seconds", "cpu_share"}) {
        EXPECT_TRUE(agent.contains(key)) << key;
    }
}

}  // namespace
}  // namespace rudder::test
