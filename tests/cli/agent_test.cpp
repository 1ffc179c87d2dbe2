// Agents as a user meets them: train, compare, replay, agent list and agent score.
#include <atomic>
#include <csignal>
#include <fstream>

#include <unistd.h>

#include "cli/llm_models.hpp"
#include "steer/llm/bad_texts.hpp"
#include "steer/llm/fake_server.hpp"

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

class AgentVerbs : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "4", "--method", "ldg"});
    }
    static std::string golden() {
        return std::string(RUDDER_SOURCE_DIR) + "/tests/data/golden/debian_500.npz";
    }
    static Words train(const Words& more) {
        Words words{"train",    "parts", "--epochs", "2",   "--batch", "20",
                    "--hidden", "16",    "--fanout", "4,6", "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    static Words on_ranks(Words words) {
        words.insert(words.end(), {"--ranks", "2", "--ranks-per-host", "1"});
        return words;
    }
    [[nodiscard]] std::vector<Json> lines(const std::string& file) const {
        std::vector<Json> all;
        std::ifstream in(folder_ / file);
        for (std::string line; std::getline(in, line);)
            all.push_back(parse_json(line, file));
        return all;
    }
};

TEST_F(AgentVerbs, ATrainedRunLeavesItsDecisionsAndTheSameDigest) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Json plain = ok_json(on_ranks(train({"--policy", "scored,every:4"})));
    EXPECT_EQ(plain.at("agent").at("name"), "never");
    for (const char* scope : {"host", "job"}) {
        const std::string run = std::string("run-") + scope;
        const Json s =
            ok_json(on_ranks(train({"--policy", "scored", "--agent", "every:4", "--agent-scope",
                                    scope, "--agent-mode", "sync", "--trace", "--out", run})));
        EXPECT_EQ(s.at("loss").at("digest"), plain.at("loss").at("digest"));
        EXPECT_EQ(s.at("agent").at("name"), "every:4");
        EXPECT_GT(s.at("agent").at("applied"), 0);
        // Small buffers are followed whole, so that it is exact; where one agent leads several, the
        // log repeats a few rows otherwise than they came.
        const Json exact = ok_json({"agent", "score", run}).at(0).at("cost");
        const double off = std::string(scope) == "host" ? 1e-9 : 0.02;
        EXPECT_NEAR(s.at("agent").at("regret").get<double>(), exact.at("regret").get<double>(),
                    off);
        EXPECT_EQ(s.at("agent").at("regret_error"), 0.0);
        EXPECT_EQ(s.at("agent").at("regret_against"), exact.at("best_fixed_rule"));
        // One effect has one figure: closing lines and score say the same, to the last digit.
        EXPECT_EQ(s.at("agent").at("excess"), exact.at("excess"));
        std::uint64_t fetched = 0;
        for (const char* kind : {"demand", "replacement", "ahead"})
            fetched += s.at("rows").at(kind).get<std::uint64_t>();
        EXPECT_EQ(exact.at("rows"), fetched);
        const auto decisions = lines(run + "/decisions.jsonl");
        ASSERT_EQ(decisions.size(), s.at("agent").at("decisions").get<std::size_t>());
        for (const char* key : {"step", "rank", "agent", "observation", "action", "effective_step",
                                "reason", "latency", "status", "outcome", "alternatives", "run"})
            EXPECT_TRUE(decisions.front().contains(key)) << key;
        for (const Json& step : lines(run + "/metrics.jsonl")) {
            for (const char* knob : {"policy", "capacity", "bulk", "sample_threads",
                                     "fetch_threads", "demand_first", "in_flight", "buckets"})
                EXPECT_TRUE(step.at("knobs").contains(knob)) << knob;
        }
        const Json score = ok_json({"agent", "score", run}).at(0);
        EXPECT_EQ(score.at("decisions"), decisions.size());
        EXPECT_EQ(score.at("pass_at_1").at("rule"), "none") << "it forecasts nothing";
        EXPECT_GE(score.at("cost").at("of_floor"), 1.0);
        EXPECT_TRUE(score.at("cost").at("regret").is_number());
        EXPECT_THAT(ok({"agent", "score", run}), HasSubstr("of the floor"));
    }
    // Its log, repeated: the same decisions; on other data it is refused.
    const Json again = ok_json(on_ranks(
        train({"--policy", "scored", "--agent", "replay:run-host", "--agent-mode", "sync"})));
    EXPECT_EQ(again.at("rows").at("demand"),
              read_json(folder_ / "run-host/summary.json").at("rows").at("demand"));
    const Words other = on_ranks(
        train({"--policy", "scored", "--agent", "replay:run-host", "--seed", "9", "--out", "x"}));
    const Outcome refused = rudder(other, here());
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("another run"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "x"));
}

