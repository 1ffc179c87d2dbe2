#include "table.hpp"

#include <algorithm>
#include <cctype>

namespace rudder::cli {

namespace {

bool looks_numeric(const std::string& cell) {
    return !cell.empty() && (std::isdigit(static_cast<unsigned char>(cell[0])) != 0 ||
                             (cell[0] == '-' && cell.size() > 1));
}

void append_cell(std::string& line, const std::string& cell, std::size_t width, bool right) {
    const std::string padding(width - std::min(width, display_width(cell)), ' ');
    line += right ? padding + cell : cell + padding;
}

}  // namespace

std::size_t display_width(const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string Table::text() const {
    const std::size_t columns = rows_.front().size();
    std::vector<std::size_t> widths(columns, 0);
    std::vector<bool> right(columns, rows_.size() > 1);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
        for (std::size_t c = 0; c < columns; ++c) {
            widths[c] = std::max(widths[c], display_width(rows_[r][c]));
            if (r > 0 && !looks_numeric(rows_[r][c]) && rows_[r][c] != "-") right[c] = false;
        }
    }
    std::string text;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
        std::string line;
        for (std::size_t c = 0; c < columns; ++c) {
            if (c > 0) line += "  ";
            append_cell(line, rows_[r][c], widths[c], right[c]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        text += line + '\n';
        if (r > 0) continue;
        std::string rule;
        for (std::size_t c = 0; c < columns; ++c) {
            if (c > 0) rule += "  ";
            rule += std::string(widths[c], '-');
        }
        text += rule + '\n';
    }
    return text;
}

std::string key_values(const std::vector<std::pair<std::string, std::string>>& lines) {
    std::size_t width = 0;
    for (const auto& [key, value] : lines)
        width = std::max(width, display_width(key));
    std::string text;
    for (const auto& [key, value] : lines) {
        append_cell(text, key, width, false);
        text += "  " + value + '\n';
    }
    return text;
}

}  // namespace rudder::cli
