#include "config.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"
#include "rudder/run/ranks.hpp"

#include "bind_options.hpp"

namespace rudder::cli {

namespace {

constexpr std::uint64_t max_config_bytes = 1 << 20;

std::vector<std::string_view> long_names(const CLI::App& app) {
    std::vector<std::string_view> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back(name);
    }
    return names;
}

bool typed(const std::vector<std::string>& arguments, const std::string& key) {
    return std::ranges::any_of(arguments, [&](const std::string& word) {
        return word == "--" + key || word.starts_with("--" + key + "=");
    });
}

std::string value_text(const toml::node& node, const std::string& key, const std::string& where) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    throw input_error(
        fmt::format("invalid value of key '{}': neither text, number nor boolean", key),
        fmt::format("{}, line {}", where, node.source().begin.line),
        "write it as on the command line, in quotes");
}

toml::table parse_toml(std::string_view text, const std::string& where) {
    try {
        return toml::parse(text, where);
    } catch (const toml::parse_error& error) {
        throw input_error(fmt::format("not valid TOML: {}", error.description()),
                          fmt::format("{}, line {}, column {}", where, error.source().begin.line,
                                      error.source().begin.column),
                          "correct the line");
    }
}

void append_option(const CLI::Option& option, const std::string& key, const toml::node& node,
                   const std::string& where, std::vector<std::string>& arguments) {
    if (option.get_expected_max() == 0) {
        const auto* truth = node.as_boolean();
        if (truth == nullptr) {
            throw input_error(fmt::format("key '{}' takes true or false", key),
                              fmt::format("{}, line {}", where, node.source().begin.line),
                              "write true or false without quotes");
        }
        if (truth->get()) arguments.push_back("--" + key);
        return;
    }
    const auto add = [&](const std::string& text) {
        arguments.push_back(fmt::format("--{}={}", key, text));
    };
    const auto* list = node.as_array();
    if (list == nullptr) return add(value_text(node, key, where));
    std::string joined;
    for (const toml::node& item : *list) {
        const std::string text = value_text(item, key, where);
        if (option.get_expected_max() > 1) {
            add(text);
        } else {
            joined += (joined.empty() ? "" : ",") + text;
        }
    }
    if (!joined.empty()) add(joined);
}

/// Options that a configuration cannot hold: they were looked for before it was read.
bool outside(const std::string& key) {
    static constexpr std::array<std::string_view, 4> names{"help", "help-all", "config",
                                                           "print-config"};
    return std::ranges::find(names, key) != names.end();
}

/// Whether what was given before takes the place of a key: itself, or another way to say the same.
bool superseded(const std::vector<std::string>& before, const std::string& key) {
    static constexpr std::array<std::string_view, 3> sizes{"buffer", "buffer-rows", "buffer-bytes"};
    const auto given_before = [&](std::string_view name) {
        return typed(before, std::string(name));
    };
    if (std::ranges::find(sizes, key) != sizes.end())
        return std::ranges::any_of(sizes, given_before);
    return given_before(key);
}

void merge(const CLI::App& app, const toml::table& table, const std::string& where,
           std::vector<std::string>& arguments) {
    const std::vector<std::string> before = arguments;
    for (const auto& [name, node] : table) {
        const std::string key(name.str());
        const CLI::Option* option = app.get_option_no_throw("--" + key);
        if (option == nullptr || outside(key)) {
            const auto known = long_names(app);
            const auto close = nearest(key, known);
            throw usage_error(fmt::format("unknown option '{}' in the configuration", key),
                              fmt::format("{}, line {}", where, node.source().begin.line),
                              close ? fmt::format("did you mean '{}'?", *close)
                                    : fmt::format("see '{} --help'", app.get_name()));
        }
        // A rank that was launched because of this key launches no further ones.
        if (key == "ranks" && run::is_launched_rank()) continue;
        if (!superseded(before, key)) append_option(*option, key, node, where, arguments);
    }
}

}  // namespace

void merge_config(const CLI::App& app, const std::filesystem::path& file,
                  std::vector<std::string>& arguments) {
    const std::string text = read_text(file, max_config_bytes);
    merge(app, parse_toml(text, file.string()), file.string(), arguments);
}

