// Dead, stuck, failing and interrupted ranks, under our launcher and under a bare mpirun.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "rudder/comm/launcher.hpp"
#include "rudder/comm/rank_status.hpp"

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using ::testing::HasSubstr;

/// Processes of the test program that are still there (zombies aside).
std::vector<pid_t> processes(const std::string& mark) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::ifstream in(entry.path() / "cmdline");
        std::string line((std::istreambuf_iterator<char>(in)), {});
        std::ranges::replace(line, '\0', ' ');
        if (line.find("ranked_program") != std::string::npos &&
            line.find(mark) != std::string::npos && line.find("mpirun") == std::string::npos) {
            found.push_back(std::stoi(name));
        }
    }
    return found;
}

/// The process of a rank of a job, by the environment its launcher gave it.
pid_t process_of_rank(const std::string& mark, int rank) {
    for (const pid_t pid : processes(mark)) {
        std::ifstream in("/proc/" + std::to_string(pid) + "/environ");
        const std::string text((std::istreambuf_iterator<char>(in)), {});
        const std::string wanted = "OMPI_COMM_WORLD_RANK=" + std::to_string(rank);
        if (text.find(wanted + '\0') != std::string::npos) return pid;
    }
    return 0;
}

template <class Ready>
bool wait_for(Ready&& ready, std::chrono::milliseconds limit = 10s) {
    const auto end = Clock::now() + limit;
    while (Clock::now() < end) {
        if (ready()) return true;
        std::this_thread::sleep_for(5ms);
    }
    return false;
}

class Ranks : public ::testing::Test {
protected:
    void SetUp() override {
        if (!have_program("mpirun")) GTEST_SKIP() << "there is no mpirun";
    }
    /// A number in the arguments that tells the processes of one test from all others.
    const std::string mark_ = std::to_string(1000 + ::getpid() % 100000) + ".5";

    std::vector<std::string> command(std::vector<std::string> more) const {
        more.insert(more.begin(), RUDDER_RANKED_PROGRAM);
        return more;
    }
    /// mpirun as a user would type it, without our launcher.
    std::vector<std::string> bare(int ranks, std::vector<std::string> more) const {
        std::vector<std::string> words{"mpirun", "-n", std::to_string(ranks), "--oversubscribe"};
        if (::geteuid() == 0) words.emplace_back("--allow-run-as-root");
        words.emplace_back(RUDDER_RANKED_PROGRAM);
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    void expect_none_left() const {
        EXPECT_TRUE(wait_for([&] { return processes(mark_).empty(); }, 3s)) << "ranks left behind";
    }
};

int count(const std::string& text, const std::string& piece) {
    int found = 0;
    for (std::size_t at = text.find(piece); at != std::string::npos;
         at = text.find(piece, at + 1)) {
        ++found;
    }
    return found;
}

TEST_F(Ranks, WorkAndEndWithZero) {
    for (const char* ranks : {"1", "2", "5"}) {
        const Outcome outcome = run(command({"--ranks", ranks, "work", "0", "0.3"}));
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_EQ(outcome.out, "started\n");
        EXPECT_EQ(outcome.err, "");
    }
}

TEST_F(Ranks, FailureOfOneIsNamedByAll) {
    const Outcome outcome = run(command({"--ranks", "4", "fail", "1", mark_}));
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(count(outcome.err, "rank 1 failed: planted failure"), 3) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rank 1: planted failure"));
    expect_none_left();
}

TEST_F(Ranks, BadInputOfOneIsTheCodeOfAll) {
    const Outcome outcome = run(command({"--ranks", "3", "bad", "2", mark_}));
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_EQ(count(outcome.err, "rank 2 failed: planted bad part"), 2) << outcome.err;
    expect_none_left();
}

TEST_F(Ranks, VanishedRankMakesFour) {
    const Outcome outcome = run(command({"--ranks", "4", "exit", "2", mark_}));
    EXPECT_EQ(outcome.code, 4);
    EXPECT_EQ(count(outcome.err, "rank 2 died while in: planted work"), 3) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rank 2 ended without a status"));
    expect_none_left();
}

TEST_F(Ranks, StuckRankIsNamedWithItsPhase) {
    const Outcome outcome =
        run(command({"--ranks", "3", "--stuck-after", "0.8", "hang", "1", mark_}));
    EXPECT_EQ(outcome.code, 4);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 is stuck"));
    EXPECT_THAT(outcome.err, HasSubstr("planted work > planted computation"));
    expect_none_left();
}

TEST_F(Ranks, StoppedRankIsStuckNotDead) {
    const Outcome outcome =
        run(command({"--ranks", "3", "--stuck-after", "1.5", "work", "0", mark_}),
            {.after = [&](pid_t) {
                ASSERT_TRUE(wait_for([&] { return process_of_rank(mark_, 1) != 0; }));
                std::this_thread::sleep_for(500ms);
                ::kill(process_of_rank(mark_, 1), SIGSTOP);
            }});
    EXPECT_EQ(outcome.code, 4);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 is stuck"));
    EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("rank 1 died")));
    expect_none_left();
}

