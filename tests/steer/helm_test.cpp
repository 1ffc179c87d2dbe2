// The helm over random traces: what agents say is done at its step, judged, and taken back if it
// does harm.
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "buffer/trace_window.hpp"
#include "rudder/core/error.hpp"
#include "steer/helm/guard.hpp"
#include "steer/helm/helm_options.hpp"
#include "steer/helm/records.hpp"
#include "steer/steered_replay.hpp"

#include "../buffer/random_trace.hpp"
#include "scripted_agent.hpp"

namespace rudder {

namespace {

using test::answer;
using test::random_trace;
using test::Scripted;

buffer::Trace trace_of(std::uint64_t seed, const test::TraceShape& shape = {
                                               .vertices = 400, .steps = 300, .largest_step = 60}) {
    buffer::Trace trace;
    trace.push_back(random_trace(seed, shape).host());
    return trace;
}

/// Obeyed, whatever it costs, unless it is to be `scripted-free`.
steer::SteeredResult steer(const buffer::Trace& trace, std::string_view policy,
                           const Scripted::Script& script, const char* agent = "scripted") {
    steer::SteeredOptions options;
    options.sample = 1;
    return steer::steered_replay(trace,
                                 {.policy = buffer::PolicySpec::parse(policy),
                                  .size = {.fraction = 0.25, .rows = 0},
                                  .agent = steer::AgentSpec::parse(test::scripted(agent, script))},
                                 options);
}

Rows plain(const buffer::Trace& trace, std::string_view policy) {
    const std::vector<buffer::ReplayCase> cases{
        {buffer::PolicySpec::parse(policy), {.fraction = 0.25, .rows = 0}}};
    return buffer::replay(trace, cases).front().rows;
}

TEST(Helm, KeepingChangesNothing) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const buffer::Trace trace = trace_of(seed);
        for (const char* policy : {"window:8", "lru", "scored", "scored-faithful"}) {
            const auto result = steer(trace, policy, [](const steer::Observation&) {
                return answer(steer::Action::keep());
            });
            EXPECT_EQ(result.rows, plain(trace, policy)) << policy;
            EXPECT_EQ(result.agent.applied, 0U);
            EXPECT_EQ(result.agent.kept, trace.front()->steps());
        }
    }
}

TEST(Helm, DecisionsThatDoHarmOpenTheBreaker) {
    const buffer::Trace trace = trace_of(1, {.vertices = 400, .steps = 600, .largest_step = 60});
    steer::SteeredOptions options;
    options.sample = 1;
    const auto always = [](const steer::Observation&) {
        return answer(steer::Action::replace(steer::Reason::predicted));
    };
    const auto run = [&](const char* agent) {
        return steer::steered_replay(
            trace,
            {.policy = buffer::PolicySpec::parse("scored-faithful"),
             .size = {.fraction = 0.25, .rows = 0},
             .agent = steer::AgentSpec::parse(test::scripted(agent, always))},
            options);
    };
    const auto guarded = run("scripted-free");
    const auto obeyed = run("scripted");
    EXPECT_GT(guarded.agent.breaker_openings, 0U);
    EXPECT_EQ(obeyed.agent.breaker_openings, 0U);
    EXPECT_LT(guarded.agent.decisions, obeyed.agent.decisions) << "it is not asked meanwhile";
}

TEST(Helm, DecisionsAreThoseOfTheRule) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
        const buffer::Trace trace = trace_of(seed);
        for (const std::uint64_t every : {1U, 3U, 8U}) {
            const auto result = steer(trace, "scored", [every](const steer::Observation& o) {
                return answer((o.step + 1) % every == 0
                                  ? steer::Action::replace(steer::Reason::rule)
                                  : steer::Action::keep());
            });
            EXPECT_EQ(result.rows, plain(trace, "scored,every:" + std::to_string(every)));
        }
    }
}

TEST(Helm, AgentsAreToldOfTies) {
    std::map<std::uint64_t, steer::PastDecision> told;
    const auto result = steer(trace_of(3), "scored-faithful", [&](const steer::Observation& o) {
        for (const steer::PastDecision& past : o.history) {
            if (past.correct) told[past.step] = past;
        }
        return answer(o.step % 2 == 0 ? steer::Action::replace(steer::Reason::chance)
                                      : steer::Action::keep());
    });
    std::size_t ties = 0;
    std::size_t judged = 0;
    for (const steer::DecisionRecord& record : result.decisions) {
        const auto past = told.find(record.step);
        if (!record.outcome || past == told.end()) continue;
        ++judged;
        const double gained = record.outcome->alternative - record.outcome->rows;
        EXPECT_EQ(*past->second.correct, gained >= 0) << record.step;
        EXPECT_EQ(past->second.tied, gained == 0) << record.step;
        ties += past->second.tied ? 1U : 0U;
    }
    EXPECT_GT(judged, 100U);
    EXPECT_GT(ties, 0U);
    EXPECT_LT(ties, judged);
}

