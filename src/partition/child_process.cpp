#include "child_process.hpp"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/interrupt.hpp"
#include "rudder/core/error.hpp"

namespace rudder::partition {

namespace {

[[noreturn]] void be_child(pid_t parent, FunctionRef<int()> work) {
    end_with_parent(parent, SIGKILL);
    ::signal(SIGINT, SIG_IGN);  // the parent decides, and ends this process
    ::signal(SIGTERM, SIG_DFL);
    ::signal(SIGHUP, SIG_IGN);
    ::signal(SIGABRT, SIG_DFL);
    const int null = ::open("/dev/null", O_WRONLY);
    if (null >= 0) {
        ::dup2(null, STDOUT_FILENO);
        ::dup2(null, STDERR_FILENO);
    }
    int code = 1;
    try {
        code = work();
    } catch (...) {
        code = 1;
    }
    ::_exit(code);
}

/// Waits, looking for an interrupt every few milliseconds; the child's wait status.
int wait_for(pid_t child) {
    int status = 0;
    long pause = 100'000;  // nanoseconds
    for (;;) {
        const pid_t ended = ::waitpid(child, &status, WNOHANG);
        if (ended == child) return status;
        if (ended < 0 && errno != EINTR) {
            throw system_error("cannot wait for a child process", "", errno);
        }
        if (interrupted()) {
            ::kill(child, SIGKILL);
            ::waitpid(child, &status, 0);
            throw_if_interrupted();
        }
        const timespec time{0, pause};
        ::nanosleep(&time, nullptr);
        if (pause < 5'000'000) pause *= 2;
    }
}

}  // namespace

void run_in_child(const std::string& what, const std::string& remedy, FunctionRef<int()> work) {
    throw_if_interrupted();
    const pid_t self = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) throw system_error(fmt::format("cannot start {}", what), "", errno);
    if (child == 0) be_child(self, work);
    const int status = wait_for(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
    const std::string end = WIFSIGNALED(status) ? fmt::format("signal {} ({})", WTERMSIG(status),
                                                              ::strsignal(WTERMSIG(status)))
                                                : fmt::format("code {}", WEXITSTATUS(status));
    throw Error(ErrorKind::failed, fmt::format("{} ended with {}", what, end), "", remedy);
}

}  // namespace rudder::partition