TEST_F(AgentVerbs, ARunThatHadEndedGoesOnWithItsLog) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Words base = {"--policy", "scored", "--agent", "every:2", "--out", "run"};
    ok_json(on_ranks(train(base)));
    const auto before = lines("run/decisions.jsonl").size();
    std::filesystem::remove(folder_ / "run/summary.json");
    // The last checkpoint is of the last step: nothing is left to do, and no line is doubled.
    Words words = on_ranks(train(base));
    words.emplace_back("--resume");
    ok_json(words);
    EXPECT_EQ(lines("run/decisions.jsonl").size(), before);
    words =
        on_ranks(train({"--policy", "scored", "--agent", "every:2", "--out", "run", "--resume"}));
    words[3] = "3";
    const Json longer = ok_json(words);
    EXPECT_EQ(longer.at("epochs"), 3);
    std::set<std::pair<int, int>> seen;
    for (const Json& line : lines("run/decisions.jsonl"))
        EXPECT_TRUE(seen.emplace(line.at("step").get<int>(), line.at("rank").get<int>()).second)
            << line.dump();
}

// Outcomes of the last decisions before a checkpoint are known after it: a kill must not lose them.
TEST_F(AgentVerbs, AKilledRunGoesOnWithItsLogAndItsCounts) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const auto words = [](const std::string& out, const Words& more) {
        Words all = on_ranks(train({"--policy", "scored", "--agent", "every:2", "--agent-mode",
                                    "sync", "--eval-every", "0", "--out", out}));
        all[3] = "8";
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const Json whole = ok_json(words("whole", {}));
    // With the link two seconds pass between the first checkpoint and the end: a kill comes first.
    RunOptions options = here();
    options.after = [&](pid_t) {
        const auto run = folder_ / "run";
        for (int i = 0; i < 20'000 && !has_checkpoint(run); ++i)
            ::usleep(2'000);
        const Json card = read_json(run / "run.json");
        ::kill(card.at("pid").get<pid_t>(), SIGKILL);
    };
    EXPECT_NE(rudder(words("run", {"--link", "20ms,1gbit"}), options).code, 0);
    const Json resumed = ok_json(words("run", {"--resume"}));
    EXPECT_EQ(resumed.at("loss"), whole.at("loss"));
    const auto cut = resumed.at("resumed_at").get<std::uint64_t>();
    EXPECT_GT(cut, 0U);
    const auto asked_before = [&](const std::string& file) {
        std::set<std::pair<std::uint64_t, int>> asked;
        for (const Json& line : lines(file)) {
            const auto step = line.at("step").get<std::uint64_t>();
            EXPECT_TRUE(step >= cut || asked.emplace(step, line.at("rank").get<int>()).second)
                << line.dump();
        }
        return asked;
    };
    EXPECT_EQ(asked_before("run/decisions.jsonl"), asked_before("whole/decisions.jsonl"));
    // The summary counts all of them, not those since the resume.
    EXPECT_EQ(resumed.at("agent").at("decisions").get<std::size_t>(),
              lines("run/decisions.jsonl").size());
    EXPECT_GE(resumed.at("agent").at("decisions").get<std::size_t>(),
              asked_before("run/decisions.jsonl").size() + 1);
    const Json& agent = resumed.at("agent");
    EXPECT_EQ(agent.at("decisions").get<std::uint64_t>(),
              agent.at("applied").get<std::uint64_t>() + agent.at("kept").get<std::uint64_t>() +
                  agent.at("late").get<std::uint64_t>() + agent.at("invalid").get<std::uint64_t>() +
                  agent.at("refused").get<std::uint64_t>());
}

TEST_F(AgentVerbs, TheClosingTableHasOneLineAboutTheAgent) {
    Words words = train({"--policy", "scored", "--agent", "every:4"});
    std::erase(words, "--quiet");
    // One rank holds all rows.
    EXPECT_THAT(ok(words), HasSubstr("every:4: decided nothing"));
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    EXPECT_THAT(ok(on_ranks(words)), HasSubstr("the built-in rule"));
}

TEST_F(AgentVerbs, WithoutAWordAboutItTheBanditSteers) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Json s = ok_json(on_ranks(train({"--out", "run"})));
    EXPECT_EQ(s.at("agent").at("name"), "bandit");
    EXPECT_GT(s.at("agent").at("decisions"), 0);
    for (const Words& fixed :
         {Words{"--policy", "window"}, Words{"--window", "8"}, Words{"--agent", "never"}}) {
        const Json plain = ok_json(on_ranks(train(fixed)));
        EXPECT_EQ(plain.at("agent").at("name"), "never");
        EXPECT_EQ(plain.at("loss").at("digest"), s.at("loss").at("digest"));
    }
}

TEST_F(AgentVerbs, AnAgentThatChangesNothingIsToldSoOnce) {
    const Outcome outcome = rudder(
        {"train", "parts", "--epochs", "1", "--policy", "window", "--agent", "every:3", "--json"},
        here());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("has no effect"));
    EXPECT_THAT(outcome.err, HasSubstr("--policy scored"));
    EXPECT_EQ(outcome.err.find("has no effect"), outcome.err.rfind("has no effect"));
}

