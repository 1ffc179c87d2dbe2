// The agent as a whole, against servers that speak both protocols over real sockets.
#include <algorithm>
#include <atomic>
#include <cstdlib>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/executor/seeded_executor.hpp"
#include "core/executor/task_state.hpp"
#include "core/executor/thread_executor.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"

#include "fake_server.hpp"
#include "seen.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

std::string last_user_message(FakeServer& server) {
    return Json::parse(server.requests().back().body).at("messages").back().at("content");
}

FakeReply said(const std::string& text) {
    return FakeReply::of(200, openai_envelope(text));
}

TEST(LlmAgent, DecidesThroughBothProtocols) {
    const std::string reply = R"({"action": "set", "knobs": {"decay": 0.95}, "reason": "trying",
                                  "expected_impact": {"hit_rate": "stagnant", "rows": "decrease"}})";
    for (const bool speaks_ollama : {false, true}) {
        FakeServer server(speaks_ollama ? ollama([&](const FakeRequest&) {
            return FakeReply::of(200, ollama_envelope(reply));
        })
                                        : openai([&](const FakeRequest&) { return said(reply); }));
        const auto agent = llm_agent(server.url(), ",interval:8");
        EXPECT_EQ(agent->interval(), 8U);
        const steer::Answer answer = agent->decide(seen(160));
        EXPECT_EQ(answer.action,
                  steer::Action::set({{steer::KnobId::decay, 0.95}}, steer::Reason::trying));
        ASSERT_TRUE(answer.forecast);
        EXPECT_EQ(answer.forecast->hit_rate, 0);
        EXPECT_EQ(answer.forecast->rows, -1);
        EXPECT_THAT(agent->learned(), HasSubstr("tiny"));
        EXPECT_THAT(agent->learned(), HasSubstr("asked 1 times and answered 1"));
    }
}

TEST(LlmAgent, OptionsOfTheRunHoldWhereTheAgentNamesNone) {
    FakeServer server(openai([](const FakeRequest&) { return said(R"({"action": "keep"})"); }));
    steer::AgentFacts facts = some_facts();
    facts.llm = {.url = server.url(), .model = "of-the-run", .api = steer::LlmApi::openai};
    static_cast<void>(steer::make_agent(steer::AgentSpec::parse("llm"), facts)->decide(seen(16)));
    EXPECT_EQ(Json::parse(server.requests().back().body).at("model"), "of-the-run");
    static_cast<void>(
        steer::make_agent(steer::AgentSpec::parse("llm:llama3.2:3b"), facts)->decide(seen(16)));
    EXPECT_EQ(Json::parse(server.requests().back().body).at("model"), "llama3.2:3b");
}

TEST(LlmAgent, ProblemOfAReplyIsToldOnce) {
    std::atomic<int> asked{0};
    FakeServer server(openai([&asked](const FakeRequest&) {
        return said(++asked == 1 ? R"({"action": "evict"})" : R"({"action": "keep"})");
    }));
    const auto agent = llm_agent(server.url());
    EXPECT_THAT(problem_of(*agent, seen(16)), HasSubstr("\"evict\""));
    EXPECT_EQ(problem_of(*agent, seen(32)), "");
    EXPECT_THAT(last_user_message(server), HasSubstr("not used: 'action' is \"evict\""));
    EXPECT_EQ(problem_of(*agent, seen(48)), "");
    EXPECT_THAT(last_user_message(server), Not(HasSubstr("not used")));
}

TEST(LlmAgent, PlainServersAreAskedOnceMore) {
    std::atomic<int> asked{0};
    std::string second = R"({"action": "keep"})";
    FakeServer server(openai([&](const FakeRequest& request) {
        if (Json::parse(request.body).contains("response_format")) return FakeReply::of(400, "{}");
        return said(++asked % 2 == 1 ? "Let me keep it." : second);
    }));
    const auto agent = llm_agent(server.url());
    EXPECT_EQ(problem_of(*agent, seen(16)), "");
    EXPECT_EQ(asked, 2);
    const Json messages = Json::parse(server.requests().back().body).at("messages");
    EXPECT_EQ(messages.size(), 4U);
    EXPECT_EQ(messages.at(2).at("content"), "Let me keep it.");
    EXPECT_THAT(messages.at(3).at("content").get<std::string>(), HasSubstr("cannot be used"));
    second = "Still prose.";
    EXPECT_THAT(problem_of(*agent, seen(32)), HasSubstr("'Still prose.'"));
    EXPECT_EQ(asked, 4) << "one repair, not two";
}

