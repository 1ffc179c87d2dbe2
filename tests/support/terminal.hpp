// A terminal to run programs on, and what a person would see on it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace rudder::test {

/// How to run on a terminal.
struct TerminalOptions {
    unsigned short columns = 80;
    unsigned short rows = 24;
    std::filesystem::path folder;    ///< to run in
    std::vector<std::string> extra;  ///< NAME=value, added to the environment
    /// Called with all that has been shown so far, whenever there is more; may resize or signal.
    std::function<void(const std::string& shown, int terminal, pid_t program)> watch;
};

/// How it ended, and all bytes the terminal received (`out`).
[[nodiscard]] Outcome run_on_terminal(const std::vector<std::string>& command,
                                      const TerminalOptions& options);

/// Gives a terminal another size.
void resize_terminal(int terminal, unsigned short columns, unsigned short rows);

/// A terminal that understands what Rudder sends: letters, line ends, up, erase, colours.
class FakeScreen {
public:
    explicit FakeScreen(std::size_t columns) : columns_(columns), lines_(1) {}

    void feed(const std::string& bytes);
    /// What is to be seen in the end, without blanks at the ends of lines.
    [[nodiscard]] std::string text() const;
    /// How often a letter stood beyond the right edge.
    [[nodiscard]] int overflows() const noexcept { return overflows_; }
    [[nodiscard]] int colours() const noexcept { return colours_; }
    [[nodiscard]] int erasures() const noexcept { return erasures_; }
    /// Sequences that it does not understand.
    [[nodiscard]] const std::vector<std::string>& unknown() const noexcept { return unknown_; }

private:
    void escape(const std::string& sequence);
    void put(const std::string& letter);

    std::size_t columns_;
    std::vector<std::vector<std::string>> lines_;
    std::size_t row_ = 0;
    std::size_t column_ = 0;
    int overflows_ = 0;
    int colours_ = 0;
    int erasures_ = 0;
    std::vector<std::string> unknown_;
};

}  // namespace rudder::test
