// The launcher: whatever ends it or its ranks is named, and leaves nothing behind.
#include <fmt/format.h>
#include <sys/wait.h>

#include "comm/launched_ranks.hpp"
#include "comm/launcher_watch.hpp"
#include "comm/process_handle.hpp"

#include "ranked_job.hpp"

namespace rudder::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Launcher : public Ranks {
protected:
    /// What is ours in the folder for temporary files.
    [[nodiscard]] std::vector<std::string> left() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(temporary_.path())) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with("rudder-")) names.push_back(name);
        }
        return names;
    }
    /// A job of three ranks whose launcher gets a signal, when its ranks work or after a time.
    Outcome signalled(int number, std::chrono::milliseconds after = 0ms) {
        const ReadyFolder ready;
        return run(command({"--ranks", "3", "work", "0", mark_}),
                   {.extra = {ready.setting(), "TMPDIR=" + temporary_.path().string()},
                    .after = [&](pid_t launcher) {
                        for (int r = 0; after == 0ms && r < 3; ++r)
                            ready.wait_for_rank(r);
                        wait_until_handled(launcher, SIGTERM);
                        std::this_thread::sleep_for(after);
                        ::kill(launcher, number);
                        signalled_ = Clock::now();
                    }});
    }
    void expect_nothing_left() {
        expect_none_left(6s);
        const auto seconds = std::chrono::duration<double>(Clock::now() - signalled_).count();
        std::cout << "all gone " << seconds << " s after the signal\n";
        EXPECT_TRUE(wait_for([&] { return left().empty(); }, 3s))
            << "left behind: " << left().front();
    }

    TempDir temporary_;
    Clock::time_point signalled_;
};

/// Its ranks end by themselves, working or not yet. A folder that none of them was there to remove
/// goes with the next start.
TEST_F(Launcher, KilledLeavesNothingBehind) {
    for (const auto after : {0ms, 60ms, 250ms}) {
        EXPECT_EQ(signalled(SIGKILL, after).signal, SIGKILL);
        expect_none_left(6s);
    }
    const Outcome next = run(command({"--ranks", "1", "work", "0", "0.1"}),
                             {.extra = {"TMPDIR=" + temporary_.path().string()}});
    EXPECT_EQ(next.code, 0) << next.err;
    EXPECT_EQ(left(), std::vector<std::string>{});
}

/// mpirun can lock up on a signal while it begins, so that this one heeds none: it ends all the
/// same, once time is up, when its launcher was killed.
TEST_F(Launcher, KilledTakesAnMpirunWithItThatHangs) {
    const TempDir programs;
    const auto mpirun = programs.path() / "mpirun";
    std::ofstream(mpirun) << "#!/bin/sh\n"
                             "[ \"$1\" = --version ] && exit\n"
                             "trap '' TERM\n"
                             "touch \"${0%/*}/began\"\n"
                             "while :; do sleep 0.1; done\n";
    std::filesystem::permissions(mpirun, std::filesystem::perms::owner_all);
    const Outcome outcome =
        run(command({"--ranks", "3", "work", "0", mark_}),
            {.extra = {fmt::format("PATH={}:{}", programs.path().string(), std::getenv("PATH")),
                       "TMPDIR=" + temporary_.path().string()},
             .after = [&](pid_t launcher) {
                 EXPECT_TRUE(
                     wait_for([&] { return std::filesystem::exists(programs.path() / "began"); }));
                 ::kill(launcher, SIGKILL);
             }});
    EXPECT_EQ(outcome.signal, SIGKILL);
    expect_none_left(10s);
}

/// Where the segments of a rank lie, by its environment.
std::filesystem::path segments_of(pid_t rank) {
    std::ifstream in("/proc/" + std::to_string(rank) + "/environ");
    const std::string beginning = std::string(comm::segment_variable) + "=";
    for (std::string setting; std::getline(in, setting, '\0');) {
        if (setting.starts_with(beginning)) return setting.substr(beginning.size());
    }
    return {};
}

/// Open MPI leaves its segments of shared memory behind when ranks are killed.
TEST_F(Launcher, KilledRanksLeaveNoSharedMemoryBehind) {
    const ReadyFolder ready;
    std::filesystem::path segments;
    bool some = false;
    const Outcome outcome = run(command({"--ranks", "3", "work", "0", mark_}),
                                {.extra = {ready.setting()}, .after = [&](pid_t) {
                                     std::vector<pid_t> ranks;
                                     for (const int r : {0, 1, 2})
                                         ranks.push_back(ready.wait_for_rank(r));
                                     segments = segments_of(ranks.front());
                                     some =
                                         !segments.empty() && !std::filesystem::is_empty(segments);
                                     for (const pid_t pid : ranks)
                                         ::kill(pid, SIGKILL);
                                 }});
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_TRUE(some) << segments;
    EXPECT_FALSE(std::filesystem::exists(segments)) << segments;
}