TEST(Helm, TiesAreCountedAsWithoutEffect) {
    const auto result = steer(trace_of(3), "scored-faithful", [&](const steer::Observation& o) {
        return answer(o.step % 2 == 0 ? steer::Action::replace(steer::Reason::chance)
                                      : steer::Action::keep());
    });
    std::uint64_t better = 0;
    std::uint64_t same = 0;
    std::uint64_t worse = 0;
    steer::HelmTotals counted;
    for (const steer::DecisionRecord& record : result.decisions) {
        counted += steer::counts_of(record);
        if (!record.outcome) continue;
        const double gained = record.outcome->alternative - record.outcome->rows;
        ++(gained > 0 ? better : gained < 0 ? worse : same);
    }
    ASSERT_GT(same, 0U);
    ASSERT_GT(better, 0U);
    for (const steer::HelmTotals& totals : {result.agent, counted}) {
        EXPECT_EQ(totals.no_effect, same);
        EXPECT_EQ(totals.correct, better + same) << "the key keeps its meaning";
        EXPECT_EQ(totals.better(), better);
        EXPECT_EQ(totals.effective(), better + worse + totals.late);
    }
}

TEST(Helm, TheTwinDoesWhatTheRealBufferDoes) {
    const buffer::Trace trace = trace_of(7);
    std::uint64_t asked = 0;
    const auto result = steer(trace, "scored", [&](const steer::Observation& o) {
        // With all ids followed, the twin's rows are the real ones.
        EXPECT_EQ(o.twin.rows.fetched(), o.rows.fetched()) << o.step;
        if (++asked == 60) {
            return answer(steer::Action::set({{steer::KnobId::policy, std::string("window:4")}},
                                             steer::Reason::trying));
        }
        if (asked == 150)
            return answer(
                steer::Action::set({{steer::KnobId::capacity, 20.0}}, steer::Reason::trying));
        return answer(asked % 7 == 0 && o.takes_decisions
                          ? steer::Action::replace(steer::Reason::chance)
                          : steer::Action::keep());
    });
    EXPECT_EQ(asked, trace.front()->steps());
    EXPECT_GT(result.agent.judged, 0U);
}

TEST(Helm, CandidatesBoundWhatAReplacementBringsIn) {
    for (const char* policy : {"scored", "scored-faithful"}) {
        const buffer::Trace trace = trace_of(8);
        std::uint64_t candidates = 0;
        std::uint64_t most = 0;
        steer(trace, policy, [&](const steer::Observation& o) {
            EXPECT_LE(o.rows.replacement, candidates) << policy << o.step;
            candidates = o.candidates;
            most = std::max(most, candidates);
            return answer(o.step % 7 == 0 ? steer::Action::replace(steer::Reason::chance)
                                          : steer::Action::keep());
        });
        EXPECT_GT(most, 0U) << policy;
    }
}

TEST(Helm, ThreeFailuresPutTheBuiltInRuleInPlaceAndItTriesAgain) {
    const buffer::Trace trace = trace_of(3);
    std::vector<std::uint64_t> asked;
    const auto result = steer(trace, "scored", [&](const steer::Observation& o) -> steer::Answer {
        asked.push_back(o.step);
        throw input_error("no idea", "the agent", "");
    });
    ASSERT_GE(asked.size(), 4U);
    EXPECT_EQ(asked[0], 0U);
    EXPECT_EQ(asked[1], 1U);
    EXPECT_EQ(asked[2], 2U);
    EXPECT_EQ(asked[3], 2U + steer::Breaker::first_pause);
    EXPECT_EQ(result.agent.invalid, asked.size());
    EXPECT_GT(result.agent.breaker_openings, 1U);
    EXPECT_EQ(result.rows, plain(trace, "scored,every:16"));
}

