// Text files read line by line: the first lines one at a time, the rest in pieces on all threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/error.hpp"
#include "rudder/core/function_ref.hpp"
#include "rudder/core/progress.hpp"

#include "byte_stream.hpp"

namespace rudder::graph {

/// A fault at a column (from 1) of a line; TextInput adds file and line.
struct LineFault {
    std::string what;
    std::size_t column;
    std::string remedy;
};

/// Reads words and numbers of one line; a fault is thrown as a LineFault.
class LineCursor {
public:
    explicit LineCursor(std::string_view line) : line_(line) { skip(); }

    /// Whether nothing but separators is left.
    [[nodiscard]] bool done() const noexcept { return at_ == line_.size(); }
    /// The next word: up to a space, tab, comma or semicolon.
    [[nodiscard]] std::string_view word();
    /// The next word as a whole number from 0 on (an id).
    [[nodiscard]] std::uint64_t id();
    /// The next word as a number, "nan" and "inf" among them.
    [[nodiscard]] double number();
    /// A fault at the word read last.
    [[nodiscard]] LineFault fault(std::string what, std::string remedy) const;

private:
    void skip() noexcept {
        while (at_ < line_.size() && separator(line_[at_]))
            ++at_;
    }
    static bool separator(char c) noexcept {
        return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '\r';
    }
    std::string_view line_;
    std::size_t at_ = 0;
    std::size_t word_at_ = 0;
};

/// A text file (gzip or plain) being read.
class TextInput {
public:
    explicit TextInput(std::filesystem::path file);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    /// The next line without its end, which stays to be read; nothing at the end of the file.
    [[nodiscard]] std::optional<std::string_view> peek_line();
    /// Goes past the line last peeked at.
    void take_line();
    /// An input Error for a fault in the next line.
    [[nodiscard]] Error error(const LineFault& fault) const { return error(fault, line_ + 1); }
    /// Where the next line is: "FILE, line N".
    [[nodiscard]] std::string where() const;

    /// Parses the rest in batches of pieces. For each batch: `begin` with the number of its pieces,
    /// `line` for every line with the piece's index in the batch, on all threads, in order within a
    /// piece; then `end`. A LineFault becomes an Error that names the first faulty line.
    void parse(FunctionRef<void(std::size_t)> begin,
               FunctionRef<void(std::size_t, std::string_view)> line, FunctionRef<void()> end,
               Progress& progress);

private:
    [[nodiscard]] Error error(const LineFault& fault, std::uint64_t line) const;
    /// Appends up to `bytes` to the buffer; false at the end of the file.
    bool fill(std::size_t bytes);
    [[nodiscard]] std::string_view pending() const { return std::string_view(buffer_).substr(at_); }
    [[nodiscard]] std::vector<std::string_view> next_batch();

    std::filesystem::path path_;
    std::unique_ptr<ByteStream> stream_;
    std::string buffer_;
    std::size_t at_ = 0;
    std::uint64_t line_ = 0;  ///< lines taken
    bool ended_ = false;
};

/// Whether a line holds nothing: it is blank or a comment (# or %).
[[nodiscard]] bool blank_or_comment(std::string_view line) noexcept;

}  // namespace rudder::graph
