// Addresses, keys and requests.
#include "steer/llm/http.hpp"

#include <chrono>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/executor/thread_executor.hpp"
#include "rudder/core/error.hpp"

#include "fake_server.hpp"

namespace rudder::test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// The text of the usage error that reading an address gives; empty: none.
std::string refused(const std::string& url, bool insecure = false) {
    try {
        static_cast<void>(steer::Endpoint::parse(url, insecure));
        return {};
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 2);
        EXPECT_FALSE(error.remedy().empty());
        EXPECT_EQ(error.where(), "--llm-url");
        return error.what();
    }
}

TEST(LlmEndpoint, ReadsAddresses) {
    const steer::Endpoint local = steer::Endpoint::parse("http://127.0.0.1:11434/", false);
    EXPECT_EQ(local.base, "http://127.0.0.1:11434");
    EXPECT_TRUE(local.loopback);
    EXPECT_FALSE(local.tls);
    EXPECT_FALSE(local.versioned);
    const steer::Endpoint hosted =
        steer::Endpoint::parse("https://models.example.org/team/v1/", false);
    EXPECT_EQ(hosted.base, "https://models.example.org/team");
    EXPECT_TRUE(hosted.tls);
    EXPECT_FALSE(hosted.loopback);
    EXPECT_TRUE(hosted.versioned);
    for (const char* url : {"http://localhost:8080", "http://[::1]:8080", "http://127.8.9.1"})
        EXPECT_TRUE(steer::Endpoint::parse(url, false).loopback) << url;
    EXPECT_EQ(steer::Endpoint::parse("http://10.0.0.7:8000", true).base, "http://10.0.0.7:8000");
}

TEST(LlmEndpoint, RefusesWhatWillNotDo) {
    for (const char* url : {"", "nonsense", "http://", "://x", "http://a b", "http://h:99999999",
                            "http://[::1", "http://x\ny"}) {
        EXPECT_THAT(refused(url), HasSubstr("not a URL")) << url;
    }
    EXPECT_THAT(refused("ftp://127.0.0.1/"), HasSubstr("'ftp:'"));
    EXPECT_THAT(refused("file:///etc/passwd"), HasSubstr("'file:'"));
    EXPECT_THAT(refused("http://127.0.0.1/?key=secret"), HasSubstr("a query or fragment"));
    EXPECT_THAT(refused("http://127.0.0.1/?key=secret"), Not(HasSubstr("secret")));
    EXPECT_THAT(refused("http://me:secret@127.0.0.1/"), HasSubstr("name or password"));
    EXPECT_THAT(refused("http://me:secret@127.0.0.1/"), Not(HasSubstr("secret")));
}

TEST(LlmEndpoint, OtherMachinesNeedTls) {
    for (const char* url :
         {"http://models.example.org", "http://10.0.0.7:8000", "http://0.0.0.0",
          "http://127.evil.example", "http://localhost.example.org", "http://[fe80::1]"}) {
        EXPECT_THAT(refused(url), HasSubstr("--llm-insecure")) << url;
        EXPECT_EQ(refused(url, true), "") << url;
    }
}

TEST(LlmKey, ComesFromTheEnvironment) {
    unsetenv("RUDDER_LLM_KEY");
    unsetenv("OPENAI_API_KEY");
    EXPECT_EQ(steer::llm_key_from_environment(), "");
    setenv("OPENAI_API_KEY", "second", 1);
    EXPECT_EQ(steer::llm_key_from_environment(), "second");
    setenv("RUDDER_LLM_KEY", "first", 1);
    EXPECT_EQ(steer::llm_key_from_environment(), "first");
    setenv("RUDDER_LLM_KEY", "secret\r\nX-Other: 1", 1);
    try {
        static_cast<void>(steer::llm_key_from_environment());
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.exit_code(), 2);
        EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
    }
    unsetenv("RUDDER_LLM_KEY");
    unsetenv("OPENAI_API_KEY");
}

TEST(LlmText, IsPrintable) {
    EXPECT_EQ(steer::printable("a\nb\x01<i>&\xff"), "a b??i???");
    EXPECT_EQ(steer::printable("abcdef", 5), "ab...");
    EXPECT_EQ(steer::printable("abcde", 5), "abcde");
}

