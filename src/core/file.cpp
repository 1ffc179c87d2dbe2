#include "rudder/core/file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rudder/core/checked.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder {

namespace {

/// Linux moves at most this much in one call.
constexpr std::size_t max_transfer = std::size_t{1} << 30;

std::size_t transfer_size(std::size_t left) {
    return std::min(left, max_transfer);
}

}  // namespace

// The path is copied before a file is opened: where there is no memory for it, nothing stays open.

File File::open(const std::filesystem::path& path) {
    File file(-1, path);
    file.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file.fd_ < 0) {
        const int code = errno;
        if (code == ENOENT || code == ENOTDIR) {
            throw input_error("no such file", path.string(), "check the path");
        }
        throw system_error("cannot open the file", path.string(), code);
    }
    struct stat status {};
    if (::fstat(file.fd_, &status) == 0 && S_ISDIR(status.st_mode))
        throw input_error("a folder where a file is expected", path.string(), "check the path");
    return file;
}

File File::create(const std::filesystem::path& path) {
    File file(-1, path);
    file.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file.fd_ < 0) throw system_error("cannot create the file", path.string(), errno);
    return file;
}

std::optional<File> File::create_private(const std::filesystem::path& path) {
    File file(-1, path);
    file.fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file.fd_ >= 0) return file;
    if (errno == EEXIST || errno == ELOOP) return std::nullopt;
    throw system_error("cannot create the file", path.string(), errno);
}

File File::append(const std::filesystem::path& path, std::uint64_t size) {
    File file(-1, path);
    file.fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file.fd_ < 0) throw system_error("cannot open the file for writing", path.string(), errno);
    const bool longer = file.size() > size;
    if ((longer && ::ftruncate(file.fd_, static_cast<off_t>(size)) != 0) ||
        ::lseek(file.fd_, 0, SEEK_END) < 0)
        throw system_error("cannot truncate the file", path.string(), errno);
    return file;
}

File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(path_, other.path_);
    return *this;
}

File::~File() {
    if (fd_ >= 0) ::close(fd_);
}

std::size_t File::read_on(std::span<std::byte> out) const {
    for (;;) {
        const ssize_t got = ::read(fd_, out.data(), transfer_size(out.size()));
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) throw system_error("cannot read the file", path_.string(), errno);
    }
}

std::size_t File::read_at(std::uint64_t offset, std::span<std::byte> out) const {
    std::size_t done = 0;
    while (done < out.size()) {
        const ssize_t got = ::pread(fd_, out.data() + done, transfer_size(out.size() - done),
                                    static_cast<off_t>(offset + done));
        if (got == 0) break;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw system_error("cannot read the file", path_.string(), errno);
        done += static_cast<std::size_t>(got);
    }
    return done;
}

void File::write(std::span<const std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t put = ::write(fd_, bytes.data() + done, transfer_size(bytes.size() - done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) throw system_error("cannot write the file", path_.string(), errno);
        done += static_cast<std::size_t>(put);
    }
}

void File::write_at(std::uint64_t offset, std::span<const std::byte> bytes) {
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t put = ::pwrite(fd_, bytes.data() + done, transfer_size(bytes.size() - done),
                                     static_cast<off_t>(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) throw system_error("cannot write the file", path_.string(), errno);
        done += static_cast<std::size_t>(put);
    }
}

std::uint64_t File::size() const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) {
        throw system_error("cannot read the file's size", path_.string(), errno);
    }
    return static_cast<std::uint64_t>(status.st_size);
}

void File::sync_and_close() {
    if (::fdatasync(fd_) != 0 && errno != EINVAL) {
        throw system_error("cannot flush the file", path_.string(), errno);
    }
    close();
}

void File::close() {
    if (fd_ < 0) return;
    if (::close(std::exchange(fd_, -1)) != 0) {
        throw system_error("cannot close the file", path_.string(), errno);
    }
}

void check_inside(const std::filesystem::path& folder, const std::filesystem::path& file) {
    std::error_code code;
    if (!std::filesystem::is_symlink(file, code)) return;
    const auto root = std::filesystem::canonical(folder, code);
    const auto target = std::filesystem::canonical(file, code);
    if (!code && std::ranges::mismatch(root, target).in1 == root.end()) return;
    throw input_error("a symbolic link leads out of the folder", file.string(),
                      "put the file itself there");
}

void check_files_inside(const std::filesystem::path& folder) {
    std::error_code code;
    for (const auto& entry : std::filesystem::directory_iterator(folder, code)) {
        if (!entry.is_directory(code)) check_inside(folder, entry.path());
    }
}

std::string read_text(const std::filesystem::path& path, std::uint64_t limit) {
    const File file = File::open(path);
    const auto too_large = [&](const std::string& size) {
        return input_error(fmt::format("file too large: {} (limit {})", size, format_bytes(limit)),
                           path.string(), "check that this is the right file");
    };
    const std::uint64_t size = file.size();
    if (size > limit) throw too_large(format_bytes(size));
    // Read to the end, whatever size it says it has: files in /proc and pipes say 0, others grow.
    std::string text;
    std::size_t room = narrow<std::size_t>(size, "file size") + 1;
    for (;;) {
        const std::size_t before = text.size();
        text.resize(before + room);
        const std::size_t got =
            file.read_on(std::as_writable_bytes(std::span(text).subspan(before)));
        text.resize(before + got);
        if (text.size() > limit) throw too_large(format_bytes(text.size()));
        if (got == 0) return text;
        room = 4096;
    }
}

void write_text(const std::filesystem::path& path, std::string_view text) {
    File file = File::create(path);
    file.write(std::as_bytes(std::span(text)));
    file.sync_and_close();
}

}  // namespace rudder
