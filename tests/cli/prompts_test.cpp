// Decisions for language models as a user meets them: agent collect --for llm.
#include <algorithm>

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

class PromptVerbs : public CliTest {
protected:
    static std::string golden(const std::string& name) {
        return std::string(RUDDER_SOURCE_DIR) + "/tests/data/golden/" + name + ".npz";
    }
    Words collected(const std::string& out, Words more = {}) {
        Words words{
            "agent",      "collect",  "--for",    "llm",      "physics=" + golden("physics_500"),
            "--out",      out,        "--buffer", "0.1",      "--policy",
            "scored",     "--policy", "window:8", "--stride", "2",
            "--interval", "4"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    std::vector<Json> lines_of(const std::string& name) {
        std::ifstream in(folder_ / name);
        std::vector<Json> lines;
        for (std::string line; std::getline(in, line);)
            lines.push_back(Json::parse(line));
        return lines;
    }
};

TEST_F(PromptVerbs, CollectsPromptsWithThePriceOfEveryAction) {
    const Json told = ok_json(collected("made"));
    EXPECT_EQ(names_in(folder_.path()), std::set<std::string>{"made.jsonl"}) << "and nothing else";
    const auto lines = lines_of("made.jsonl");
    ASSERT_GT(lines.size(), 8U);
    EXPECT_EQ(told.size(), 2U) << "a row per policy";
    EXPECT_EQ(
        told[0].at("questions").get<std::size_t>() + told[1].at("questions").get<std::size_t>(),
        lines.size());
    const std::vector<std::string> keys{"system",  "user",    "graph",   "step", "host",
                                        "setting", "horizon", "actions", "keep"};
    for (const Json& line : lines) {
        std::vector<std::string> found;
        for (const auto& [key, value] : line.items())
            found.push_back(key);
        EXPECT_EQ(found, keys);
        EXPECT_EQ(line.at("graph"), "physics");
        EXPECT_THAT(line.at("user").get<std::string>(), HasSubstr("What is your action?"));
        const Json& keep = line.at("actions").at(line.at("keep").get<std::size_t>());
        EXPECT_EQ(keep.at("reply").dump(), R"({"action":"keep"})");
        EXPECT_TRUE(keep.at("seconds").is_null()) << "a trace has no clock";
        EXPECT_GE(line.at("actions").size(), 8U) << "keep, policies and the capacity";
        EXPECT_LE(line.at("horizon"), 64);
    }
}

TEST_F(PromptVerbs, SameSeedSameFileOnAnyNumberOfThreads) {
    ok(collected("one", {"--threads", "1"}));
    ok(collected("four", {"--threads", "4"}));
    ok(collected("other", {"--seed", "7"}));
    EXPECT_GT(bytes_of(folder_ / "one.jsonl").size(), 10000U);
    EXPECT_EQ(bytes_of(folder_ / "one.jsonl"), bytes_of(folder_ / "four.jsonl"));
    EXPECT_NE(bytes_of(folder_ / "one.jsonl"), bytes_of(folder_ / "other.jsonl"));
}

TEST_F(PromptVerbs, WhatDoesNotFitIsRefused) {
    const std::string trace = golden("physics_500");
    const auto names = names_in(folder_.path());
    refuse({"agent", "collect", trace, "--for", "people", "--out", "t"}, 2,
           {"unknown purpose 'people'", "classifier, llm"});
    refuse({"agent", "collect", trace, "--for", "llm", "--stride", "0", "--out", "t"}, 2,
           {"--stride"});
    refuse({"agent", "collect", trace, "--interval", "8", "--out", "t"}, 2, {"--for llm"});
    refuse({"agent", "collect", trace, "--guarded", "--out", "t"}, 2, {"--for llm"});
    refuse({"agent", "collect", trace, "--for", "llm", "--policy", "scored,every:4", "--out", "t"},
           2, {"cannot be steered"});
    refuse({"agent", "collect", trace, "--for", "llm", "--stride", "1000000", "--out", "t"}, 3,
           {"no question was drawn"});
    EXPECT_EQ(names_in(folder_.path()), names) << "nothing is left";
    ok(collected("there"));
    const std::string before = bytes_of(folder_ / "there.jsonl");
    refuse(collected("there", {"--seed", "3"}), 2, {"there.jsonl"});
    EXPECT_EQ(bytes_of(folder_ / "there.jsonl"), before);
    ok(collected("there", {"--seed", "3", "--force"}));
    EXPECT_NE(bytes_of(folder_ / "there.jsonl"), before);
}

/// What of the lines does not depend on the clock or on what a live run knows besides.
std::vector<std::string> rows_of(const std::vector<Json>& lines) {
    std::vector<std::string> all;
    for (const Json& line : lines) {
        std::string text = line.at("host").dump() + " " + line.at("step").dump() + " " +
                           line.at("horizon").dump() + " " + line.at("setting").at("policy").dump();
        for (const Json& one : line.at("actions"))
            text += " " + one.at("reply").dump() + one.at("rows").dump();
        all.push_back(std::move(text));
    }
    return all;
}

TEST_F(PromptVerbs, ALiveRunGivesTheRowsOfItsTrace) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
    ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    const Words run{"--epochs", "8",   "--batch", "20", "--hidden",         "8",
                    "--fanout", "4,6", "--ranks", "2",  "--ranks-per-host", "1"};
    const auto with = [](Words words, const Words& more) {
        words.insert(words.end(), more.begin(), more.end());
        return words;
    };
    const Words collect{"--for",      "llm",      "--policy",  "scored",   "--policy",
                        "window:4",   "--buffer", "0.2",       "--stride", "1",
                        "--interval", "8",        "--horizon", "16"};
    ok(with({"train", "parts", "--policy", "window:4", "--trace", "--out", "run", "--quiet"}, run));
    ok(with({"agent", "collect", "g=run", "--out", "traced"}, collect));
    ok(with(with({"agent", "collect", "g=parts", "--out", "live"}, collect), run));
    const auto live = rows_of(lines_of("live.jsonl"));
    EXPECT_GT(live.size(), 20U);
    EXPECT_EQ(live, rows_of(lines_of("traced.jsonl")));
    EXPECT_THAT(lines_of("live.jsonl").front().at("system").get<std::string>(),
                HasSubstr("run: 2 ranks on 2 hosts"));
    refuse(with({"agent", "collect", "parts", "--out", "live"}, collect), 2, {"live.jsonl"});
}

TEST_F(PromptVerbs, OverALinkSomeActionsHaveSeconds) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    ok({"generate", "sbm", "graph", "--vertices", "400", "--seed", "3"});
    ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    ok({"agent",    "collect",          "g=parts", "--for",    "llm",        "--policy",
        "window:4", "--buffer",         "0.2",     "--epochs", "8",          "--batch",
        "20",       "--hidden",         "8",       "--fanout", "4,6",        "--ranks",
        "2",        "--ranks-per-host", "1",       "--link",   "10us,1gbit", "--interval",
        "8",        "--horizon",        "8",       "--out",    "live"});
    std::size_t timed = 0;
    std::size_t on_time = 0;
    for (const Json& line : lines_of("live.jsonl")) {
        EXPECT_THAT(line.at("system").get<std::string>(), HasSubstr("Cost: seconds"));
        const auto of_line = std::ranges::count_if(
            line.at("actions"), [](const Json& one) { return !one.at("seconds").is_null(); });
        EXPECT_LE(of_line, 1) << "the one that was taken";
        timed += static_cast<std::size_t>(of_line);
        for (const Json& one : line.at("actions")) {
            const Json& reply = one.at("reply");
            if (reply.contains("knobs") && reply.at("knobs").contains("bulk")) ++on_time;
        }
    }
    EXPECT_GT(timed, 0U);
    EXPECT_GT(on_time, 0U);
}

}  // namespace
}  // namespace rudder::test
