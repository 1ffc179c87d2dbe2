// Bad replies, each over a real socket: none is applied, and each is told apart.
#include <cstdlib>
#include <map>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/executor/thread_executor.hpp"
#include "rudder/core/error.hpp"

#include "bad_texts.hpp"
#include "fake_server.hpp"
#include "seen.hpp"

namespace rudder::test {

std::string problem_of(steer::Agent& agent, const steer::Observation& observation) {
    try {
        static_cast<void>(agent.decide(observation));
        return {};
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::failed) << error.what();
        EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("secret")));
        EXPECT_THAT(error.what(), testing::Not(testing::HasSubstr("<script")));
        for (const char c : error.problem())
            EXPECT_TRUE(c >= ' ' && c <= '~') << "a character that is not printable";
        return error.problem();
    }
}

namespace {

using testing::HasSubstr;

struct Bad {
    std::string name;
    FakeReply reply;
    std::string problem;
    std::string options{};  ///< of the agent
};

std::string header(const std::string& lines) {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + lines + "\r\n";
}

FakeReply dripping() {
    FakeReply reply = FakeReply::raw(header("Content-Length: 100000\r\n"));
    for (int i = 0; i < 1000; ++i)
        reply.pieces.push_back({std::chrono::milliseconds{10}, "{"});
    return reply;
}

FakeReply later(FakeReply reply) {
    reply.pieces.front().wait = std::chrono::milliseconds{5000};
    return reply;
}

FakeReply reset_after(const std::string& bytes) {
    FakeReply reply = FakeReply::raw(bytes, false);
    reply.pieces.push_back({std::chrono::milliseconds{20}, ""});
    reply.reset = true;
    return reply;
}

std::vector<Bad> bad_statuses() {
    const std::string patience = "Retry-After: 60\r\n";  // more than there is: asked once
    const std::string quoted = R"({"error": {"message": "your key top-secret-key is <bad>"}})";
    std::vector<Bad> all;
    for (const int status : {204, 300, 301, 302, 307, 400, 401, 402, 403, 404, 405,
                             408, 413, 422, 418, 429, 500, 501, 502, 503, 504, 599}) {
        const std::string body = status == 204 ? "" : quoted;
        all.push_back({fmt::format("Status{}", status),
                       FakeReply::of(status, body, "application/json",
                                     patience + "Location: http://127.0.0.1:1/elsewhere\r\n"),
                       fmt::format("(HTTP {})", status)});
    }
    return all;
}

/// What goes wrong on the way, whatever the protocol.
std::vector<Bad> bad_transports() {
    const std::string chunked = header("Transfer-Encoding: chunked\r\n");
    const std::string ten_mb(std::size_t{10} << 20, 'x');
    std::vector<Bad> all = bad_statuses();
    const std::vector<Bad> more{
        {"Html", FakeReply::of(200, "<html></html>", "text/html"), "of type 'text/html'"},
        {"EventStream", FakeReply::of(200, "data: {}", "text/event-stream"), "text/event-stream"},
        {"Lines", FakeReply::of(200, "{}\n{}", "application/x-ndjson"), "application/x-ndjson"},
        {"NoType", FakeReply::raw("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"), "of type ''"},
        {"Gzip",
         FakeReply::of(200, "\x1f\x8b\x08 something", "application/json",
                       "Content-Encoding: gzip\r\n"),
         "invalid response of the server: not JSON"},
        {"TenMegabytes", FakeReply::of(200, ten_mb), "says it is larger than 1.0 MiB"},
        {"TenMegabytesInChunks", FakeReply::raw(chunked + "A00000\r\n" + ten_mb + "\r\n0\r\n\r\n"),
         "larger than"},
        {"BadChunk", FakeReply::raw(chunked + "zz\r\n{}\r\n0\r\n\r\n"), "broke"},
        {"CutChunk", FakeReply::raw(chunked + "40\r\n{\"a\""), "cut"},
        {"CutBody", FakeReply::raw(header("Content-Length: 500\r\n") + "{\"a\": "), "cut"},
        {"Unanswered", FakeReply::raw(""), "closed the connection unanswered"},
        {"Reset", reset_after(""), "the connection to the server broke"},
        {"ResetInTheMiddle", reset_after(header("Content-Length: 500\r\n") + "{"),
         "the connection to the server broke"},
        {"Garbage", FakeReply::raw("\x01\x02\x03 hello, this is no protocol\r\n\r\n"), "not HTTP"},
        {"BadLength", FakeReply::raw(header("Content-Length: -5\r\n") + "{}"), "not HTTP"},
        {"SlowDrip", dripping(), "did not answer in time", ",deadline:0.3"},
        {"Silence", later(FakeReply::of(200, "{}")), "did not answer in time", ",deadline:0.3"},
        {"EmptyBody", FakeReply::of(200, ""), "invalid response of the server: not JSON"},
        {"CutJson", FakeReply::of(200, R"({"choices": [)"), "column 14: the text ends too early"},
        {"BadUtf8", FakeReply::of(200, "{\"model\": \"\xff\xfe\"}"), "invalid"},
        {"ListBody", FakeReply::of(200, "[]"), "not a JSON object"},
        {"ErrorBody", FakeReply::of(200, R"({"error": "out of <memory>"})"), "reports an error"},
        {"DeepBody", FakeReply::of(200, nested(5000)), "nested too deeply"},
    };
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

std::vector<Bad> bad_openai() {
    const auto with = [](const std::string& choices) {
        return FakeReply::of(200, R"({"choices": )" + choices + "}");
    };
    const std::string keep = R"({\"action\": \"keep\"})";
    return {
        {"NoChoices", FakeReply::of(200, R"({"object": "chat.completion"})"),
         "holds no list of replies"},
        {"EmptyChoices", with("[]"), "holds no reply"},
        {"TwoChoices", with(R"([{"message": {"content": "a"}}, {"message": {"content": "b"}}])"),
         "2 replies"},
        {"NoMessage", with(R"([{"finish_reason": "stop"}])"), "holds no message"},
        {"NumberChoice", with("[7]"), "is not an object"},
        {"NullContent", with(R"([{"message": {"content": null}}])"), "holds no text"},
        {"ListContent", with(R"([{"message": {"content": [{"text": "x"}]}}])"), "is not a text"},
        {"Refusal", with(R"([{"message": {"content": "x", "refusal": "no"}}])"), "refuses"},
        {"OtherRole", with(R"([{"message": {"role": "user", "content": ")" + keep + R"("}}])"),
         "not the model's"},
        {"CutByTokens", FakeReply::of(200, openai_envelope(R"({"action": "keep"})", "length")),
         "cut at 256 tokens"},
        {"Filtered", FakeReply::of(200, openai_envelope(R"({"action": "keep"})", "content_filter")),
         "'content_filter'"},
        {"ToolCalls", FakeReply::of(200, openai_envelope(R"({"action": "keep"})", "tool_calls")),
         "'tool_calls'"},
        {"NumberEnd", with(R"([{"message": {"content": "x"}, "finish_reason": 3}])"),
         "how the reply ended"},
    };
}

std::vector<Bad> bad_ollama() {
    const std::string keep = R"({"action": "keep"})";
    return {
        {"NotDone", FakeReply::of(200, R"({"message": {"content": "{}"}, "done": false})"),
         "not complete"},
        {"DoneMissing", FakeReply::of(200, R"({"message": {"content": "{}"}})"),
         "does not say that the reply is complete"},
        {"OllamaCut", FakeReply::of(200, ollama_envelope(keep, "length")), "cut at 256 tokens"},
        {"OnlyLoaded", FakeReply::of(200, ollama_envelope(keep, "load")), "'load'"},
        {"OllamaNoMessage", FakeReply::of(200, R"({"done": true})"), "holds no message"},
        {"OllamaTextMessage", FakeReply::of(200, R"({"done": true, "message": "keep"})"),
         "is not an object"},
        {"OllamaNumber", FakeReply::of(200, R"({"done": true, "message": {"content": 1}})"),
         "is not a text"},
    };
}

/// Asks a server whose every reply is that one.
std::string problem_with(const FakeReply& reply, bool speaks_ollama, const std::string& options) {
    const auto chat = [&reply](const FakeRequest&) { return reply; };
    FakeServer server(speaks_ollama ? ollama(chat) : openai(chat));
    const auto agent = llm_agent(server.url(), options.empty() ? ",deadline:20" : options);
    return problem_of(*agent, seen(160));
}

/// Checks them all, eight at a time: many are slow to fail, since they are tried again.
void check_all(const std::vector<Bad>& all, bool speaks_ollama, bool alternate = false) {
    std::vector<Task> running;
    std::vector<std::string> problems(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        running.push_back(ThreadExecutor::process().spawn("bad reply", [&, i] {
            const bool other = alternate && i % 2 == 1;
            problems[i] = problem_with(all[i].reply, speaks_ollama != other, all[i].options);
            EXPECT_THAT(problems[i], HasSubstr(all[i].problem)) << all[i].name;
        }));
        if (running.size() < 8 && i + 1 < all.size()) continue;
        for (Task& task : running)
            task.join();
        running.clear();
    }
    std::map<std::string, std::string> told;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto [before, fresh] = told.try_emplace(problems[i], all[i].name);
        EXPECT_TRUE(fresh) << all[i].name << " and " << before->second << ": " << problems[i];
    }
}

class BadReplies : public testing::Test {
protected:
    BadReplies() { setenv("RUDDER_LLM_KEY", "top-secret-key", 1); }
    ~BadReplies() override { unsetenv("RUDDER_LLM_KEY"); }
};

TEST_F(BadReplies, OfTheModel) {
    for (const bool speaks_ollama : {false, true}) {
        std::set<std::string> problems;
        for (const BadText& bad : bad_texts()) {
            const FakeReply reply = FakeReply::of(
                200, speaks_ollama ? ollama_envelope(bad.reply) : openai_envelope(bad.reply));
            const std::string problem = problem_with(reply, speaks_ollama, {});
            EXPECT_THAT(problem, HasSubstr(bad.problem)) << bad.name;
            EXPECT_TRUE(problems.insert(problem).second) << bad.name << ": as another: " << problem;
        }
        EXPECT_GE(problems.size(), 60U);
    }
}

TEST_F(BadReplies, OnTheWay) {
    check_all(bad_transports(), false, true);
}

TEST_F(BadReplies, OfOpenAiServers) {
    check_all(bad_openai(), false);
}

TEST_F(BadReplies, OfOllama) {
    check_all(bad_ollama(), true);
}

}  // namespace
}  // namespace rudder::test
