// Tables of samples as NumPy archives.
#pragma once

#include <filesystem>

#include "steer/samples/sample_table.hpp"

namespace rudder::cli {

/// Reads what either wrote, by the ending of its name: `.npz`, else CSV. An input Error with file
/// and array if it is none, or of another version or feature list.
[[nodiscard]] steer::SampleTable read_table(const std::filesystem::path& path);

/// Writes the arrays of a table: features, labels, names.
void write_archive(const steer::SampleTable& table, const std::filesystem::path& path);

}  // namespace rudder::cli
