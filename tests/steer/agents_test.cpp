// The fixed rules on observations made by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/steer/agent_spec.hpp"
#include "steer/log/decision_log.hpp"

#include "hand_made.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

steer::AgentFacts facts_of(std::uint64_t seed) {
    steer::AgentFacts facts;
    facts.seed = seed;
    facts.run = "this run";
    return facts;
}

std::unique_ptr<steer::Agent> agent(const std::string& text, std::uint64_t seed = 7) {
    return steer::make_agent(steer::AgentSpec::parse(text), facts_of(seed));
}

/// Steps below `steps` in which it replaces when asked before each.
std::vector<std::uint64_t> replacements(steer::Agent& agent, std::uint64_t steps) {
    std::vector<std::uint64_t> list;
    for (std::uint64_t step = 0; step < steps; ++step) {
        if (agent.decide(observed(step)).action.kind == steer::ActionKind::replace)
            list.push_back(step);
    }
    return list;
}

void refuse(const std::string& text, int code, std::initializer_list<const char*> words,
            const steer::AgentFacts& facts = facts_of(7)) {
    try {
        static_cast<void>(steer::make_agent(steer::AgentSpec::parse(text), facts));
        ADD_FAILURE() << text;
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), code) << error.what();
        for (const char* word : words)
            EXPECT_THAT(error.what(), testing::HasSubstr(word));
    }
}

TEST(FixedRules, NeverAndAlways) {
    const auto never = agent("never");
    const auto always = agent("always");
    for (std::uint64_t step = 0; step < 5; ++step) {
        EXPECT_EQ(never->decide(observed(step)).action, steer::Action::keep(steer::Reason::rule));
        EXPECT_EQ(always->decide(observed(step)).action,
                  steer::Action::replace(steer::Reason::rule));
    }
    EXPECT_GT(never->interval(), 1000000U) << "nobody need ask";
    EXPECT_EQ(always->interval(), 1U);
}

TEST(FixedRules, EveryCountsFromOne) {
    const auto every = agent("every:3");
    for (std::uint64_t step = 0; step < 12; ++step) {
        const bool now = step == 2 || step == 5 || step == 8 || step == 11;
        EXPECT_EQ(every->decide(observed(step)).action.kind,
                  now ? steer::ActionKind::replace : steer::ActionKind::keep)
            << step;
    }
    EXPECT_EQ(agent("every:1")->decide(observed(0)).action.kind, steer::ActionKind::replace);
}

TEST(Thresholds, OnTheHitRate) {
    const auto rule = agent("threshold:0.4,fraction:0.25,interval:8");
    EXPECT_EQ(rule->interval(), 8U);
    EXPECT_EQ(rule->decide(observed(0, 39)).action,
              steer::Action::replace(steer::Reason::low_hit_rate, 0.25));
    EXPECT_EQ(rule->decide(observed(1, 40)).action,
              steer::Action::keep(steer::Reason::good_enough));
    EXPECT_EQ(rule->decide(observed(2, 90)).action,
              steer::Action::keep(steer::Reason::good_enough));
    steer::Observation idle = observed(3, 0);
    idle.rows = {};
    EXPECT_EQ(rule->decide(idle).action.kind, steer::ActionKind::keep) << "nothing was needed";
    EXPECT_EQ(agent("threshold")->decide(observed(0, 49)).action.kind, steer::ActionKind::replace);
    EXPECT_EQ(agent("threshold")->decide(observed(0, 50)).action.kind, steer::ActionKind::keep);
}

TEST(Thresholds, OnTheStall) {
    const auto rule = agent("threshold:0.2,on:stall");
    steer::Observation o = observed(0, 0);
    EXPECT_EQ(rule->decide(o).action.kind, steer::ActionKind::keep) << "no step was timed";
    o.seconds = {.steps = 4, .step = 2, .fetch = 1, .stall = 0.41, .compute = 1};
    EXPECT_EQ(rule->decide(o).action, steer::Action::replace(steer::Reason::high_stall));
    o.seconds.stall = 0.39;
    EXPECT_EQ(rule->decide(o).action, steer::Action::keep(steer::Reason::good_enough));
}

TEST(Thresholds, OnTheCostRelativeToItsMinimum) {
    const auto rule = agent("threshold:1.2,on:cost,memory:3");
    const auto replaces = [&](std::uint64_t demand) {
        return rule->decide(observed(0, 100 - demand)).action.kind == steer::ActionKind::replace;
    };
    EXPECT_FALSE(replaces(50));
    EXPECT_FALSE(replaces(60)) << "by a fifth, not by more";
    EXPECT_TRUE(replaces(61));
    EXPECT_FALSE(replaces(62)) << "50 is forgotten: 60 is the lowest of three";
    EXPECT_FALSE(replaces(40));
    EXPECT_TRUE(replaces(49));
    EXPECT_EQ(agent("threshold,on:cost")->decide(observed(0)).action.kind, steer::ActionKind::keep);
}

TEST(Chance, IsTheSameForTheSameSeedAndStep) {
    const auto first = replacements(*agent("random:0.25", 1), 4000);
    EXPECT_EQ(replacements(*agent("random:0.25", 1), 4000), first);
    EXPECT_NE(replacements(*agent("random:0.25", 2), 4000), first);
    // 1,000 are expected, with a standard deviation of 27.
    EXPECT_NEAR(static_cast<double>(first.size()), 1000, 110);
    const auto other = agent("random:0.25", 1);
    for (const std::uint64_t step : first)
        EXPECT_EQ(other->decide(observed(step)).action,
                  steer::Action::replace(steer::Reason::chance))
            << step;
    EXPECT_TRUE(replacements(*agent("random:0"), 100).empty());
    EXPECT_EQ(replacements(*agent("random:1"), 100).size(), 100U);
    EXPECT_EQ(agent("random:1,fraction:0.5")->decide(observed(0)).action.fraction, 0.5);
}