TEST(LlmHttp, SendsAndReceives) {
    FakeServer server([](const FakeRequest& request) {
        return FakeReply::of(200, request.method + " " + request.path + " " + request.body,
                             "Application/JSON; charset=utf-8", "Retry-After: 7\r\n");
    });
    steer::HttpClient client(steer::Endpoint::parse(server.url(), false), "abcdefghij");
    const auto posted = client.post("/a", "{}", Clock::now() + seconds(20));
    EXPECT_EQ(posted.fault, steer::HttpFault::none);
    EXPECT_EQ(posted.status, 200);
    EXPECT_EQ(posted.body, "POST /a {}");
    EXPECT_EQ(posted.content_type, "application/json");
    EXPECT_EQ(posted.retry_after, 7);
    EXPECT_EQ(client.get("/b", Clock::now() + seconds(20)).body, "GET /b ");
    const auto requests = server.requests();
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[0].headers.at("authorization"), "Bearer abcdefghij");
    EXPECT_EQ(requests[0].headers.at("content-type"), "application/json");
    EXPECT_EQ(requests[0].headers.count("expect"), 0U);
    EXPECT_TRUE(client.reveals_key("it was abcdef"));
    EXPECT_FALSE(client.reveals_key("it was abcde"));
}

TEST(LlmHttp, FollowsNoRedirect) {
    FakeServer server([](const FakeRequest&) {
        return FakeReply::of(302, "", "application/json", "Location: /elsewhere\r\n");
    });
    steer::HttpClient client(steer::Endpoint::parse(server.url(), false), "");
    EXPECT_EQ(client.get("/", Clock::now() + seconds(20)).status, 302);
    EXPECT_EQ(server.requests().size(), 1U);
}

TEST(LlmHttp, IgnoresProxiesOnThisMachine) {
    setenv("http_proxy", "http://127.0.0.1:1", 1);
    FakeServer server([](const FakeRequest&) { return FakeReply::of(200, "{}"); });
    steer::HttpClient client(steer::Endpoint::parse(server.url(), false), "");
    EXPECT_EQ(client.get("/", Clock::now() + seconds(20)).status, 200);
    unsetenv("http_proxy");
}

TEST(LlmHttp, TellsFaultsApart) {
    FakeServer plain([](const FakeRequest&) { return FakeReply::of(200, "{}"); });
    std::string url = plain.url();
    url.replace(0, 4, "https");
    steer::HttpClient tls(steer::Endpoint::parse(url, false), "");
    EXPECT_EQ(tls.get("/", Clock::now() + seconds(20)).fault, steer::HttpFault::tls);

    steer::HttpClient nobody(steer::Endpoint::parse("http://127.0.0.1:1", false), "");
    EXPECT_EQ(nobody.get("/", Clock::now() + seconds(20)).fault, steer::HttpFault::unreachable);
    steer::HttpClient late(steer::Endpoint::parse(plain.url(), false), "");
    EXPECT_EQ(late.get("/", Clock::now() - seconds(1)).fault, steer::HttpFault::deadline);
}

TEST(LlmHttp, EndsAtOnceWhenCancelled) {
    FakeServer server([](const FakeRequest&) {
        FakeReply reply = FakeReply::of(200, "{}");
        reply.pieces.front().wait = milliseconds(60000);
        return reply;
    });
    steer::HttpClient client(steer::Endpoint::parse(server.url(), false), "");
    steer::HttpResponse response;
    const auto start = Clock::now();
    Task task = ThreadExecutor::process().spawn(
        "request", [&] { response = client.get("/", Clock::now() + seconds(60)); });
    while (server.requests().empty())
        ThreadExecutor::process().sleep_for(milliseconds(1));
    const auto asked = Clock::now();
    client.cancel();
    task.join();
    EXPECT_EQ(response.fault, steer::HttpFault::cancelled);
    EXPECT_LT(Clock::now() - asked, milliseconds(500));
    EXPECT_LT(Clock::now() - start, seconds(20));
    // And it stays so.
    EXPECT_EQ(client.get("/", Clock::now() + seconds(60)).fault, steer::HttpFault::cancelled);
    EXPECT_FALSE(client.rest(Clock::now() + seconds(60)));
}

}  // namespace
}  // namespace rudder::test
