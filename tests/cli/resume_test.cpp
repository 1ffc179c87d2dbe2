// Runs that are killed, interrupted and resumed, as a user sees them.
#include <algorithm>
#include <chrono>
#include <csignal>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rudder/core/random.hpp"

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

/// Processes whose command line has this word, besides `except`.
std::vector<pid_t> processes_with(const std::string& word, pid_t except) {
    std::vector<pid_t> found;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator("/proc", code)) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const std::string line = bytes_of(entry.path() / "cmdline");
        const auto pid = static_cast<pid_t>(std::stol(name));
        if (pid == except || line.find(word) == std::string::npos) continue;
        if (line.find("mpirun") != std::string::npos) continue;
        found.push_back(pid);
    }
    return found;
}

class ResumedRun : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "800", "--seed", "5"});
        ok({"partition", "graph", "parts", "--parts", "4", "--method", "ldg"});
    }
    [[nodiscard]] static Words train(const std::string& out, const Words& more) {
        // Which epochs are evaluated must not depend on the time.
        Words words{"train", "parts",    "--epochs", "30",           "--batch",
                    "20",    "--hidden", "16",       "--fanout",     "4,6",
                    "--out", out,        "--quiet",  "--eval-every", "1"};
        for (std::size_t i = 0; i < more.size(); ++i) {
            // An option given again takes the place of the first.
            const auto found = std::ranges::find(words, more[i]);
            if (found != words.end() && more[i].starts_with("--")) {
                *(found + 1) = more[++i];
            } else {
                words.push_back(more[i]);
            }
        }
        return words;
    }
    /// What other programs read of a run, as far as it must not depend on how often it was cut.
    void expect_same_run(const Json& a, const Json& b) {
        for (const char* key :
             {"accuracy", "accuracy_last", "loss", "epochs", "steps", "best_epoch"})
            EXPECT_EQ(a.at(key), b.at(key)) << key;
        const Json& rows = a.at("rows");
        const auto row = [&](const char* key) { return rows.at(key).get<std::uint64_t>(); };
        EXPECT_EQ(row("needed"), row("local") + row("hit") + row("demand"));
        EXPECT_EQ((row("demand") + row("replacement") + row("ahead")) *
                      a.at("row_bytes").get<std::uint64_t>(),
                  a.at("bytes").at("features").get<std::uint64_t>());
        EXPECT_EQ(a.at("bytes").at("received_total"), a.at("bytes").at("sent_total"));
    }
    void expect_whole_metrics(const fs::path& run, std::uint64_t steps, std::uint64_t ranks) {
        std::ifstream in(run / "metrics.jsonl");
        std::uint64_t lines = 0;
        for (std::string text; std::getline(in, text); ++lines)
            EXPECT_EQ(parse_json(text, "metrics").at("step"), lines / ranks);
        EXPECT_EQ(lines, steps * ranks);
    }
    /// What a run on four hosts is started with.
    [[nodiscard]] static Words on_hosts(const Words& more = {}) {
        Words words{"--ranks", "4", "--ranks-per-host", "1", "--trace"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    /// Kills a rank of a 4-rank run after some time, resumes until it is done, compares with a run
    /// left alone and with the trace of one on four hosts (`traced`).
    void kill_and_resume(const Json& whole, std::uint64_t number) {
        Draws draws(RandomStream({.purpose = Purpose::test, .seed = 99}), number);
        const std::string out = fmt::format("run-{}-{}", ::getpid(), number);
        RunOptions options = here();
        options.after = [&](pid_t pid) {
            // Every second one at any moment, the others once there is something to lose.
            for (int i = 0; number % 2 == 1 && i < 4000 && !has_checkpoint(folder_ / out); ++i)
                ::usleep(10'000);
            const std::uint64_t most = number % 2 == 1 ? whole_time_ / 4 : whole_time_;
            ::usleep(static_cast<useconds_t>(draws.below(most + 1)));
            const auto ranks = processes_with(out, pid);
            if (!ranks.empty()) ::kill(ranks[draws.below(ranks.size())], SIGKILL);
        };
        // One killed before it could show itself is missed by its launcher after half a minute.
        const Outcome killed = rudder(train(out, on_hosts({"--stuck-after", "60"})), options);
        EXPECT_THAT(killed.code, testing::AnyOf(0, 4)) << killed.err;
        if (killed.code != 0) ++(has_checkpoint(folder_ / out) ? killed_later_ : killed_early_);
        const Json resumed = ok_json(train(out, on_hosts({"--resume"})));
        expect_same_run(resumed, whole);
        expect_whole_metrics(folder_ / out, whole.at("steps").get<std::uint64_t>(), 4);
        EXPECT_EQ(checksums_of(folder_ / out / "trace"), checksums_of(folder_ / "traced/trace"));
        for (const fs::path& folder : {folder_ / out, folder_ / out / "checkpoints"}) {
            for (const auto& name : names_in(folder))
                EXPECT_EQ(name.find("partial"), std::string::npos) << name;
        }
    }
    void print_kills() const {
        std::printf("kills: %d before the first checkpoint, %d after\n", killed_early_,
                    killed_later_);
    }

    /// So many runs that were killed before their end; those that ended first are compared, too.
    void kill_often(int wanted) {
        const Json whole = ok_json(train("whole", {}));
        const auto start = std::chrono::steady_clock::now();
        ok_json(train("traced", on_hosts()));
        whole_time_ =
            static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                           std::chrono::steady_clock::now() - start)
                                           .count());
        const std::uint64_t most = 4 * static_cast<std::uint64_t>(wanted);
        for (std::uint64_t i = 0; i < most && killed_early_ + killed_later_ < wanted; ++i)
            kill_and_resume(whole, i);
        EXPECT_EQ(killed_early_ + killed_later_, wanted);
        print_kills();
    }

    std::uint64_t whole_time_ = 0;  ///< of a run left alone, in microseconds
    int killed_early_ = 0;
    int killed_later_ = 0;
};

