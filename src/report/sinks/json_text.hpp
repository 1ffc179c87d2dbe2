// Numbers and strings as JSON, appended to a text without a tree in between.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

namespace rudder::report {

template <std::unsigned_integral T>
void append_json(std::string& text, T value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof(digits), value).ptr;
    text.append(digits, end);
}

/// As the library of the other JSON files writes it, digit for digit; null where it is no number.
void append_json(std::string& text, double value);
/// In quotes, with all that needs it escaped.
void append_json(std::string& text, std::string_view value);

}  // namespace rudder::report
