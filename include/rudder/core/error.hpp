// The one error type: what is wrong, where, and what to do about it.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace rudder {

/// Why a command ends early. The values are the process's exit codes.
enum class ErrorKind : int {
    failed = 1,       ///< failed while running: disk full, read-only, out of memory
    usage = 2,        ///< wrong use: unknown option, output exists, impossible combination
    input = 3,        ///< bad input data
    rank = 4,         ///< a rank died or hung
    interrupted = 5,  ///< SIGINT or SIGTERM
};

/// An error a user can act on. A fault of ours is an InternalError instead.
class Error : public std::exception {
public:
    /// `what` is wrong, `where` it was seen (file, line, array, rank; may be empty), and the
    /// `remedy` (may be empty only where none exists). `rank` is the one whose error it is, where
    /// others report it as well.
    Error(ErrorKind kind, std::string what, std::string where, std::string remedy,
          std::optional<int> rank = std::nullopt);

    [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
    [[nodiscard]] int exit_code() const noexcept { return static_cast<int>(kind_); }
    [[nodiscard]] const std::string& problem() const noexcept { return problem_; }
    [[nodiscard]] const std::string& where() const noexcept { return where_; }
    [[nodiscard]] const std::string& remedy() const noexcept { return remedy_; }
    [[nodiscard]] std::optional<int> rank() const noexcept { return rank_; }
    /// What, where and remedy, over up to three lines.
    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
    ErrorKind kind_;
    std::string problem_;
    std::string where_;
    std::string remedy_;
    std::optional<int> rank_;
    std::string text_;
};

/// Bad input data (exit code 3).
[[nodiscard]] Error input_error(std::string what, std::string where, std::string remedy);
/// Wrong use (exit code 2).
[[nodiscard]] Error usage_error(std::string what, std::string where, std::string remedy);
/// Failed while running (exit code 1); `code` is an errno whose text is appended to `what`.
[[nodiscard]] Error system_error(std::string what, std::string where, int code);

/// A broken promise inside the program: a bug, never the user's doing.
class InternalError : public std::exception {
public:
    InternalError(std::string_view condition, const char* file, int line);
    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
    std::string text_;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line);

}  // namespace rudder
