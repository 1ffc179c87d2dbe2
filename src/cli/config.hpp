// Options from a TOML file, and resolved options back to one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "rudder/core/json_fwd.hpp"

namespace rudder::cli {

/// Adds to `arguments` (of `app`, without the verb) the options of a TOML file that are not among
/// them: what is typed wins over what is written. An unknown key is a usage Error that names the
/// nearest one; a file that is no TOML is an input Error with line and column.
void merge_config(const CLI::App& app, const std::filesystem::path& file,
                  std::vector<std::string>& arguments);

/// Every option of a parsed verb with its value, given or default, by its long name; positional
/// arguments by theirs.
[[nodiscard]] Json resolved_options(const CLI::App& app);

/// The same as TOML text that --config reads back; positional arguments are left out.
[[nodiscard]] std::string to_toml(const CLI::App& app);

}  // namespace rudder::cli
