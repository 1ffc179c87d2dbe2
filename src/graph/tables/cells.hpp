// Cells as what they mean: numbers, whole numbers, names; and names as numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "table_source.hpp"

namespace rudder::graph {

/// The cells of one column of a batch. What a cell cannot be is thrown as a CellFault.
class CellReader {
public:
    CellReader(const TableBatch& batch, std::size_t column)
        : cells_(batch.columns[column]), column_(column) {}

    /// A finite number; nothing where the cell is missing: empty, NA, NaN or null.
    [[nodiscard]] std::optional<double> number(std::size_t row) const;
    /// A whole number of 64 bits; nothing where the cell is missing.
    [[nodiscard]] std::optional<std::int64_t> integer(std::size_t row) const;
    /// Text as it is, numbers as they are written; nothing where the cell is missing or empty. The
    /// view lasts until the next call.
    [[nodiscard]] std::optional<std::string_view> text(std::size_t row);
    /// `width` numbers of a list, or of a text of numbers with ; , | or blanks between them.
    /// False where the cell is missing.
    [[nodiscard]] bool numbers(std::size_t row, std::span<float> out) const;

    [[nodiscard]] CellFault fault(std::size_t row, std::string what, std::string remedy) const {
        return {row, column_, std::move(what), std::move(remedy)};
    }
    /// The cell in a message.
    [[nodiscard]] std::string shown(std::size_t row) const;

private:
    const TableColumn& cells_;
    std::size_t column_;
    std::string scratch_;
};

/// How many numbers a text of numbers holds.
[[nodiscard]] std::size_t count_numbers(std::string_view text);
/// The number that a cell's text is, if it is one; infinite and NaN ones among them.
[[nodiscard]] std::optional<double> parse_number(std::string_view text) noexcept;
/// Whether a cell's text stands for a number that is not known.
[[nodiscard]] bool means_missing(std::string_view text) noexcept;

/// Names, numbered in the order in which they are met.
class NameCodes {
public:
    /// The number of a name, which is a new one if need be.
    [[nodiscard]] std::uint32_t code(std::string_view name);
    [[nodiscard]] const std::vector<std::string>& names() const noexcept { return names_; }

    /// The names in their own order: by value where all are whole numbers, else by their bytes; and
    /// for each number given so far its place in that order.
    struct Order {
        std::vector<std::string> names;
        std::vector<std::uint32_t> place;
    };
    [[nodiscard]] Order order() const;

private:
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };
    std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> codes_;
    std::vector<std::string> names_;
};

/// What the first rows of a column hold.
struct ColumnSample {
    CellKind kind = CellKind::text;
    std::size_t width = 1;               ///< of a list
    std::optional<std::string> first{};  ///< the first cell that is not missing, as text
};
/// Looks at the first rows of some columns.
[[nodiscard]] std::vector<ColumnSample> sample_columns(const Table& table,
                                                       const std::vector<std::string>& columns);

}  // namespace rudder::graph