/// A helm whose orders take effect two steps after they were sent, as if other ranks followed.
class SendingHelm final : public steer::Helm {
public:
    using Helm::Helm;
    void after(std::uint64_t step, const Rows& accounts) override {
        Helm::after(step, accounts);
        while (send(step + 2))
            ++sent;
    }
    std::uint64_t sent = 0;
};

TEST(Helm, WhatTheGuardSendsIsNoAnswerOfTheAgent) {
    const buffer::Trace trace = trace_of(3, {.vertices = 400, .steps = 1200, .largest_step = 40});
    const buffer::HostTrace& host = *trace.front();
    const auto policy = buffer::PolicySpec::parse("scored");
    const std::uint64_t slots = host.halo() / 4;
    std::vector<std::uint64_t> asked;
    const auto agent = steer::AgentSpec::parse(
        test::scripted("scripted", [&](const steer::Observation& o) -> steer::Answer {
            asked.push_back(o.step);
            throw input_error("no idea", "the agent", "");
        }));
    steer::HelmOptions options = steer::replay_helm_options(agent, host, policy, slots);
    options.deferred = true;
    SendingHelm helm(options);
    static_cast<void>(buffer::replay_host(host, policy, slots, &helm));
    EXPECT_GT(helm.sent, 0U);
    EXPECT_EQ(helm.totals().applied, 0U);
    EXPECT_EQ(helm.totals().invalid, asked.size());
    // It is asked once after each pause, and each pause is twice the one before.
    ASSERT_GE(asked.size(), 6U);
    for (std::size_t i = 3; i < asked.size(); ++i)
        EXPECT_GE(asked[i] - asked[i - 1], steer::Breaker::first_pause << (i - 3)) << i;
}

TEST(Helm, NonsenseIsRefused) {
    const buffer::Trace trace = trace_of(4);
    std::uint64_t asked = 0;
    const auto result = steer(trace, "lru", [&](const steer::Observation&) {
        switch (++asked) {
            case 1:
                return answer(
                    steer::Action::set({{steer::KnobId::capacity, 1e12}}, steer::Reason::trying));
            case 2:
                return answer(steer::Action::keep());
            case 3:
                return answer(steer::Action::replace(steer::Reason::rule));
            case 4:
                return answer(steer::Action::keep());
            case 5:
                return answer(steer::Action::set({{steer::KnobId::policy, std::string("optimal")}},
                                                 steer::Reason::trying));
            default:
                return answer(steer::Action::keep());
        }
    });
    EXPECT_EQ(result.agent.refused, 3U);
    EXPECT_EQ(result.rows, plain(trace, "lru"));
    EXPECT_EQ(result.decisions.at(0).status, steer::DecisionStatus::refused);
    EXPECT_NE(result.decisions.at(0).problem, "");
}

TEST(Helm, AnAgentHasSixteenShadowsAtMostAndMayOpenOneOfThemAnew) {
    const buffer::Trace trace = trace_of(4);
    std::uint64_t asked = 0;
    const auto result = steer(trace, "lru", [&](const steer::Observation& o) {
        steer::Answer given = answer(steer::Action::keep());
        const auto open = [&](int number, std::uint64_t capacity) {
            steer::Setting setting = o.setting;
            setting.capacity = capacity;
            given.shadows.push_back(
                {steer::ShadowOrder::Kind::open, "s" + std::to_string(number), setting});
        };
        if (++asked == 1) {
            for (int i = 0; i < 17; ++i)
                open(i, 5);
        } else if (asked == 2) {
            open(3, 2);
        }
        if (asked == 1) return given;
        EXPECT_EQ(o.shadows.size(), 16U) << o.step;
        for (const steer::ShadowReading& shadow : o.shadows) {
            EXPECT_NE(shadow.name, "s16") << o.step;
            const bool anew = asked > 2 && shadow.name == "s3";
            EXPECT_EQ(shadow.setting.capacity, anew ? 2U : 5U) << o.step << shadow.name;
            EXPECT_EQ(shadow.age, anew ? asked - 2 : asked - 1) << o.step << shadow.name;
        }
        return given;
    });
    EXPECT_EQ(asked, trace.front()->steps());
    EXPECT_EQ(result.agent.refused, 0U) << "the run's own buffer is not concerned";
    EXPECT_NE(result.decisions.at(0).problem.find("more than 16 shadows"), std::string::npos);
    EXPECT_EQ(result.decisions.at(1).problem, "");
}

