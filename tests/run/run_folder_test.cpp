// What a run's folder says of the run: how it was started, how it stands, what its epochs came to.
#include <csignal>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "cli/cli_support.hpp"

#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

class RunFolderOf : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    static Words train(const std::string& out, const Words& more = {}) {
        Words words{"train", "parts", "--batch",  "40",  "--hidden", "8",
                    "--out", out,     "--fanout", "4,6", "--quiet"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    [[nodiscard]] Json card(const std::string& out) const {
        return read_json(folder_ / out / "run.json");
    }
    [[nodiscard]] std::vector<Json> epochs(const std::string& out) const {
        std::vector<Json> lines;
        std::ifstream in(folder_ / out / "epochs.jsonl");
        for (std::string text; std::getline(in, text);)
            lines.push_back(parse_json(text, "epochs.jsonl"));
        return lines;
    }
    /// Waits until the run has written its first steps.
    void await_steps(const std::string& out) const {
        for (int i = 0; i < 2000; ++i) {
            std::error_code code;
            if (fs::file_size(folder_ / out / "metrics.jsonl", code) > 0 && !code) return;
            ::usleep(10'000);
        }
    }
    /// Whether somebody holds the lock of a run that is being written.
    [[nodiscard]] bool locked(const std::string& out) const {
        const int fd = ::open((folder_ / out / "metrics.jsonl").c_str(), O_RDONLY | O_CLOEXEC);
        const bool taken = ::flock(fd, LOCK_EX | LOCK_NB) != 0;
        ::close(fd);
        return taken;
    }
};

TEST_F(RunFolderOf, AFinishedRun) {
    const Json summary = ok_json(train("run", {"--epochs", "3", "--eval-every", "2"}));
    const Json run = card("run");
    EXPECT_EQ(run.at("schema"), 1);
    EXPECT_EQ(run.at("version"), summary.at("version"));
    EXPECT_EQ(run.at("state"), "finished");
    EXPECT_TRUE(run.at("error").is_null());
    EXPECT_THAT(run.at("started").get<std::string>(),
                testing::MatchesRegex("....-..-..T..:..:..Z"));
    EXPECT_GE(run.at("ended").get<std::string>(), run.at("started").get<std::string>());
    EXPECT_EQ(run.at("steps_per_epoch"), summary.at("steps_per_epoch"));
    EXPECT_EQ(run.at("policy"), summary.at("policy"));
    EXPECT_EQ(run.at("agent"), summary.at("agent").at("name"));
    Json partition = run.at("partition");
    EXPECT_EQ(partition.at("halo_from").at(0).at(1), partition.at("halo").at(0))
        << "of two parts, all is the other's";
    for (const char* key : {"part_vertices", "part_train", "part_edges", "halo_from"})
        EXPECT_EQ(partition.erase(key), 1U) << key;
    EXPECT_EQ(partition, ok_json({"info", "parts"}));
    EXPECT_EQ(run.at("command").at(0), "rudder");
    EXPECT_EQ(run.at("command").at(1), "train");
    EXPECT_FALSE(locked("run"));
    const auto lines = epochs("run");
    ASSERT_EQ(lines.size(), 3U);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(lines[i].at("epoch"), i);
        EXPECT_EQ(lines[i].at("steps"), summary.at("steps_per_epoch"));
        EXPECT_EQ(lines[i].at("accuracy").at("valid").is_null(), i == 0);
    }
    EXPECT_EQ(lines.back().at("accuracy"), summary.at("accuracy_last"));
}

TEST_F(RunFolderOf, OneThatFails) {
    const Outcome broken = rudder(train("run", {"--optimizer", "sgd", "--lr", "1e30"}), here());
    EXPECT_EQ(broken.code, 1);
    EXPECT_EQ(card("run").at("state"), "failed");
    EXPECT_THAT(card("run").at("error").get<std::string>(), HasSubstr("NaN or infinite at step"));
    EXPECT_FALSE(fs::exists(folder_ / "run/summary.json"));
}

TEST_F(RunFolderOf, OneThatIsInterruptedAndGoesOn) {
    RunOptions options = here();
    bool was_locked = false;
    options.after = [&](pid_t pid) {
        await_steps("run");
        was_locked = locked("run");
        EXPECT_EQ(card("run").at("state"), "running");
        ::kill(pid, SIGINT);
    };
    const Outcome cut = rudder(train("run", {"--epochs", "60", "--eval-every", "1"}), options);
    EXPECT_EQ(cut.code, 5) << cut.err;
    EXPECT_TRUE(was_locked);
    EXPECT_EQ(card("run").at("state"), "interrupted");
    EXPECT_FALSE(fs::exists(folder_ / "run/summary.json"));
    const Json summary = ok_json(train("run", {"--epochs", "60", "--eval-every", "1", "--resume"}));
    const auto lines = epochs("run");
    ASSERT_EQ(lines.size(), summary.at("epochs"));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        EXPECT_EQ(lines[i].at("epoch"), i);
        EXPECT_TRUE(lines[i].at("accuracy").at("test").is_number()) << i;
    }
    const Json run = card("run");
    EXPECT_EQ(run.at("state"), "finished");
    ASSERT_EQ(run.at("resumed").size(), 1U);
    EXPECT_EQ(run.at("resumed").at(0).at("state"), "interrupted");
    EXPECT_THAT(run.at("resumed").at(0).at("command"), testing::Contains(Json("60")));
}

TEST_F(RunFolderOf, OneThatAnotherProcessWrites) {
    ok_json(train("run", {"--epochs", "1"}));
    const int fd = ::open((folder_ / "run/metrics.jsonl").c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(::flock(fd, LOCK_EX | LOCK_NB), 0);
    refuse(train("run", {"--epochs", "2", "--resume"}), 2,
           {"another process is writing this run", "--out"});
    ::close(fd);
    EXPECT_TRUE(fs::exists(folder_ / "run/summary.json"));
    ok_json(train("run", {"--epochs", "2", "--resume"}));
}

TEST_F(RunFolderOf, OneWhoseRankDies) {
    if (!no_mpirun().empty()) GTEST_SKIP() << no_mpirun();
    RunOptions options = here();
    options.after = [&](pid_t) {
        await_steps("run");
        const auto first = card("run").at("pid").get<pid_t>();
        for (const auto& entry : fs::directory_iterator("/proc")) {
            const std::string name = entry.path().filename().string();
            if (name.find_first_not_of("0123456789") != std::string::npos) continue;
            const std::string line = bytes_of(entry.path() / "cmdline");
            const auto pid = static_cast<pid_t>(std::stol(name));
            if (pid == first || !line.starts_with(program().string())) continue;
            if (fs::read_symlink(entry.path() / "cwd") != fs::canonical(folder_.path())) continue;
            if (line.find("--ranks") == std::string::npos) ::kill(pid, SIGKILL);
        }
    };
    const Outcome cut = rudder(train("run", {"--epochs", "100000", "--ranks", "2"}), options);
    EXPECT_EQ(cut.code, 4) << cut.err;
    const Json run = card("run");
    EXPECT_EQ(run.at("state"), "failed");
    EXPECT_THAT(run.at("error").get<std::string>(), HasSubstr("rank 1 died"));
    EXPECT_THAT(run.at("command"), testing::Contains(Json("--ranks")));
}

}  // namespace
}  // namespace rudder::test
