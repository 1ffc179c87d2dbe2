// Rows of CSV as RFC 4180 has them: cells in quotes may hold separators, line ends and quotes.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rudder::graph {

/// How the rows of a file are cut.
struct CsvShape {
    char separator = ',';
    std::size_t columns = 0;
    /// For each column its place among those asked for, or `unwanted`.
    std::vector<std::size_t> places{};
    std::size_t wanted = 0;

    static constexpr std::size_t unwanted = static_cast<std::size_t>(-1);
};

/// A row that is none. `offset` says where in the text that was read.
struct RowFault {
    std::size_t offset;
    std::string what;
    std::string remedy;
};

/// A piece of text that begins where a row begins, as columns of cells. Memory is used again.
class CsvPiece {
public:
    /// Cuts the rows of `text`, which must outlive what is read from here. Lines without anything
    /// are passed over. Stops at the first row that is none: `fault`.
    void split(std::string_view text, const CsvShape& shape);

    [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
    [[nodiscard]] std::span<const std::string_view> column(std::size_t place) const noexcept {
        return cells_[place];
    }
    [[nodiscard]] const std::optional<RowFault>& fault() const noexcept { return fault_; }
    /// Line ends before the row.
    [[nodiscard]] std::size_t lines_before(std::size_t row) const;
    /// Line ends before the fault.
    [[nodiscard]] std::size_t lines_before_fault() const;

private:
    void read_row(std::size_t& at);
    [[nodiscard]] std::string_view unescaped(std::string_view text);

    std::string_view text_;
    const CsvShape* shape_ = nullptr;
    std::vector<std::vector<std::string_view>> cells_;
    std::vector<char> arena_;  ///< of cells with quotes inside; never grows beyond its capacity
    std::size_t rows_ = 0;
    std::optional<RowFault> fault_;
};

/// The cells of the first row of a text; `after` is where the next begins. A RowFault is thrown.
[[nodiscard]] std::vector<std::string> first_row(std::string_view text, char separator,
                                                 std::size_t& after);

/// The separator that a line of column names shows: comma, semicolon or tab, whichever stands
/// outside quotes most often; comma where none does.
[[nodiscard]] char separator_of(std::string_view header);

/// Whether all bytes are UTF-8 as the standard has it (no surrogates, nothing overlong).
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

}  // namespace rudder::graph
