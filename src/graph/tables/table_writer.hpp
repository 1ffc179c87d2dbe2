// Tables on their way out, row by row: CSV or Parquet, by the name of the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "table_source.hpp"

namespace rudder::graph {

/// What an output is written as.
enum class OutputFormat : std::uint8_t { npz, csv, parquet };
/// By the ending of its name; NPZ where it has none. Other endings, and Parquet in a build without,
/// are usage Errors.
[[nodiscard]] OutputFormat output_format(const std::filesystem::path& file);

struct OutputColumn {
    std::string name;
    CellKind kind = CellKind::text;  ///< text, integer or real
};

/// Receives the cells of each row in the order of the columns. Nothing is kept but some rows.
class TableWriter {
public:
    virtual ~TableWriter() = default;
    virtual void text(std::string_view value) = 0;
    virtual void integer(std::int64_t value) = 0;
    virtual void real(float value) = 0;
    virtual void missing() = 0;
    virtual void end_row() = 0;
    /// Writes what is left; to be called once, last.
    virtual void finish() = 0;
};

/// A writer of CSV or Parquet into a new file.
[[nodiscard]] std::unique_ptr<TableWriter> make_table_writer(OutputFormat format,
                                                             const std::filesystem::path& file,
                                                             std::vector<OutputColumn> columns);
[[nodiscard]] std::unique_ptr<TableWriter> make_parquet_writer(const std::filesystem::path& file,
                                                               std::vector<OutputColumn> columns);
/// Whether this build reads and writes Parquet.
[[nodiscard]] bool has_parquet() noexcept;

}  // namespace rudder::graph