TEST_F(Launcher, AHangUpIsAnInterrupt) {
    const Outcome outcome = signalled(SIGHUP);
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("interrupted"));
    expect_nothing_left();
}

/// Before the ranks have come together there is nobody but the launcher to be told.
TEST_F(Launcher, EarlyInterruptsMakeFive) {
    for (const auto after : {30ms, 150ms, 300ms, 1000ms}) {
        const Outcome outcome = signalled(after == 150ms ? SIGINT : SIGTERM, after);
        EXPECT_EQ(outcome.code, 5) << after.count() << " ms: " << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr("interrupted"));
        EXPECT_THAT(outcome.err, Not(HasSubstr("killed or crashed")));
        expect_nothing_left();
    }
}

/// As `timeout` sends it: to the process, then to its group.
TEST_F(Launcher, TwoSignalsAtOnceAreOne) {
    const ReadyFolder ready;
    const Outcome outcome = run(command({"--ranks", "3", "work", "0", mark_}),
                                {.extra = {ready.setting()}, .after = [&](pid_t launcher) {
                                     for (const int r : {0, 1, 2})
                                         ready.wait_for_rank(r);
                                     ::kill(launcher, SIGTERM);
                                     std::this_thread::sleep_for(20ms);
                                     ::kill(launcher, SIGTERM);
                                 }});
    EXPECT_EQ(outcome.code, 5) << outcome.err;
    EXPECT_GE(count(outcome.err, "interrupted"), 1) << "it left before its ranks: " << outcome.err;
    expect_none_left();
}

/// Kills a rank; the launcher says which one, as the first, within two seconds.
class KilledRank : public Launcher {
protected:
    void kill_one(int victim) {
        const ReadyFolder ready;
        const TempDir log;
        const std::string words = fmt::format("exec '{}' --ranks 4 work 0 {} 2>'{}/err'",
                                              RUDDER_RANKED_PROGRAM, mark_, log.path().string());
        const std::string named =
            fmt::format("rank {} ended without a status: it was killed or crashed", victim);
        double seconds = 99;
        const Outcome outcome =
            run({"sh", "-c", words},
                {.extra = {ready.setting()}, .after = [&](pid_t) {
                     for (const int r : {0, 1, 2, 3})
                         ready.wait_for_rank(r);
                     const auto killed = Clock::now();
                     ::kill(ready.wait_for_rank(victim), SIGKILL);
                     wait_for([&] {
                         return text_of(log.path() / "err").find(named) != std::string::npos;
                     });
                     seconds = std::chrono::duration<double>(Clock::now() - killed).count();
                 }});
        EXPECT_EQ(outcome.code, 4);
        EXPECT_LT(seconds, 2.0);
        EXPECT_EQ(count(text_of(log.path() / "err"), "it was killed or crashed"), 1)
            << text_of(log.path() / "err");
        times_.push_back(seconds);
        expect_none_left();
    }
    void kill_some(int times) {
        for (int i = 0; i < times; ++i)
            kill_one(i % 4);
        std::ranges::sort(times_);
        std::cout << "killed rank named: median " << times_[times_.size() / 2] << " s, at most "
                  << times_.back() << " s of " << times << " kills\n";
    }
    static std::string text_of(const std::filesystem::path& file) {
        std::ifstream in(file);
        return {std::istreambuf_iterator<char>(in), {}};
    }

    std::vector<double> times_;
};
using LongKilledRank = KilledRank;

TEST_F(KilledRank, IsNamedByTheLauncher) {
    kill_some(3);
}

TEST_F(LongKilledRank, IsNamedByTheLauncherInTwentyOfTwenty) {
    kill_some(20);
}

TEST_F(Launcher, TooLittleSharedMemoryIsNamed) {
    const std::string words =
        fmt::format("mount -t tmpfs -o size=4m none /dev/shm && exec '{}' --ranks 2 work 0 0.1",
                    RUDDER_RANKED_PROGRAM);
    if (run({"unshare", "-rm", "mount", "-t", "tmpfs", "none", "/dev/shm"}).code != 0)
        GTEST_SKIP() << "no name space of mounts can be had here (unshare -rm)";
    const Outcome outcome = run({"unshare", "-rm", "sh", "-c", words});
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("too little shared memory for 2 ranks: 4.0 MiB free"));
    EXPECT_THAT(outcome.err, HasSubstr("/dev/shm"));
}

