// 64 ranks on one machine, many more than it has cores: they start, train, resume, and a rank that
// is killed is named.
#include <csignal>

#include <fmt/format.h>
#include <unistd.h>

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

constexpr int many_ranks = 64;

class LongManyRanks : public CliTest {
protected:
    void SetUp() override {
        if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
        ok({"generate", "sbm", "graph", "--vertices", "6400", "--seed", "5"});
        ok({"partition", "graph", "parts", "--parts", std::to_string(many_ranks), "--method",
            "random"});
    }
    /// Three steps per epoch.
    static Words train(const std::string& out, const Words& more) {
        Words words{"train",    "parts",    "--batch", "20",        "--hidden",
                    "8",        "--fanout", "2,2",     "--threads", "1",
                    "--epochs", "6",        "--eval",  "sampled",   "--eval-every",
                    "3",        "--quiet",  "--out",   out};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    /// Runs it on all ranks.
    [[nodiscard]] Outcome on_ranks(const Words& arguments, RunOptions options) const {
        Words command{program().string()};
        command.insert(command.end(), arguments.begin(), arguments.end());
        const std::chrono::seconds limit{600};
        options.limit = limit + std::chrono::seconds(10);
        return run(mpirun_command({{many_ranks, command}},
                                  {.settings = {"btl=vader,self"}, .limit = limit}),
                   options);
    }
    /// The process that is this rank of a run in this folder.
    [[nodiscard]] pid_t process_of(int rank) const {
        const std::string marks = fmt::format("OMPI_COMM_WORLD_RANK={}", rank);
        for (const auto& entry : fs::directory_iterator("/proc")) {
            const std::string name = entry.path().filename().string();
            if (name.find_first_not_of("0123456789") != std::string::npos) continue;
            std::error_code gone;
            if (fs::read_symlink(entry.path() / "cwd", gone) != folder_.path()) continue;
            const std::string environment = bytes_of(entry.path() / "environ");
            if ((std::string(1, '\0') + environment).find('\0' + marks + '\0') != std::string::npos)
                return static_cast<pid_t>(std::stol(name));
        }
        return 0;
    }
};

TEST_F(LongManyRanks, TrainAsOneRankDoes) {
    const Json alone = ok_json(train("alone", {}));
    const Outcome many = on_ranks(train("many", {"--json"}), here());
    ASSERT_EQ(many.code, 0) << many.err;
    const Json summary = parse_json(many.out, "standard output");
    EXPECT_EQ(summary.at("ranks"), many_ranks);
    EXPECT_EQ(summary.at("loss").at("digest"), alone.at("loss").at("digest"));
}

TEST_F(LongManyRanks, AKilledRankIsNamedAndTheRunResumes) {
    constexpr int killed = 37;
    RunOptions options = here();
    options.after = [&](pid_t) {
        for (int i = 0; i < 60'000 && !has_checkpoint(folder_ / "run"); ++i)
            ::usleep(5'000);
        const pid_t process = process_of(killed);
        EXPECT_NE(process, 0);
        if (process != 0) ::kill(process, SIGKILL);
    };
    const Outcome cut = on_ranks(train("run", {}), options);
    EXPECT_NE(cut.code, 0);
    EXPECT_THAT(cut.err, HasSubstr(fmt::format("rank {}", killed)));
    ASSERT_TRUE(has_checkpoint(folder_ / "run"));
    EXPECT_FALSE(fs::exists(folder_ / "run/summary.json")) << "it was killed too late";

    const Outcome resumed = on_ranks(train("run", {"--resume", "--json"}), here());
    ASSERT_EQ(resumed.code, 0) << resumed.err;
    const Json alone = ok_json(train("alone", {}));
    EXPECT_EQ(parse_json(resumed.out, "standard output").at("loss").at("digest"),
              alone.at("loss").at("digest"));
}

}  // namespace
}  // namespace rudder::test
