// Dead, stuck, failing and interrupted ranks, under our launcher and under a bare mpirun.
#include <filesystem>
#include <fstream>

#include "comm/rank_status.hpp"

#include "ranked_job.hpp"

namespace rudder::test {
namespace {

using ::testing::HasSubstr;

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

/// All wait for answers that never come: the cause is told all the same, and soon.
TEST_F(Ranks, AServiceThatFailsEndsTheJobWithItsMessage) {
    const Outcome outcome = run(command({"--ranks", "3", "service", "1", mark_}));
    const auto ended = std::chrono::steady_clock::now().time_since_epoch();
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_EQ(count(outcome.err, "rank 1: planted in a service"), 1) << outcome.err;
    EXPECT_EQ(count(outcome.err, "rank 1 failed: planted in a service"), 2) << outcome.err;
    const std::string mark = "failing at ";
    const std::size_t at = outcome.out.find(mark);
    ASSERT_NE(at, std::string::npos) << outcome.out;
    const std::chrono::nanoseconds failed(std::stoll(outcome.out.substr(at + mark.size())));
    EXPECT_LT(ended - failed, 2s);
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

/// Long enough for ranks of a busy machine to come together, which the same limit bounds.
constexpr const char* patience = "3";

TEST_F(Ranks, StuckRankIsNamedWithItsPhase) {
    const Outcome outcome =
        run(command({"--ranks", "3", "--stuck-after", patience, "hang", "1", mark_}));
    EXPECT_EQ(outcome.code, 4);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 is stuck"));
    EXPECT_THAT(outcome.err, HasSubstr("planted work > planted computation"));
    expect_none_left();
}

TEST_F(Ranks, StoppedRankIsStuckNotDead) {
    const ReadyFolder ready;
    const Outcome outcome =
        run(command({"--ranks", "3", "--stuck-after", patience, "work", "0", mark_}),
            {.extra = {ready.setting()},
             .after = [&](pid_t) { ::kill(ready.wait_for_rank(1), SIGSTOP); }});
    EXPECT_EQ(outcome.code, 4);
    EXPECT_THAT(outcome.err, HasSubstr("rank 1 is stuck"));
    EXPECT_THAT(outcome.err, ::testing::Not(HasSubstr("rank 1 died")));
    expect_none_left();
}

/// Before the watchdog is up a rank that never comes is noticed all the same.
TEST_F(Ranks, RankThatNeverComesEndsTheStart) {
    auto words = bare(1, {"--stuck-after", "2", "work", "0", mark_});
    for (const char* word : {":", "-n", "1", "sh", "-c", "sleep 30"})
        words.emplace_back(word);
    const Outcome outcome = run(words);
    EXPECT_NE(outcome.code, 0);
    EXPECT_THAT(outcome.err, HasSubstr("not all ranks have come together within 2.0 s"));
    expect_none_left();
}

TEST_F(Ranks, RanksMayStartSecondsApart) {
    auto words = bare(1, {"work", "0", "0.3"});
    const std::string late = std::string("sleep 2; exec ") + RUDDER_RANKED_PROGRAM + " work 0 0.3";
    for (const std::string& word : {std::string(":"), std::string("-n"), std::string("1"),
                                    std::string("sh"), std::string("-c"), late}) {
        words.push_back(word);
    }
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
}

TEST_F(Ranks, DeadlockIsReportedWithAllPhases) {
    const Outcome outcome =
        run(command({"--ranks", "3", "--stuck-after", patience, "deadlock", "0", mark_}));
    EXPECT_EQ(outcome.code, 4);
    EXPECT_THAT(outcome.err, HasSubstr("no rank has advanced"));
    for (const char* line : {"rank 0: planted work", "rank 1: planted work", "rank 2: planted"}) {
        EXPECT_THAT(outcome.err, HasSubstr(line));
    }
    expect_none_left();
}

TEST_F(Ranks, InterruptMakesFive) {
    for (const int number : {SIGINT, SIGTERM}) {
        const ReadyFolder ready;
        const Outcome outcome = run(command({"--ranks", "3", "work", "0", mark_}),
                                    {.extra = {ready.setting()}, .after = [&](pid_t launcher) {
                                         for (const int r : {0, 1, 2})
                                             ready.wait_for_rank(r);
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
    const ReadyFolder ready;
    const Outcome outcome = run(
        bare(2, {"work", "0", mark_}),
        {.extra = {"RUDDER_STATUS_FOLDER=" + statuses.path().string(), ready.setting()},
         .after = [&](pid_t) {
             const pid_t stopped = ready.wait_for_rank(1);
             ::kill(stopped, SIGSTOP);
             std::this_thread::sleep_for(900ms);
             ::kill(ready.wait_for_rank(0), SIGTERM);
             EXPECT_TRUE(
                 wait_for([&] { return comm::read_rank_status(statuses.path(), 0).has_value(); }));
             ::kill(stopped, SIGKILL);
         }});
    const auto status = comm::read_rank_status(statuses.path(), 0);
    ASSERT_TRUE(status) << outcome.err;
    EXPECT_EQ(status->code, 4) << status->reason;
    expect_none_left();
}

TEST_F(Ranks, RefusesRanksUnderALauncher) {
    const Outcome outcome = run(bare(1, {"--ranks", "2", "work", "0", "0.1"}));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("leave --ranks out under mpirun, srun or torchrun"));
}

TEST_F(Ranks, RefusesNonsenseLinks) {
    const Outcome outcome = run(command({"--ranks", "2", "--link", "fast", "work", "0", "0.1"}));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("invalid link: 'fast'"));
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

/// Kills a rank of a job and returns how long it took until the others had named it and were gone.
double notice_time(const std::vector<std::string>& words, const std::string& mark, int victim) {
    const ReadyFolder ready;
    const TempDir statuses;
    const std::string folder = "RUDDER_STATUS_FOLDER=" + statuses.path().string();
    double seconds = 0;
    const Outcome outcome =
        run(words, {.extra = {ready.setting(), folder}, .after = [&](pid_t) {
                        for (const int r : {0, 1, 2, 3})
                            ready.wait_for_rank(r);
                        const auto killed = Clock::now();
                        ::kill(ready.wait_for_rank(victim), SIGKILL);
                        wait_for([&] { return processes(mark).empty(); });
                        seconds = std::chrono::duration<double>(Clock::now() - killed).count();
                    }});
    EXPECT_NE(outcome.code, 0);
    const std::string named = "rank " + std::to_string(victim) + " died";
    EXPECT_THAT(outcome.err, HasSubstr(named));
    // mpirun may lose some of what ranks say while it ends the job; their statuses are not lost.
    for (int r = 0; r < 4; ++r) {
        const auto status = comm::read_rank_status(statuses.path(), r);
        EXPECT_EQ(status.has_value(), r != victim) << "rank " << r;
        if (!status) continue;
        EXPECT_EQ(status->code, 4);
        EXPECT_THAT(status->reason, HasSubstr(named)) << "rank " << r;
    }
    return seconds;
}

void kill_ranks(int times, const std::vector<std::string>& words, const std::string& mark) {
    std::vector<double> all;
    for (int i = 0; i < times; ++i) {
        all.push_back(notice_time(words, mark, i % 4));
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

}  // namespace
}  // namespace rudder::test
