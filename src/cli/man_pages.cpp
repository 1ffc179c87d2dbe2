#include "man_pages.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "rudder/core/text.hpp"
#include "rudder/core/version.hpp"

#include "commands.hpp"
#include "topics.hpp"

namespace rudder::cli {

namespace {

/// One code point of UTF-8 beyond ASCII as groff and mandoc both write it.
std::string roff_letter(std::string_view text, std::size_t& at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(at);
    const std::size_t more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    std::uint32_t code = lead & (0x3FU >> more);
    for (std::size_t i = 1; i <= more && at + i < text.size(); ++i)
        code = (code << 6U) | (byte(at + i) & 0x3FU);
    at += more;
    return fmt::format("\\[u{:04X}]", code);
}

/// Text as roff shows it letter by letter; lines may begin with anything.
std::string roff(std::string_view text) {
    std::string safe;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if ((c == '.' || c == '\'') && (i == 0 || text[i - 1] == '\n')) safe += "\\&";
        if (static_cast<unsigned char>(c) >= 0x80) {
            safe += roff_letter(text, i);
        } else if (c == '\\') {
            safe += "\\e";
        } else if (c == '-') {
            safe += "\\-";
        } else if (c == '\'') {
            safe += "\\(aq";
        } else {
            safe += c;
        }
    }
    return safe;
}

std::string bold(std::string_view text) {
    return "\\fB" + roff(text) + "\\fR";
}
std::string slanted(std::string_view text) {
    return "\\fI" + roff(text) + "\\fR";
}

/// Lines that stay as they are.
std::string kept_lines(std::string_view lines) {
    return ".nf\n" + roff(lines) + ".fi\n";
}

/// Paragraphs are filled; indented lines stay as they are.
std::string roff_body(std::string_view body) {
    std::string text;
    std::string kept;
    const auto end_kept = [&] {
        if (!kept.empty()) text += kept_lines(kept);
        kept.clear();
    };
    bool apart = false;
    for (const std::string_view line : split(body, '\n')) {
        if (line.empty()) {
            apart = true;
            continue;
        }
        const bool indented = line.starts_with("  ");
        if (!indented || apart) end_kept();
        if (apart) text += ".PP\n";
        apart = false;
        if (indented) {
            kept += std::string(line) + "\n";
        } else {
            text += roff(line) + "\n";
        }
    }
    end_kept();
    return text;
}

std::string page_name(const Command& command) {
    std::string name = fmt::format("rudder-{}", command.verb->name());
    std::ranges::replace(name, ' ', '-');
    return name;
}

std::string heading(std::string name) {
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
    return fmt::format(".TH {} 1 \"\" \"rudder {}\" \"Rudder\"\n", name, version());
}

/// `--window UINT (default: 16)`, and what it sets.
std::string option_entry(const CLI::Option& option) {
    std::string term;
    if (option.get_positional()) {
        term = bold(option.get_name());
    } else {
        for (const std::string& name : option.get_snames())
            term += bold("-" + name) + ", ";
        for (const std::string& name : option.get_lnames())
            term += bold("--" + name);
        if (const std::string type = option.get_type_name(); !type.empty())
            term += " " + slanted(type);
    }
    if (option.get_required() && !option.get_positional()) term += " (required)";
    if (const std::string value = option.get_default_str(); !value.empty())
        term += " (default: " + roff(value) + ")";
    std::string help;
    for (const std::string_view line : split(option.get_description(), '\n'))
        help += (help.empty() ? "" : "\n.br\n") + roff(line);
    return fmt::format(".TP\n{}\n{}\n", term, help);
}

/// A section of the options that `wanted` takes; nothing where there are none.
template <class Wanted>
std::string options_section(const CLI::App& app, std::string_view title, Wanted wanted) {
    std::string entries;
    for (const CLI::Option* option : app.get_options())
        if (wanted(*option)) entries += option_entry(*option);
    return entries.empty() ? "" : fmt::format(".SH {}\n{}", title, entries);
}

std::string synopsis(const Command& command) {
    std::string text =
        bold(fmt::format("rudder {}", command.verb->name())) + " [" + slanted("OPTIONS") + "]";
    for (const CLI::Option* option : command.app->get_options()) {
        if (!option->get_positional() || option->get_group() == further_options) continue;
        std::string name = slanted(option->get_name());
        if (option->get_expected_max() > 1) name += " ...";
        text += option->get_required() ? " " + name : " [" + name + "]";
    }
    return text + "\n";
}

std::string verb_page(const Command& command) {
    const CLI::App& app = *command.app;
    const auto further = [](const CLI::Option& o) { return o.get_group() == further_options; };
    std::string text = heading(page_name(command));
    text += fmt::format(".SH NAME\n{} \\- {}\n", roff(page_name(command)),
                        roff(command.verb->summary()));
    text += ".SH SYNOPSIS\n" + synopsis(command);
    text += fmt::format(".SH DESCRIPTION\n{}.\n", roff(command.verb->summary()));
    text += options_section(
        app, "ARGUMENTS", [&](const CLI::Option& o) { return o.get_positional() && !further(o); });
    text += options_section(
        app, "OPTIONS", [&](const CLI::Option& o) { return !o.get_positional() && !further(o); });
    text += options_section(app, "\"FURTHER OPTIONS\"", further);
    if (const std::string notes = command.verb->notes(); !notes.empty())
        text += ".SH NOTES\n" + roff_body(notes);
    text += ".SH EXAMPLE\n" + kept_lines(std::string(command.verb->example()) + "\n");
    return text + ".SH \"SEE ALSO\"\n.BR rudder (1)\n";
}

/// The topics that manual pages have a section of their own for.
constexpr std::pair<std::string_view, std::string_view> topic_sections[] = {
    {"\"EXIT STATUS\"", "exit-codes"}, {"ENVIRONMENT", "environment"}, {"FILES", "files"}};

std::string program_page(const Commands& commands) {
    std::string text = heading("rudder");
    text +=
        ".SH NAME\nrudder \\- distributed training of graph neural networks with steered "
        "prefetching\n";
    text +=
        ".SH SYNOPSIS\n\\fBrudder\\fR \\fIVERB\\fR [\\fIOPTIONS\\fR]\n.br\n"
        "\\fBrudder help\\fR [\\fITOPIC\\fR]\n";
    text += ".SH VERBS\n";
    std::string pages;
    for (const auto& command : commands) {
        text += fmt::format(".TP\n{}\n{}.\n", bold(command->verb->name()),
                            roff(command->verb->summary()));
        pages += fmt::format(".BR {} (1){}\n", roff(page_name(*command)),
                             command == commands.back() ? "" : ",");
    }
    const auto topics = all_topics();
    text += ".SH TOPICS\nThese are explained by\n.BR \"rudder help\" :\n";
    for (const Topic& topic : topics)
        text += fmt::format(".TP\n{}\n{}\n", bold(topic.name), roff(topic.summary));
    for (const auto& [title, name] : topic_sections) {
        const auto topic = std::ranges::find(topics, name, &Topic::name);
        text += fmt::format(".SH {}\n{}", title, roff_body(topic->body));
    }
    text += ".SH EXAMPLE\n" + kept_lines(
                                  "rudder generate sbm graph --vertices 20000\n"
                                  "rudder partition graph parts --parts 4\n"
                                  "rudder train parts --ranks 4 --out run\n"
                                  "rudder report run\n");
    return text + ".SH \"SEE ALSO\"\n" + pages;
}

}  // namespace

std::vector<MadeFile> man_pages() {
    const Commands commands = make_commands();
    std::vector<MadeFile> pages{{"rudder.1", program_page(commands)}};
    for (const auto& command : commands)
        pages.push_back({page_name(*command) + ".1", verb_page(*command)});
    return pages;
}

}  // namespace rudder::cli