TEST_F(Ranks, DeadlockIsReportedWithAllPhases) {
    const Outcome outcome =
        run(command({"--ranks", "3", "--stuck-after", "0.8", "deadlock", "0", mark_}));
    EXPECT_EQ(outcome.code, 4);
    EXPECT_THAT(outcome.err, HasSubstr("no rank has advanced"));
    for (const char* line : {"rank 0: planted work", "rank 1: planted work", "rank 2: planted"}) {
        EXPECT_THAT(outcome.err, HasSubstr(line));
    }
    expect_none_left();
}

TEST_F(Ranks, InterruptMakesFive) {
    for (const int number : {SIGINT, SIGTERM}) {
        const Outcome outcome =
            run(command({"--ranks", "3", "work", "0", mark_}), {.after = [&](pid_t launcher) {
                    ASSERT_TRUE(wait_for([&] { return process_of_rank(mark_, 2) != 0; }));
                    std::this_thread::sleep_for(500ms);
                    ::kill(launcher, number);
                }});
        EXPECT_EQ(outcome.code, 5) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr("interrupted"));
        expect_none_left();
    }
}

/// Under a launcher that ends the job because a rank is gone, SIGTERM is not the user's wish.
TEST_F(Ranks, SignalWhileAPeerIsSilentMakesFour) {
    const TempDir statuses;
    const Outcome outcome =
        run(bare(2, {"work", "0", mark_}),
            {.extra = {"RUDDER_STATUS_FOLDER=" + statuses.path().string()}, .after = [&](pid_t) {
                 ASSERT_TRUE(wait_for([&] { return process_of_rank(mark_, 1) != 0; }));
                 std::this_thread::sleep_for(500ms);
                 ::kill(process_of_rank(mark_, 1), SIGSTOP);
                 std::this_thread::sleep_for(900ms);
                 ::kill(process_of_rank(mark_, 0), SIGTERM);
                 wait_for([&] { return read_rank_status(statuses.path(), 0).has_value(); });
                 ::kill(process_of_rank(mark_, 1), SIGKILL);
             }});
    const auto status = read_rank_status(statuses.path(), 0);
    ASSERT_TRUE(status) << outcome.err;
    EXPECT_EQ(status->code, 4) << status->reason;
    expect_none_left();
}

TEST_F(Ranks, RefusesRanksUnderALauncher) {
    const Outcome outcome = run(bare(1, {"--ranks", "2", "work", "0", "0.1"}));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("leave --ranks out under mpirun or srun"));
}

TEST_F(Ranks, RefusesNonsenseLinks) {
    const Outcome outcome = run(command({"--ranks", "2", "--link", "fast", "work", "0", "0.1"}));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("'fast' is no link"));
}

