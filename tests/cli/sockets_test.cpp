// Training over sockets, without MPI: the same run, whoever starts the ranks, and how it ends.
#include <future>

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "comm/meeting.hpp"

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

class SocketTraining : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "3000", "--features", "structure:16"});
        ok({"partition", "graph", "parts", "--parts", "4", "--method", "ldg"});
    }
    [[nodiscard]] static Words train(const Words& more, const std::string& epochs = "2") {
        Words words{
            "train",    "parts", "--epochs", epochs,     "--batch",          "100", "--hidden", "8",
            "--fanout", "4,4",   "--policy", "window:8", "--ranks-per-host", "1"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    /// Digest, rows and bytes, which do not depend on what carries them.
    static void expect_same(const Json& a, const Json& b) {
        EXPECT_EQ(a.at("loss"), b.at("loss"));
        EXPECT_EQ(a.at("rows"), b.at("rows"));
        EXPECT_EQ(a.at("bytes").at("features"), b.at("bytes").at("features"));
        EXPECT_EQ(a.at("bytes").at("gradients"), b.at("bytes").at("gradients"));
    }
    /// One of two ranks that a launcher like torchrun has started.
    Outcome rank_of_torchrun(int rank, std::uint16_t port, Words words) const {
        RunOptions options = here();
        options.extra = {fmt::format("RANK={}", rank), "WORLD_SIZE=2", "LOCAL_RANK=0",
                         "MASTER_ADDR=127.0.0.1", fmt::format("MASTER_PORT={}", port - 1)};
        return rudder(std::move(words), options);
    }
    static std::uint16_t free_port() {
        const int fd = comm::listen_on(0, comm::Reach::this_machine);
        const std::uint16_t port = comm::port_of(fd);
        ::close(fd);
        return port;
    }
};

TEST_F(SocketTraining, IsTheSameRunAsUnderMpi) {
    if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
    const Json mpi = ok_json(train({"--ranks", "4", "--transport", "mpi"}));
    expect_same(ok_json(train({"--ranks", "4", "--transport", "sockets"})), mpi);
    const Json linked =
        ok_json(train({"--ranks", "4", "--transport", "sockets", "--link", "50us,1gbit"}));
    EXPECT_EQ(linked.at("loss"), mpi.at("loss"));
}

TEST_F(SocketTraining, ALinkThatCannotBeMadeIsSaid) {
    // Files may not grow, nor does the memory in which ranks keep the clocks of their links.
    const auto limited = [&](int ranks) {
        const std::string command = fmt::format(
            "trap '' XFSZ; ulimit -f 0; exec '{}' train parts --epochs 1 --batch 100 "
            "--hidden 8 --ranks {} --transport sockets --link 50us,1gbit",
            program().string(), ranks);
        return run({"bash", "-c", command}, here());
    };
    const Outcome alone = limited(1);
    EXPECT_EQ(alone.code, 1) << alone.err;
    EXPECT_THAT(alone.err, HasSubstr("rank 0: cannot reserve"));
    EXPECT_THAT(alone.err, HasSubstr("shared memory: File too large"));
    // Nobody tells the second yet why the first is gone.
    const Outcome two = limited(2);
    EXPECT_EQ(two.code, 4) << two.err;
    EXPECT_THAT(two.err, HasSubstr("rank 0: cannot reserve"));
    EXPECT_THAT(two.err, HasSubstr("rank 1: the connection to rank 0 was lost"));
}

TEST_F(SocketTraining, RanksOfTorchrunTrainTogether) {
    const std::uint16_t port = free_port();
    std::future<Outcome> other = std::async(
        std::launch::async, [&] { return rank_of_torchrun(1, port, train({"--json"})); });
    const Outcome first = rank_of_torchrun(0, port, train({"--json"}));
    ASSERT_EQ(first.code, 0) << first.err;
    const Outcome second = other.get();
    EXPECT_EQ(second.code, 0) << second.err;
    EXPECT_EQ(second.out, "") << "rank 0 speaks for all";
    const Json together = parse_json(first.out, "standard output");
    EXPECT_EQ(together.at("ranks"), 2);
    expect_same(together, ok_json(train({"--ranks", "2", "--transport", "sockets"})));
}

TEST_F(SocketTraining, ARankThatIsKilledIsNamed) {
    RunOptions options = here();
    options.after = [&](pid_t) {
        // Its number stands in what it writes about itself.
        for (int i = 0; i < 2000 && !std::filesystem::exists(folder_ / "run" / "metrics.jsonl");
             ++i)
            ::usleep(10'000);
        ::usleep(200'000);
        for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
            std::error_code none;
            if (std::filesystem::read_symlink(entry.path() / "cwd", none) != folder_.path())
                continue;
            std::ifstream in(entry.path() / "environ");
            const std::string text{std::istreambuf_iterator<char>(in), {}};
            if (text.find(std::string(1, '\0') + "RANK=2" + '\0') != std::string::npos)
                ::kill(std::stoi(entry.path().filename().string()), SIGKILL);
        }
    };
    const Outcome outcome = rudder(
        train({"--ranks", "4", "--transport", "sockets", "--out", "run"}, "100000"), options);
    EXPECT_EQ(outcome.code, 4) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("rank 2"));
}

TEST_F(SocketTraining, WhatTheLauncherIsNotForIsRefused) {
    const Outcome outcome = rank_of_torchrun(0, free_port(), train({"--transport", "mpi"}));
    EXPECT_EQ(outcome.code, 2);
    EXPECT_THAT(outcome.err, HasSubstr("--transport mpi requires ranks that MPI has started"));
    const Outcome nested = rank_of_torchrun(0, free_port(), train({"--ranks", "2"}));
    EXPECT_EQ(nested.code, 2);
    EXPECT_THAT(nested.err, HasSubstr("leave --ranks out under mpirun, srun or torchrun"));
    refuse(train({"--transport", "pigeons"}), 2, {"pigeons", "auto, mpi, sockets"});
}

}  // namespace
}  // namespace rudder::test
