// Runs programs as a user would, and keeps what they said.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace rudder::test {

/// How a program ended and what it printed.
struct Outcome {
    int code = -1;    ///< exit code; -1 if a signal ended it
    int signal = 0;   ///< that signal, or 0
    std::string out;  ///< standard output
    std::string err;  ///< standard error
};

/// How much longer programs take under a sanitizer, on a machine that does other things, too.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int sanitizer_factor = 5;
#else
inline constexpr int sanitizer_factor = 1;
#endif

/// How to run it.
struct RunOptions {
    std::filesystem::path folder;      ///< to run in; empty: the current one
    std::vector<std::string> extra;    ///< NAME=value, added to the environment
    std::function<void(pid_t)> after;  ///< called once it has started (to send signals)
    std::chrono::seconds limit{100};   ///< killed after this
};

/// Runs a program with arguments, with no terminal and no standard input.
[[nodiscard]] Outcome run(const std::vector<std::string>& command, const RunOptions& options = {});

/// In a child process: becomes the program, in that folder (empty: the current one), with
/// NAME=value added to the environment.
[[noreturn]] void become(const std::vector<std::string>& command,
                         const std::filesystem::path& folder,
                         const std::vector<std::string>& extra);

/// Runs the rudder of this build.
[[nodiscard]] Outcome rudder(std::vector<std::string> arguments, const RunOptions& options = {});

/// The rudder of this build.
[[nodiscard]] std::filesystem::path program();

/// Waits until a process handles a signal itself (10 s at most): before that, it would just end.
void wait_until_handled(pid_t process, int signal);

/// Whether a program of that name is on the PATH.
[[nodiscard]] bool have_program(const std::string& name);

/// The folder of shared real graphs beside the project, or an empty path where there is none.
[[nodiscard]] std::filesystem::path shared_folder();

}  // namespace rudder::test
