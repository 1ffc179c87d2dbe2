#include "window.hpp"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rudder/core/array.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::comm {

namespace {

struct PrivateWindow {
    Region region;
    std::span<std::byte> span;
};

struct Mapping {
    std::span<std::byte> span;
    Mapping(void* address, std::size_t bytes) : span(static_cast<std::byte*>(address), bytes) {}
    ~Mapping() { ::munmap(span.data(), span.size()); }
    Mapping(Mapping&&) = delete;
};

/// Maps a file; a large one at a multiple of a huge page, without which it cannot be put on such.
void* map_aligned(int fd, std::size_t bytes) {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    constexpr int access = PROT_READ | PROT_WRITE;
    if (bytes < 2 * huge_page) return ::mmap(nullptr, bytes, access, MAP_SHARED, fd, 0);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t pages = (bytes + page - 1) / page * page;
    constexpr int nothing = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const room = ::mmap(nullptr, pages + huge_page, PROT_NONE, nothing, -1, 0);
    if (room == MAP_FAILED) return room;
    auto* const begin = static_cast<std::byte*>(room);
    const std::size_t skipped =
        (huge_page - reinterpret_cast<std::uintptr_t>(room) % huge_page) % huge_page;
    void* const address = ::mmap(begin + skipped, bytes, access, MAP_SHARED | MAP_FIXED, fd, 0);
    if (address == MAP_FAILED) {
        const int code = errno;
        ::munmap(room, pages + huge_page);
        errno = code;
        return address;
    }
    if (skipped != 0) ::munmap(room, skipped);
    if (skipped != huge_page) ::munmap(begin + skipped + pages, huge_page - skipped);
    return address;
}

std::shared_ptr<std::span<std::byte>> map_descriptor(int fd, const std::string& name,
                                                     std::size_t bytes) {
    void* address = map_aligned(fd, bytes);
    const int code = errno;
    ::close(fd);
    if (address == MAP_FAILED) throw system_error("cannot map shared memory", name, code);
    auto mapping = std::make_shared<Mapping>(address, bytes);
    return {mapping, &mapping->span};
}

constexpr const char* shared_memory = "/dev/shm";

/// Blocks that have a name, by it: while the process that made one lives, it holds its lock.
std::mutex held_mutex;
std::map<std::string, int> held;

/// A new block, locked from the moment it has its name: one without a lock is of a dead process.
/// A descriptor; on failure -1, and errno.
int make_block(const std::string& name) {
    const int fd = ::open(shared_memory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0) return -1;
    const int lock = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    const std::string nameless = fmt::format("/proc/self/fd/{}", fd);
    if (lock >= 0 && ::flock(lock, LOCK_SH | LOCK_NB) == 0 &&
        ::linkat(AT_FDCWD, nameless.c_str(), AT_FDCWD, (shared_memory + name).c_str(),
                 AT_SYMLINK_FOLLOW) == 0) {
        const std::scoped_lock guard(held_mutex);
        held[name] = lock;
        return fd;
    }
    const int code = errno;
    if (lock >= 0) ::close(lock);
    ::close(fd);
    errno = code;
    return -1;
}

}  // namespace

std::shared_ptr<std::span<std::byte>> private_window(std::size_t bytes) {
    auto window = std::make_shared<PrivateWindow>();
    window->region = Region::allocate(bytes);
    window->span = {window->region.data(), bytes};
    if (bytes != 0) std::memset(window->span.data(), 0, bytes);
    return {window, &window->span};
}

std::shared_ptr<std::span<std::byte>> create_shared_window(const std::string& name,
                                                           std::size_t bytes) {
    if (bytes == 0) return private_window(0);
    static std::once_flag swept;
    std::call_once(swept, [] { sweep_shared_windows(shared_memory); });
    const int fd = make_block(name);
    if (fd < 0 && errno == ENOENT) {
        throw Error(ErrorKind::failed, "cannot make shared memory: there is nothing to hold it",
                    shared_memory, "mount it: mount -t tmpfs tmpfs /dev/shm");
    }
    if (fd < 0) throw system_error("cannot make shared memory", name, errno);
    // Reserve it now: a full /dev/shm is then an error here, not a SIGBUS at the first touch.
    if (const int code = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes)); code != 0) {
        ::close(fd);
        unlink_shared_window(name);
        throw system_error("cannot reserve " + format_bytes(bytes) + " of shared memory",
                           "/dev/shm", code);
    }
    return map_descriptor(fd, name, bytes);
}

std::shared_ptr<std::span<std::byte>> open_shared_window(const std::string& name,
                                                         std::size_t bytes) {
    if (bytes == 0) return private_window(0);
    const int fd = ::shm_open(name.c_str(), O_RDWR, 0600);
    if (fd < 0) throw system_error("cannot open shared memory", name, errno);
    return map_descriptor(fd, name, bytes);
}

void unlink_shared_window(const std::string& name) noexcept {
    ::shm_unlink(name.c_str());
    const std::scoped_lock lock(held_mutex);
    const auto found = held.find(name);
    if (found == held.end()) return;
    ::close(found->second);
    held.erase(found);
}

void sweep_shared_windows(const std::filesystem::path& folder) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
        std::error_code gone;
        if (!entry.path().filename().string().starts_with(&window_prefix[1])) continue;
        if (!entry.is_regular_file(gone) || entry.is_symlink(gone)) continue;
        const int fd = ::open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (fd < 0) continue;  // another user's
        if (::flock(fd, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
        ::close(fd);
    }
}

}  // namespace rudder::comm
