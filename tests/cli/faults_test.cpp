// Runs whose folder, disk, descriptors or readers fail: nothing is lost silently.
#include <csignal>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

class FaultyRun : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "800", "--seed", "5"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    /// Two steps per epoch, every epoch evaluated.
    static Words train(const std::string& out, const Words& more,
                       const std::string& hidden = "16") {
        Words words{"train", "parts",     "--batch", "200",          "--hidden", hidden,
                    "--out", out,         "--quiet", "--lr",         "0.1",      "--fanout",
                    "4,6",   "--threads", "1",       "--eval-every", "1"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    /// The run has got as far as that file.
    void await(const fs::path& file) const {
        for (int i = 0; i < 4000 && !fs::exists(folder_ / file); ++i)
            ::usleep(5'000);
        EXPECT_TRUE(fs::exists(folder_ / file)) << file;
    }
    /// The run has its first checkpoint, whole.
    void await_checkpoint(const std::string& out) const {
        for (int i = 0; i < 4000 && !has_checkpoint(folder_ / out); ++i)
            ::usleep(5'000);
        EXPECT_TRUE(has_checkpoint(folder_ / out));
    }
    /// Names of hidden things below a folder.
    [[nodiscard]] std::set<std::string> hidden_below(const std::string& out) const {
        std::set<std::string> names;
        for (const auto& entry : fs::recursive_directory_iterator(folder_ / out)) {
            const std::string name = entry.path().filename().string();
            if (name.starts_with('.')) names.insert(name);
        }
        return names;
    }
    void expect_json_lines(const fs::path& file, std::size_t least) const {
        const std::string text = bytes_of(folder_ / file);
        EXPECT_EQ(text.find('\0'), std::string::npos);
        std::ifstream in(folder_ / file);
        std::size_t lines = 0;
        for (std::string line; std::getline(in, line); ++lines)
            EXPECT_NO_THROW(static_cast<void>(parse_json(line, file.string()))) << line;
        EXPECT_GE(lines, least);
    }
    /// `evaluate` uses the weights that the summary speaks of.
    void expect_best_kept(const std::string& out, const Json& summary) {
        const Json scores = ok_json({"evaluate", out});
        EXPECT_EQ(scores.at("accuracy").at("test"), summary.at("accuracy").at("test"));
        EXPECT_EQ(scores.at("accuracy").at("valid"), summary.at("accuracy").at("valid"));
        EXPECT_EQ(scores.at("epoch"), summary.at("best_epoch"));
        EXPECT_EQ(scores.at("step").get<std::uint64_t>(),
                  summary.at("best_epoch").get<std::uint64_t>() *
                      summary.at("steps_per_epoch").get<std::uint64_t>());
        EXPECT_TRUE(summary.at("checkpoints").at("complete"));
        EXPECT_EQ(summary.at("checkpoints").at("best"), scores.at("step"));
        EXPECT_LE(names_in(folder_ / out / "checkpoints").size(), 5U);
        ok({"info", out, "--check"});
    }
};

TEST_F(FaultyRun, ForceIsRefusedWhereAnotherProcessWrites) {
    RunOptions options = here();
    Outcome second;
    options.after = [&](pid_t pid) {
        await_checkpoint("run");
        second = rudder(train("run", {"--epochs", "1", "--force"}), here());
        ::kill(pid, SIGTERM);
    };
    const Outcome first = rudder(train("run", {"--epochs", "100000"}), options);
    EXPECT_EQ(second.code, 2) << second.err;
    EXPECT_THAT(second.err, HasSubstr("another process is writing this run"));
    EXPECT_EQ(first.code, 5) << first.err;
    EXPECT_THAT(bytes_of(folder_ / "run/config.toml"), HasSubstr("100000"));
    EXPECT_EQ(hidden_below("."), std::set<std::string>{});
    // It has ended: now it may be replaced.
    ok_json(train("run", {"--epochs", "1", "--force"}));
}

TEST_F(FaultyRun, TheBestWeightsAreKeptWhateverTheRhythmOfCheckpoints) {
    for (const std::string every : {"1", "5", "0", "1000s"}) {
        const std::string out = "run-" + every;
        const Json summary = ok_json(train(out, {"--epochs", "14", "--checkpoint-every", every}));
        // Else the test would prove nothing.
        const auto best = summary.at("best_epoch").get<std::uint64_t>();
        EXPECT_NE(best, 14U);
        EXPECT_NE(best % 5, 0U);
        expect_best_kept(out, summary);
    }
}

TEST_F(FaultyRun, AnInterruptedRunKeepsItsBestWeights) {
    const Words more{"--epochs", "200", "--checkpoint-every", "7"};
    const Json whole = ok_json(train("whole", more));
    RunOptions options = here();
    options.after = [&](pid_t pid) {
        await("run/checkpoints/best.json");
        ::kill(pid, SIGKILL);
    };
    EXPECT_NE(rudder(train("run", more), options).code, 0);
    Words again = more;
    again.emplace_back("--resume");
    const Json resumed = ok_json(train("run", again));
    EXPECT_EQ(resumed.at("loss"), whole.at("loss"));
    EXPECT_EQ(resumed.at("best_epoch"), whole.at("best_epoch"));
    expect_best_kept("run", resumed);
    EXPECT_EQ(hidden_below("run"), std::set<std::string>{});
}

// The file size limit comes while the run goes on: as if the disk was full from then on.
TEST_F(FaultyRun, AFullDiskIsSaidInSpiteOfQuietAndTheOldCheckpointStays) {
    const Words more{"--epochs", "150", "--json"};
    const Outcome whole = rudder(train("whole", more, "512"), here());
    ASSERT_EQ(whole.code, 0) << whole.err;
    RunOptions options = here();
    options.after = [&](pid_t pid) {
        await_checkpoint("run");
        const auto weights = fs::file_size(folder_ /
                                           "whole/checkpoints/step-0000000300/"
                                           "weights.safetensors");
        const rlimit limit{weights / 2, RLIM_INFINITY};
        EXPECT_EQ(::prlimit(pid, RLIMIT_FSIZE, &limit, nullptr), 0);
    };
    const Outcome cut = rudder(train("run", more, "512"), options);
    EXPECT_EQ(cut.code, 1) << cut.err;
    EXPECT_EQ(cut.signal, 0);
    const auto first = cut.err.find("rudder: warning: no ");
    ASSERT_NE(first, std::string::npos) << cut.err;
    EXPECT_EQ(cut.err.find("rudder: warning: no ", first + 1), std::string::npos) << "once";
    EXPECT_THAT(cut.err, HasSubstr("File too large"));
    EXPECT_THAT(cut.err, HasSubstr("rudder: error: the last or the best weights were not written"));
    // Training went on to the same end, and the summary tells.
    const Json summary = parse_json(cut.out, "out");
    EXPECT_EQ(summary.at("loss"), parse_json(whole.out, "out").at("loss"));
    const Json told = read_json(folder_ / "run/summary.json").at("checkpoints");
    EXPECT_EQ(told, summary.at("checkpoints"));
    EXPECT_GT(told.at("failed"), 0);
    EXPECT_GT(told.at("written"), 0);
    EXPECT_FALSE(told.at("complete"));
    EXPECT_LT(told.at("last"), summary.at("steps"));
    EXPECT_THAT(told.at("error").get<std::string>(), HasSubstr("File too large"));
    // The old one is intact, and the run goes on from it once there is room.
    ok({"info", "run", "--check"});
    EXPECT_EQ(hidden_below("run"), std::set<std::string>{});
    Words again = more;
    again.emplace_back("--resume");
    const Outcome resumed = rudder(train("run", again, "512"), here());
    EXPECT_EQ(resumed.code, 0) << resumed.err;
    const Json mended = parse_json(resumed.out, "out");
    EXPECT_EQ(mended.at("resumed_at"), told.at("last"));
    EXPECT_EQ(mended.at("loss"), summary.at("loss"));
    EXPECT_EQ(mended.at("checkpoints").at("last"), mended.at("steps"));
}

TEST_F(FaultyRun, ClosedDescriptorsTakeNothingFromFiles) {
    Words words = train("run", {"--epochs", "3"});
    std::erase(words, "--quiet");
    const std::string line =
        fmt::format("exec {} {} <&- >&- 2>&-", program().string(), fmt::join(words, " "));
    const Outcome outcome = run({"sh", "-c", line}, here());
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(outcome.signal, 0);
    expect_json_lines("run/metrics.jsonl", 6);
    expect_json_lines("run/epochs.jsonl", 3);
    EXPECT_EQ(read_json(folder_ / "run/run.json").at("state"), "finished");
}

TEST_F(FaultyRun, MetricsThatAreTooShortAreCutToTheirLastWholeLine) {
    ok_json(train("whole", {"--epochs", "6"}));
    for (const std::size_t size : {1000U, 0U}) {
        const std::string out = fmt::format("run-{}", size);
        ok_json(train(out, {"--epochs", "5"}));
        const std::string before = bytes_of(folder_ / out / "metrics.jsonl");
        ASSERT_GT(before.size(), 3000U);
        fs::resize_file(folder_ / out / "metrics.jsonl", size);
        Words words = train(out, {"--epochs", "6", "--resume", "--json"});
        std::erase(words, "--quiet");
        const Outcome outcome = rudder(words, here());
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        EXPECT_THAT(outcome.err, HasSubstr("metrics.jsonl is shorter than its checkpoint says"));
        expect_json_lines(out + "/metrics.jsonl", 2);
        const std::string after = bytes_of(folder_ / out / "metrics.jsonl");
        const std::string kept = before.substr(0, before.substr(0, size).rfind('\n') + 1);
        EXPECT_TRUE(size == 0 || after.starts_with(kept));
        EXPECT_EQ(parse_json(outcome.out, "out").at("loss"),
                  read_json(folder_ / "whole/summary.json").at("loss"));
        ok({"report", out});
    }
}

TEST_F(FaultyRun, WhatAKillLeftIsSweptByTheNextStart) {
    ok_json(train("run", {"--epochs", "2"}));
    const fs::path checkpoints = folder_ / "run/checkpoints";
    fs::create_directories(checkpoints / ".step-0000000099.partial-12345");
    fs::create_directories(checkpoints / ".step-0000000099.partial-12345-77-00112233aabbccdd");
    write("run/checkpoints/.best.json.partial-12345", "{");
    ok_json(train("run", {"--epochs", "3", "--resume"}));
    EXPECT_EQ(hidden_below("run"), std::set<std::string>{});
}

TEST_F(FaultyRun, InfoSaysThatARunWasInterrupted) {
    RunOptions options = here();
    options.after = [&](pid_t pid) {
        await_checkpoint("run");
        ::kill(pid, SIGTERM);
    };
    EXPECT_EQ(rudder(train("run", {"--epochs", "100000"}), options).code, 5);
    EXPECT_EQ(ok_json({"info", "run"}).at("state"), "interrupted");
}

TEST_F(FaultyRun, ARemovedFolderIsNotMadeAnew) {
    RunOptions options = here();
    options.after = [&](pid_t) {
        await_checkpoint("run");
        // As rm -rf does: what is made meanwhile is removed, too.
        for (int i = 0; i < 20; ++i) {
            std::error_code code;
            fs::remove_all(folder_ / "run", code);
            ::usleep(5'000);
        }
    };
    const Outcome outcome = rudder(train("run", {"--epochs", "600"}), options);
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_EQ(outcome.signal, 0);
    EXPECT_THAT(outcome.err, HasSubstr("the folder of the run was removed"));
    EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(FaultyRun, AConfigurationMayComeThroughAPipe) {
    if (!have_program("bash")) GTEST_SKIP() << "no bash";
    const auto line = [&](const std::string& keys, const std::string& out) {
        return fmt::format(
            "'{}' train parts --config <(printf '{}') --batch 200 --fanout 4,6 "
            "--out {} --json",
            program().string(), keys, out);
    };
    const Outcome alone = run({"bash", "-c", line("epochs = 2\\nhidden = 8\\n", "run")}, here());
    EXPECT_EQ(alone.code, 0) << alone.err;
    EXPECT_EQ(parse_json(alone.out, "out").at("epochs"), 2);
    if (!no_mpirun().empty()) return;
    const Outcome both =
        run({"bash", "-c", line("epochs = 2\\nhidden = 8\\nranks = 2\\n", "two")}, here());
    EXPECT_EQ(both.code, 0) << both.err;
    EXPECT_EQ(parse_json(both.out, "out").at("loss"), parse_json(alone.out, "out").at("loss"));
}

TEST_F(FaultyRun, AReaderThatGoesAwayDoesNotEndTheRun) {
    Words words = train("run", {"--epochs", "20"});
    std::erase(words, "--quiet");
    const std::string line = fmt::format("{{ '{}' {} 2>&1; echo $? >code; }} | head -1",
                                         program().string(), fmt::join(words, " "));
    EXPECT_EQ(run({"sh", "-c", line}, here()).code, 0);
    EXPECT_EQ(bytes_of(folder_ / "code"), "0\n");
    EXPECT_EQ(read_json(folder_ / "run/run.json").at("state"), "finished");
    EXPECT_EQ(read_json(folder_ / "run/summary.json").at("epochs"), 20);
}

TEST_F(FaultyRun, ARunIsEvaluatedFromAnyFolder) {
    fs::create_directories(folder_ / "elsewhere");
    const Json summary = ok_json(train("run", {"--epochs", "2"}));
    RunOptions options = here();
    options.folder = folder_ / "elsewhere";
    const Outcome outcome = rudder({"evaluate", "../run", "--json"}, options);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(parse_json(outcome.out, "out").at("accuracy").at("test"),
              summary.at("accuracy").at("test"));
}

}  // namespace
}  // namespace rudder::test