TEST(LlmAgent, FaithfulSpeaksThePublishedProtocol) {
    std::atomic<int> asked{0};
    FakeServer server(ollama([&asked](const FakeRequest&) {
        const bool yes = ++asked == 1;
        return FakeReply::of(200, ollama_envelope(fmt::format(
                                      R"({{"decision": "{}", "explanation": "no <b>more</b>",
                                 "expected_impact": {{"hitrate": "increase",
                                                     "comm_volume": "decrease"}}}})",
                                      yes ? "yes" : "no")));
    }));
    const auto agent = llm_agent(server.url(), ",faithful");
    const steer::Answer first = agent->decide(seen(160));
    EXPECT_EQ(first.action, steer::Action::replace(steer::Reason::model_choice));
    EXPECT_EQ(first.note, "no ?b?more?/b?");
    EXPECT_EQ(agent->decide(seen(176)).action, steer::Action::keep(steer::Reason::model_choice));
    const Json body = Json::parse(server.requests().back().body);
    EXPECT_THAT(body.at("messages").at(0).at("content").get<std::string>(),
                HasSubstr("remote nodes: 4000"));
    EXPECT_THAT(last_user_message(server), HasSubstr("hitrate: 70\n"));
    EXPECT_THAT(last_user_message(server), HasSubstr("mini-batch 160: you decided eviction"));
}

TEST(LlmAgent, RefusedAtOnce) {
    const auto refused = [](const std::string& text) -> std::string {
        try {
            static_cast<void>(steer::make_agent(steer::AgentSpec::parse(text), some_facts()));
            return {};
        } catch (const Error& error) {
            EXPECT_EQ(error.exit_code(), 2);
            EXPECT_FALSE(error.remedy().empty());
            return error.what();
        }
    };
    EXPECT_THAT(refused("llm,url:nonsense"), HasSubstr("not a URL"));
    EXPECT_THAT(refused("llm,url:http://models.example.org"), HasSubstr("without TLS"));
    EXPECT_THAT(refused("llm,url:ftp://127.0.0.1"), HasSubstr("ftp"));
    EXPECT_THAT(refused("llm,api:telnet"), HasSubstr("telnet"));
    EXPECT_THAT(refused("llm,context:600"), HasSubstr("context"));
    EXPECT_THAT(refused("llm,temperature:9"), HasSubstr("temperature"));
    steer::AgentFacts facts = some_facts();
    facts.llm.url = "http://10.0.0.7";
    EXPECT_THROW(static_cast<void>(steer::make_agent(steer::AgentSpec::parse("llm"), facts)),
                 Error);
}

TEST(LlmAgent, ServerThatIsNotThereIsAFailureAndComesBack) {
    const auto gone = llm_agent("http://127.0.0.1:1", ",deadline:10");
    EXPECT_THAT(problem_of(*gone, seen(16)), HasSubstr("cannot be reached"));
    EXPECT_THAT(gone->learned(), HasSubstr("answered 0"));

    std::atomic<bool> up{false};
    const auto handler = openai([](const FakeRequest&) { return said(R"({"action": "keep"})"); });
    FakeServer server([&](const FakeRequest& request) {
        return up ? handler(request)
                  : FakeReply::of(503, "{}", "application/json", "Retry-After: 600\r\n");
    });
    const auto agent = llm_agent(server.url(), ",deadline:5");
    EXPECT_THAT(problem_of(*agent, seen(16)), HasSubstr("HTTP 503"));
    up = true;
    EXPECT_EQ(problem_of(*agent, seen(32)), "");
}

/// Seconds from cancelling a decision to its end.
double seconds_to_cancel(steer::Agent& agent, FakeServer& server, std::size_t requests) {
    Task task = ThreadExecutor::process().spawn(
        "decision", [&] { EXPECT_NE(problem_of(agent, seen(16)), ""); });
    while (server.requests().size() < requests)
        ThreadExecutor::process().sleep_for(milliseconds(1));
    ThreadExecutor::process().sleep_for(milliseconds(20));
    const auto start = Clock::now();
    agent.cancel();
    task.join();
    return std::chrono::duration<double>(Clock::now() - start).count();
}

FakeReply after_a_minute(const FakeRequest&) {
    FakeReply reply = said(R"({"action": "keep"})");
    reply.pieces.front().wait = milliseconds(60000);
    return reply;
}