TEST_F(ResumedRun, ThreeKillsAtRandomMoments) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    kill_often(3);
}

using LongResumedRun = ResumedRun;
TEST_F(LongResumedRun, FortyKillsAtRandomMoments) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    kill_often(40);
}

/// The steps of a run's last checkpoint; 0: there is none.
std::uint64_t last_checkpoint(const fs::path& run) {
    std::uint64_t last = 0;
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(run / "checkpoints", code)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("step-"))
            last = std::max<std::uint64_t>(last, std::stoull(name.substr(5)));
    }
    return last;
}

std::uint64_t lines_of(const fs::path& file) {
    const std::string text = bytes_of(file);
    return static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
}

TEST_F(ResumedRun, InterruptWritesACheckpointAndResumeGoesOn) {
    const Words sixty{"--epochs", "60"};
    const Json whole = ok_json(train("whole", sixty));
    std::vector<double> seconds;
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        const std::string out = fmt::format("run-{}", signal);
        std::chrono::steady_clock::time_point sent;
        RunOptions options = here();
        options.after = [&](pid_t pid) {
            for (int i = 0; i < 6000 && !has_checkpoint(folder_ / out); ++i)
                ::usleep(1000);
            sent = std::chrono::steady_clock::now();
            ::kill(pid, signal);
        };
        const Outcome cut = rudder(train(out, sixty), options);
        seconds.push_back(
            std::chrono::duration<double>(std::chrono::steady_clock::now() - sent).count());
        EXPECT_EQ(cut.code, 5) << cut.err;
        EXPECT_FALSE(fs::exists(folder_ / out / "summary.json"));
        EXPECT_EQ(read_json(folder_ / out / "run.json").at("state"), "interrupted");
        // The checkpoint is of the step it was interrupted at, not an earlier one.
        const std::uint64_t reached = last_checkpoint(folder_ / out);
        EXPECT_EQ(reached, lines_of(folder_ / out / "metrics.jsonl"));
        const Outcome other = rudder(train(out, {"--resume", "--hidden", "8"}), here());
        EXPECT_EQ(other.code, 2);
        EXPECT_THAT(other.err, HasSubstr("hidden: 16, now 8"));
        const Json resumed = ok_json(train(out, {"--epochs", "60", "--resume"}));
        EXPECT_EQ(resumed.at("resumed_at"), reached);
        expect_same_run(resumed, whole);
        expect_whole_metrics(folder_ / out, whole.at("steps").get<std::uint64_t>(), 1);
    }
    std::ranges::sort(seconds);
    std::printf("from the signal to the end: median %.2f s\n", seconds[1]);
    EXPECT_LT(seconds[1], 0.8 * sanitizer_factor);
}

