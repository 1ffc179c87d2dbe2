// Bad replies, each over a real socket: none is applied, and each is told apart.
#include "bad_replies.hpp"

#include <cstdlib>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/executor/thread_executor.hpp"
#include "rudder/core/error.hpp"

#include "bad_texts.hpp"
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

/// Asks a server whose every reply is that one.
std::string problem_with(const FakeReply& reply, bool speaks_ollama, const std::string& options) {
    const auto chat = [&reply](const FakeRequest&) { return reply; };
    FakeServer server(speaks_ollama ? ollama(chat) : openai(chat));
    const auto agent = llm_agent(server.url(), options.empty() ? ",deadline:20" : options);
    return problem_of(*agent, seen(160));
}

/// Checks them all, eight at a time: many are slow to fail, since they are tried again.
void check_all(const std::vector<BadReply>& all, bool speaks_ollama, bool alternate = false) {
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
