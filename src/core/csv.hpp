// Lines of CSV as RFC 4180 has them, for programs that read tables.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace rudder {

/// A cell: in quotes where it must be.
[[nodiscard]] inline std::string csv_cell(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string cell = "\"";
    for (const char c : text)
        cell += c == '"' ? std::string("\"\"") : std::string(1, c);
    return cell + "\"";
}

/// A line with its end.
[[nodiscard]] inline std::string csv_line(std::span<const std::string> cells) {
    std::string line;
    for (const std::string& cell : cells)
        line += (&cell == cells.data() ? "" : ",") + csv_cell(cell);
    return line + "\n";
}

}  // namespace rudder