/// The thread that looks after messages has nobody above it who could catch.
TEST_F(Launcher, AFailureBesideTheWorkEndsTheJobWithItsMessage) {
    const auto start = Clock::now();
    const Outcome outcome = run(command({"--ranks", "3", "callback", "1", mark_}));
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rank 1: planted failure of a callback"));
    EXPECT_EQ(count(outcome.err, "rank 1 failed: planted failure of a callback"), 2);
    EXPECT_THAT(outcome.err, Not(HasSubstr("terminate")));
    EXPECT_LT(Clock::now() - start, 20s);
    expect_none_left();
}

/// The number of a process that is gone.
pid_t gone_process() {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ::waitpid(child, nullptr, 0);
    return child;
}

/// A rank may have left something after another had removed the lock.
TEST(LauncherFolders, WithoutALockGoWithTheProcessTheyAreNamedAfter) {
    const TempDir parent;
    const auto folder_of = [&](pid_t maker) {
        const auto folder =
            parent.path() / fmt::format("{}{}-a0b1c2", comm::launcher_folder_beginning, maker);
        std::filesystem::create_directory(folder);
        std::ofstream(folder / "status-0") << "5";
        return folder;
    };
    const auto dead = folder_of(gone_process());
    const auto living = folder_of(::getpid());
    comm::sweep_launcher_folders(parent.path());
    EXPECT_FALSE(std::filesystem::exists(dead));
    EXPECT_TRUE(std::filesystem::exists(living));
}

/// The code for a rank that ended at a stage, without a status, after an interrupt.
int code_after_interrupt(const char* stage) {
    const TempDir folder;
    comm::LaunchedRanks ranks(1, folder.path(), comm::RankParent::mpirun);
    ranks.interrupt();
    std::ofstream(folder.path() / "pid-0") << gone_process() << " 1 " << stage;
    ranks.look();
    return ranks.code();
}

/// MPI ends a rank whose others have left, and tells nobody; one at work has crashed.
TEST(LaunchedRanks, AreInterruptedWhileTheyJoinAndLostLater) {
    EXPECT_EQ(code_after_interrupt("joining"), 5);
    EXPECT_EQ(code_after_interrupt("joined"), 4);
}

/// The code of a job of one rank that left this as its status, and ended with that as a child.
int code_of_child(const std::optional<std::string>& status, int exit_code) {
    const TempDir folder;
    comm::LaunchedRanks ranks(1, folder.path(), comm::RankParent::launcher);
    if (status) std::ofstream(folder.path() / "status-0") << *status;
    ranks.exited(0, exit_code << 8);
    ranks.look();
    return ranks.code();
}

/// A full disk may keep a rank from leaving a status.
TEST(LaunchedRanks, WithoutAStatusCountByHowTheyEnded) {
    EXPECT_EQ(code_of_child(std::nullopt, 0), 0);
    EXPECT_EQ(code_of_child(std::nullopt, 1), 1);
    EXPECT_EQ(code_of_child("", 1), 1) << "an empty status is none";
    EXPECT_EQ(code_of_child("3", 1), 1) << "nor is a part of one";
    EXPECT_EQ(code_of_child("3\nbad", 1), 3);
}

TEST(LaunchedRanks, AnEmptyStatusIsNoSuccess) {
    const TempDir folder;
    comm::LaunchedRanks ranks(1, folder.path(), comm::RankParent::mpirun);
    std::ofstream(folder.path() / "status-0") << "";
    EXPECT_EQ(ranks.code(), 4);
}

TEST(ProcessHandles, AreOfOneProcess) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::pause();
        ::_exit(0);
    }
    const std::uint64_t start = comm::start_of_process(child);
    EXPECT_GT(start, 0U);
    EXPECT_FALSE(comm::ProcessHandle::open(child, start + 1)) << "another of that number";
    const auto handle = comm::ProcessHandle::open(child, start);
    ASSERT_TRUE(handle);
    EXPECT_FALSE(handle->ended());
    handle->signal(SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(handle->ended());
    handle->signal(SIGKILL);  // of nobody
    EXPECT_FALSE(comm::ProcessHandle::open(child));
    EXPECT_EQ(comm::start_of_process(child), 0U);
}

TEST(ExitCodes, MostSevereStatusCounts) {
    EXPECT_EQ(comm::most_severe({0, 0}), 0);
    EXPECT_EQ(comm::most_severe({0, 5, 2}), 2);
    EXPECT_EQ(comm::most_severe({3, 1, 0}), 1);
    EXPECT_EQ(comm::most_severe({1, 4, 3}), 4);
}

}  // namespace
}  // namespace rudder::test
