// Runs as they stand: info and top while a run goes on, after it ended, and when it was killed.
#include <csignal>
#include <functional>

#include <fmt/format.h>
#include <unistd.h>

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

class Top : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    static Words train(const Words& more) {
        Words words{"train",    "parts", "--batch", "40",  "--hidden", "8",
                    "--fanout", "4,6",   "--out",   "run", "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    /// Waits until it holds; the run is followed by other processes meanwhile.
    static void await(const std::function<bool()>& holds) {
        for (int i = 0; i < 3000 && !holds(); ++i)
            ::usleep(10'000);
        EXPECT_TRUE(holds());
    }
    /// Steps are recorded after the first epoch.
    [[nodiscard]] bool recorded() const {
        std::error_code code;
        return fs::exists(folder_ / "run/epochs.jsonl", code) &&
               fs::file_size(folder_ / "run/epochs.jsonl", code) > 0;
    }
    /// A run that goes on until `meanwhile` has been called, and is then sent a signal.
    Outcome during(const Words& more, int signal, const std::function<void()>& meanwhile) {
        RunOptions options = here();
        options.after = [&](pid_t pid) {
            await([&] { return recorded(); });
            meanwhile();
            ::kill(pid, signal);
        };
        Words words = train({"--epochs", "1000000", "--eval-every", "1"});
        words.insert(words.end(), more.begin(), more.end());
        return rudder(words, options);
    }
};

TEST_F(Top, ARunningRunIsToldFromOneThatWasKilled) {
    Json info;
    std::string text;
    Json top;
    const Outcome outcome = during({}, SIGKILL, [&] {
        info = ok_json({"info", "run"});
        text = ok({"info", "run"});
        top = ok_json({"top", "run", "--once"});
    });
    EXPECT_NE(outcome.code, 0);
    EXPECT_EQ(info.at("state"), "running");
    EXPECT_TRUE(info.at("warnings").empty()) << info.dump();
    EXPECT_GT(info.at("standing").at("step"), 0);
    EXPECT_EQ(info.at("standing").at("epochs"), 1'000'000);
    EXPECT_THAT(text, HasSubstr("running, "));
    EXPECT_THAT(text, HasSubstr(" to go"));
    EXPECT_THAT(text, HasSubstr("of 1000000"));
    EXPECT_EQ(top.at("state"), "running");
    EXPECT_GT(top.at("steps"), top.at("step"));
    EXPECT_GT(top.at("seconds_left"), 0);
    EXPECT_EQ(ok_json({"info", "run"}).at("state"), "killed");
    EXPECT_THAT(ok({"info", "run"}), HasSubstr("killed: it says that it is running"));
    // top of a run that has ended ends, too.
    EXPECT_EQ(ok_json({"top", "run"}).at("state"), "killed");
}

TEST_F(Top, EndsWithTheRunAndSaysHow) {
    std::string shown;
    const Outcome outcome = during({}, SIGTERM, [&] {
        RunOptions options = here();
        options.after = [&](pid_t pid) {
            ::usleep(300'000);
            ::kill(pid, SIGINT);
        };
        const Outcome left = rudder({"top", "run"}, options);
        EXPECT_EQ(left.code, 0) << "who leaves it has done nothing wrong";
        shown = left.out;
    });
    EXPECT_EQ(outcome.code, 5);
    EXPECT_THAT(shown, HasSubstr("ETA "));
    const std::string after = ok({"top", "run"});
    EXPECT_THAT(after, HasSubstr("interrupted  epoch "));
    EXPECT_THAT(ok({"info", "run"}), HasSubstr("interrupted"));
}

TEST_F(Top, OfARunThatFinished) {
    ok(train({"--epochs", "2"}));
    const Json top = ok_json({"top", "run"});
    EXPECT_EQ(top.at("state"), "finished");
    EXPECT_EQ(top.at("step"), top.at("steps"));
    const std::string text = ok({"top", "run", "--once"});
    EXPECT_THAT(text, HasSubstr("100 %"));
    EXPECT_THAT(text, HasSubstr("loss  "));
    EXPECT_EQ(text.find('\x1b'), std::string::npos);
    refuse({"top", "graph"}, 3, {"not a run folder"});
    refuse({"top", "nowhere"}, 3, {"no such folder"});
}

TEST_F(Top, FollowsAnAddress) {
    Json top;
    std::string health;
    const Outcome outcome = during({"--metrics-port", "0"}, SIGINT, [&] {
        const std::string url = read_json(folder_ / "run/run.json").at("metrics_url");
        top = ok_json({"top", url, "--once"});
        EXPECT_EQ(ok_json({"top", url.substr(0, url.rfind('/')), "--once"}).at("state"), "running");
    });
    EXPECT_EQ(outcome.code, 5);
    EXPECT_EQ(top.at("state"), "running");
    EXPECT_EQ(top.at("epochs"), 1'000'000);
    EXPECT_GT(top.at("step"), 0);
    refuse({"top", "http://127.0.0.1:9"}, 1, {"no answer", "127.0.0.1:9/status"});
}

TEST_F(Top, ThePolicyAtTheEndIsTold) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    write("up.jsonl",
          "{\"step\": 4, \"action\": {\"action\": \"set\", \"knobs\": {\"policy\": "
          "\"window:8\"}}}\n");
    const Outcome outcome =
        rudder(train({"--ranks", "2", "--ranks-per-host", "1", "--epochs", "4", "--policy", "lru",
                      "--agent", "schedule:up.jsonl", "--agent-mode", "sync"}),
               here());
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json info = ok_json({"info", "run"});
    EXPECT_EQ(info.at("policy"), "lru");
    EXPECT_EQ(info.at("policy_last"), "window:8");
    EXPECT_EQ(info.at("standing").at("by_rank").size(), 2U);
    EXPECT_THAT(ok({"info", "run"}), HasSubstr("lru at first, window:8 at the end"));
    EXPECT_THAT(ok({"top", "run"}), HasSubstr("ranks  mean "));
}

// ---- messages ----------------------------------------------------------------------------------

TEST_F(Top, MessagesInTheFormatThatWasAskedFor) {
    const Outcome plain = rudder({"train", "nowhere"}, here());
    EXPECT_THAT(plain.err, testing::StartsWith("rudder: error: "));
    const Outcome text = rudder({"train", "nowhere", "--log-format", "text"}, here());
    EXPECT_EQ(text.code, plain.code);
    EXPECT_THAT(text.err, testing::ContainsRegex("^20[0-9-]+T[0-9:.]+Z rudder: error: "));
    const Outcome json = rudder({"train", "nowhere", "--log-format=json"}, here());
    const Json line = parse_json(json.err, "standard error");
    EXPECT_EQ(line.at("level"), "error");
    EXPECT_THAT(line.at("message").get<std::string>(), HasSubstr("nowhere"));
    EXPECT_FALSE(line.contains("rank"));
    refuse({"train", "parts", "--log-format", "xml"}, 2, {"--log-format"});
}

TEST_F(Top, EveryRankWritesThemSo) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Outcome outcome =
        rudder({"train", "parts", "--ranks", "2", "--batch", "40", "--hidden", "8", "--epochs", "1",
                "--metrics-port", "0", "--log-format", "json"},
               here());
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const Json line = parse_json(outcome.err.substr(0, outcome.err.find('\n')), "standard error");
    EXPECT_EQ(line.at("rank"), 0);
    EXPECT_EQ(line.at("level"), "info");
    EXPECT_THAT(line.at("message").get<std::string>(), HasSubstr("metrics at http://"));
}

}  // namespace
}  // namespace rudder::test
