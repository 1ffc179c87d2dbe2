// Tables of samples as NumPy archives.
#pragma once

#include <filesystem>

#include "rudder/steer/sample_table.hpp"

namespace rudder::cli {

/// Writes the arrays of a table: features, labels, names.
void write_archive(const SampleTable& table, const std::filesystem::path& path);

}  // namespace rudder::cli
