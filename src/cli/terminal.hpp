// The terminal: what it can show, and lines that are redrawn in place.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rudder::cli {

/// What can be shown.
struct ScreenLook {
    std::size_t columns = 80;
    std::size_t rows = 24;
    bool utf8 = false;    ///< else ASCII
    bool colour = false;  ///< else no colours (NO_COLOR)
};

/// Whether lines can be redrawn on standard error: it, or that of whoever started this rank, is a
/// terminal that can move its cursor.
[[nodiscard]] bool live_terminal();
/// Whether standard output is one, too.
[[nodiscard]] bool output_on_terminal();
/// As the terminal is now: it may have been resized.
[[nodiscard]] ScreenLook screen_look();
/// Called by the program that starts ranks, which see only a pipe.
void pass_terminal_on();

/// What the program that starts ranks says of its terminal: "80x24 /dev/pts/3", with "+" behind the
/// size where standard output is one, too.
struct PassedTerminal {
    std::size_t columns = 80;
    std::size_t rows = 24;
    bool output = false;
    std::string device;  ///< may be empty

    [[nodiscard]] std::string text() const;
    [[nodiscard]] static std::optional<PassedTerminal> parse(std::string_view text);
};

/// Lines at the bottom of standard error that are drawn again in place. One at a time in a process;
/// messages of the log erase it first, and it comes back when it is drawn next.
class Screen {
public:
    Screen();
    /// Erases what is drawn.
    ~Screen();
    Screen(Screen&&) = delete;

    /// Takes the place of what was drawn before. No line may be as wide as the screen.
    static void draw(const std::vector<std::string>& lines, const ScreenLook& look);
    /// Erases what is drawn, if anything: whoever writes to the terminal calls it first. Any
    /// thread may.
    static void clear();
};

/// The columns of a UTF-8 text on a terminal: combining marks take none, wide letters and emoji
/// two, escape sequences none.
[[nodiscard]] std::size_t columns_of(std::string_view text);
/// At most so many columns of a text without escape sequences; what is cut ends with a mark.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns, bool utf8);
/// Without what moves the cursor, and ASCII alone unless `utf8`.
[[nodiscard]] std::string shown_text(std::string_view text, bool utf8);

}  // namespace rudder::cli
