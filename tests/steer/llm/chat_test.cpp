// Both protocols: what is sent, the way down, retries, and who the server is.
#include "steer/llm/chat.hpp"

#include <array>
#include <atomic>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"

#include "fake_server.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;
using std::chrono::seconds;

const std::array messages{steer::ChatMessage{steer::ChatRole::system, "be brief"},
                          steer::ChatMessage{steer::ChatRole::user, "now?"}};
const Json schema{{"type", "object"}, {"properties", Json::object()}};

Clock::time_point soon() {
    return Clock::now() + seconds(20);
}

steer::ChatServer server_at(const std::string& url, steer::LlmApi api = steer::LlmApi::automatic,
                            const std::string& model = {}, const std::string& key = {}) {
    return {{.url = url, .model = model, .api = api},
            key,
            {.temperature = 0.5, .seed = 9, .context = 4096, .tokens = 77}};
}

template <class F>
std::string problem(F&& f) {
    try {
        f();
        return {};
    } catch (const Error& error) {
        return error.what();
    }
}

TEST(LlmChat, SpeaksOllama) {
    FakeServer fake(
        ollama([](const FakeRequest&) { return FakeReply::of(200, ollama_envelope("hi")); }));
    steer::ChatServer server = server_at(fake.url());
    EXPECT_EQ(server.chat(messages, schema, soon()), "hi");
    EXPECT_EQ(server.api(), steer::LlmApi::ollama);
    EXPECT_EQ(server.model(), "tiny");
    const auto requests = fake.requests();
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[0].path, "/api/tags");
    const Json body = Json::parse(requests[1].body);
    EXPECT_EQ(body.at("model"), "tiny");
    EXPECT_EQ(body.at("stream"), false);
    EXPECT_EQ(body.at("format"), schema);
    EXPECT_EQ(body.at("messages").at(0).at("role"), "system");
    EXPECT_EQ(body.at("messages").at(1).at("content"), "now?");
    const Json options{{"temperature", 0.5}, {"seed", 9}, {"num_ctx", 4096}, {"num_predict", 77}};
    EXPECT_EQ(body.at("options"), options);
}

TEST(LlmChat, SpeaksOpenAi) {
    FakeServer fake(
        openai([](const FakeRequest&) { return FakeReply::of(200, openai_envelope("hi")); }));
    steer::ChatServer server = server_at(fake.url(), steer::LlmApi::automatic, {}, "the-key");
    EXPECT_EQ(server.chat(messages, schema, soon()), "hi");
    EXPECT_EQ(server.api(), steer::LlmApi::openai);
    const auto requests = fake.requests();
    ASSERT_EQ(requests.size(), 3U) << "Ollama's list, OpenAI's list, the chat";
    const Json body = Json::parse(requests[2].body);
    EXPECT_EQ(body.at("response_format").at("type"), "json_schema");
    EXPECT_EQ(body.at("response_format").at("json_schema").at("schema"), schema);
    EXPECT_EQ(body.at("max_tokens"), 77);
    EXPECT_EQ(body.at("temperature"), 0.5);
    EXPECT_EQ(body.at("seed"), 9);
    EXPECT_EQ(requests[2].headers.at("authorization"), "Bearer the-key");
}

TEST(LlmChat, TakesLlamaCppForWhatItIs) {
    // It answers Ollama's list of models, but chats in the other protocol.
    FakeServer fake([](const FakeRequest& request) {
        if (request.path == "/api/tags" || request.path == "/v1/models") {
            Json both = Json::parse(openai_models({"tiny"}));
            both["models"] = Json::parse(ollama_models({"tiny"})).at("models");
            return FakeReply::of(200, both.dump());
        }
        return FakeReply::of(200, openai_envelope("hi"));
    });
    steer::ChatServer server = server_at(fake.url());
    server.connect(soon());
    EXPECT_EQ(server.api(), steer::LlmApi::openai);
    EXPECT_EQ(server.model(), "tiny");
}

TEST(LlmChat, AsksNothingThatIsKnown) {
    FakeServer fake(
        openai([](const FakeRequest&) { return FakeReply::of(200, openai_envelope("hi")); }));
    steer::ChatServer known = server_at(fake.url(), steer::LlmApi::openai, "other");
    EXPECT_EQ(known.chat(messages, schema, soon()), "hi");
    EXPECT_EQ(fake.requests().size(), 1U);
    EXPECT_EQ(Json::parse(fake.requests()[0].body).at("model"), "other");
    steer::ChatServer versioned = server_at(fake.url() + "/v1", steer::LlmApi::automatic, "other");
    EXPECT_EQ(versioned.chat(messages, schema, soon()), "hi");
    EXPECT_EQ(fake.requests().size(), 2U);
}

