#include "nameless_file.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "rudder/core/error.hpp"

namespace rudder {

namespace {

/// Linux moves at most this much in one call.
constexpr std::size_t nameless_transfer = std::size_t{1} << 30;

}  // namespace

int open_nameless(const std::filesystem::path& folder) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-vararg)
    const int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0) return fd;
    // Not all file systems have such files.
    std::string name = (folder / ".rudder-rows-XXXXXX").string();
    const int named = ::mkostemp(name.data(), O_CLOEXEC);
    if (named < 0) throw system_error("cannot make a file for rows", folder.string(), errno);
    ::unlink(name.c_str());
    return named;
}

NamelessFile::NamelessFile(NamelessFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), folder_(std::move(other.folder_)) {}

NamelessFile& NamelessFile::operator=(NamelessFile&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(folder_, other.folder_);
    return *this;
}

NamelessFile::~NamelessFile() {
    if (fd_ >= 0) ::close(fd_);
}

void NamelessFile::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t done = ::pwrite(fd_, bytes.data(), std::min(bytes.size(), nameless_transfer),
                                      static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) throw system_error("cannot keep rows on disk", folder_.string(), errno);
        offset += static_cast<std::uint64_t>(done);
        bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

void NamelessFile::read_at(std::uint64_t offset, std::span<std::byte> out) const {
    while (!out.empty()) {
        const ssize_t done = ::pread(fd_, out.data(), std::min(out.size(), nameless_transfer),
                                     static_cast<off_t>(offset));
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) throw system_error("cannot read rows back", folder_.string(), errno);
        offset += static_cast<std::uint64_t>(done);
        out = out.subspan(static_cast<std::size_t>(done));
    }
}

}  // namespace rudder
