// Processes by handle: a number may be given to another process, a handle is of one alone.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <sys/types.h>

namespace rudder::comm {

/// When a process was started, in ticks since the machine was; 0: there is none. With the number
/// it names one process.
[[nodiscard]] std::uint64_t start_of_process(pid_t pid);

/// A handle (pidfd) of a process of this machine.
class ProcessHandle {
public:
    /// None if there is no such process; a system Error if it cannot be had.
    [[nodiscard]] static std::optional<ProcessHandle> open(pid_t pid);
    /// The same, if the process was started then.
    [[nodiscard]] static std::optional<ProcessHandle> open(pid_t pid, std::uint64_t start);

    ProcessHandle(ProcessHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    ProcessHandle& operator=(ProcessHandle&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~ProcessHandle();

    /// Readable once the process has ended.
    [[nodiscard]] int descriptor() const noexcept { return fd_; }
    [[nodiscard]] bool ended() const noexcept;
    /// Nothing if the process has ended.
    void signal(int number) const noexcept;

private:
    explicit ProcessHandle(int fd) : fd_(fd) {}
    int fd_;
};

}  // namespace rudder::comm