TEST_F(Ranks, RefusesRanksOfDifferentBuilds) {
    const auto other = std::filesystem::temp_directory_path() / ("ranked_program_" + mark_);
    std::filesystem::copy_file(RUDDER_RANKED_PROGRAM, other);
    std::ofstream(other, std::ios::app) << "another build";
    auto words = bare(1, {"work", "0", "0.1"});
    for (const std::string& word :
         {std::string(":"), std::string("-n"), std::string("1"), other.string(),
          std::string("work"), std::string("0"), std::string("0.1")}) {
        words.push_back(word);
    }
    const Outcome outcome = run(words);
    std::filesystem::remove(other);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 differs from rank 0 in its build"));
}

TEST_F(Ranks, RefusesRanksOfDifferentOptions) {
    auto words = bare(1, {"work", "0", "0.1"});
    for (const char* word : {":", "-n", "1", RUDDER_RANKED_PROGRAM, "fail", "0", "0.1"}) {
        words.emplace_back(word);
    }
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 differs from rank 0 in its mode"));
    EXPECT_THAT(outcome.err, HasSubstr("rank 0 has 'work', rank 1 has 'fail'"));
}

/// Kills a rank of a job under a bare mpirun and returns how long the others took to name it.
std::vector<double> notice_times(const std::vector<std::string>& words, const std::string& mark,
                                 int victim) {
    std::vector<double> seconds;
    Clock::time_point killed;
    const Outcome outcome =
        run(words, {.after = [&](pid_t) {
                ASSERT_TRUE(wait_for([&] { return process_of_rank(mark, 3) != 0; }));
                std::this_thread::sleep_for(500ms);
                killed = Clock::now();
                ::kill(process_of_rank(mark, victim), SIGKILL);
                wait_for([&] { return processes(mark).empty(); });
                seconds.push_back(std::chrono::duration<double>(Clock::now() - killed).count());
            }});
    EXPECT_NE(outcome.code, 0);
    EXPECT_EQ(count(outcome.err, "rank " + std::to_string(victim) + " died"), 3) << outcome.err;
    return seconds;
}

void kill_ranks(int times, const std::vector<std::string>& words, const std::string& mark) {
    std::vector<double> all;
    for (int i = 0; i < times; ++i) {
        for (const double time : notice_times(words, mark, i % 4))
            all.push_back(time);
    }
    std::ranges::sort(all);
    ASSERT_FALSE(all.empty());
    std::cout << "killed rank named and all ranks gone: median " << all[all.size() / 2] << " s of "
              << all.size() << " kills\n";
    EXPECT_LT(all[all.size() / 2], 0.8);
}

TEST_F(Ranks, KilledRankIsNamedUnderABareMpirun) {
    kill_ranks(3, bare(4, {"work", "0", mark_}), mark_);
    expect_none_left();
    std::cout << "ran 3 of 20 kills (make test-long runs all)\n";
}

TEST_F(Ranks, KilledRankIsNamedOverConnections) {
    auto words = bare(4, {"work", "0", mark_});
    words.insert(words.begin() + 1, {"-x", "RUDDER_WATCH_CONNECTIONS=1"});
    kill_ranks(2, words, mark_);
    expect_none_left();
}

class LongRanks : public Ranks {};

TEST_F(LongRanks, TwentyKills) {
    kill_ranks(20, bare(4, {"work", "0", mark_}), mark_);
    expect_none_left();
}

TEST(Launcher, MostSevereStatusCounts) {
    EXPECT_EQ(most_severe({0, 0}), 0);
    EXPECT_EQ(most_severe({0, 5, 2}), 2);
    EXPECT_EQ(most_severe({3, 1, 0}), 1);
    EXPECT_EQ(most_severe({1, 4, 3}), 4);
}

}  // namespace
}  // namespace rudder::test
