// What a model is told, its budget, the schema of replies, and the published protocol.
#include "steer/llm/prompt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "steer/llm/faithful.hpp"
#include "steer/llm/reply.hpp"

#include "seen.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(LlmPrompt, EstimatesTokensFromAbove) {
    EXPECT_EQ(steer::estimated_tokens(""), 0U);
    EXPECT_EQ(steer::estimated_tokens("word"), 1U);
    EXPECT_EQ(steer::estimated_tokens("longer words"), 4U);
    EXPECT_EQ(steer::estimated_tokens("12345"), 3U);
    EXPECT_EQ(steer::estimated_tokens("{\"a\": 1}"), 7U);
}

TEST(LlmPrompt, SystemMessageStatesTheTask) {
    steer::AgentFacts facts = some_facts();
    facts.llm.about = "4 parts of a graph of 1,000 vertices";
    const std::string text = steer::system_message(facts);
    for (const steer::Knob& k : steer::all_knobs())
        EXPECT_THAT(text, HasSubstr(std::string(k.name) + ": "));
    EXPECT_THAT(text, HasSubstr("capacity: 0 to 1200"));
    EXPECT_THAT(text, HasSubstr("window: 1 to 64"));
    EXPECT_THAT(text, HasSubstr("2000 steps, 100 per epoch"));
    EXPECT_THAT(text, HasSubstr("built-in rule: scored,every:16"));
    EXPECT_THAT(text, HasSubstr("rows fetched per step"));
    EXPECT_THAT(text, HasSubstr(facts.llm.about));
    facts.cost = steer::CostKind::seconds;
    EXPECT_THAT(steer::system_message(facts), HasSubstr("seconds per step that training waits"));
    EXPECT_LT(steer::estimated_tokens(text), 1500U);
}

TEST(LlmPrompt, LatestNumbersComeLastInAFixedLayout) {
    steer::Observation o = seen(160);
    o.history.push_back(past(144));
    const std::string text = steer::user_message(o, 5, "the reply was cut", {4000}).text;
    EXPECT_EQ(text,
              "Your past decisions, oldest first:\n"
              "step 144: replace 0.5 (applied): hit_rate 0.7000 to 0.7500, rows_per_step 70.0 to "
              "60.0; no worse than the alternative\n"
              "Your last reply was not used: the reply was cut.\n\n"
              "Now:\n"
              "step: 160 of 2000, 1840 left\n"
              "last 16 steps: hit_rate 0.7500, needed_per_step 200.0, rows_per_step 60.0 (demand "
              "50.0, replacement 10.0, ahead 0.0, wasted 0.0)\n"
              "all steps: hit_rate 0.7000, rows_per_step 70.0\n"
              "cost_per_step: 60 rows\n"
              "row_bytes: 400, halo_rows: 4000, candidates: 321, steps_since_change: 0\n"
              "this setting on a sample (scored, capacity 1,000): rows_per_step 60.0, hit_rate "
              "0.7500\n"
              "built-in rule on the same sample (scored,every:16, capacity 1,000): rows_per_step "
              "60.0, hit_rate 0.7500\n"
              "setting: policy scored; capacity 1000; decay 0.99; fraction 1; bulk 0; "
              "sample_threads 1; fetch_threads 1; demand_first 1; in_flight 2; buckets 0;\n"
              "the policy replaces when told to\n"
              "Known effects on rows per step:\n"
              "-14.3 % {\"action\":\"replace\",\"fraction\":0.5}\n"
              "+00.0 % {\"action\":\"set\",\"knobs\":{\"policy\":\"scored,every:16\"}}\n"
              "What is your action?");
}

TEST(LlmPrompt, OldestDecisionsAreDroppedFirst) {
    steer::Observation o = seen(1600);
    for (std::uint64_t step = 16; step <= 1584; step += 16)
        o.history.push_back(past(step));
    const std::string five = steer::user_message(o, 5, {}, {100000}).text;
    EXPECT_THAT(five, HasSubstr("step 1520:"));
    EXPECT_THAT(five, Not(HasSubstr("step 1504:")));
    const std::string none = steer::user_message(o, 0, {}, {100000}).text;
    EXPECT_THAT(none, Not(HasSubstr("past decisions")));
    EXPECT_THAT(none, Not(HasSubstr("\"replace\""))) << "nor what they did";
    std::size_t last = none.size();
    for (std::uint64_t tokens = steer::estimated_tokens(none); tokens < 4000; tokens += 100) {
        const std::string fitted = steer::user_message(o, 1000, {}, {tokens}).text;
        EXPECT_LE(steer::estimated_tokens(fitted), tokens);
        EXPECT_GE(fitted.size(), last);
        last = fitted.size();
        EXPECT_THAT(fitted, HasSubstr("What is your action?"));
        if (fitted.find("oldest first") != std::string::npos) {
            EXPECT_THAT(fitted, HasSubstr("step 1584:"));
        }
    }
}

