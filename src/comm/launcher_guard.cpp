#include "launcher_guard.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rudder/core/error.hpp"

#include "process_handle.hpp"

namespace rudder::comm {

namespace {

using Clock = std::chrono::steady_clock;

/// What the launcher says when it has seen to its children.
constexpr char all_well = 1;

/// Closes all but some descriptors: nobody shall wait for the end of a stream, or for a lock, that
/// only the guard still holds.
void close_others(int pipe, std::span<const ProcessHandle> handles) {
    const int nothing = ::open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        ::dup2(nothing, stream);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    constexpr rlim_t most = 65536;  // more are not open in a launcher
    for (int fd = STDERR_FILENO + 1; fd < static_cast<int>(std::min(limit.rlim_cur, most)); ++fd) {
        const bool ours = std::ranges::any_of(
            handles, [fd](const ProcessHandle& handle) { return handle.descriptor() == fd; });
        if (fd != pipe && !ours) ::close(fd);
    }
}

/// Whether the launcher ends without a word.
bool launcher_lost(int pipe) {
    char word = 0;
    ssize_t got = 0;
    do {
        got = ::read(pipe, &word, 1);
    } while (got < 0 && errno == EINTR);
    return got == 0;
}

void wait_for_end(const ProcessHandle& child, Clock::time_point until) {
    using std::chrono::milliseconds;
    pollfd poll{child.descriptor(), POLLIN, 0};
    while (!child.ended()) {
        const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
        if (left <= milliseconds(0)) return;
        ::poll(&poll, 1, static_cast<int>(left.count()));
    }
}

[[noreturn]] void guard(int pipe, std::span<const ProcessHandle> children,
                        std::chrono::milliseconds grace) {
    // What ends the launcher's group is not meant for us.
    ::setsid();
    for (const int number : {SIGINT, SIGTERM, SIGHUP})
        std::signal(number, SIG_IGN);
    ::prctl(PR_SET_NAME, "rudder-guard");
    close_others(pipe, children);
    if (launcher_lost(pipe)) {
        const auto until = Clock::now() + grace;
        for (const ProcessHandle& child : children)
            wait_for_end(child, until);
        for (const ProcessHandle& child : children)
            child.signal(SIGKILL);
    }
    ::_exit(0);
}

}  // namespace

LauncherGuard::LauncherGuard(std::span<const pid_t> children, std::chrono::milliseconds grace) {
    std::vector<ProcessHandle> handles;
    for (const pid_t child : children) {
        if (std::optional<ProcessHandle> handle = ProcessHandle::open(child))
            handles.push_back(std::move(*handle));
    }
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw system_error("cannot watch over the ranks", "pipe", errno);
    guard_ = ::fork();
    const int code = errno;
    if (guard_ == 0) {
        ::close(ends[1]);
        guard(ends[0], handles, grace);
    }
    ::close(ends[0]);
    pipe_ = ends[1];
    if (guard_ > 0) return;
    ::close(pipe_);
    throw system_error("cannot watch over the ranks", "fork", code);
}

LauncherGuard::~LauncherGuard() {
    // Nobody reads where the guard itself was killed.
    const auto before = std::signal(SIGPIPE, SIG_IGN);
    static_cast<void>(::write(pipe_, &all_well, 1));
    std::signal(SIGPIPE, before);
    ::close(pipe_);
    while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

}  // namespace rudder::comm
