// Options from a TOML file or a preset, and resolved options back to TOML.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "rudder/core/json_fwd.hpp"

namespace rudder::cli {

/// Adds to `arguments` (of `app`, without the verb) the options of a TOML file that are not among
/// them: typed options win. An unknown key is a usage Error that names the nearest one; a file that
/// is not valid TOML is an input Error with line and column.
void merge_config(const CLI::App& app, const std::filesystem::path& file,
                  std::vector<std::string>& arguments);

/// The same from the preset of that name; a usage Error that lists the known ones otherwise.
void merge_preset(const CLI::App& app, std::string_view name, std::vector<std::string>& arguments);

/// A configuration that is built into the program: presets/NAME.toml.
struct Preset {
    std::string_view name;
    std::string_view toml;
};
[[nodiscard]] std::vector<Preset> all_presets();

/// Adds --preset and --print-config, which the program itself carries out.
void define_preset(CLI::App& app);

/// Every option of a parsed verb with its value, given or default, as text by its long name;
/// positional arguments by theirs.
[[nodiscard]] Json resolved_options(const CLI::App& app);

/// Which options a configuration holds: those that results depend on, or also how they are made
/// (ranks, threads, ...).
enum class ConfigScope : std::uint8_t { result, whole };

/// The options with their types: numbers, truth values, lists and text.
[[nodiscard]] Json typed_options(const CLI::App& app, ConfigScope scope);
/// The same as TOML text that --config reads back; positional arguments are left out.
[[nodiscard]] std::string to_toml(const CLI::App& app, ConfigScope scope = ConfigScope::result);

}  // namespace rudder::cli
