// Stands in for the reader and the writer of Parquet in a build without Arrow.
#include "core/build_parts.hpp"

#include "table_source.hpp"
#include "table_writer.hpp"

namespace rudder::graph {

bool has_parquet() noexcept {
    return false;
}

std::unique_ptr<TableSource> open_parquet(const std::filesystem::path& file) {
    throw missing_part("Arrow", file.string(), "give the table as CSV");
}

std::unique_ptr<TableWriter> make_parquet_writer(const std::filesystem::path& file,
                                                 // NOLINTNEXTLINE: the other body keeps them
                                                 std::vector<OutputColumn> /*columns*/) {
    throw missing_part("Arrow", file.string(), "write CSV");
}

}  // namespace rudder::graph