TEST(LlmAgent, EndsAtOnceWhenCancelled) {
    FakeServer slow(openai(after_a_minute));
    const auto agent = llm_agent(slow.url(), ",deadline:60");
    EXPECT_LT(seconds_to_cancel(*agent, slow, 4), 0.5) << "two lists, warm-up, chat";
    FakeServer hanging(after_a_minute);  // even the warm-up
    const auto cold = llm_agent(hanging.url(), ",deadline:60");
    EXPECT_LT(seconds_to_cancel(*cold, hanging, 1), 0.5);
    FakeServer busy(openai([](const FakeRequest&) {
        return FakeReply::of(503, "{}", "application/json", "Retry-After: 50\r\n");
    }));
    const auto resting = llm_agent(busy.url(), ",deadline:60");
    EXPECT_LT(seconds_to_cancel(*resting, busy, 4), 0.5) << "between two tries";
}

TEST(LlmAgent, NobodyWaitsForTheWarmUp) {
    FakeServer hanging(after_a_minute);
    const auto start = Clock::now();
    {
        const auto agent = llm_agent(hanging.url(), ",deadline:0.1");
        EXPECT_LT(Clock::now() - start, milliseconds(500)) << "made beside it";
        EXPECT_THAT(problem_of(*agent, seen(16)), HasSubstr("still loading"));
    }
    EXPECT_LT(Clock::now() - start, milliseconds(2000)) << "destroyed at once";
}

TEST(LlmAgent, MayBeDestroyedByATaskThatIsCancelled) {
    FakeServer hanging(after_a_minute);
    Executor& executor = ThreadExecutor::process();
    const auto start = Clock::now();
    Task owner = executor.spawn("owner", [&] {
        const auto agent = llm_agent(hanging.url());
        while (hanging.requests().empty())
            executor.sleep_for(milliseconds(1));
        TaskState::current().cancel();
        executor.sleep_for(milliseconds(60000));
    });
    owner.join();
    EXPECT_LT(Clock::now() - start, milliseconds(20000));
}

TEST(LlmAgent, WarmUpThatFailsIsOneWarningWithoutTheKey) {
    setenv("RUDDER_LLM_KEY", "top-secret-key", 1);
    FakeServer angry([](const FakeRequest& request) {
        return FakeReply::of(request.path == "/v1/models" ? 500 : 404,
                             R"({"error": "no top-secret-key here"})", "application/json",
                             "Retry-After: 600\r\n");
    });
    testing::internal::CaptureStderr();
    {
        const auto agent = llm_agent(angry.url());
        EXPECT_THAT(problem_of(*agent, seen(16)), HasSubstr("HTTP 500"));
        EXPECT_THAT(problem_of(*agent, seen(32)), HasSubstr("HTTP 500"));
    }
    const std::string log = testing::internal::GetCapturedStderr();
    unsetenv("RUDDER_LLM_KEY");
    EXPECT_THAT(log, HasSubstr("does not answer yet"));
    EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
    EXPECT_THAT(log, Not(HasSubstr("secret")));
    // It was sent, all the same.
    EXPECT_EQ(angry.requests().front().headers.at("authorization"), "Bearer top-secret-key");
}

TEST(LlmAgent, RunsOnTheSeededExecutor) {
    FakeServer server(openai([](const FakeRequest&) { return said(R"({"action": "keep"})"); }));
    SeededExecutor executor(1);
    steer::Answer answer;
    executor.spawn("agent", [&] {
        const auto agent = llm_agent(server.url());
        answer = agent->decide(seen(16));
    });
    executor.run();
    EXPECT_EQ(answer.action, steer::Action::keep(steer::Reason::model_choice));
}

TEST(LlmAgent, SimulatedRunNeedsNoServerToStart) {
    // Failing decisions are all that an agent without a server comes to.
    SeededExecutor executor(1);
    executor.spawn("agent", [&] {
        const auto agent = llm_agent("http://127.0.0.1:1", ",deadline:0.05");
        EXPECT_THAT(problem_of(*agent, seen(16)), HasSubstr("cannot be reached"));
    });
    executor.run();
}

TEST(LlmAgent, PromptStaysWithinTheContext) {
    FakeServer server(openai([](const FakeRequest&) { return said(R"({"action": "keep"})"); }));
    const auto agent = llm_agent(server.url(), ",context:4000,history:1000");
    steer::Observation o = seen(16000);
    for (std::uint64_t step = 16; step < 16000; step += 16)
        o.history.push_back(past(step));
    EXPECT_EQ(problem_of(*agent, o), "");
    const std::string body = server.requests().back().body;
    EXPECT_LT(body.size(), 4U * 4000);
    EXPECT_THAT(last_user_message(server), HasSubstr("step 15984:"));
    EXPECT_THAT(last_user_message(server), Not(HasSubstr("step 16:")));
}

}  // namespace
}  // namespace rudder::test
