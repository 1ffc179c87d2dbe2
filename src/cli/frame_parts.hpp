// What lines of the live view are made of: parts that give way, bars, curves.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/step_time.hpp"
#include "rudder/core/rows.hpp"

#include "terminal.hpp"

namespace rudder::cli {

namespace colours {
inline constexpr std::string_view green = "32";
inline constexpr std::string_view yellow = "33";
inline constexpr std::string_view red = "31";
inline constexpr std::string_view magenta = "35";
inline constexpr std::string_view cyan = "36";
inline constexpr std::string_view dim = "2";
}  // namespace colours

[[nodiscard]] std::string painted(const std::string& text, std::string_view colour,
                                  const ScreenLook& look);

/// A line made of parts; those that matter least go first when there is no room.
class FrameLine {
public:
    explicit FrameLine(const ScreenLook& look) : look_(look) {}

    /// Parts of a lower number stay longer.
    void add(int importance, const std::string& text, std::string_view colour = {});
    /// The same for a text that has its colours.
    void add_painted(int importance, std::string text);

    [[nodiscard]] std::string text() const;

private:
    struct Part {
        int importance;
        std::string text;
        std::string plain;
        std::size_t columns;
    };
    static std::size_t width(const std::vector<const Part*>& parts);

    const ScreenLook& look_;
    std::vector<Part> parts_;
};

/// A share of a whole, so many columns wide.
[[nodiscard]] std::string progress_bar(double share, std::size_t width, const ScreenLook& look);
/// The sign of a part of a step in bars, with its colour; parts are those of `step_parts`.
[[nodiscard]] std::string part_sign(std::size_t part, const ScreenLook& look);
/// The parts of a step behind each other, as shares of `whole`, and blanks where it is longer.
[[nodiscard]] std::string time_bar(const Seconds& step, double whole, std::size_t width,
                                   const ScreenLook& look);
/// Rows by where they came from: own host, buffer, network. Empty where there are none.
[[nodiscard]] std::string row_bar(const Rows& rows, std::size_t width, const ScreenLook& look);
/// A curve one line high, at most so wide; empty where there is nothing to see.
[[nodiscard]] std::string spark(const std::vector<double>& values, std::size_t width,
                                const ScreenLook& look);

}  // namespace rudder::cli
