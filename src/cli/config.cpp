#include "config.hpp"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

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

bool given(const std::vector<std::string>& arguments, const std::string& key) {
    return std::ranges::any_of(arguments, [&](const std::string& word) {
        return word == "--" + key || word.starts_with("--" + key + "=");
    });
}

std::string value_text(const toml::node& node, const std::string& key, const std::string& where) {
    if (const auto* text = node.as_string()) return text->get();
    if (const auto* number = node.as_integer()) return std::to_string(number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    throw input_error(fmt::format("key '{}' holds neither text, number nor truth value", key),
                      fmt::format("{}, line {}", where, node.source().begin.line),
                      "write it as on the command line, in quotes");
}

toml::table parse_file(const std::filesystem::path& file) {
    const std::string text = read_text(file, max_config_bytes);
    try {
        return toml::parse(text, file.string());
    } catch (const toml::parse_error& error) {
        throw input_error(fmt::format("not valid TOML: {}", error.description()),
                          fmt::format("{}, line {}, column {}", file.string(),
                                      error.source().begin.line, error.source().begin.column),
                          "mend the line");
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
    const auto add = [&](const toml::node& value) {
        arguments.push_back(fmt::format("--{}={}", key, value_text(value, key, where)));
    };
    if (const auto* list = node.as_array()) {
        for (const toml::node& value : *list)
            add(value);
    } else {
        add(node);
    }
}

}  // namespace

void merge_config(const CLI::App& app, const std::filesystem::path& file,
                  std::vector<std::string>& arguments) {
    const toml::table table = parse_file(file);
    const std::vector<std::string> typed = arguments;
    for (const auto& [name, node] : table) {
        const std::string key(name.str());
        const CLI::Option* option = app.get_option_no_throw("--" + key);
        if (option == nullptr || key == "help" || key == "config") {
            const auto known = long_names(app);
            const auto close = nearest(key, known);
            throw usage_error(fmt::format("unknown option '{}' in the configuration", key),
                              fmt::format("{}, line {}", file.string(), node.source().begin.line),
                              close ? fmt::format("did you mean '{}'?", *close)
                                    : fmt::format("see '{} --help'", app.get_name()));
        }
        if (!given(typed, key)) append_option(*option, key, node, file.string(), arguments);
    }
}

namespace {

/// Options that say how to run, not what to make.
bool is_result_option(const CLI::Option& option) {
    static constexpr std::array<std::string_view, 6> others{"help",  "config", "json",
                                                            "quiet", "force",  "threads"};
    const auto& names = option.get_lnames();
    return names.empty() || std::ranges::find(others, names.front()) == others.end();
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

std::string to_toml(const CLI::App& app) {
    toml::table table;
    for (const CLI::Option* option : app.get_options()) {
        if (!is_result_option(*option) || option->get_lnames().empty()) continue;
        const std::string& key = option->get_lnames().front();
        const Json value = option_value(*option);
        if (value.is_boolean()) {
            table.insert_or_assign(key, value.get<bool>());
        } else if (value.is_array()) {
            toml::array list;
            for (const Json& item : value)
                list.push_back(item.get<std::string>());
            table.insert_or_assign(key, std::move(list));
        } else if (!value.get<std::string>().empty()) {
            table.insert_or_assign(key, value.get<std::string>());
        }
    }
    std::ostringstream text;
    text << "# The options as resolved; give this file back with --config.\n" << table << '\n';
    return text.str();
}

}  // namespace rudder::cli
