#include "process_handle.hpp"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rudder/core/error.hpp"

namespace rudder::comm {

std::uint64_t start_of_process(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/stat", pid));
    std::string line;
    if (!std::getline(in, line)) return 0;
    // The name, in brackets, may hold anything; the 20th word after it is the time.
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) return 0;
    std::istringstream rest(line.substr(name_end + 1));
    std::string skipped;
    for (int i = 0; i < 19; ++i)
        rest >> skipped;
    std::uint64_t ticks = 0;
    rest >> ticks;
    return ticks;
}

std::optional<ProcessHandle> ProcessHandle::open(pid_t pid) {
    const auto fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd >= 0) return ProcessHandle(fd);
    if (errno == ESRCH) return std::nullopt;
    throw system_error("cannot watch a process", fmt::format("process {}", pid), errno);
}

std::optional<ProcessHandle> ProcessHandle::open(pid_t pid, std::uint64_t start) {
    auto handle = open(pid);
    // Asked after the handle was taken: if it is the one now, it was the one then.
    if (handle && start_of_process(pid) != start) handle.reset();
    return handle;
}

ProcessHandle::~ProcessHandle() {
    if (fd_ >= 0) ::close(fd_);
}

bool ProcessHandle::ended() const noexcept {
    pollfd poll{fd_, POLLIN, 0};
    return ::poll(&poll, 1, 0) == 1;
}

void ProcessHandle::signal(int number) const noexcept {
    ::syscall(SYS_pidfd_send_signal, fd_, number, nullptr, 0);
}

}  // namespace rudder::comm
