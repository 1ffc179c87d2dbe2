// Files that no folder lists: room on a disk that is gone with whoever uses it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

namespace rudder {

/// Makes one in `folder` and gives its descriptor, which is the caller's to close.
[[nodiscard]] int open_nameless(const std::filesystem::path& folder);

/// Such a file, for reading and writing anywhere in it.
class NamelessFile {
public:
    explicit NamelessFile(const std::filesystem::path& folder)
        : fd_(open_nameless(folder)), folder_(folder) {}
    NamelessFile(NamelessFile&& other) noexcept;
    NamelessFile& operator=(NamelessFile&& other) noexcept;
    NamelessFile(const NamelessFile&) = delete;
    NamelessFile& operator=(const NamelessFile&) = delete;
    ~NamelessFile();

    /// Writes all of `bytes` at `offset`.
    void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
    /// Fills `out` from `offset` on, where so much was written. From any thread.
    void read_at(std::uint64_t offset, std::span<std::byte> out) const;

private:
    int fd_;
    std::filesystem::path folder_;
};

}  // namespace rudder
