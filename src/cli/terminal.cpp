#include "terminal.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/log.hpp"
#include "rudder/core/text.hpp"
#include "rudder/run/ranks.hpp"

namespace rudder::cli {

namespace {

constexpr const char* terminal_variable = "RUDDER_TERMINAL";

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::optional<PassedTerminal> passed() {
    const std::string_view text = variable(terminal_variable);
    return text.empty() ? std::nullopt : PassedTerminal::parse(text);
}

bool speaks_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        std::string value(variable(name));
        if (value.empty()) continue;
        std::ranges::transform(value, value.begin(),
                               [](unsigned char c) { return std::tolower(c); });
        return value.find("utf-8") != std::string::npos || value.find("utf8") != std::string::npos;
    }
    return false;
}

/// The size of a terminal; false if it has none to tell.
bool ask_size(int descriptor, ScreenLook& look) {
    winsize size{};
    if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return false;
    look.columns = size.ws_col;
    if (size.ws_row != 0) look.rows = size.ws_row;
    return true;
}

/// The terminal of whoever started this rank, as far as it can be reached.
void ask_passed(const PassedTerminal& terminal, ScreenLook& look) {
    look.columns = terminal.columns;
    look.rows = terminal.rows;
    if (terminal.device.empty()) return;
    const int descriptor = ::open(terminal.device.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) return;
    static_cast<void>(ask_size(descriptor, look));
    ::close(descriptor);
}

struct Drawn {
    std::mutex mutex;
    std::vector<std::size_t> widths;  ///< of the lines on the screen
};
Drawn& drawn() {
    static auto* state = new Drawn;  // messages may come until the very end
    return *state;
}

/// To the first line of what is drawn; lines wider than the screen has become take several.
std::string to_top(const std::vector<std::size_t>& widths, std::size_t columns) {
    std::size_t up = 0;
    for (const std::size_t width : widths)
        up += std::max<std::size_t>(1, (width + columns - 1) / columns);
    return up == 0 ? "" : fmt::format("\r\x1b[{}A", up);
}

void put(const std::string& text) {
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
    std::fflush(stderr);
}

}  // namespace

std::string PassedTerminal::text() const {
    return fmt::format("{}x{}{} {}", columns, rows, output ? "+" : "", device);
}

std::optional<PassedTerminal> PassedTerminal::parse(std::string_view text) {
    PassedTerminal terminal;
    const auto space = text.find(' ');
    std::string_view size = text.substr(0, space);
    if (space != std::string_view::npos) terminal.device = text.substr(space + 1);
    terminal.output = size.ends_with('+');
    if (terminal.output) size.remove_suffix(1);
    const auto by = size.find('x');
    if (by == std::string_view::npos) return std::nullopt;
    const auto columns = parse_u64(size.substr(0, by));
    const auto rows = parse_u64(size.substr(by + 1));
    if (!columns || !rows || *columns == 0) return std::nullopt;
    terminal.columns = *columns;
    terminal.rows = *rows;
    return terminal;
}

bool live_terminal() {
    if (variable("TERM") == "dumb") return false;
    return ::isatty(STDERR_FILENO) != 0 || passed().has_value();
}

bool output_on_terminal() {
    // A launcher may give ranks a terminal of their own, whatever its output is.
    if (const auto terminal = passed()) return terminal->output;
    return !run::is_rank() && ::isatty(STDOUT_FILENO) != 0;
}

ScreenLook screen_look() {
    ScreenLook look;
    look.utf8 = speaks_utf8();
    look.colour = variable("NO_COLOR").empty();
    if (const auto terminal = passed()) {
        ask_passed(*terminal, look);
    } else if (!ask_size(STDERR_FILENO, look)) {
        look.columns = parse_u64(variable("COLUMNS")).value_or(look.columns);
    }
    look.columns = std::max<std::size_t>(look.columns, 1);
    return look;
}

void pass_terminal_on() {
    if (!live_terminal()) return;
    const ScreenLook look = screen_look();
    const char* device = ::ttyname(STDERR_FILENO);
    const PassedTerminal terminal{look.columns, look.rows, output_on_terminal(),
                                  device == nullptr ? "" : device};
    ::setenv(terminal_variable, terminal.text().c_str(), 1);
}

Screen::Screen() {
    log::set_before([] { Screen::clear(); });
}

Screen::~Screen() {
    clear();
    log::set_before(nullptr);
}

void Screen::draw(const std::vector<std::string>& lines, const ScreenLook& look) {
    Drawn& now = drawn();
    const std::scoped_lock lock(now.mutex);
    std::string text = to_top(now.widths, look.columns);
    now.widths.clear();
    for (const std::string& line : lines) {
        text += line + "\x1b[K\n";
        now.widths.push_back(columns_of(line));
    }
    put(text + "\x1b[J");
}

void Screen::clear() {
    Drawn& now = drawn();
    const std::scoped_lock lock(now.mutex);
    if (now.widths.empty()) return;
    put(to_top(now.widths, screen_look().columns) + "\x1b[J");
    now.widths.clear();
}

}  // namespace rudder::cli