TEST(LlmChat, GoesDownToWhatTheServerTakesAndRemembers) {
    FakeServer fake(openai([](const FakeRequest& request) {
        if (Json::parse(request.body).contains("response_format"))
            return FakeReply::of(400, R"({"error": {"message": "response_format: unknown"}})");
        return FakeReply::of(200, openai_envelope("hi"));
    }));
    steer::ChatServer server = server_at(fake.url(), steer::LlmApi::openai, "tiny");
    EXPECT_EQ(server.form(), steer::ReplyForm::schema);
    EXPECT_EQ(server.chat(messages, schema, soon()), "hi");
    EXPECT_EQ(server.form(), steer::ReplyForm::plain);
    EXPECT_EQ(server.chat(messages, schema, soon()), "hi");
    const auto requests = fake.requests();
    ASSERT_EQ(requests.size(), 4U) << "three ways, then one";
    EXPECT_EQ(Json::parse(requests[1].body).at("response_format").at("type"), "json_object");
    const std::string told = Json::parse(requests[3].body).at("messages").at(0).at("content");
    EXPECT_THAT(told, HasSubstr("be brief"));
    EXPECT_THAT(told, HasSubstr(schema.dump())) << "the prompt must say what the server cannot";
}

TEST(LlmChat, DoesNotGoDownForGood) {
    // All forms are refused: it is not the form.
    FakeServer fake(ollama(
        [](const FakeRequest&) { return FakeReply::of(400, R"({"error": "context too long"})"); }));
    steer::ChatServer server = server_at(fake.url());
    EXPECT_THAT(problem([&] { static_cast<void>(server.chat(messages, schema, soon())); }),
                HasSubstr("context too long"));
    EXPECT_EQ(server.form(), steer::ReplyForm::schema);
}

TEST(LlmChat, TriesAgainWhileThereIsTime) {
    std::atomic<int> asked{0};
    FakeServer fake(openai([&asked](const FakeRequest&) {
        switch (++asked) {
            case 1:
                return FakeReply::of(503, "{}");
            case 2:
                return FakeReply::raw("");  // closes
            case 3:
                return FakeReply::of(429, "{}", "application/json", "Retry-After: 0\r\n");
            default:
                return FakeReply::of(200, openai_envelope("hi"));
        }
    }));
    steer::ChatServer server = server_at(fake.url(), steer::LlmApi::openai, "tiny");
    EXPECT_EQ(server.chat(messages, schema, soon()), "hi");
    EXPECT_EQ(asked, 4);
}

TEST(LlmChat, ObeysRetryAfter) {
    std::atomic<int> asked{0};
    FakeServer fake(openai([&asked](const FakeRequest&) {
        return ++asked == 1 ? FakeReply::of(429, "{}", "application/json", "Retry-After: 1\r\n")
                            : FakeReply::of(200, openai_envelope("hi"));
    }));
    steer::ChatServer server = server_at(fake.url(), steer::LlmApi::openai, "tiny");
    const auto start = Clock::now();
    EXPECT_EQ(server.chat(messages, schema, soon()), "hi");
    EXPECT_GE(Clock::now() - start, seconds(1));

    asked = 0;  // no time for it: no second request
    EXPECT_THAT(problem([&] {
                    static_cast<void>(server.chat(messages, schema,
                                                  Clock::now() + std::chrono::milliseconds(900)));
                }),
                HasSubstr("too many requests (HTTP 429)"));
    EXPECT_EQ(asked, 1);
}

TEST(LlmChat, DoesNotAskAgainInVain) {
    std::atomic<int> asked{0};
    FakeServer fake(openai([&asked](const FakeRequest&) {
        ++asked;
        return FakeReply::of(401, R"({"error": {"message": "bad key the-secret-key"}})");
    }));
    steer::ChatServer server =
        server_at(fake.url(), steer::LlmApi::openai, "tiny", "the-secret-key");
    const std::string said =
        problem([&] { static_cast<void>(server.chat(messages, schema, soon())); });
    EXPECT_THAT(said, HasSubstr("RUDDER_LLM_KEY"));
    EXPECT_THAT(said, Not(HasSubstr("secret")));
    EXPECT_EQ(asked, 1);
}

TEST(LlmChat, QuotesServersButNeverTheKey) {
    std::string text = "model 'x' not found";
    FakeServer fake(openai([&text](const FakeRequest&) {
        return FakeReply::of(404, Json{{"error", text}}.dump());
    }));
    steer::ChatServer server = server_at(fake.url(), steer::LlmApi::openai, "x", "the-secret-key");
    const auto ask = [&] { static_cast<void>(server.chat(messages, schema, soon())); };
    EXPECT_THAT(problem(ask), HasSubstr("model 'x' not found"));
    text = "key e-secre* is unknown";
    EXPECT_THAT(problem(ask), Not(HasSubstr("secre")));
}

TEST(LlmChat, NeedsAModel) {
    FakeServer none([](const FakeRequest& request) {
        return request.path == "/api/tags" ? FakeReply::of(200, ollama_models({}))
                                           : FakeReply::of(404, "{}");
    });
    steer::ChatServer server = server_at(none.url());
    EXPECT_THAT(problem([&] { server.connect(soon()); }), HasSubstr("ollama pull"));
    FakeServer website(
        [](const FakeRequest&) { return FakeReply::of(200, "<html>welcome</html>", "text/html"); });
    steer::ChatServer other = server_at(website.url());
    EXPECT_THAT(problem([&] { other.connect(soon()); }), HasSubstr("text/html"));
    FakeServer odd([](const FakeRequest&) { return FakeReply::of(200, R"({"data": [1]})"); });
    steer::ChatServer third = server_at(odd.url());
    EXPECT_THAT(problem([&] { third.connect(soon()); }), HasSubstr("not a list of models"));
}

}  // namespace
}  // namespace rudder::test
