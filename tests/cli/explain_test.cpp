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

TEST_F(ExplainCli, InTheWordsOfAModelOrPlain) {
    write_slow_run("slow");
    // Words every finding so, in the order they have.
    const auto wording = [](const std::string& words) {
        return openai([words](const FakeRequest& request) {
            Json reply = Json::object();
            std::string order;
            for (int i = 1; request.body.find(fmt::format("finding_{}", i)) != std::string::npos;
                 ++i) {
                reply[fmt::format("finding_{}", i)] = words;
                order += fmt::format("{}{}", i > 1 ? "," : "", i);
            }
            reply["order"] = order;
            return FakeReply::of(200, openai_envelope(reply.dump()));
        });
    };
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

TEST_F(ExplainCli, OfARunWithoutStepsSaysSoInOneSentence) {
    write_slow_run("slow");
    write_slow_run("early");  // as it is before the first step
    std::filesystem::remove(folder_ / "early/summary.json");
    write_file(folder_ / "early/metrics.jsonl", "");
    const char* const told = "the run has recorded no steps, so that nothing can be said of it";
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
