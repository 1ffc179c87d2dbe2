// Functions of the C library that read and write files, as this program defines them. Nothing in
// them allocates: whoever calls them may have no memory left.
#include "faulty_disk.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rudder::test {
namespace {

// Simulated ranks are one thread, and only their tests write below the folder.
std::string root;
std::atomic<bool> watching{false};
std::uint64_t room_left = 0;
std::uint64_t bytes_written = 0;
bool did_not_fit = false;
std::atomic<bool> short_reads{false};

bool below_root(int fd) noexcept {
    std::array<char, 32> name{};
    static_cast<void>(std::snprintf(name.data(), name.size(), "/proc/self/fd/%d", fd));
    std::array<char, 1024> target{};
    const ssize_t size = ::readlink(name.data(), target.data(), target.size());
    return size > 0 &&
           std::string_view(target.data(), static_cast<std::size_t>(size)).starts_with(root);
}

/// How many of `count` bytes may be written to a file; none, with errno, where there is no room.
ssize_t fitting(int fd, std::size_t count) noexcept {
    if (!watching.load(std::memory_order_relaxed) || !below_root(fd))
        return static_cast<ssize_t>(count);
    const std::uint64_t fits = std::min<std::uint64_t>(count, room_left);
    did_not_fit |= fits < count;
    if (fits == 0 && count > 0) {
        errno = ENOSPC;
        return -1;
    }
    room_left -= fits;
    bytes_written += fits;
    return static_cast<ssize_t>(fits);
}

std::size_t asked_of_disk(int fd, std::size_t count) noexcept {
    if (!short_reads.load(std::memory_order_relaxed)) return count;
    struct stat status {};
    const bool file = ::fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
    return file ? std::min(count, 1 + count / 3) : count;
}

template <class Function>
Function* library_function(const char* name) noexcept {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

FillingDisk::FillingDisk(const std::filesystem::path& folder, std::uint64_t room) {
    std::filesystem::create_directories(folder);
    root = std::filesystem::canonical(folder).string() + "/";
    room_left = room;
    bytes_written = 0;
    did_not_fit = false;
    watching = true;
}

FillingDisk::~FillingDisk() {
    watching = false;
}

std::uint64_t FillingDisk::written() noexcept {
    return bytes_written;
}

bool FillingDisk::full() noexcept {
    return did_not_fit;
}

ShortReads::ShortReads() noexcept {
    short_reads = true;
}

ShortReads::~ShortReads() {
    short_reads = false;
}

}  // namespace rudder::test

// NOLINTBEGIN: as the C library declares them
using rudder::test::library_function;

extern "C" ssize_t write(int fd, const void* bytes, size_t count) {
    static auto* const real = library_function<ssize_t(int, const void*, size_t)>("write");
    const ssize_t fits = rudder::test::fitting(fd, count);
    return fits < 0 ? fits : real(fd, bytes, static_cast<size_t>(fits));
}

extern "C" ssize_t pwrite(int fd, const void* bytes, size_t count, off_t at) {
    static auto* const real = library_function<ssize_t(int, const void*, size_t, off_t)>("pwrite");
    const ssize_t fits = rudder::test::fitting(fd, count);
    return fits < 0 ? fits : real(fd, bytes, static_cast<size_t>(fits), at);
}

extern "C" ssize_t read(int fd, void* bytes, size_t count) {
    static auto* const real = library_function<ssize_t(int, void*, size_t)>("read");
    return real(fd, bytes, rudder::test::asked_of_disk(fd, count));
}

extern "C" ssize_t pread(int fd, void* bytes, size_t count, off_t at) {
    static auto* const real = library_function<ssize_t(int, void*, size_t, off_t)>("pread");
    return real(fd, bytes, rudder::test::asked_of_disk(fd, count), at);
}
// NOLINTEND