TEST(Schedules, DoWhatTheFileSays) {
    const TempDir folder;
    const auto file = (folder.path() / "plan.jsonl").string();
    write_text(file, R"({"step": 2, "action": "replace", "fraction": 0.5})"
                     "\n\n"
                     R"({"step": 5, "action": {"action": "set", "knobs": {"window": 8}}})"
                     "\r\n"
                     R"({"step": 7, "action": "keep", "reason": "ending"})");
    const auto plan = agent("schedule:" + file);
    for (std::uint64_t step = 0; step < 10; ++step) {
        const steer::Action action = plan->decide(observed(step)).action;
        if (step == 2) {
            EXPECT_EQ(action, steer::Action::replace(steer::Reason::scheduled, 0.5));
        } else if (step == 5) {
            EXPECT_EQ(action,
                      steer::Action::set({{steer::KnobId::window, 8.0}}, steer::Reason::scheduled));
        } else {
            EXPECT_EQ(action, steer::Action::keep(step == 7 ? steer::Reason::ending
                                                            : steer::Reason::scheduled));
        }
    }
    const auto late = agent("schedule:" + file);
    EXPECT_EQ(late->decide(observed(4)).action.kind, steer::ActionKind::replace)
        << "due since step 2";
    EXPECT_EQ(late->decide(observed(4)).action.kind, steer::ActionKind::keep);
    write_text(file, "");
    EXPECT_TRUE(replacements(*agent("schedule:" + file), 10).empty());
}

TEST(Schedules, RefuseWithFileAndLine) {
    const TempDir folder;
    const auto file = (folder.path() / "plan.jsonl").string();
    const std::string spec = "schedule:" + file;
    const auto bad = [&](const char* line, int code, std::initializer_list<const char*> words) {
        write_text(file, R"({"step": 2, "action": "keep"})"
                         "\n" +
                             std::string(line) + "\n");
        refuse(spec, code, words);
        refuse(spec, code, {"plan.jsonl, line 2"});
    };
    bad("nonsense", 3, {"JSON"});
    bad(R"({"action": "keep"})", 3, {"step"});
    bad(R"({"step": 3})", 3, {"action"});
    bad(R"({"step": 2, "action": "keep"})", 3, {"step 2 comes after step 2", "ascending"});
    bad(R"({"step": 1, "action": "keep"})", 3, {"step 1 comes after step 2"});
    bad(R"({"step": 3, "action": "set", "knobs": {"windw": 3}})", 2, {"unknown knob 'windw'"});
    bad(R"({"step": 3, "action": "set", "knobs": {"window": 0}})", 2, {"'window'"});
    bad(R"({"step": 3, "action": "evict"})", 2, {"evict"});
    bad(R"({"step": 3, "action": {"action": "keep"}, "fraction": 1})", 2, {"unknown action"});
    refuse("schedule:" + (folder.path() / "none").string(), 3, {"no such file"});
}

TEST(Replays, RepeatALog) {
    const TempDir folder;
    std::string log;
    const auto add = [&](std::uint64_t effective, steer::Action action,
                         steer::DecisionStatus status, std::uint32_t rank = 0) {
        steer::DecisionRecord record;
        record.step = effective - 1;
        record.rank = rank;
        record.agent = "bandit";
        record.action = std::move(action);
        record.effective_step = effective;
        record.status = status;
        record.run = "this run";
        log += to_json(record).dump() + "\n";
    };
    const steer::Action longer =
        steer::Action::set({{steer::KnobId::window, 32.0}}, steer::Reason::trying);
    add(3, steer::Action::replace(steer::Reason::low_hit_rate, 0.5),
        steer::DecisionStatus::applied);
    add(4, steer::Action::replace(steer::Reason::low_hit_rate), steer::DecisionStatus::late);
    add(5, steer::Action::replace(steer::Reason::low_hit_rate), steer::DecisionStatus::refused);
    add(6, steer::Action::keep(steer::Reason::ending), steer::DecisionStatus::applied);
    add(9, longer, steer::DecisionStatus::undone);
    add(8, steer::Action::replace(steer::Reason::low_hit_rate), steer::DecisionStatus::applied);
    add(2, steer::Action::replace(steer::Reason::rule), steer::DecisionStatus::applied, 1);
    write_text(folder.path() / "decisions.jsonl", log);
    const std::string spec = "replay:" + folder.path().string();
    const auto again = agent(spec);
    for (std::uint64_t step = 0; step < 12; ++step) {
        steer::Action expected = steer::Action::keep(steer::Reason::replayed);
        if (step == 3) expected = steer::Action::replace(steer::Reason::replayed, 0.5);
        if (step == 8) expected = steer::Action::replace(steer::Reason::replayed);
        if (step == 9) expected = steer::Action::set(longer.knobs, steer::Reason::replayed);
        EXPECT_EQ(again->decide(observed(step)).action, expected) << step;
    }
    EXPECT_EQ(replacements(*agent(spec + ",rank:1"), 12), std::vector<std::uint64_t>{2});

    steer::AgentFacts other = facts_of(7);
    other.run = "another run";
    refuse(spec, 2, {"another run", "--force"}, other);
    other.force = true;
    EXPECT_EQ(replacements(*steer::make_agent(steer::AgentSpec::parse(spec), other), 12).size(),
              2U);
    refuse("replay:" + (folder.path() / "none").string(), 3, {"no such file"});
}

}  // namespace
}  // namespace rudder::test
