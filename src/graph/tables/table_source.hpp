// Tables read column by column, in batches of rows: one abstract source, a body for each format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/core/progress.hpp"

namespace rudder::graph {

/// What the cells of a column are. CSV knows text alone.
enum class CellKind : std::uint8_t { text, integer, real, list };

/// Some rows of a column; the span of its kind is set.
struct TableColumn {
    CellKind kind = CellKind::text;
    std::span<const std::string_view> texts{};  ///< without data: missing
    std::span<const std::int64_t> integers{};
    std::span<const double> reals{};          ///< of a list: `width` for each row
    std::span<const std::uint8_t> missing{};  ///< of kinds but text: 1 where missing; empty: none
    std::size_t width = 1;                    ///< numbers in a list

    [[nodiscard]] bool is_missing(std::size_t row) const noexcept {
        if (kind == CellKind::text) return texts[row].data() == nullptr;
        return !missing.empty() && missing[row] != 0;
    }
};

/// Where the rows of a batch stand, for messages.
class BatchPlace {
public:
    virtual ~BatchPlace() = default;
    /// "FILE, line N, column 'NAME'", or with row group and row.
    [[nodiscard]] virtual std::string where(std::size_t row, std::string_view column) const = 0;
};

/// Some rows of the columns asked for, in the order in which they were asked for.
struct TableBatch {
    std::size_t rows = 0;
    std::span<const TableColumn> columns{};
    const BatchPlace* place = nullptr;
};

/// A fault in a cell of a batch; who walks the table adds the place. `column` is that of the batch.
struct CellFault {
    std::size_t row;
    std::size_t column;
    std::string what;
    std::string remedy;
};

/// Receives a table in rounds. The batches of a round are spread over slots, which are in the order
/// of the rows; a slot's batches come one after the other.
class TableVisitor {
public:
    virtual ~TableVisitor() = default;
    /// A round of so many slots begins.
    virtual void begin(std::size_t slots) = 0;
    /// Rows of a slot; other threads give those of other slots meanwhile. A fault is thrown as a
    /// CellFault; the first in the order of rows becomes the Error.
    virtual void batch(std::size_t slot, const TableBatch& batch) = 0;
    /// The round is complete. The places of its batches are still there.
    virtual void end() = 0;
};

/// One file.
class TableSource {
public:
    virtual ~TableSource() = default;
    [[nodiscard]] virtual const std::vector<std::string>& columns() const = 0;
    /// Gives all rows of some columns (positions in `columns`).
    virtual void walk(std::span<const std::size_t> wanted, TableVisitor& visitor,
                      Progress& progress) const = 0;
};

/// Opens a file: Parquet by its first bytes, else CSV, which may be packed (gzip, Zstandard).
[[nodiscard]] std::unique_ptr<TableSource> open_table(const std::filesystem::path& file);
[[nodiscard]] std::unique_ptr<TableSource> open_csv(const std::filesystem::path& file);
[[nodiscard]] std::unique_ptr<TableSource> open_parquet(const std::filesystem::path& file);
[[nodiscard]] bool is_parquet(const std::filesystem::path& file);

/// Files that hold one table, one after the other, with the same columns.
class Table {
public:
    explicit Table(std::vector<std::filesystem::path> files);

    [[nodiscard]] const std::vector<std::filesystem::path>& files() const noexcept {
        return files_;
    }
    /// Those of the first file.
    [[nodiscard]] const std::vector<std::string>& columns() const noexcept { return columns_; }
    [[nodiscard]] bool has(std::string_view column) const;
    /// Gives all rows of the named columns; a file without one of them is an input Error.
    void walk(const std::vector<std::string>& wanted, TableVisitor& visitor,
              Progress& progress = Progress::none()) const;
    /// Where a row (from 0, over all files) stands; reads the table again.
    [[nodiscard]] std::string where(std::uint64_t row, const std::string& column) const;

private:
    std::vector<std::filesystem::path> files_;
    std::vector<std::string> columns_;
};

/// The files that some patterns name: each a path in which * and ? stand for parts of names. Those
/// of a pattern come in the order of their names. A pattern without a file is an input Error.
[[nodiscard]] std::vector<std::filesystem::path> matching_files(
    const std::vector<std::string>& patterns, const std::filesystem::path& base);

/// A cell as shown in messages: not too long.
[[nodiscard]] std::string shown_cell(std::string_view text);

}  // namespace rudder::graph
