#include "launcher_watch.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

#include "rank_status.hpp"

namespace rudder::comm {

namespace fs = std::filesystem;

namespace {

constexpr const char* lock_variable = "RUDDER_LAUNCHER_LOCK";
constexpr const char* lock_name = "launcher";

bool is_launcher_folder(const fs::path& folder) {
    return folder.filename().string().starts_with(launcher_folder_beginning);
}

/// Waits until nobody holds the lock; true also if it is gone with its folder.
bool wait_for_end(const std::string& file) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT;
    int code = 0;
    do {
        code = ::flock(fd, LOCK_SH);
    } while (code != 0 && errno == EINTR);
    ::close(fd);
    return code == 0;
}

/// Whether the process that a folder is named after is gone.
bool maker_gone(const fs::path& folder) {
    const std::string name = folder.filename().string();
    const auto words = split(name, '-');
    const auto pid = words.size() > 2 ? parse_u64(words[2]) : std::nullopt;
    return pid && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH;
}

/// Whether the launcher of a folder is gone. Where it holds no lock yet, it may be about to.
bool launcher_gone(const fs::path& folder) {
    const int fd = ::open((folder / lock_name).c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT && maker_gone(folder);
    const bool gone = ::flock(fd, LOCK_SH | LOCK_NB) == 0;
    ::close(fd);
    return gone;
}

}  // namespace

LauncherLock::LauncherLock(const fs::path& folder)
    : file_(folder / lock_name),
      fd_(::open((file_.string() + ".new").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) {
    const bool locked = fd_ >= 0 && ::flock(fd_, LOCK_EX | LOCK_NB) == 0;
    if (locked && std::rename((file_.string() + ".new").c_str(), file_.c_str()) == 0) return;
    const int code = errno;
    if (fd_ >= 0) ::close(fd_);
    throw system_error("cannot lock a file for the ranks", file_.string(), code);
}

LauncherLock::~LauncherLock() {
    ::close(fd_);
}

void LauncherLock::announce() const {
    ::setenv(lock_variable, file_.c_str(), 1);
}

void watch_launcher(std::function<void()> gone) {
    const char* file = std::getenv(lock_variable);
    if (file == nullptr) return;
    // Left alone: it ends with the process, whose launcher outlives it.
    std::thread([file = std::string(file), gone = std::move(gone)] {
        if (wait_for_end(file)) gone();
    }).detach();
}

void remove_launcher_folders() noexcept {
    std::error_code code;
    const char* file = std::getenv(lock_variable);
    if (file == nullptr) return;
    leave_no_status();  // its file would lie in a folder that nobody removes
    fs::remove_all(fs::path(file).parent_path(), code);
    // One that the user named is left alone.
    const char* segments = std::getenv(segment_variable);
    if (segments != nullptr && is_launcher_folder(segments)) fs::remove_all(segments, code);
}

void sweep_launcher_folders(const fs::path& parent) {
    std::error_code code;
    for (const auto& entry : fs::directory_iterator(parent, code)) {
        if (!is_launcher_folder(entry.path())) continue;
        std::error_code ignored;  // another's, or already being removed
        if (!entry.is_symlink(ignored) && launcher_gone(entry.path()))
            fs::remove_all(entry.path(), ignored);
    }
}

}  // namespace rudder::comm