TEST_F(AgentVerbs, CompareShowsPoliciesWithTheirAgents) {
    Words words{"compare", "parts",    "--epochs", "1",       "--hidden", "8",       "--policy",
                "scored",  "--policy", "window:4", "--agent", "never",    "--agent", "random:0.5"};
    const Outcome outcome = rudder(words, here());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("scored + random:0.5"));
    EXPECT_THAT(outcome.out, HasSubstr("window:4 + never"));
    EXPECT_THAT(outcome.out, HasSubstr("All digests are equal"));
}

TEST_F(AgentVerbs, ReplayRunsAgentsOverATrace) {
    const Json rows = ok_json({"replay", golden(), "--policy", "scored", "--agent", "never",
                               "--agent", "every:4", "--agent", "always", "--log", "log.jsonl"});
    ASSERT_EQ(rows.size(), 3U);
    const Json own = ok_json({"replay", golden(), "--policy", "scored,every:4"});
    EXPECT_EQ(rows[1].at("agent"), "every:4");
    for (const char* key : {"demand", "replacement", "hits", "capacity"})
        EXPECT_EQ(rows[1].at(key), own[0].at(key)) << key;
    EXPECT_GE(rows[0].at("regret"), 0.0);
    EXPECT_GT(rows[1].at("decisions"), 0);
    EXPECT_TRUE(rows[1].at("correct").is_number());
    EXPECT_LE(rows[1].at("better"), rows[1].at("correct"));
    EXPECT_TRUE(rows[1].at("no_effect").is_number_unsigned());
    EXPECT_EQ(lines("log.jsonl").size(), rows[1].at("decisions").get<std::size_t>() +
                                             rows[2].at("decisions").get<std::size_t>());
    const Json one = ok_json({"replay", golden(), "--agent", "every:2", "--log", "one.jsonl"});
    EXPECT_EQ(one[0].at("policy"), "scored");
    const Json score = ok_json({"agent", "score", "one.jsonl", "--trace", golden()}).at(0);
    EXPECT_EQ(score.at("cost").at("rows").get<int>(), one[0].at("demand").get<int>() +
                                                          one[0].at("replacement").get<int>() +
                                                          one[0].at("ahead").get<int>());
    EXPECT_NEAR(score.at("cost").at("regret").get<double>(), one[0].at("regret").get<double>(),
                1e-12);
    EXPECT_THAT(ok({"replay", golden(), "--agent", "every:2"}), HasSubstr("scored + every:2"));
}

TEST_F(AgentVerbs, ListSaysWhatThereIs) {
    const std::string text = ok({"agent", "list"});
    for (const char* word : {"every", "threshold", "schedule", "llm", "sample_threads", "capacity"})
        EXPECT_THAT(text, HasSubstr(word));
    const Json json = ok_json({"agent", "list"});
    EXPECT_GE(json.at("agents").size(), 8U);
    EXPECT_EQ(json.at("knobs").size(), 12U);
    EXPECT_THAT(ok({"agent", "--help"}), HasSubstr("agent score"));
}

TEST_F(AgentVerbs, WithoutATraceScoreSaysWhatIsMissing) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    ok(on_ranks(train({"--policy", "scored", "--agent", "every:4", "--out", "run"})));
    EXPECT_THAT(ok({"agent", "score", "run"}), HasSubstr("train with --trace"));
    EXPECT_TRUE(ok_json({"agent", "score", "run"}).at(0).at("cost").is_null());
}

