// Tables for people: columns as wide as they must be, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace rudder::cli {

/// Rows of cells under a header. Cells that look like numbers are set to the right.
class Table {
public:
    explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    /// The table with a line under its header.
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_;
};

/// "key   value" lines with the values under each other.
[[nodiscard]] std::string key_values(const std::vector<std::pair<std::string, std::string>>& lines);

/// The number of columns a UTF-8 text takes on a terminal (one per code point).
[[nodiscard]] std::size_t display_width(const std::string& text);

}  // namespace rudder::cli
