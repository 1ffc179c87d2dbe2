// Sinks as a user meets them: files, a port, and what happens when they fail.
#include <csignal>
#include <fstream>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli_support.hpp"
#include "support/mpirun.hpp"

namespace rudder::test {
namespace {

namespace fs = std::filesystem;

/// What a server on this machine answers to a GET.
std::string fetch(const std::string& url) {
    const auto port = std::stoi(url.substr(url.rfind(':') + 1));
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    std::string text;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
        const std::string ask =
            "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        static_cast<void>(::send(fd, ask.data(), ask.size(), MSG_NOSIGNAL));
        char buffer[4096];
        for (ssize_t got = 0; (got = ::recv(fd, buffer, sizeof(buffer), 0)) > 0;)
            text.append(buffer, static_cast<std::size_t>(got));
    }
    ::close(fd);
    return text;
}

class SinksOf : public CliTest {
protected:
    void SetUp() override {
        ok({"generate", "sbm", "graph", "--vertices", "600", "--seed", "3"});
        ok({"partition", "graph", "parts", "--parts", "2", "--method", "ldg"});
    }
    static Words train(const Words& more = {}) {
        Words words{"train", "parts", "--batch", "40", "--hidden", "8", "--fanout", "4,6"};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    [[nodiscard]] std::size_t event_files(const std::string& out) const {
        const auto names = names_in(folder_ / out);
        return static_cast<std::size_t>(std::ranges::count_if(
            names, [](const auto& name) { return name.starts_with("events.out.tfevents."); }));
    }
    static void expect_once(const std::string& text, const std::string& words) {
        const auto first = text.find(words);
        ASSERT_NE(first, std::string::npos) << text;
        EXPECT_EQ(text.find(words, first + 1), std::string::npos) << text;
    }
};

TEST_F(SinksOf, TheSummarySaysWhatTheyCost) {
    const Json run = ok_json(train({"--out", "run", "--epochs", "3", "--quiet"})).at("sinks");
    EXPECT_EQ(run.at("names"), (Json{"metrics.jsonl", "TensorBoard"}));
    EXPECT_GT(run.at("lines").get<int>(), 0);
    EXPECT_GT(run.at("cpu_seconds").get<double>(), 0);
    EXPECT_GT(run.at("cpu_share").get<double>(), 0);
    EXPECT_LT(run.at("cpu_share").get<double>(), 0.5);
    EXPECT_GT(run.at("handover_seconds").get<double>(), 0);
    EXPECT_EQ(event_files("run"), 1U);
    EXPECT_EQ(ok_json(train({"--epochs", "1", "--quiet"})).at("sinks").at("names"), Json::array());
    const Json less =
        ok_json(train({"--out", "less", "--epochs", "1", "--quiet", "--no-tensorboard"}));
    EXPECT_EQ(less.at("sinks").at("names"), (Json{"metrics.jsonl"}));
    EXPECT_EQ(event_files("less"), 0U);
    // A run that goes on has a file more.
    ok_json(train({"--out", "run", "--epochs", "4", "--quiet", "--resume"}));
    EXPECT_EQ(event_files("run"), 2U);
}

TEST_F(SinksOf, MetricsCanBeFetchedWhileItRuns) {
    RunOptions options = here();
    std::string page;
    options.after = [&](pid_t pid) {
        for (int i = 0; i < 2000; ++i) {
            std::error_code code;
            if (fs::exists(folder_ / "run/run.json", code)) break;
            ::usleep(10'000);
        }
        const std::string url = read_json(folder_ / "run/run.json").at("metrics_url");
        EXPECT_THAT(url, testing::StartsWith("http://127.0.0.1:"));
        for (int i = 0; i < 1000 && page.find("rudder_accuracy{") == std::string::npos; ++i) {
            ::usleep(10'000);
            page = fetch(url);
        }
        ::kill(pid, SIGINT);
    };
    const Outcome outcome =
        rudder(train({"--out", "run", "--epochs", "100000", "--metrics-port", "0"}), options);
    EXPECT_EQ(outcome.code, 5);
    EXPECT_THAT(outcome.err, HasSubstr("metrics at http://127.0.0.1:"));
    for (const char* words : {"HTTP/1.1 200 OK", "rudder_run_info{version=", "data=\"parts\"",
                              "rudder_accuracy{set=\"test\"} 0.", "rudder_steps_planned"})
        EXPECT_THAT(page, HasSubstr(words));
    if (!have_program("promtool")) GTEST_SKIP() << "SKIPPED: no promtool here";
    std::ofstream(folder_ / "page") << page.substr(page.find("\r\n\r\n") + 4);
    RunOptions quiet = here();
    const Outcome checked = run({"sh", "-c", "promtool check metrics <page"}, quiet);
    EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
}

TEST_F(SinksOf, APortInUseIsSaidOnceAndTheRunGoesOn) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(::listen(fd, 1), 0);
    socklen_t size = sizeof(address);
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    const std::string port = std::to_string(ntohs(address.sin_port));
    const Outcome outcome = rudder(train({"--epochs", "1", "--metrics-port", port}), here());
    ::close(fd);
    EXPECT_EQ(outcome.code, 0);
    expect_once(outcome.err, fmt::format("Address already in use (127.0.0.1 port {}); training "
                                         "continues without it",
                                         port));
    refuse(train({"--metrics-port", "70000"}), 2, {"--metrics-port"});
    refuse(train({"--metrics-port", "0", "--metrics-address", "here"}), 2,
           {"invalid address: 'here'", "127.0.0.1"});
}

TEST_F(SinksOf, ADiskThatFillsCostsLinesNotTheRun) {
    const Json whole = ok_json(train({"--epochs", "6", "--out", "whole", "--quiet"}));
    // Files may not grow past a size that some lines fit in.
    const std::string command = fmt::format(
        "trap '' XFSZ; ulimit -f 8; exec '{}' train parts --batch 40 --hidden 8 "
        "--fanout 4,6 --epochs 6 --out run --json",
        program().string());
    const Outcome outcome = run({"bash", "-c", command}, here());
    // To its end, and 1 since its last checkpoint could not be written.
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_EQ(parse_json(outcome.out, "out").at("loss"), whole.at("loss"));
    expect_once(outcome.err, "metrics.jsonl ends before step");
    expect_once(outcome.err, "TensorBoard ends before step");
    EXPECT_THAT(outcome.err, HasSubstr("File too large"));
    std::ifstream in(folder_ / "run/metrics.jsonl");
    std::uint64_t lines = 0;
    for (std::string text; std::getline(in, text); ++lines)
        EXPECT_EQ(parse_json(text, "metrics").at("step"), lines);
    EXPECT_GT(lines, 0U);
    EXPECT_LT(lines, whole.at("steps").get<std::uint64_t>());
    EXPECT_EQ(read_json(folder_ / "run/run.json").at("state"), "finished");
}

}  // namespace
}  // namespace rudder::test
