#include "support/process.hpp"

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rudder::test {

void become(const std::vector<std::string>& command, const std::filesystem::path& folder,
            const std::vector<std::string>& extra) {
    if (!folder.empty() && ::chdir(folder.c_str()) != 0) ::_exit(126);
    for (const std::string& setting : extra) {
        const std::size_t equals = setting.find('=');
        ::setenv(setting.substr(0, equals).c_str(), setting.substr(equals + 1).c_str(), 1);
    }
    std::vector<char*> arguments;
    for (const std::string& word : command)
        arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
}

namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void exec_child(const std::vector<std::string>& command, const RunOptions& options,
                             int out, int err) {
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(out, 1);
    ::dup2(err, 2);
    become(command, options.folder, options.extra);
}

/// Reads both pipes until both close or time is up; false if time was up.
bool drain(std::array<int, 2> pipes, Outcome& outcome, Clock::time_point end) {
    std::array<char, 65536> buffer{};
    int open_pipes = 2;
    while (open_pipes > 0) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
        if (left.count() <= 0) return false;
        std::array<pollfd, 2> polls{{{pipes[0], POLLIN, 0}, {pipes[1], POLLIN, 0}}};
        ::poll(polls.data(), polls.size(), static_cast<int>(left.count()));
        for (std::size_t i = 0; i < 2; ++i) {
            if ((polls[i].revents & (POLLIN | POLLHUP)) == 0) continue;
            const ssize_t got = ::read(pipes[i], buffer.data(), buffer.size());
            if (got > 0) {
                (i == 0 ? outcome.out : outcome.err)
                    .append(buffer.data(), static_cast<size_t>(got));
            } else {
                ::close(pipes[i]);
                pipes[i] = -1;
                --open_pipes;
            }
        }
    }
    return true;
}

}  // namespace

Outcome run(const std::vector<std::string>& command, const RunOptions& options) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) {
        throw std::runtime_error("no pipe");
    }
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) exec_child(command, options, out[1], err[1]);
    ::close(out[1]);
    ::close(err[1]);
    if (options.after) options.after(child);
    Outcome outcome;
    if (!drain({out[0], err[0]}, outcome, Clock::now() + sanitizer_factor * options.limit)) {
        ::kill(child, SIGKILL);
        outcome.err += "\n[killed: it ran past its limit]";
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    return outcome;
}

Outcome rudder(std::vector<std::string> arguments, const RunOptions& options) {
    arguments.insert(arguments.begin(), RUDDER_PROGRAM);
    return run(arguments, options);
}

std::filesystem::path program() {
    return RUDDER_PROGRAM;
}

void wait_until_handled(pid_t process, int signal) {
    const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(signal - 1);
    for (int i = 0; i < 5000; ++i) {
        std::ifstream in(fmt::format("/proc/{}/status", process));
        for (std::string line; std::getline(in, line);) {
            if (!line.starts_with("SigCgt:")) continue;
            if ((std::stoull(line.substr(7), nullptr, 16) & bit) != 0) return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}

bool have_program(const std::string& name) {
    return run({"sh", "-c", fmt::format("command -v {}", name)}).code == 0;
}

std::filesystem::path shared_folder() {
    const auto folder = std::filesystem::path(RUDDER_SOURCE_DIR) / ".." / "shared";
    return std::filesystem::exists(folder / "data") ? folder : std::filesystem::path{};
}

}  // namespace rudder::test
