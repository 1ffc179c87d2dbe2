// rudder explain: of a real run, of two, in the words of a model, and of what is no run.
#include <fmt/format.h>

#include "report/profile.hpp"
#include "report/profiled_steps.hpp"
#include "report/run_writer.hpp"
#include "steer/llm/fake_server.hpp"

#include "cli_support.hpp"

namespace rudder::test {
namespace {

class ExplainCli : public CliTest {
protected:
    /// A run without a buffer on a link of 8 Mbit/s.
    void write_slow_run(const std::string& name) {
        const FakeRun run{.name = "parts"};
        write_fake_run(folder_ / name, run);
        Json summary = fake_summary(run);
        summary["policy"] = "none";
        summary["buffer_rows"] = 0;
        summary["link"] = "1ms,8mbit";
        summary["bytes"] = {{"received_total", 6'000'000}, {"features", 5'800'000}};
        write_file(folder_ / name / "summary.json", summary.dump());
        write_file(folder_ / name / "config.toml", "policy = 'none'\nlink = '1ms,8mbit'\n");
    }
};

TEST_F(ExplainCli, SaysWhatLimitsARunFirstAndTimesAfter) {
    write_slow_run("slow");
    const std::string text = ok({"explain", "slow"});
    EXPECT_THAT(text, testing::StartsWith("1. "));
    EXPECT_THAT(text, HasSubstr("No buffer: "));
    EXPECT_THAT(text, HasSubstr("   change   --policy window --buffer 0.25\n"));
    EXPECT_GT(text.find("A step takes "), text.find("   sure     "));
    const Json json = ok_json({"explain", "slow"});
    EXPECT_EQ(json.at("run"), "slow");
    EXPECT_GE(json.at("findings").size(), 1U);
    for (const char* key : {"cause", "text", "evidence", "change", "gain", "formula", "confidence"})
        EXPECT_TRUE(json.at("findings")[0].contains(key)) << key;
    double sum = 0;
    for (const char* key :
         {"compute", "wait_rows", "wait_gradients", "wait_ranks", "wait_agent", "rest"})
        sum += json.at("times").at(key).get<double>();
    EXPECT_NEAR(sum, json.at("times").at("step").get<double>(), 1e-9);
}

TEST_F(ExplainCli, OfTwoRunsSaysWhatDiffers) {
    write_slow_run("a");
    write_slow_run("b");
    Json summary = read_json(folder_ / "b/summary.json");
    summary["seconds"]["step"] = 30.0;
    summary["seconds"]["stall"] = 22.0;
    write_file(folder_ / "b/summary.json", summary.dump());
    write_file(folder_ / "b/config.toml", "policy = 'none'\nlink = '9ms,8mbit'\n");
    const Json json = ok_json({"explain", "a", "b"});
    EXPECT_EQ(json.at("runs").size(), 2U);
    EXPECT_THAT(json.at("difference").at("explanation").get<std::string>(),
                HasSubstr("waiting for rows, which is explained by link (1ms,8mbit, then "
                          "9ms,8mbit)"));
    EXPECT_THAT(ok({"explain", "a", "b"}), testing::StartsWith("Of the "));
}

/// A server that words every finding so, the last perhaps otherwise, in the order they have.
FakeServer::Handler wording(const std::string& words, const std::string& last = {}) {
    return openai([words, last](const FakeRequest& request) {
        Json reply = Json::object();
        std::string order;
        for (int i = 1; request.body.find(fmt::format("finding_{}", i)) != std::string::npos; ++i) {
            reply[fmt::format("finding_{}", i)] = words;
            order += fmt::format("{}{}", i > 1 ? "," : "", i);
        }
        if (!last.empty()) reply[fmt::format("finding_{}", reply.size())] = last;
        reply["order"] = order;
        return FakeReply::of(200, openai_envelope(reply.dump()));
    });
}

TEST_F(ExplainCli, InTheWordsOfAModelOrPlain) {
    write_slow_run("slow");
    FakeServer honest(wording("No buffer."));
    EXPECT_THAT(ok({"explain", "slow", "--llm", "--llm-url", honest.url()}),
                testing::StartsWith("1. No buffer.\n"));
    FakeServer inventive(wording("It gains 123456789 %."));
    const Outcome plain =
        rudder({"explain", "slow", "--llm", "--llm-url", inventive.url()}, here());
    EXPECT_EQ(plain.code, 0);
    EXPECT_THAT(plain.out, HasSubstr("   change   "));
    EXPECT_THAT(plain.err, HasSubstr("the language model's words are not used: the number "
                                     "123456789 is not of the evidence"));
}

/// Of two runs both are worded; where the words of one cannot be used, that one is plain.
TEST_F(ExplainCli, OfTwoRunsBothAreInTheWordsOfAModel) {
    write_slow_run("a");
    write_slow_run("b");
    FakeServer server(wording("No buffer."));
    const Words both{"explain", "a", "b", "--llm", "--llm-url", server.url()};
    const Json json = ok_json(both);
    for (const Json& run : json.at("runs"))
        EXPECT_THAT(run.at("words").get<std::string>(), testing::StartsWith("1. No buffer.\n"));
    const std::string text = ok(both);
    EXPECT_THAT(text, HasSubstr("\na:\n1. No buffer.\n"));
    EXPECT_THAT(text, HasSubstr("\nb:\n1. No buffer.\n"));
    EXPECT_THAT(text, Not(HasSubstr("   change   ")));
    // Both have too few steps per epoch, and only the second a batch of 7654: what a model says of
    // that is used for the second, not for the first.
    write_file(folder_ / "b/config.toml", "policy = 'none'\nlink = '1ms,8mbit'\nbatch = 7654\n");
    FakeServer numbered(wording("Rows.", "A batch of 7654."));
    const Outcome mixed =
        rudder({"explain", "a", "b", "--llm", "--llm-url", numbered.url()}, here());
    EXPECT_EQ(mixed.code, 0);
    EXPECT_THAT(mixed.out, HasSubstr("\nb:\n1. Rows.\n"));
    EXPECT_THAT(mixed.out, HasSubstr(". A batch of 7654.\n"));
    EXPECT_THAT(mixed.out, HasSubstr("   change   --policy window --buffer 0.25\n"));
    EXPECT_THAT(mixed.err, HasSubstr("the number 7654 is not of the evidence"));
    EXPECT_THAT(mixed.err, HasSubstr("the findings of a are in plain text"));
    EXPECT_THAT(mixed.err, Not(HasSubstr("the findings of b ")));
}

/// Nobody answers at the address: the same text as without a model, and why.
TEST_F(ExplainCli, WithoutAServerTheTextIsPlain) {
    write_slow_run("a");
    write_slow_run("b");
    std::string gone;
    {
        const FakeServer server(wording("No buffer."));
        gone = server.url();
    }
    for (const Words& runs : {Words{"a"}, Words{"a", "b"}}) {
        Words words{"explain"};
        words.insert(words.end(), runs.begin(), runs.end());
        const std::string plain = ok(words);
        words.insert(words.end(), {"--llm", "--llm-url", gone});
        const Outcome outcome = rudder(words, here());
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_EQ(outcome.out, plain);
        for (const std::string& run : runs) {
            EXPECT_THAT(outcome.err, HasSubstr("the language model's words are not used: "));
            EXPECT_THAT(outcome.err,
                        HasSubstr(fmt::format("the findings of {} are in plain text", run)));
        }
    }
}

TEST_F(ExplainCli, OfARunWithoutStepsSaysSoInOneSentence) {
    write_slow_run("slow");
    write_slow_run("early");  // as it is before the first step
    std::filesystem::remove(folder_ / "early/summary.json");
    write_file(folder_ / "early/metrics.jsonl", "");
    const char* const told = "the run has recorded no steps, so that nothing can be said about it";
    refuse({"explain", "early"}, 3, {"early", told});
    refuse({"explain", "slow", "early"}, 3, {"early", told});
    refuse({"explain", "early", "slow", "--json"}, 3, {told});
}

/// A profile says why rows came late; without it the buffer would have to answer for all of it.
TEST_F(ExplainCli, ReadsTheProfile) {
    write_slow_run("run");
    write_file(folder_ / "run/config.toml", "policy = 'none'\nthreads = 4\n");
    RankProfile rank = profiled_steps(20, {.before_fetch = 4'000'000, .waiting = "a sampled step"});
    report::write_profile({1, {rank}}, folder_ / "run/profile.json");
    const Json json = ok_json({"explain", "run"});
    const Json& first = json.at("findings").at(0);
    EXPECT_EQ(first.at("cause"), "slow sampling");
    EXPECT_EQ(first.at("change"), "--sample-tasks 2");
    EXPECT_EQ(first.at("evidence").at(0).at("file"), "profile.json");
    write_file(folder_ / "run/profile.json", "[]");
    EXPECT_THAT(ok({"explain", "run"}), HasSubstr("profile.json cannot be read"));
}

TEST_F(ExplainCli, RefusesWhatIsNoRun) {
    EXPECT_EQ(rudder({"explain"}, here()).code, 2);
    EXPECT_EQ(rudder({"explain", "a", "b", "c"}, here()).code, 2);
    EXPECT_EQ(rudder({"explain", "nothing"}, here()).code, 3);
    std::filesystem::create_directory(folder_ / "empty");
    EXPECT_EQ(rudder({"explain", "empty"}, here()).code, 3);
}

}  // namespace
}  // namespace rudder::test