Json schema_now(const steer::Observation& o) {
    return steer::reply_schema(o, buffer::PolicySpec::parse("scored,every:16"));
}

TEST(LlmReply, SchemaIsClosed) {
    // Free text and unbounded numbers let small models write without end.
    const std::function<void(const Json&)> check = [&](const Json& part) {
        if (part.contains("anyOf")) {
            for (const Json& variant : part["anyOf"])
                check(variant);
        } else if (part.contains("properties")) {
            EXPECT_EQ(part.at("additionalProperties"), false);
            for (const Json& property : part["properties"])
                check(property);
        } else if (part.contains("const") || part.contains("enum")) {
            EXPECT_NE(part.value("enum", Json{1}).size(), 0U);
        } else {
            EXPECT_EQ(part.at("type"), "integer") << part.dump();
            EXPECT_LT(part.at("minimum"), part.at("maximum"));
        }
    };
    check(schema_now(seen(160)));
    steer::Observation own = seen(160);
    own.takes_decisions = false;
    own.setting.policy = buffer::PolicySpec::parse("window:16");
    check(schema_now(own));
    EXPECT_EQ(schema_now(own).dump().find("\"replace\""), std::string::npos);
    EXPECT_EQ(schema_now(own).dump().find("sample_threads"), std::string::npos) << "only one value";
}

TEST(LlmReply, ReadsGoodReplies) {
    steer::Observation o = seen(160);
    const Json schema = schema_now(o);
    const auto read = [&](const std::string& text) {
        return steer::parse_reply(text, schema, o, "the test");
    };
    EXPECT_EQ(read(R"({"action": "keep"})").action,
              steer::Action::keep(steer::Reason::model_choice));
    EXPECT_EQ(read("\n {\"reason\": \"good_enough\", \"action\": \"keep\"} \n").action,
              steer::Action::keep(steer::Reason::good_enough));
    EXPECT_EQ(read(R"({"action": "replace", "fraction": 0.25})").action,
              steer::Action::replace(steer::Reason::model_choice, 0.25));
    EXPECT_EQ(read(R"({"action": "replace", "fraction": 1})").action,
              steer::Action::replace(steer::Reason::model_choice, 1));
    EXPECT_EQ(read(R"({"action": "set", "knobs": {"capacity": 900, "decay": 0.9}})").action,
              steer::Action::set({{steer::KnobId::capacity, 900.0}, {steer::KnobId::decay, 0.9}},
                                 steer::Reason::model_choice));
    EXPECT_EQ(
        read(R"({"action": "set", "knobs": {"policy": "window:64"}})").action,
        steer::Action::set({{steer::KnobId::policy, "window:64"}}, steer::Reason::model_choice));
    const auto reply = read(R"({"action": "keep", "expected_impact":
                                {"hit_rate": "increase", "rows": "decrease"}})");
    ASSERT_TRUE(reply.forecast);
    EXPECT_EQ(reply.forecast->hit_rate, 1);
    EXPECT_EQ(reply.forecast->rows, -1);
}

TEST(LlmReply, OffersOnlyWhatCanBeSet) {
    // Every single choice of the schema can be applied.
    for (const char* policy : {"scored", "window:16", "lru", "scored-faithful"}) {
        steer::Observation o = seen(160);
        o.setting.policy = buffer::PolicySpec::parse(policy);
        const Json schema = schema_now(o);
        std::size_t tried = 0;
        for (const Json& variant : schema.at("anyOf")) {
            if (variant.at("properties").at("action").at("const") != "set") continue;
            for (const Json& knobs : variant.at("properties").at("knobs").at("anyOf")) {
                const std::string name = knobs.at("required").at(0);
                const Json& range = knobs.at("properties").at(name);
                const Json values = range.contains("enum")
                                        ? range["enum"]
                                        : Json::array({range["minimum"], range["maximum"]});
                for (const Json& value : values) {
                    const Json reply{{"action", "set"}, {"knobs", {{name, value}}}};
                    EXPECT_NO_THROW(
                        static_cast<void>(steer::parse_reply(reply.dump(), schema, o, "the test")))
                        << policy << ": " << reply.dump();
                    ++tried;
                }
            }
        }
        EXPECT_GT(tried, 8U);
    }
}

