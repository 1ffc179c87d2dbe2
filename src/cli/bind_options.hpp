// Tables of settings on the command line.
#pragma once

#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "core/setting.hpp"

namespace rudder::cli {

/// Which options of a table --help shows.
enum class HelpListing : std::uint8_t { declared, all, none };

/// Sets a value from what was typed, or (read alone) tells the one it has.
struct BoundSetting {
    const SettingInfo* info;  ///< of a table that lives as long as the program
    Json value;
    std::function<void(const Json&)> put;
};

/// Adds one option to the parser.
void bind_option(CLI::App& app, const BoundSetting& setting, HelpListing shown);

/// Adds the options of a table, bound to `owner`.
template <class T>
void bind_options(CLI::App& app, std::span<const Setting<T>> table, T& owner,
                  HelpListing shown = HelpListing::declared) {
    for (const Setting<T>& setting : table) {
        bind_option(app,
                    {&setting, setting.value(owner),
                     [&setting, &owner](const Json& value) { setting.put(owner, value); }},
                    shown);
    }
}

/// Refuses what is not a number within these limits, as a table does: for options that may be
/// repeated, which a table cannot hold. `name` is the option's, without dashes.
CLI::Option& limit(CLI::Option* option, std::string_view name, SettingKind kind,
                   SettingLimits limits);

/// Words that completion offers for an option.
void offer(CLI::Option& option, std::span<const std::string_view> words);
/// Those of a setting: all it may have, or the names that its values begin with.
void offer(CLI::Option& option, const SettingInfo& info);
/// The words offered for an option; none where nothing was.
[[nodiscard]] std::vector<std::string> offered(CLI::Option& option);

/// Offered as a word, it stands for the folders there are.
inline constexpr std::string_view any_folder = "<folder>";
/// Offers folders, for an option or an argument; tables say offering(...) of the word above.
void offer_folders(CLI::Option& option);
/// Whether folders are offered.
[[nodiscard]] bool offers_folders(CLI::Option& option);

/// What kind of value an option of any verb has.
[[nodiscard]] SettingKind kind_of(const CLI::Option& option);

/// Whether an option was typed, or stood in a configuration.
[[nodiscard]] bool given(const CLI::App& app, const std::string& name);

}  // namespace rudder::cli
