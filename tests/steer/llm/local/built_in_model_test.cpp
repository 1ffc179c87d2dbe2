// The model that the program carries, and when it is the one that decides.
#include "steer/llm/local/built_in_model.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "steer/llm/chat.hpp"
#include "steer/llm/local/local_model.hpp"
#include "steer/llm/prompt.hpp"
#include "steer/llm/reply.hpp"

#include "../fake_server.hpp"
#include "../seen.hpp"
#include "support/refusal.hpp"

namespace rudder::test {
namespace {

using steer::ChatMessage;
using steer::ChatRole;
using steer::LocalModel;
using testing::HasSubstr;
using testing::Not;

constexpr auto without_deadline = LocalModel::Clock::time_point::max();

std::unique_ptr<steer::Agent> agent_of(const std::string& text,
                                       const steer::AgentFacts& facts = some_facts()) {
    return steer::make_agent(steer::AgentSpec::parse(text), facts);
}

std::string first_answer(const std::string& spec, const steer::AgentFacts& facts = some_facts()) {
    const auto agent = agent_of(spec, facts);
    EXPECT_EQ(problem_of(*agent, seen(16)), "");
    return agent->learned();
}

TEST(BuiltInModel, IsTheFileOfTheTree) {
    const std::string file =
        read_text(std::string(RUDDER_SOURCE_DIR) + "/models/steering.safetensors", 8U << 20U);
    const auto bytes = steer::built_in_model_bytes();
    ASSERT_EQ(bytes.size(), file.size());
    EXPECT_TRUE(std::ranges::equal(bytes, std::as_bytes(std::span(file))));
    const steer::SteeringModel model = steer::built_in_model();
    EXPECT_EQ(model.name, "built-in");
    EXPECT_GE(model.parameters(), 250'000U);
    EXPECT_LE(model.parameters(), 5'000'000U);
}

TEST(BuiltInModel, DamageIsRefusedWhereverItLies) {
    const auto good = steer::built_in_model_bytes();
    std::vector<std::byte> bytes(good.begin(), good.end());
    const auto refused = [&] {
        const Refusal refusal =
            refusal_of([&] { (void)steer::read_steering_model(bytes, "built-in"); });
        EXPECT_EQ(refusal.kind, ErrorKind::input);
        EXPECT_THAT(refusal.where, HasSubstr("built-in"));
        return refusal.problem;
    };
    for (const std::size_t at : {bytes.size() - 1, bytes.size() / 2, bytes.size() - 70'000}) {
        bytes[at] ^= std::byte{1};
        EXPECT_THAT(refused(), HasSubstr("checksum"));
        bytes[at] ^= std::byte{1};
    }
    bytes.resize(bytes.size() - 2);
    EXPECT_NE(refused(), "");
}

TEST(BuiltInModel, DecidesWhereItIsNamed) {
    EXPECT_THAT(first_answer("llm:built-in"),
                HasSubstr(" parameters, in this process) was asked 1 times and answered 1, in "));
    EXPECT_THAT(first_answer("llm,model:built-in,share:0.5"), HasSubstr("built-in ("));
    steer::AgentFacts facts = some_facts();
    facts.llm.model = "built-in";
    EXPECT_THAT(first_answer("llm", facts), HasSubstr("built-in ("));
}

TEST(BuiltInModel, DecidesWhereNothingElseIsNamedOrAnswers) {
    steer::ChatServer usual({}, "", {});
    if (usual.answers(steer::ChatServer::Clock::now() + std::chrono::seconds(1)))
        GTEST_SKIP() << "Ollama runs on this machine";
    EXPECT_THAT(first_answer("llm"), HasSubstr("in this process, no server was named or found)"));
    EXPECT_THAT(first_answer("llm,context:8192"), HasSubstr("built-in (")) << "as much as it has";
    EXPECT_THAT(first_answer("llm:built-in"), Not(HasSubstr("no server")));
}

TEST(BuiltInModel, ServersAnswerOnlyWithAModel) {
    const auto answers = [](const std::string& url) {
        steer::ChatServer server({.url = url}, "", {});
        return server.answers(steer::ChatServer::Clock::now() + std::chrono::seconds(5));
    };
    const auto keep = [](const FakeRequest&) {
        return FakeReply::of(200, ollama_envelope(R"({"action": "keep"})"));
    };
    FakeServer ollama_server(ollama(keep));
    FakeServer openai_server(openai(keep));
    EXPECT_TRUE(answers(ollama_server.url()));
    EXPECT_TRUE(answers(openai_server.url()));
    FakeServer empty([](const FakeRequest&) { return FakeReply::of(200, R"({"models": []})"); });
    EXPECT_FALSE(answers(empty.url()));
    FakeServer other([](const FakeRequest&) { return FakeReply::of(404, "no"); });
    EXPECT_FALSE(answers(other.url()));
    EXPECT_FALSE(answers("http://127.0.0.1:1"));
}

TEST(BuiltInModel, WhatIsForServersIsWrongUse) {
    for (const char* more : {",url:http://127.0.0.1:1", ",api:openai", ",insecure", ",seed:3",
                             ",temperature:0.5", ",faithful", ",context:100000"}) {
        const Refusal refusal =
            refusal_of([&] { (void)agent_of(std::string("llm:built-in") + more); });
        EXPECT_EQ(refusal.kind, ErrorKind::usage) << more;
    }
    steer::AgentFacts facts = some_facts();
    facts.llm.url = "http://127.0.0.1:1";
    EXPECT_THAT(refusal_of([&] { (void)agent_of("llm:built-in", facts); }).problem,
                HasSubstr("'--llm-url' is for servers, and 'built-in' runs without one"));
}

/// Where things go by the clock, its shadows run for a question that is due, and rest again when
/// they have taken what there was for it.
TEST(BuiltInModel, ItsShadowsRunInRoundsAndTheirWorkCounts) {
    using Kind = steer::ShadowOrder::Kind;
    constexpr std::uint64_t an_hour = 3'600'000'000'000;
    std::atomic<std::uint64_t> shadow_cpu{an_hour};
    steer::AgentFacts facts = some_facts();
    facts.repeatable = false;
    facts.shadow_cpu = &shadow_cpu;
    const auto agent = agent_of("llm:built-in,share:0.5", facts);
    EXPECT_EQ(agent->interval(), 16U) << "the first question waits for nobody";
    const steer::Answer first = agent->decide(seen(16));
    EXPECT_TRUE(first.shadows.empty()) << "nothing is due after it";
    EXPECT_GT(agent->interval(), 1'000'000U);
    shadow_cpu = 0;
    while (agent->interval() != 16)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const steer::Answer begins = agent->decide(seen(32));
    EXPECT_EQ(begins.action.kind, steer::ActionKind::keep);
    EXPECT_THAT(begins.note, HasSubstr("shadows begin"));
    ASSERT_FALSE(begins.shadows.empty());
    steer::Observation o = seen(48);
    for (const steer::ShadowOrder& order : begins.shadows) {
        EXPECT_EQ(order.kind, Kind::copy);
        o.shadows.push_back(o.twin);
        o.shadows.back().name = order.name;
        o.shadows.back().setting = *order.setting;
    }
    EXPECT_EQ(agent->interval(), 16U);
    EXPECT_EQ(agent->decide(o).action.kind, steer::ActionKind::keep);
    EXPECT_THAT(agent->learned(), HasSubstr("was asked 1 times")) << "they find their feet";
    shadow_cpu = an_hour;
    EXPECT_EQ(agent->interval(), 16U) << "the round has begun";
    const steer::Answer asked = agent->decide(o);
    EXPECT_THAT(agent->learned(), HasSubstr("was asked 2 times"));
    ASSERT_EQ(asked.shadows.size(), begins.shadows.size());
    for (const steer::ShadowOrder& order : asked.shadows)
        EXPECT_EQ(order.kind, Kind::close) << order.name;
    EXPECT_GT(agent->interval(), 1'000'000U) << "their work counts";
}

/// Where nothing goes by the clock, and where everything is allowed, no shadow rests.
TEST(BuiltInModel, ItsShadowsStayWhereNothingIsBounded) {
    steer::AgentFacts timed = some_facts();
    timed.repeatable = false;
    for (const auto& agent : {agent_of("llm:built-in"), agent_of("llm:built-in,share:1", timed)}) {
        for (const std::uint64_t step : {16U, 32U, 48U}) {
            EXPECT_FALSE(agent->decide(seen(step)).shadows.empty());
            EXPECT_EQ(agent->interval(), 16U);
        }
        EXPECT_THAT(agent->learned(), HasSubstr("was asked 3 times"));
    }
}

/// Prompts of all kinds, with their schemas.
struct Asked {
    std::vector<ChatMessage> messages;
    Json schema;
    steer::Observation observation;
};
Asked asked(std::uint64_t number) {
    steer::Observation o = seen(16 + number * 16);
    constexpr std::array policies{"scored", "window:16", "lru", "scored-faithful"};
    o.setting.policy = buffer::PolicySpec::parse(policies[number % policies.size()]);
    o.takes_decisions = number % policies.size() == 0;
    o.rows.demand += number * 7 % 900;
    o.twin.setting = o.setting;
    for (std::uint64_t i = 0; i < number % 6; ++i) {
        o.history.push_back(past(16 * i));
        o.history.back().rows_after = 20 + static_cast<double>(number * 13 % 97);
        if (i % 2 == 1)
            o.history.back().action =
                steer::Action::set({{steer::KnobId::policy, "lfu"}}, steer::Reason::trying);
    }
    Json schema = steer::reply_schema(o, some_facts().built_in);
    return {{{ChatRole::system, steer::system_message(some_facts())},
             {ChatRole::user, steer::user_message(o, 5, {}, {100000}).text}},
            std::move(schema),
            std::move(o)};
}

TEST(BuiltInModel, RepliesCanBeUsedAndAreTheSameAgain) {
    LocalModel model(steer::built_in_model(), 0, 256);
    LocalModel again(steer::built_in_model(), 0, 256);
    for (std::uint64_t number = 0; number < 12; ++number) {
        const Asked one = asked(number);
        const std::string text = model.chat(one.messages, one.schema, without_deadline);
        EXPECT_NO_THROW((void)parse_reply(text, one.schema, one.observation, "it")) << text;
        if (number % 4 == 3) {
            EXPECT_EQ(again.chat(one.messages, one.schema, without_deadline), text)
                << "whatever was asked before";
        }
    }
}

TEST(BuiltInModel, PromptsFitIntoItsContext) {
    const LocalModel model(steer::built_in_model(), 0, 256);
    const Asked longest = asked(5);
    EXPECT_LE(model.tokens(longest.messages[1].text), 600U) << longest.messages[1].text;
    EXPECT_GT(model.room(longest.messages[0].text, longest.schema), 1200U);
}

}  // namespace
}  // namespace rudder::test
