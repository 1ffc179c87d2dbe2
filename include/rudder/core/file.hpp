// Files with every error checked, and the names of what failed in the message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rudder {

/// A file descriptor that is closed once. All calls throw an Error that names the path.
class File {
public:
    /// Opens for reading.
    [[nodiscard]] static File open(const std::filesystem::path& path);
    /// Makes a new file for writing; an existing one is emptied.
    [[nodiscard]] static File create(const std::filesystem::path& path);
    /// Makes a file that nobody has made before, which only this user may open; nothing where its
    /// name is taken, be it by a link.
    [[nodiscard]] static std::optional<File> create_private(const std::filesystem::path& path);
    /// Opens a file for writing at its end, after cutting it to `size` bytes where it is longer;
    /// makes it if need be.
    [[nodiscard]] static File append(const std::filesystem::path& path, std::uint64_t size);

    File(File&& other) noexcept;
    File& operator=(File&& other) noexcept;
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    ~File();

    /// Reads at most `out.size()` bytes at `offset`; fewer only at the end of the file.
    std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const;
    /// Reads some bytes from where the last such call stopped; 0 at the end. Works on pipes.
    std::size_t read_on(std::span<std::byte> out) const;
    /// Appends all of `bytes`.
    void write(std::span<const std::byte> bytes);
    /// Writes all of `bytes` at `offset`.
    void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
    [[nodiscard]] std::uint64_t size() const;
    /// Flushes to the disk and closes; errors that only show here are thrown.
    void sync_and_close();
    void close();
    [[nodiscard]] int descriptor() const noexcept { return fd_; }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

private:
    File(int fd, std::filesystem::path path) : fd_(fd), path_(std::move(path)) {}
    int fd_ = -1;
    std::filesystem::path path_;
};

/// Refuses (input Error) a file that symbolic links lead out of its folder: whoever made the folder
/// must not choose what else is read or written. Links that stay inside are fine, and so is one to
/// the folder itself.
void check_inside(const std::filesystem::path& folder, const std::filesystem::path& file);
/// The same of every file that lies in the folder itself; folders in it may lie elsewhere.
void check_files_inside(const std::filesystem::path& folder);

/// The whole of a small file as text; an input Error when it is larger than `limit`.
[[nodiscard]] std::string read_text(const std::filesystem::path& path, std::uint64_t limit);
/// Writes `text` to a new file and flushes it.
void write_text(const std::filesystem::path& path, std::string_view text);

}  // namespace rudder
