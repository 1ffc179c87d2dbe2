// The lines of a file, a fixed chunk of the file at a time, on all threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "rudder/core/function_ref.hpp"

namespace rudder::report {

/// Bytes behind every line that may be read, as simdjson does.
inline constexpr std::size_t line_padding = 64;

/// One line without its end.
struct TextLine {
    std::string_view text;
    std::uint64_t offset;  ///< in the file
    bool whole;            ///< it has an end; only the last of a file may have none
};

/// How a file of `bytes` is cut; depends on its size alone.
struct LineChunks {
    std::uint64_t bytes;
    std::uint64_t chunk;
    [[nodiscard]] static LineChunks of(std::uint64_t bytes);
    [[nodiscard]] std::size_t count() const noexcept;
};

/// The lines of one chunk.
class LineSource {
public:
    virtual ~LineSource() = default;
    /// Every line that is not blank, in order. A file that is cut meanwhile just ends. A line of
    /// more than 16 MiB is handed over cut, and is the last.
    virtual void for_each(FunctionRef<void(const TextLine&)> body) = 0;

protected:
    LineSource() = default;
    LineSource(const LineSource&) = default;
    LineSource& operator=(const LineSource&) = default;
};

/// Calls `body` for every chunk, side by side, with the lines that begin in it. What is written
/// to the file meanwhile is not looked at.
void for_each_chunk(const std::filesystem::path& path, const LineChunks& chunks,
                    FunctionRef<void(std::size_t, LineSource&)> body);

/// The lines that begin in [begin, end), one after the other; if `begin` is not 0, the line in
/// which it lies is left out.
void for_each_line(const std::filesystem::path& path, std::uint64_t begin, std::uint64_t end,
                   FunctionRef<void(const TextLine&)> body);

}  // namespace rudder::report