/// A helm that is told how long every step took, and how many rows were whose.
class TimedHelm final : public steer::Helm {
public:
    using Helm::Helm;
    static Seconds seconds(std::uint64_t step) {
        const auto number = static_cast<double>(step);
        return {.steps = 1, .step = number + 1, .stall = number / 2, .compute = 0.25};
    }
    void after(std::uint64_t step, const Rows& accounts) override {
        Helm::after(step, accounts);
        timed(step, seconds(step), std::vector<std::uint64_t>{step, 0, 2});
    }
};

/// Looks every three steps.
class ThirdSteps final : public steer::Agent {
public:
    explicit ThirdSteps(Scripted::Script script) : script_(std::move(script)) {}
    [[nodiscard]] std::uint64_t interval() const noexcept override { return 3; }
    steer::Answer decide(const steer::Observation& seen) override { return script_(seen); }

private:
    Scripted::Script script_;
};

TEST(Helm, ObservationsTellTheTimeSinceTheLastAndWhoseRowsCame) {
    const buffer::Trace trace = trace_of(2);
    const buffer::HostTrace& host = *trace.front();
    const auto policy = buffer::PolicySpec::parse("lru");
    steer::HelmOptions options =
        steer::replay_helm_options(steer::AgentSpec::parse("every:1"), host, policy, 50);
    std::uint64_t asked = 0;
    options.make = [&](const steer::AgentFacts&) {
        return std::make_unique<ThirdSteps>([&](const steer::Observation& o) {
            EXPECT_EQ(o.step, 3 * asked++);
            Seconds passed;
            std::vector<std::uint64_t> rows;
            if (o.step > 0) rows = {3 * o.step - 6, 0, 6};
            for (std::uint64_t step = o.step - rows.size(); step < o.step; ++step)
                passed += TimedHelm::seconds(step);
            EXPECT_EQ(o.seconds, passed) << o.step;
            EXPECT_EQ(o.rows_by_owner, rows) << o.step;
            return answer(steer::Action::keep());
        });
    };
    TimedHelm helm(options);
    static_cast<void>(buffer::replay_host(host, policy, 50, &helm));
    EXPECT_EQ(asked, 100U);
}

/// A counterfactual is what two runs come to that differ in that one decision.
TEST(Helm, VerdictsAreThoseOfTwoRuns) {
    const buffer::Trace trace = trace_of(11);
    const auto result = steer(trace, "scored", [](const steer::Observation& o) {
        return answer(o.step % 5 == 0 ? steer::Action::replace(steer::Reason::rule)
                                      : steer::Action::keep());
    });
    const buffer::HostTrace& host = *trace.front();
    const auto slots = static_cast<buffer::SlotId>(buffer::BufferSize{0.25, 0}.of(host.halo()));
    buffer::TraceWindow steps(host);
    std::size_t compared = 0;
    for (const steer::DecisionRecord& record : result.decisions) {
        if (!record.outcome || record.step % 17 != 0) continue;
        const auto cost = [&](bool other) {
            buffer::IdBuffer buffer(buffer::PolicySpec::parse("scored"), host.facts(), slots,
                                    slots);
            for (std::uint64_t s = 0; s < host.steps(); ++s)
                buffer.publish(s, steps.step(s));
            for (std::uint64_t s = 0; s < record.step; ++s)
                buffer.advance({s % 5 == 0, 1});
            const std::uint64_t before = buffer.accounts().fetched();
            const bool taken = record.step % 5 == 0;
            buffer.advance({taken != other, 1});
            buffer.set_policy(buffer::PolicySpec::parse("scored,every:16"));
            for (std::uint64_t s = 1; s < 16; ++s)
                buffer.advance();
            return static_cast<double>(buffer.accounts().fetched() - before) / 16;
        };
        EXPECT_NEAR(record.outcome->rows, cost(false), 1e-9) << record.step;
        EXPECT_NEAR(record.outcome->alternative, cost(true), 1e-9) << record.step;
        ++compared;
    }
    EXPECT_GT(compared, 5U);
}

/// Answers every question with something else that does harm.
steer::Answer hostile(const steer::Observation& seen) {
    using steer::Action;
    using steer::KnobId;
    switch (seen.sequence % 5) {
        case 0:
            return answer(Action::set({{KnobId::policy, "none"}}, steer::Reason::trying));
        case 1:
            return answer(Action::set({{KnobId::capacity, 0.0}}, steer::Reason::trying));
        case 2:
            return answer(Action::set({{KnobId::policy, "static-random"},
                                       {KnobId::capacity, static_cast<double>(seen.limits.slots)}},
                                      steer::Reason::trying));
        case 3:
            return answer(Action::set({{KnobId::policy, "window:1"}}, steer::Reason::trying));
        default:
            return answer(Action::keep());
    }
}