TEST(LlmFaithful, ShowsThePublishedRecord) {
    steer::Observation o = seen(250);
    o.total = {.steps = 250, .needed = 1000, .hit = 666, .demand = 334};
    const steer::PublishedRecord r = steer::PublishedRecord::of(o);
    EXPECT_EQ(r.epoch, 2U);
    EXPECT_EQ(r.step, 50U);
    EXPECT_EQ(r.remaining, 1750U);
    EXPECT_EQ(r.hit_rate, 67) << "whole per cents, since the start";
    EXPECT_DOUBLE_EQ(r.comm_volume, 50) << "misses; what replacements fetch is not shown";
}

std::string published_reply(const char* decision) {
    return std::string(R"({"decision": ")") + decision +
           R"(", "explanation": "Nodes may not know now.",
              "expected_impact": {"hitrate": "increase", "comm_volume": "decrease"}})";
}

TEST(LlmFaithful, DecisionIsTheDecision) {
    // The published reader searched the whole text for "yes", then for "no".
    steer::PublishedProtocol protocol(some_facts());
    const auto yes = protocol.parse(published_reply("yes"), seen(16), "the test");
    EXPECT_EQ(yes.action, steer::Action::replace(steer::Reason::model_choice));
    EXPECT_EQ(yes.forecast->hit_rate, 1);
    EXPECT_EQ(yes.forecast->rows, -1);
    EXPECT_EQ(yes.note, "Nodes may not know now.");
    const auto no = protocol.parse(published_reply("no"), seen(16), "the test");
    EXPECT_EQ(no.action, steer::Action::keep(steer::Reason::model_choice));
    for (const char* bad : {"yes", R"({"decision": "yes"})", "I say yes: {}"})
        EXPECT_THROW(static_cast<void>(protocol.parse(bad, seen(16), "the test")), Error);
    EXPECT_THROW(static_cast<void>(protocol.parse(published_reply("YES"), seen(16), "x")), Error);
}

TEST(LlmReply, PoliciesThatMemoryDoesNotAllowAreNotOffered) {
    steer::Observation o = seen(160);
    o.setting.policy = buffer::PolicySpec::parse("window:64");
    o.limits.window = 20;
    const std::string schema = reply_schema(o, buffer::PolicySpec::parse("window:32")).dump();
    EXPECT_THAT(schema, HasSubstr("window:16"));
    EXPECT_THAT(schema, Not(HasSubstr("window:32")));
    EXPECT_THAT(schema, Not(HasSubstr("window:64")));
    o.limits.window = 40;
    EXPECT_THAT(reply_schema(o, buffer::PolicySpec::parse("window:32")).dump(),
                HasSubstr("window:32"));
}

TEST(LlmFaithful, KeepsFiveLinesOfHistory) {
    steer::PublishedProtocol protocol(some_facts());
    steer::Observation o = seen(16);
    EXPECT_THAT(protocol.user_message(o, {4000}).text, Not(HasSubstr("History")));
    static_cast<void>(protocol.parse(published_reply("yes"), o, "the test"));
    steer::Observation next = seen(32);
    next.total.replacement = o.total.replacement + 100;
    next.rows.demand = 400;
    next.rows.hit = 2800;
    EXPECT_THAT(protocol.user_message(next, {4000}).text,
                HasSubstr("mini-batch 16: you decided eviction; 100 nodes evicted (10.0 % of the "
                          "cache); impact: hitrate +0 (+0.0 %), comm_volume -25 (-50.0 %)\n"));
    static_cast<void>(protocol.parse(published_reply("yes"), next, "the test"));
    steer::Observation same = next;
    same.step = 48;
    EXPECT_THAT(protocol.user_message(same, {4000}).text,
                HasSubstr("mini-batch 32: you decided eviction; "
                          "skipped, there were no candidates"));
    static_cast<void>(protocol.parse(published_reply("no"), same, "the test"));
    EXPECT_THAT(protocol.user_message(seen(64), {4000}).text,
                HasSubstr("mini-batch 48: you decided no eviction; since then: "));
    protocol.failed(seen(64));
    EXPECT_THAT(protocol.user_message(seen(80), {4000}).text,
                HasSubstr("mini-batch 64: your reply was not the JSON"));
    for (std::uint64_t step = 80; step < 200; step += 16) {
        static_cast<void>(protocol.parse(published_reply("no"), seen(step), "the test"));
        static_cast<void>(protocol.user_message(seen(step + 16), {4000}).text);
    }
    EXPECT_EQ(protocol.history().size(), 5U);
    EXPECT_THAT(protocol.history().front(), HasSubstr("mini-batch 128:"));
    EXPECT_THAT(protocol.system_message(seen(16)), HasSubstr("cache capacity: 1000 nodes"));
}

}  // namespace
}  // namespace rudder::test
