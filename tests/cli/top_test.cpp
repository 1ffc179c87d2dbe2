// Runs as they stand: info and top while a run goes on, after it ended, and when it was killed.
#include <algorithm>
#include <array>
#include <csignal>
#include <ctime>
#include <functional>
#include <numeric>
#include <regex>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include "report/run_writer.hpp"

#include "cli_support.hpp"
#include "support/mpirun.hpp"
#include "support/terminal.hpp"

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
    EXPECT_THAT(text, HasSubstr("of 1,000,000"));
    EXPECT_EQ(top.at("state"), "running");
    EXPECT_GT(top.at("steps"), top.at("step"));
    EXPECT_GT(top.at("seconds_left"), 0);
    EXPECT_EQ(ok_json({"info", "run"}).at("state"), "killed");
    EXPECT_THAT(ok({"info", "run"}), HasSubstr("killed: it is marked as running"));
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

// ---- on a terminal -----------------------------------------------------------------------------

constexpr int shown_ranks = 40;
constexpr int slow_rank = 7;

/// Ten steps of a run that goes on, of 20 ms each, in which all ranks wait for one.
void write_shown_run(const fs::path& folder) {
    fs::create_directories(folder);
    // A minute ago: the time to go is by the clock.
    const std::time_t start = std::time(nullptr) - 60;
    std::array<char, 32> started{};
    std::strftime(started.data(), started.size(), "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&start));
    const Json card{{"schema", 1},          {"state", "running"},   {"started", started.data()},
                    {"epochs", 4},          {"ranks", shown_ranks}, {"steps_per_epoch", 50},
                    {"policy", "window:8"}, {"agent", "bandit"}};
    write_file(folder / "run.json", card.dump());
    std::string text;
    for (int line = 0; line < 10 * shown_ranks; ++line) {
        const bool slow = line % shown_ranks == slow_rank;
        const Json step{
            {"step", line / shown_ranks},
            {"epoch", 0},
            {"rank", line % shown_ranks},
            {"loss", 0.5},
            {"seconds",
             {{"step", 0.02},
              {"stall", 0.004},
              {"compute", slow ? 0.016 : 0.008},
              {"reduce", slow ? 0.0 : 0.008},
              {"wait_rows", 0.004},
              {"wait_ranks", slow ? 0.0 : 0.008}}},
            {"rows", {{"needed", 100}, {"local", 50}, {"hit", 30}, {"demand", 20}, {"ahead", 10}}},
            {"bytes", {{"features", 60'000}}},
            {"knobs", {{"policy", "window:8"}}}};
        text += step.dump() + "\n";
    }
    write_file(folder / "metrics.jsonl", text);
}

std::string shown_cell(int rank) {
    return fmt::format(
        "{:>5} {}   {}.0 ms   3.0 MB/s", rank,
        rank == slow_rank ? "########!!" : "####!!====", rank == slow_rank ? 20 : 12);
}

/// Down the columns.
std::string shown_cells(const std::vector<int>& ranks, std::size_t across) {
    const std::size_t high = (ranks.size() + across - 1) / across;
    std::vector<std::string> lines(high);
    for (std::size_t i = 0; i < ranks.size(); ++i)
        lines[i % high] += (i < high ? "" : "   ") + shown_cell(ranks[i]);
    return fmt::format("{}\n", fmt::join(lines, "\n"));
}

/// What a person sees on a terminal of this size, once `last` is to be seen.
std::string seen_of_top(const fs::path& folder, unsigned short columns, unsigned short rows,
                        const std::string& last) {
    std::string seen;
    const auto watch = [&](const std::string& bytes, int, pid_t program) {
        if (!bytes.ends_with("\x1b[J")) return;  // in the midst of a frame
        FakeScreen screen(columns);
        screen.feed(bytes);
        if (!seen.empty() || screen.text().find(last) == std::string::npos) return;
        seen = screen.text();
        seen.pop_back();  // the line of the cursor
        EXPECT_EQ(screen.overflows(), 0);
        EXPECT_THAT(screen.unknown(), testing::IsEmpty());
        ::kill(program, SIGINT);
    };
    const Outcome outcome =
        run_on_terminal({program().string(), "top", "run"}, {.columns = columns,
                                                             .rows = rows,
                                                             .folder = folder,
                                                             .extra = {"NO_COLOR=1", "LANG=C"},
                                                             .watch = watch});
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    return std::regex_replace(seen, std::regex("ETA [0-9:]+"), "ETA T");
}

TEST_F(Top, CapturedOnTerminalsOf80x24And200x50) {
    write_shown_run(folder_ / "run");
    // As whoever writes a run does.
    const int lock = ::open((folder_ / "run/metrics.jsonl").c_str(), O_RDWR | O_CLOEXEC);
    ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
    std::vector<int> all(shown_ranks);
    std::iota(all.begin(), all.end(), 0);
    std::vector<int> slowest = all;
    std::ranges::stable_partition(slowest, [](int rank) { return rank == slow_rank; });
    slowest.resize(30);
    const std::string small = seen_of_top(folder_.path(), 80, 24, "the slowest of 40 ranks");
    EXPECT_EQ(small,
              "run  epoch 1/4  [=                   ]    5 %  step 10/200  ETA T\n"
              "loss  0.5000\n"
              "rows  #######++++..  local 50 %  hit 30 %  demand 20 %  ahead 10 %\n"
              "time  # computing 41 %  ! waiting for rows 20 %  = slower ranks 39 %\n"
              "speed  50.0 steps/s  120.0 MB/s  hit rate 60 %  policy window:8\n"
              "agent bandit  no decision yet\n"
              "ranks  mean 12.2 ms  ####!!====  slowest 7 20.0 ms  ########!!\n" +
                  shown_cells(slowest, 2) + "      the slowest of 40 ranks\n");
    EXPECT_EQ(std::ranges::count(small, '\n'), 23) << "the last line is the cursor's";
    EXPECT_EQ(seen_of_top(folder_.path(), 200, 50, shown_cell(39)),
              "run  epoch 1/4  [==" + std::string(48, ' ') +
                  "]    5 %  step 10/200  ETA T\n"
                  "loss  0.5000\n"
                  "rows  #################++++++++++......  local 50 %  hit 30 %  demand 20 %  "
                  "ahead 10 %\n"
                  "time  # computing 41 %  ! waiting for rows 20 %  = slower ranks 39 %\n"
                  "speed  50.0 steps/s  120.0 MB/s  hit rate 60 %  policy window:8\n"
                  "agent bandit  no decision yet\n"
                  "ranks  mean 12.2 ms  ##########!!!!!=========  slowest 7 20.0 ms  "
                  "###################!!!!!\n" +
                  shown_cells(all, 5));
    ::close(lock);
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