/// Steps that take long are waited for: batch systems leave half a minute.
TEST_F(ResumedRun, AnInterruptInASlowStepWritesACheckpoint) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    RunOptions options = here();
    options.after = [&](pid_t pid) {
        for (int i = 0; i < 6000 && lines_of(folder_ / "run/metrics.jsonl") == 0 &&
                        !fs::exists(folder_ / "run/run.json");
             ++i)
            ::usleep(10'000);
        ::usleep(1'500'000);
        ::kill(pid, SIGTERM);
        ::usleep(1000);
        ::kill(pid, SIGTERM);  // as timeout does
    };
    const Outcome cut = rudder(train("run", {"--ranks", "2", "--link", "250ms,1gbit", "--epochs",
                                             "500", "--policy", "none"}),
                               options);
    EXPECT_EQ(cut.code, 5) << cut.err;
    EXPECT_THAT(cut.err, testing::Not(HasSubstr("start again")));
    const std::uint64_t reached = last_checkpoint(folder_ / "run");
    EXPECT_GT(reached, 0U);
    EXPECT_EQ(2 * reached, lines_of(folder_ / "run/metrics.jsonl"));
    EXPECT_EQ(read_json(folder_ / "run/run.json").at("state"), "interrupted");
}

/// Before the ranks have met, and where an earlier checkpoint lies.
TEST_F(ResumedRun, AnEarlyInterruptOfAResumedRunSaysToResume) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    ok_json(train("run", {"--epochs", "1"}));
    for (const useconds_t after : {300'000U, 1'000'000U}) {
        RunOptions options = here();
        options.after = [&](pid_t pid) {
            wait_until_handled(pid, SIGTERM);
            ::usleep(after);
            ::kill(pid, SIGTERM);
        };
        Words words = train("run", {"--epochs", "100000", "--ranks", "2", "--resume"});
        std::erase(words, "--quiet");
        const Outcome cut = rudder(words, options);
        EXPECT_EQ(cut.code, 5) << cut.err;
        EXPECT_THAT(cut.err, HasSubstr("--resume")) << cut.err;
        EXPECT_THAT(cut.err, testing::Not(HasSubstr("nothing was left behind")));
        EXPECT_NE(read_json(folder_ / "run/run.json").at("state"), "running");
    }
}

TEST_F(ResumedRun, RestartsGoOnByThemselvesAfterADeath) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Json whole = ok_json(train("whole", {}));
    const std::string out = fmt::format("again-{}", ::getpid());
    fs::create_directories(folder_ / out);
    RunOptions options = here();
    options.after = [&](pid_t pid) {
        for (int i = 0; i < 4000 && !has_checkpoint(folder_ / out); ++i)
            ::usleep(5'000);
        const auto ranks = processes_with(out, pid);
        if (!ranks.empty()) ::kill(ranks.back(), SIGKILL);
    };
    // Slow enough that it is killed before its end, on a busy machine too.
    Words words =
        train(out, {"--ranks", "2", "--restarts", "2", "--force", "--json", "--link", "1ms,1gbit"});
    std::erase(words, "--quiet");
    const Outcome outcome = rudder(words, options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("starting again from the last checkpoint (1 of 2)"));
    const Json summary = read_json(folder_ / out / "summary.json");
    EXPECT_GT(summary.at("resumed_at").get<std::uint64_t>(), 0U);
    expect_same_run(summary, whole);
    expect_whole_metrics(folder_ / out, whole.at("steps").get<std::uint64_t>(), 2);
    refuse(train("", {"--ranks", "2", "--restarts", "2"}), 2, {"--restarts requires --out"});
    refuse(train("new", {"--restarts", "2"}), 2, {"--restarts requires --ranks"});
}

