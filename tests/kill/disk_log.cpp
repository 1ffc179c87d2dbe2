// Functions of the C library that change a disk, as this program defines them: those of the library
// are called, and what they did is taken down.
#include "disk_log.hpp"

#include <cstdarg>
#include <map>
#include <mutex>
#include <optional>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rudder::test {
namespace {

namespace fs = std::filesystem;
using Kind = DiskOp::Kind;

std::mutex mutex;
std::optional<fs::path> root;
std::vector<DiskOp> taken_down;

/// Relative to the folder that is watched; none: outside, or nothing is.
std::optional<std::string> watched(const fs::path& path) {
    if (!root || path.empty()) return std::nullopt;
    const fs::path full = path.is_absolute() ? path : fs::current_path() / path;
    const std::string below = full.lexically_normal().lexically_relative(*root).string();
    if (below.empty() || below.starts_with("..")) return std::nullopt;
    return below;
}

/// Of a folder that is open, or of a name in it.
fs::path path_of(int fd) {
    std::error_code none;
    return fs::read_symlink("/proc/self/fd/" + std::to_string(fd), none);
}
fs::path path_of(int folder, const char* name) {
    return folder == AT_FDCWD || name[0] == '/' ? fs::path(name) : path_of(folder) / name;
}

void take_down(Kind kind, const fs::path& path, const fs::path& other = {}) {
    const std::scoped_lock lock(mutex);
    const auto below = watched(path);
    if (!below) return;
    taken_down.push_back({kind, *below, watched(other).value_or("")});
}

void take_down_write(int fd, const void* bytes, std::uint64_t offset, ssize_t count) {
    if (count <= 0) return;
    const std::scoped_lock lock(mutex);
    if (!root) return;
    const auto below = watched(path_of(fd));
    if (!below) return;
    taken_down.push_back({Kind::write,
                          *below,
                          "",
                          offset,
                          {static_cast<const char*>(bytes), static_cast<std::size_t>(count)}});
}

template <class Function>
Function* of_the_library(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

int opened(int fd, const fs::path& path, int flags, bool was_there) {
    if (fd >= 0 && (flags & O_CREAT) != 0 && (!was_there || (flags & O_TRUNC) != 0))
        take_down(Kind::create, path);
    return fd;
}

bool is_there(const fs::path& path) {
    std::error_code none;
    return fs::exists(path, none);
}

}  // namespace

DiskLog::DiskLog(const fs::path& folder) {
    const std::scoped_lock lock(mutex);
    root = fs::canonical(folder);
    taken_down.clear();
}

DiskLog::~DiskLog() {
    const std::scoped_lock lock(mutex);
    root.reset();
}

void DiskLog::mark(const std::string& text) {
    const std::scoped_lock lock(mutex);
    taken_down.push_back({Kind::mark, text});
}

std::vector<DiskOp> DiskLog::ops() const {
    const std::scoped_lock lock(mutex);
    return taken_down;
}

}  // namespace rudder::test

// NOLINTBEGIN: as the C library declares them
using rudder::test::of_the_library;
using Kind = rudder::test::DiskOp::Kind;

extern "C" int open(const char* path, int flags, ...) {
    static auto* const real = of_the_library<int(const char*, int, ...)>("open");
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    const bool was_there = (flags & O_CREAT) != 0 && rudder::test::is_there(path);
    return rudder::test::opened(real(path, flags, mode), path, flags, was_there);
}

extern "C" ssize_t write(int fd, const void* bytes, size_t count) {
    static auto* const real = of_the_library<ssize_t(int, const void*, size_t)>("write");
    const off_t at = ::lseek(fd, 0, SEEK_CUR);
    const ssize_t done = real(fd, bytes, count);
    if (at >= 0) rudder::test::take_down_write(fd, bytes, static_cast<std::uint64_t>(at), done);
    return done;
}

extern "C" ssize_t pwrite(int fd, const void* bytes, size_t count, off_t at) {
    static auto* const real = of_the_library<ssize_t(int, const void*, size_t, off_t)>("pwrite");
    const ssize_t done = real(fd, bytes, count, at);
    rudder::test::take_down_write(fd, bytes, static_cast<std::uint64_t>(at), done);
    return done;
}

extern "C" int fsync(int fd) {
    static auto* const real = of_the_library<int(int)>("fsync");
    const int code = real(fd);
    if (code == 0) rudder::test::take_down(Kind::flush, rudder::test::path_of(fd));
    return code;
}

extern "C" int fdatasync(int fd) {
    static auto* const real = of_the_library<int(int)>("fdatasync");
    const int code = real(fd);
    if (code == 0) rudder::test::take_down(Kind::flush, rudder::test::path_of(fd));
    return code;
}

extern "C" int rename(const char* from, const char* to) noexcept {
    static auto* const real = of_the_library<int(const char*, const char*)>("rename");
    const int code = real(from, to);
    if (code == 0) rudder::test::take_down(Kind::rename, from, to);
    return code;
}

extern "C" int renameat2(int a, const char* from, int b, const char* to, unsigned flags) noexcept {
    static auto* const real =
        of_the_library<int(int, const char*, int, const char*, unsigned)>("renameat2");
    const int code = real(a, from, b, to, flags);
    if (code == 0) {
        rudder::test::take_down((flags & RENAME_EXCHANGE) != 0 ? Kind::exchange : Kind::rename,
                                rudder::test::path_of(a, from), rudder::test::path_of(b, to));
    }
    return code;
}

extern "C" int unlink(const char* path) noexcept {
    static auto* const real = of_the_library<int(const char*)>("unlink");
    const int code = real(path);
    if (code == 0) rudder::test::take_down(Kind::remove, path);
    return code;
}

extern "C" int rmdir(const char* path) noexcept {
    static auto* const real = of_the_library<int(const char*)>("rmdir");
    const int code = real(path);
    if (code == 0) rudder::test::take_down(Kind::remove, path);
    return code;
}

extern "C" int unlinkat(int folder, const char* name, int flags) noexcept {
    static auto* const real = of_the_library<int(int, const char*, int)>("unlinkat");
    const auto path = rudder::test::path_of(folder, name);
    const int code = real(folder, name, flags);
    if (code == 0) rudder::test::take_down(Kind::remove, path);
    return code;
}

extern "C" int remove(const char* path) noexcept {
    static auto* const real = of_the_library<int(const char*)>("remove");
    const int code = real(path);
    if (code == 0) rudder::test::take_down(Kind::remove, path);
    return code;
}

extern "C" int mkdir(const char* path, mode_t mode) noexcept {
    static auto* const real = of_the_library<int(const char*, mode_t)>("mkdir");
    const int code = real(path, mode);
    if (code == 0) rudder::test::take_down(Kind::make_folder, path);
    return code;
}
// NOLINTEND