TEST(Helm, AHostileAgentCostsNoMoreThanTheAccountAllows) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        const buffer::Trace trace = trace_of(seed);
        for (const char* policy : {"window:8", "lru", "scored,every:4"}) {
            SCOPED_TRACE(policy);
            const auto result = steer(trace, policy, hostile, "scripted-free");
            const Rows built_in = plain(trace, policy);
            const auto bound = 1.01 * static_cast<double>(built_in.fetched()) +
                               static_cast<double>(result.capacity);
            EXPECT_LE(static_cast<double>(result.rows.fetched()), bound);
            EXPECT_EQ(result.agent.twin_rows, static_cast<double>(result.rows.fetched()));
            EXPECT_EQ(result.agent.built_in_rows, static_cast<double>(built_in.fetched()));
            EXPECT_GT(result.agent.refused + result.agent.undone, 0U);
            std::map<steer::DecisionStatus, std::uint64_t> by_status;
            for (const steer::DecisionRecord& record : result.decisions)
                ++by_status[record.status];
            EXPECT_EQ(by_status[steer::DecisionStatus::refused], result.agent.refused);
            EXPECT_EQ(result.agent.decisions, result.agent.applied + result.agent.kept +
                                                  result.agent.late + result.agent.invalid +
                                                  result.agent.refused);
        }
    }
}

/// Nobody takes back what a fixed rule does, so that no record waits for that.
TEST(Helm, AHarmfulChangeOfAFixedRuleDoesNotHoldTheLogBack) {
    const buffer::Trace trace = trace_of(6);
    const buffer::HostTrace& host = *trace.front();
    const auto policy = buffer::PolicySpec::parse("lru");
    const auto slots = static_cast<std::uint64_t>(buffer::BufferSize{0.25, 0}.of(host.halo()));
    steer::HelmOptions options =
        steer::replay_helm_options(steer::AgentSpec::parse("every:1"), host, policy, slots);
    options.sample = 1;
    options.make = [](const steer::AgentFacts&) {
        return std::make_unique<Scripted>([](const steer::Observation& o) {
            return answer(o.step == 0 ? steer::Action::set({{steer::KnobId::capacity, 1.0}},
                                                           steer::Reason::trying)
                                      : steer::Action::keep());
        });
    };
    steer::Helm helm(options);
    static_cast<void>(buffer::replay_host(host, policy, slots, &helm));
    const std::size_t open = helm.open_records().size();
    const std::size_t told = helm.take_records(false).size();
    EXPECT_EQ(helm.totals().undone, 0U);
    EXPECT_GE(told + 20, host.steps()) << "only those under judgement are held back";
    EXPECT_EQ(helm.take_records(true).size() + told, open);
    EXPECT_EQ(helm.totals().decisions, open) << "nobody had asked for any before";
}

TEST(Helm, AgentsAtFaultDoNotHoldUpStepsOnThreads) {
    const buffer::Trace trace = trace_of(5);
    const buffer::HostTrace& host = *trace.front();
    const auto policy = buffer::PolicySpec::parse("scored");
    for (const test::Fault& fault : test::faults()) {
        SCOPED_TRACE(fault.name);
        steer::HelmOptions options =
            steer::replay_helm_options(steer::AgentSpec::parse("every:1"), host, policy, 50);
        options.make = [&](const steer::AgentFacts&) {
            return std::make_unique<Scripted>(fault.script);
        };
        options.mode = steer::AgentMode::async;
        options.deadline = 1;
        const auto start = std::chrono::steady_clock::now();
        steer::Helm helm(options);
        EXPECT_EQ(buffer::replay_host(host, policy, 50, &helm).steps, host.steps());
        helm.stop();
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        EXPECT_LT(passed.count(), 20);
        const double per_step = helm.totals().mailbox_seconds / static_cast<double>(host.steps());
        EXPECT_GT(per_step, 0);
        EXPECT_LT(per_step, 1e-4);
        std::printf("  %s: %.2f us in the mailbox per step\n", fault.name, per_step * 1e6);
    }
}

}  // namespace

}  // namespace rudder
