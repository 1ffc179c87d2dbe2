// Every option of every verb, from the verbs themselves, as a page of Markdown.
#include <fmt/format.h>

#include "common_options.hpp"
#include "verb.hpp"

namespace rudder::cli {

namespace {

/// Text inside a cell of a table.
std::string cell(std::string_view text) {
    std::string safe;
    for (const char c : text) {
        if (c == '\n') {
            safe += "<br>";
        } else if (c == '|') {
            safe += "\\|";
        } else if (c == '<') {
            safe += "&lt;";
        } else {
            safe += c;
        }
    }
    return safe;
}

/// `--window UINT`, `-h, --help`, `PATH`.
std::string written(const CLI::Option& option) {
    if (option.get_positional()) {
        return option.get_expected_max() > 1 ? option.get_name() + "..." : option.get_name();
    }
    std::string names;
    for (const std::string& name : option.get_snames())
        names += "-" + name + ", ";
    for (const std::string& name : option.get_lnames())
        names += "--" + name;
    const std::string type = option.get_type_name();  // flags have none
    return type.empty() ? names : names + " " + type;
}

/// What holds where it is not given: a value, `required`, `off` for flags, or nothing.
std::string standing(const CLI::Option& option) {
    if (option.get_required()) return "required";
    if (!option.get_default_str().empty()) return "`" + cell(option.get_default_str()) + "`";
    return option.get_type_name().empty() ? "off" : "";
}

std::string row(const CLI::Option& option) {
    return fmt::format("| `{}` | {} | {} |\n", written(option), standing(option),
                       cell(option.get_description()));
}

/// A table of the options that `wanted` takes; nothing where there are none.
template <class Wanted>
std::string table(const CLI::App& app, Wanted wanted) {
    std::string rows;
    for (const CLI::Option* option : app.get_options()) {
        if (option != app.get_help_ptr() && wanted(*option)) rows += row(*option);
    }
    return rows.empty() ? "" : "| option | default | what it sets |\n| --- | --- | --- |\n" + rows;
}

std::string section(Verb& verb) {
    CLI::App app;
    verb.define(app);
    std::string usage(verb.name());
    for (const CLI::Option* option : app.get_options()) {
        if (!option->get_positional()) continue;
        usage += option->get_required() ? " " + written(*option) : " [" + written(*option) + "]";
    }
    const auto further = [](const CLI::Option& o) { return o.get_group() == further_options; };
    std::string text =
        fmt::format("## {}\n\n    rudder {}\n\n{}.\n\n", verb.name(), usage, verb.summary());
    const std::string usual = table(app, [&](const CLI::Option& o) { return !further(o); });
    text += usual.empty() ? "It has the common options alone.\n\n" : usual + "\n";
    if (const std::string rest = table(app, further); !rest.empty())
        text += "Shown by `--help-all` only:\n\n" + rest + "\n";
    return text;
}

}  // namespace

std::string options_page() {
    std::string text =
        "# Every option\n\n"
        "Made by the program (`rudder completion markdown`); a test compares. [cli.md](cli.md) "
        "says "
        "what the\nverbs do with them. An empty default follows from other options or from the "
        "data.\n\n"
        "## Common to all verbs\n\n";
    CLI::App common;
    CommonOptions options;
    options.define(common);
    text += "| option | default | what it sets |\n| --- | --- | --- |\n";
    text += "| `-h, --help` | off | Print the verb's help and exit |\n";
    for (const CLI::Option* option : common.get_options()) {
        if (option != common.get_help_ptr()) text += row(*option);
    }
    text += "\n";
    for (const auto& verb : all_verbs())
        text += section(*verb);
    text.pop_back();
    return text;
}

}  // namespace rudder::cli