TEST_F(AgentVerbs, WhatIsWrongIsRefused) {
    refuse({"train", "parts", "--agent", "evry"}, 2, {"unknown agent 'evry'", "every"});
    refuse({"train", "parts", "--policy", "scored", "--agent", "every:0"}, 2, {"every"});
    refuse({"train", "parts", "--policy", "scored,every:4", "--agent", "every:3"}, 2,
           {"decides when to replace", "--agent never"});
    refuse({"train", "parts", "--agent", "every:3", "--agent-mode", "later"}, 2,
           {"--agent-mode", "async, sync"});
    refuse({"train", "parts", "--agent", "every:3", "--agent-scope", "world"}, 2,
           {"--agent-scope", "rank, host, job"});
    refuse({"train", "parts", "--agent", "every:3", "--agent-deadline", "0"}, 2,
           {"--agent-deadline"});
    write("bad.jsonl", "{\"step\": 3, \"action\": \"set\", \"knobs\": {\"wndow\": 3}}\n");
    refuse({"train", "parts", "--policy", "scored", "--agent", "schedule:bad.jsonl", "--out", "x"},
           2, {"wndow", "window"});
    refuse({"replay", golden(), "--policy", "scored,every:4", "--agent", "every:3"}, 2,
           {"decides when to replace"});
    refuse({"replay", golden(), "--log", "x"}, 2, {"--agent"});
    refuse({"agent", "score"}, 2, {"LOG"});
    refuse({"agent", "score", "nowhere"}, 3, {"nowhere"});
    refuse({"agent", "scor", "run"}, 2, {"unknown verb 'agent scor'", "agent score"});
    refuse({"compare", "parts", "--policy", "periodic", "--agent", "always"}, 2,
           {"decides when to replace"});
}

TEST(LlmModels, EachModelIsAnAgentOfItsOwn) {
    using cli::with_models;
    using Texts = std::vector<std::string>;
    EXPECT_EQ(cli::with_models({"never", "llm"}, {}), (Texts{"never", "llm"}));
    EXPECT_EQ(cli::with_models({}, {"a", "b:3"}), (Texts{"llm:a", "llm:b:3"}));
    EXPECT_EQ(cli::with_models({"never", "llm,faithful"}, {"a", "b"}),
              (Texts{"never", "llm:a,faithful", "llm:b,faithful"}));
    EXPECT_EQ(cli::with_models({"llm:own", "llm"}, {"a"}), (Texts{"llm:own", "llm:a"}));
    EXPECT_EQ(cli::with_models({"llm,file:own", "never"}, {"a"}),
              (Texts{"llm,file:own", "never", "llm:a"}));
}

TEST_F(AgentVerbs, BadRepliesOfAModelChangeNothing) {
    const Json plain = ok_json(train({"--policy", "scored-faithful", "--buffer-scope", "rank"}));
    const auto texts = bad_texts();
    std::atomic<std::size_t> asked{0};
    FakeServer server(ollama([&](const FakeRequest&) {
        return FakeReply::of(200, ollama_envelope(texts[asked++ % texts.size()].reply));
    }));
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    Words words =
        on_ranks(train({"--policy", "scored-faithful", "--agent", "llm,interval:1", "--llm-url",
                        server.url(), "--agent-mode", "sync", "--out", "run", "--json"}));
    const Outcome outcome = rudder(words, here());
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json run = parse_json(outcome.out, "standard output");
    EXPECT_EQ(run.at("loss").at("digest"), plain.at("loss").at("digest"));
    EXPECT_GE(asked.load(), 3U) << "then the breaker opens";
    EXPECT_EQ(run.at("agent").at("applied"), 0);
    EXPECT_EQ(run.at("agent").at("kept"), 0);
    EXPECT_GT(run.at("agent").at("invalid"), 0);
    for (const Json& line : lines("run/decisions.jsonl")) {
        EXPECT_EQ(line.at("status"), "invalid") << line.dump();
        EXPECT_FALSE(line.at("problem").get<std::string>().empty());
    }
}