TEST_F(ResumedRun, AFolderWithoutACheckpointStartsAndAFinishedRunPrintsItsSummary) {
    const Json whole = ok_json(train("whole", {"--epochs", "2"}));
    fs::create_directories(folder_ / "run");
    const Json first = ok_json(train("run", {"--epochs", "2", "--resume"}));
    EXPECT_EQ(first.at("loss"), whole.at("loss"));
    EXPECT_EQ(ok_json(train("run", {"--epochs", "2", "--resume"})), first);
    Words shown = train("run", {"--epochs", "2", "--resume"});
    std::erase(shown, "--quiet");
    const std::string table = ok(shown);
    EXPECT_THAT(table, testing::StartsWith("the run has finished:\naccuracy"));
    EXPECT_THAT(table, HasSubstr(first.at("loss").at("digest").get<std::string>()));
    EXPECT_THAT(table, testing::Not(HasSubstr("{")));
    const Json longer = ok_json(train("run", {"--epochs", "3", "--resume"}));
    EXPECT_EQ(longer.at("resumed_at"), first.at("steps"));
    EXPECT_EQ(longer.at("loss"), ok_json(train("three", {"--epochs", "3"})).at("loss"));
}

TEST_F(ResumedRun, ATraceGoesOn) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    const Json whole = ok_json(train("whole", on_hosts({"--epochs", "4"})));
    ok_json(train("run", on_hosts({"--epochs", "2"})));
    const Json longer = ok_json(train("run", on_hosts({"--epochs", "4", "--resume"})));
    EXPECT_EQ(longer.at("loss"), whole.at("loss"));
    EXPECT_EQ(longer.at("rows").at("floor"), whole.at("rows").at("floor"));
    EXPECT_EQ(checksums_of(folder_ / "run/trace"), checksums_of(folder_ / "whole/trace"));
    EXPECT_EQ(names_in(folder_ / "run/trace"), names_in(folder_ / "whole/trace"));
    // Without the trace of the first steps there is nothing to go on with.
    ok_json(train("plain", {"--epochs", "2"}));
    const auto before = bytes_of(folder_ / "plain/summary.json");
    refuse(train("plain", {"--epochs", "3", "--resume", "--trace"}), 2,
           {"no trace", "without --trace"});
    EXPECT_EQ(bytes_of(folder_ / "plain/summary.json"), before);
}

TEST_F(ResumedRun, RefusedWithOtherDataOrADamagedCheckpoint) {
    ok_json(train("run", {"--epochs", "2"}));
    ok({"partition", "graph", "other", "--parts", "2", "--method", "hash"});
    Words words = train("run", {"--epochs", "3", "--resume"});
    words[1] = "other";
    refuse(words, 3, {"other data"});
    refuse({"train", "parts", "--resume"}, 2, {"--out"});
    refuse(train("run", {"--resume", "--force"}), 2, {"--force"});
    refuse(train("new", {"--checkpoint-every", "soon"}), 2, {"'soon'", "300s"});
    fs::path last;
    for (const auto& entry : fs::directory_iterator(folder_ / "run/checkpoints"))
        if (fs::is_directory(entry) && entry.path() > last) last = entry.path();
    fs::resize_file(last / "weights.safetensors", 100);
    refuse(train("run", {"--epochs", "3", "--resume"}), 3,
           {"damaged", last.filename().string(), "remove that folder to resume from"});
}

}  // namespace
}  // namespace rudder::test