void merge_preset(const CLI::App& app, std::string_view name, std::vector<std::string>& arguments) {
    std::vector<std::string_view> known;
    for (const Preset& preset : all_presets()) {
        known.push_back(preset.name);
        if (preset.name != name) continue;
        const std::string where = fmt::format("preset {}", name);
        toml::table table = parse_toml(preset.toml, where);
        // Fan-outs follow from a number of layers that was asked for.
        if (typed(arguments, "layers")) table.erase("fanout");
        return merge(app, table, where, arguments);
    }
    throw usage_error(fmt::format("unknown preset '{}'", name), "--preset",
                      fmt::format("known are {}", join(known, ", ")));
}

void define_preset(CLI::App& app) {
    std::vector<std::string_view> names;
    for (const Preset& preset : all_presets())
        names.push_back(preset.name);
    CLI::Option* option = app.add_option(
        "--preset", [](const CLI::results_t& /*name*/) { return true; },
        fmt::format("Start from a preset: {}", join(names, ", ")));
    option->type_name("NAME");
    offer(*option, names);
    app.add_flag_function(
        "--print-config", [](std::int64_t /*count*/) {},
        "Print the resolved options as TOML, and exit");
}

namespace {

/// Options that say how to run, not what to make.
bool is_result_option(const CLI::Option& option) {
    static constexpr std::array<std::string_view, 7> others{
        "json", "quiet", "force", "threads", "ranks", "preset", "log-format"};
    const auto& names = option.get_lnames();
    return names.empty() ||
           (!outside(names.front()) && std::ranges::find(others, names.front()) == others.end());
}

bool in_scope(const CLI::Option& option, ConfigScope scope) {
    if (option.get_lnames().empty()) return false;
    const std::string& name = option.get_lnames().front();
    return scope == ConfigScope::result
               ? is_result_option(option)
               : !outside(name) && name != "json" && name != "quiet" && name != "preset";
}

Json option_value(const CLI::Option& option) {
    if (option.get_expected_max() == 0) return option.count() > 0;
    const auto results = option.count() > 0 ? option.results() : std::vector<std::string>{};
    if (results.size() > 1) return results;
    return results.empty() ? option.get_default_str() : results.front();
}

}  // namespace

Json resolved_options(const CLI::App& app) {
    Json values = Json::object();
    for (const CLI::Option* option : app.get_options()) {
        if (!is_result_option(*option)) continue;
        const auto& names = option->get_lnames();
        const Json value = option_value(*option);
        if (value.is_string() && value.get<std::string>().empty()) continue;
        values[names.empty() ? option->get_name(true) : names.front()] = value;
    }
    return values;
}

namespace {

Json typed_value(SettingKind kind, const std::string& text) {
    // As large as TOML's numbers are; what is not a number as text would be is left as it is.
    const auto whole = parse_u64(text);
    if (kind == SettingKind::integer && whole &&
        *whole <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
        return *whole;
    }
    if (kind == SettingKind::real) {
        if (const auto number = parse_double(text)) return *number;
    }
    if (kind == SettingKind::list) return parse_setting({.kind = kind}, text);
    return text;
}

std::string toml_text(const Json& value) {
    std::ostringstream text;
    if (value.is_string()) {
        text << toml::value<std::string>(value.get<std::string>());
    } else if (value.is_number_float()) {
        const std::string number = fmt::format("{}", value.get<double>());
        text << number << (number.find_first_of(".en") == std::string::npos ? ".0" : "");
    } else if (value.is_array()) {
        for (const Json& item : value)
            text << (text.view().empty() ? "[" : ", ") << toml_text(item);
        text << ']';
    } else {
        text << value.dump();
    }
    return text.str();
}

}  // namespace

Json typed_options(const CLI::App& app, ConfigScope scope) {
    Json values = Json::object();
    for (const CLI::Option* option : app.get_options()) {
        if (!in_scope(*option, scope)) continue;
        const std::string& key = option->get_lnames().front();
        const SettingKind kind = kind_of(*option);
        const Json value = option_value(*option);
        if (value.is_boolean()) {
            values[key] = value;
        } else if (value.is_array() || option->get_expected_max() > 1) {
            for (const Json& item : value.is_array() ? value : Json::array({value})) {
                const auto text = item.get<std::string>();
                if (!text.empty()) values[key].push_back(typed_value(kind, text));
            }
        } else if (const auto text = value.get<std::string>(); !text.empty()) {
            values[key] = typed_value(kind, text);
        }
    }
    return values;
}

std::string to_toml(const CLI::App& app, ConfigScope scope) {
    std::string text = "# The resolved options; read them back with --config.\n";
    const Json values = typed_options(app, scope);
    for (const auto& [key, value] : values.items())
        text += fmt::format("{} = {}\n", key, toml_text(value));
    return text;
}

}  // namespace rudder::cli
