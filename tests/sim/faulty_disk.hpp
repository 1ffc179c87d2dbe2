// A disk that fills up and one that reads short, for programs that have faulty_disk.cpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>

namespace rudder::test {

/// While one lives, files below a folder lie on a disk with room for so many more bytes, of which
/// nothing is given back; a write that does not fit is cut short, and the next one fails.
class FillingDisk {
public:
    explicit FillingDisk(const std::filesystem::path& folder,
                         std::uint64_t room = std::numeric_limits<std::uint64_t>::max());
    ~FillingDisk();
    FillingDisk(FillingDisk&&) = delete;

    /// Bytes written so far, and whether some did not fit.
    [[nodiscard]] static std::uint64_t written() noexcept;
    [[nodiscard]] static bool full() noexcept;
};

/// While one lives, every read of any file gives at most a third of what was asked for.
class ShortReads {
public:
    ShortReads() noexcept;
    ~ShortReads();
    ShortReads(ShortReads&&) = delete;
};

}  // namespace rudder::test
