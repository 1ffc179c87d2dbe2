// config.toml of a run's folder, as options by their names.
#include <fmt/format.h>
#include <toml++/toml.h>

#include "explained_run.hpp"

namespace rudder::report {

namespace {

/// As on the command line; nothing of what no option takes.
std::optional<std::string> setting_words(const toml::node& node) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    const auto* list = node.as_array();
    if (list == nullptr) return std::nullopt;
    std::string all;
    for (const toml::node& item : *list)
        all += fmt::format("{}{}", all.empty() ? "" : ",", setting_words(item).value_or(""));
    return all;
}

}  // namespace

std::optional<SettingTexts> settings_of(std::string_view config) {
    try {
        const toml::table table = toml::parse(config);
        SettingTexts all;
        for (const auto& [key, node] : table) {
            if (auto words = setting_words(node)) all.emplace(key, std::move(*words));
        }
        return all;
    } catch (const toml::parse_error&) {
        return std::nullopt;
    }
}

}  // namespace rudder::report
