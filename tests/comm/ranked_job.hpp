// Jobs of ranks that behave badly on request (ranked_program), and what is left of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "support/mpirun.hpp"
#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace rudder::test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Processes of the test program that are still there (zombies aside); with mpirun, if asked.
inline std::vector<pid_t> processes(const std::string& mark, bool with_mpirun = false) {
    std::vector<pid_t> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::ifstream in(entry.path() / "cmdline");
        std::string line;
        std::getline(in, line);  // of a process that has just ended: nothing
        std::ranges::replace(line, '\0', ' ');
        if (line.find("ranked_program") != std::string::npos &&
            line.find(mark) != std::string::npos &&
            (with_mpirun || line.find("mpirun") == std::string::npos)) {
            found.push_back(std::stoi(name));
        }
    }
    return found;
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

/// Where the ranks of a job say that they are at work, and which processes they are.
class ReadyFolder {
public:
    /// The process of a rank once it is at work.
    pid_t wait_for_rank(int rank) const {
        pid_t pid = 0;
        wait_for([&] {
            std::ifstream in(folder_ / ("ready-" + std::to_string(rank)));
            return static_cast<bool>(in >> pid);
        });
        return pid;
    }
    [[nodiscard]] std::string setting() const {
        return "RUDDER_TEST_READY=" + folder_.path().string();
    }

private:
    TempDir folder_;
};

class Ranks : public ::testing::Test {
protected:
    void SetUp() override {
        if (const std::string why = no_mpirun(); !why.empty()) GTEST_SKIP() << why;
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
    void expect_none_left(std::chrono::milliseconds limit = 3s) const {
        EXPECT_TRUE(wait_for([&] { return processes(mark_, true).empty(); }, limit))
            << "processes left behind";
    }
};

inline int count(const std::string& text, const std::string& piece) {
    int found = 0;
    for (std::size_t at = text.find(piece); at != std::string::npos;
         at = text.find(piece, at + 1)) {
        ++found;
    }
    return found;
}

}  // namespace rudder::test