/// A server that answers every question with a change that does harm costs what the account allows,
/// and not a row more.
TEST_F(AgentVerbs, AHostileServerCostsNoMoreThanTheAccountAllows) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    std::atomic<std::size_t> asked{0};
    const std::vector<std::string> harm{
        R"({"action": "set", "knobs": {"policy": "static-degree"}, "reason": "trying"})",
        R"({"action": "set", "knobs": {"capacity": 0}, "reason": "trying"})",
        R"({"action": "set", "knobs": {"policy": "lru"}, "reason": "trying"})",
        R"({"action": "set", "knobs": {"capacity": 1}, "reason": "trying"})"};
    FakeServer server(ollama([&](const FakeRequest&) {
        return FakeReply::of(200, ollama_envelope(harm[asked++ % harm.size()]));
    }));
    const auto words = [](const Words& more) {
        Words all = on_ranks(train({"--policy", "window:4", "--agent-mode", "sync"}));
        all[3] = "20";
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const auto fetched = [](const Json& s) {
        const Json& rows = s.at("rows");
        return rows.at("demand").get<double>() + rows.at("replacement").get<double>() +
               rows.at("ahead").get<double>();
    };
    const Json plain = ok_json(words({"--agent", "never"}));
    const Json hostile =
        ok_json(words({"--agent", "llm,interval:1", "--llm-url", server.url(), "--out", "run"}));
    EXPECT_EQ(hostile.at("loss").at("digest"), plain.at("loss").at("digest"));
    EXPECT_GT(asked.load(), 5U) << "before the breaker opens";
    // What each of the two buffers fetched for steps that were never taken is not of the bound.
    const double filling = plain.at("buffer_rows").get<double>();
    EXPECT_LE(fetched(hostile), 1.01 * fetched(plain) + filling);
    const Json& agent = hostile.at("agent");
    EXPECT_EQ(agent.at("invalid"), 0) << "each of them may be asked for";
    EXPECT_GT(agent.at("refused").get<int>() + agent.at("undone").get<int>(), 0);
    EXPECT_LE(agent.at("excess").get<double>(), 0.01 + filling / fetched(plain));
}

/// A link that falls to a tenth and comes back, and a rank that computes slowly meanwhile.
TEST_F(AgentVerbs, AWorldThatChangesUnderFourSteeredRanksChangesNoResult) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const auto words = [](const Words& more) {
        Words all = train({"--ranks", "4", "--ranks-per-host", "1", "--policy", "window:4"});
        all[3] = "10";
        all.insert(all.end(), more.begin(), more.end());
        return all;
    };
    const Json plain = ok_json(words({"--agent", "never"}));
    const std::string link = "20us,1gbit;step:16:20us,0.1gbit;step:32:20us,1gbit";
    const Json changed =
        ok_json(words({"--agent", "bandit", "--link", link, "--slow", "1:3:20-40"}));
    EXPECT_GT(changed.at("steps"), 40);
    EXPECT_EQ(changed.at("loss").at("digest"), plain.at("loss").at("digest"));
    EXPECT_EQ(changed.at("link"), link);
    const Json& agent = changed.at("agent");
    EXPECT_GT(agent.at("decisions"), 0);
    EXPECT_EQ(agent.at("invalid"), 0);
    EXPECT_EQ(agent.at("learned").size(), 4U) << "each host has an agent";
}

TEST_F(AgentVerbs, TheKeyOfAModelIsNowhere) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const std::string key = "sk-top-5ecret-k3y";
    const auto explained = [](const std::string& text) {
        return R"({"decision": "yes", "expected_impact": {"hitrate": "increase", )"
               R"("comm_volume": "decrease"}, "explanation": ")" +
               text + R"("})";
    };
    const std::vector<std::string> says{explained("you sent " + key),
                                        explained("\\u0073k-top-5ecret-k3y"), key, "Bearer " + key};
    std::atomic<std::size_t> asked{0};
    std::atomic<std::size_t> authorised{0};
    FakeServer server(ollama([&](const FakeRequest& request) {
        const auto header = request.headers.find("authorization");
        if (header != request.headers.end() && header->second == "Bearer " + key) ++authorised;
        const std::size_t turn = asked++;
        if (turn % 5 == 4) return FakeReply::of(500, R"({"error": ")" + key + R"("})");
        return FakeReply::of(200, ollama_envelope(says[turn % says.size()]));
    }));
    RunOptions options = here();
    options.extra = {"RUDDER_LLM_KEY=" + key};
    const Outcome outcome =
        rudder(on_ranks(train({"--policy", "scored-faithful", "--agent", "llm,faithful,interval:1",
                               "--llm-url", server.url(), "--agent-mode", "sync", "--out", "run"})),
               options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GE(authorised.load(), 3U);
    const std::string piece = "5ecret";
    EXPECT_THAT(outcome.out + outcome.err, testing::Not(HasSubstr(piece)));
    ASSERT_EQ(rudder({"report", "run"}, here()).code, 0);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
        if (!entry.is_regular_file()) continue;
        EXPECT_EQ(bytes_of(entry.path()).find(piece), std::string::npos) << entry.path();
    }
}

}  // namespace
}  // namespace rudder::test
