#include "bad_replies.hpp"

#include <fmt/format.h>

#include "bad_texts.hpp"

namespace rudder::test {

namespace {

using std::chrono::milliseconds;

std::string header(const std::string& lines) {
    return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + lines + "\r\n";
}

FakeReply dripping() {
    FakeReply reply = FakeReply::raw(header("Content-Length: 100000\r\n"));
    for (int i = 0; i < 1000; ++i)
        reply.pieces.push_back({milliseconds{10}, "{"});
    return reply;
}

FakeReply later(FakeReply reply) {
    reply.pieces.front().wait = milliseconds{5000};
    return reply;
}

FakeReply reset_after(const std::string& bytes) {
    FakeReply reply = FakeReply::raw(bytes, false);
    reply.pieces.push_back({milliseconds{20}, ""});
    reply.reset = true;
    return reply;
}

std::vector<BadReply> bad_statuses() {
    const std::string patience = "Retry-After: 60\r\n";  // more than there is: asked once
    const std::string quoted = R"({"error": {"message": "your key top-secret-key is <bad>"}})";
    std::vector<BadReply> all;
    for (const int status : {204, 300, 301, 302, 307, 400, 401, 402, 403, 404, 405,
                             408, 413, 422, 418, 429, 500, 501, 502, 503, 504, 599}) {
        const std::string body = status == 204 ? "" : quoted;
        all.push_back({fmt::format("Status{}", status),
                       FakeReply::of(status, body, "application/json",
                                     patience + "Location: http://127.0.0.1:1/elsewhere\r\n"),
                       fmt::format("(HTTP {})", status)});
        // Perhaps it dislikes the form of reply that was asked for: the other two are tried.
        if (status == 400 || status == 422 || status == 501) all.back().times = 3;
    }
    return all;
}

}  // namespace

std::vector<BadReply> bad_transports() {
    const std::string chunked = header("Transfer-Encoding: chunked\r\n");
    const std::string ten_mb(std::size_t{10} << 20, 'x');
    std::vector<BadReply> all = bad_statuses();
    const std::vector<BadReply> more{
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
        {"BadChunk", FakeReply::raw(chunked + "zz\r\n{}\r\n0\r\n\r\n"), "broke", {}, most_tries},
        {"CutChunk", FakeReply::raw(chunked + "40\r\n{\"a\""), "cut", {}, most_tries},
        {"CutBody",
         FakeReply::raw(header("Content-Length: 500\r\n") + "{\"a\": "),
         "cut",
         {},
         most_tries},
        {"Unanswered", FakeReply::raw(""), "closed the connection unanswered", {}, most_tries},
        {"Reset", reset_after(""), "the connection to the server broke", {}, most_tries},
        {"ResetInTheMiddle",
         reset_after(header("Content-Length: 500\r\n") + "{"),
         "the connection to the server broke",
         {},
         most_tries},
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

std::vector<BadReply> bad_openai() {
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

std::vector<BadReply> bad_ollama() {
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

}  // namespace rudder::test
