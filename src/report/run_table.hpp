// The numbers of a run as tables that other programs read: its steps, epochs and decisions.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace rudder::report {

enum class RunTable : std::uint8_t { steps, epochs, decisions };
/// As people write them.
inline constexpr std::array<std::string_view, 3> run_table_names{"steps", "epochs", "decisions"};

/// How many lines a table got, and how many of the run's could not be read.
struct TableSize {
    std::uint64_t lines = 0;
    std::uint64_t left_out = 0;
};

/// Writes a table of the run in `folder` to the new file `file`, as CSV: names first, then a line
/// for each step and rank, epoch, or decision; cells are empty where nothing is known. An input
/// Error where the run has no such lines.
TableSize write_run_table(const std::filesystem::path& folder, RunTable table,
                          const std::filesystem::path& file);

}  // namespace rudder::report
