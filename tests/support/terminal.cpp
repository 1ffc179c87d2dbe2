#include "support/terminal.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <stdexcept>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rudder::test {

namespace {

[[noreturn]] void exec_child(const std::vector<std::string>& command,
                             const TerminalOptions& options) {
    for (const char* name : {"NO_COLOR", "COLUMNS", "LC_ALL", "LC_CTYPE"})
        ::unsetenv(name);
    ::setenv("TERM", "xterm", 1);
    ::setenv("LANG", "C.UTF-8", 1);
    become(command, options.folder, options.extra);
}

std::size_t letter_bytes(unsigned char lead) {
    if (lead >= 0xF0) return 4;
    if (lead >= 0xE0) return 3;
    return lead >= 0xC0 ? 2 : 1;
}

}  // namespace

void resize_terminal(int terminal, unsigned short columns, unsigned short rows) {
    const winsize size{rows, columns, 0, 0};
    if (::ioctl(terminal, TIOCSWINSZ, &size) != 0) throw std::runtime_error("no such size");
}

Outcome run_on_terminal(const std::vector<std::string>& command, const TerminalOptions& options) {
    winsize size{options.rows, options.columns, 0, 0};
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, &size);
    if (child < 0) throw std::runtime_error("no terminal");
    if (child == 0) exec_child(command, options);
    Outcome outcome;
    std::array<char, 65536> buffer{};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (std::chrono::steady_clock::now() < end) {
        pollfd wait{terminal, POLLIN, 0};
        if (::poll(&wait, 1, 1000) == 0) continue;
        const ssize_t got = ::read(terminal, buffer.data(), buffer.size());
        if (got <= 0) break;  // the last that held it has gone
        outcome.out.append(buffer.data(), static_cast<std::size_t>(got));
        if (options.watch) options.watch(outcome.out, terminal, child);
    }
    ::close(terminal);
    int status = 0;
    if (std::chrono::steady_clock::now() >= end) ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
    if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
    return outcome;
}

void FakeScreen::feed(const std::string& bytes) {
    for (std::size_t i = 0; i < bytes.size();) {
        const char c = bytes[i];
        if (c == '\x1b') {
            const std::size_t end =
                bytes.find_first_of("ABCDEFGHJKSTfmnsulh", std::min(i + 2, bytes.size()));
            const std::size_t length = end == std::string::npos ? bytes.size() - i : end - i + 1;
            escape(bytes.substr(i, length));
            i += length;
            continue;
        }
        const std::size_t length = letter_bytes(static_cast<unsigned char>(c));
        if (c == '\r') {
            column_ = 0;
        } else if (c == '\n') {
            if (++row_ == lines_.size()) lines_.emplace_back();
        } else {
            put(bytes.substr(i, length));
        }
        i += length;
    }
}

void FakeScreen::put(const std::string& letter) {
    if (column_ >= columns_) ++overflows_;
    auto& line = lines_[row_];
    if (line.size() <= column_) line.resize(column_ + 1, " ");
    line[column_++] = letter;
}

void FakeScreen::escape(const std::string& sequence) {
    if (sequence.ends_with('m')) {
        ++colours_;
    } else if (sequence.ends_with('A')) {
        const auto up = static_cast<std::size_t>(std::stoul(sequence.substr(2)));
        row_ -= std::min(up, row_);
    } else if (sequence == "\x1b[K") {
        if (lines_[row_].size() > column_) lines_[row_].resize(column_);
    } else if (sequence == "\x1b[J") {
        ++erasures_;
        if (lines_[row_].size() > column_) lines_[row_].resize(column_);
        lines_.resize(row_ + 1);
    } else {
        unknown_.push_back(sequence);
    }
}

std::string FakeScreen::text() const {
    std::string all;
    for (const auto& line : lines_) {
        std::string text;
        for (const std::string& letter : line)
            text += letter;
        text.erase(text.find_last_not_of(' ') + 1);
        all += text + '\n';
    }
    return all;
}

}  // namespace rudder::test
