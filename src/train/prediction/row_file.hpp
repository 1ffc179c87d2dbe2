// Rows that wait on disk until they are written in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace rudder::train {

/// A table of rows of equal size in a file without a name, in the folder of an output; gone when
/// this goes. Its room on the disk is taken at once: a full disk is an Error here, not later.
class RowFile {
public:
    RowFile(const std::filesystem::path& folder, std::uint64_t rows, std::size_t row_bytes);
    ~RowFile();
    RowFile(RowFile&&) = delete;

    /// Row r; rows may be written by several tasks at once.
    [[nodiscard]] std::span<std::byte> row(std::uint64_t r) const noexcept {
        return {data_ + r * row_bytes_, row_bytes_};
    }

private:
    std::byte* data_ = nullptr;
    std::uint64_t bytes_;
    std::size_t row_bytes_;
};

}  // namespace rudder::train
