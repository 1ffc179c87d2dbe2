#include "rudder/cli/program.hpp"

#include <algorithm>
#include <cstdio>
#include <new>

#include <fmt/format.h>

#include "core/json.hpp"
#include "core/log.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/interrupt.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"
#include "rudder/core/version.hpp"

#include "common_options.hpp"
#include "config.hpp"
#include "progress_bar.hpp"
#include "verb.hpp"

namespace rudder::cli {

namespace {

/// Help without the options that few need, unless all are asked for.
class HelpFormatter final : public CLI::Formatter {
public:
    /// `notes` come before the example where all options are asked for.
    explicit HelpFormatter(std::string notes) : notes_(std::move(notes)) {}

    std::string make_help(const CLI::App* app, std::string name,
                          CLI::AppFormatMode mode) const override {
        all_ = mode == CLI::AppFormatMode::All;
        // The base class writes sub-commands differently in the other modes; verbs have none.
        std::string text =
            CLI::Formatter::make_help(app, std::move(name), CLI::AppFormatMode::Normal);
        // A group that is left out leaves its empty line.
        for (auto at = text.find("\n\n\n"); at != std::string::npos; at = text.find("\n\n\n"))
            text.erase(at, 1);
        const auto example = text.rfind("\nExample:");
        if (all_ && !notes_.empty() && example != std::string::npos)
            text.insert(example, "\n" + notes_);
        return text;
    }
    std::string make_group(std::string group, bool is_positional,
                           std::vector<const CLI::Option*> options) const override {
        if (group == further_options && !all_) return {};
        return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options));
    }

private:
    std::string notes_;
    mutable bool all_ = false;
};

/// One verb with the parser of its options.
struct Command {
    std::unique_ptr<Verb> verb;
    std::unique_ptr<CLI::App> app;
    CommonOptions common;
};

std::vector<std::unique_ptr<Command>> make_commands() {
    std::vector<std::unique_ptr<Command>> commands;
    for (auto& verb : all_verbs()) {
        auto command = std::make_unique<Command>();
        const std::string name(verb->name());
        command->app = std::make_unique<CLI::App>(std::string(verb->summary()), name);
        command->app->name("rudder " + name);
        verb->define(*command->app);
        command->common.define(*command->app);
        const std::string notes = verb->notes();
        command->app->formatter(std::make_shared<HelpFormatter>(notes));
        const auto groups = command->app->get_groups();
        if (!notes.empty() || std::ranges::find(groups, further_options) != groups.end())
            command->app->set_help_all_flag("--help-all", "Print all options and exit");
        command->app->footer(fmt::format("Example:\n  {}", verb->example()));
        command->verb = std::move(verb);
        commands.push_back(std::move(command));
    }
    return commands;
}

std::string overview(const std::vector<std::unique_ptr<Command>>& commands) {
    std::string text =
        "rudder: distributed training of graph neural networks with steered prefetching\n\n"
        "Usage: rudder VERB [OPTIONS]\n\nVerbs:\n";
    for (const auto& command : commands) {
        text += fmt::format("  {:<13} {}\n", command->verb->name(), command->verb->summary());
    }
    text +=
        "\n'rudder VERB --help' lists a verb's options; 'rudder --version' says what this is.\n\n"
        "Example:\n  rudder generate sbm graph --vertices 20000\n";
    return text;
}

std::string config_file(const std::vector<std::string>& arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        constexpr std::string_view with_value = "--config=";
        if (arguments[i].starts_with(with_value)) return arguments[i].substr(with_value.size());
        if (arguments[i] == "--config" && i + 1 < arguments.size()) return arguments[i + 1];
    }
    return {};
}

/// Turns the parser's complaint into ours: the nearest option, and where to read on.
Error parse_error(const CLI::App& app, const CLI::ParseError& error,
                  const std::vector<std::string>& arguments) {
    const std::string help = fmt::format("see '{} --help'", app.get_name());
    std::vector<std::string_view> names;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames())
            names.push_back(name);
    }
    for (const std::string& word : arguments) {
        if (!word.starts_with("--") || word.size() == 2) continue;
        const std::string name = word.substr(2, word.find('=') - 2);
        if (std::ranges::find(names, name) != names.end()) continue;
        const auto close = nearest(name, names);
        return usage_error(fmt::format("unknown option '--{}'", name), app.get_name(),
                           close ? fmt::format("did you mean '--{}'? {}", *close, help) : help);
    }
    return usage_error(error.what(), app.get_name(), help);
}

int run_command(Command& command, std::vector<std::string> arguments) {
    CLI::App& app = *command.app;
    std::vector<std::string> typed = arguments;
    const auto name = split(command.verb->name(), ' ');
    typed.insert(typed.begin(), name.begin(), name.end());
    if (const std::string file = config_file(arguments); !file.empty()) {
        merge_config(app, file, arguments);
    }
    try {
        std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
        app.parse(std::move(reversed));
    } catch (const CLI::CallForHelp&) {
        std::fputs(app.help().c_str(), stdout);
        return 0;
    } catch (const CLI::CallForAllHelp&) {
        std::fputs(app.help("", CLI::AppFormatMode::All).c_str(), stdout);
        return 0;
    } catch (const CLI::ParseError& error) {
        throw parse_error(app, error, arguments);
    }
    if (command.common.quiet) log::set_level(log::Level::error);
    set_thread_count(command.common.threads);
    const auto progress = make_progress(command.common.quiet);
    Context context;
    context.json = command.common.json;
    context.quiet = command.common.quiet;
    context.threads = command.common.threads;
    context.progress = progress.get();
    const Json made_by = {{"verb", command.verb->name()}, {"options", resolved_options(app)}};
    context.provenance.made_by = made_by.dump();
    context.provenance.config = to_toml(app);
    context.arguments = std::move(typed);
    return command.verb->run(context);
}

/// The verbs that share their first word.
std::vector<const Command*> family(const std::vector<std::unique_ptr<Command>>& commands,
                                   const std::string& word) {
    std::vector<const Command*> members;
    for (const auto& command : commands) {
        if (command->verb->name().starts_with(word + " ")) members.push_back(command.get());
    }
    return members;
}

std::string family_overview(const std::vector<const Command*>& members, const std::string& word) {
    std::string text = fmt::format("Usage: rudder {} VERB [OPTIONS]\n\nVerbs:\n", word);
    for (const Command* command : members)
        text += fmt::format("  {:<13} {}\n", command->verb->name(), command->verb->summary());
    return text + fmt::format("\nExample:\n  {}\n", members.front()->verb->example());
}

Error unknown_verb(const std::string& typed, const std::vector<std::string_view>& names) {
    const auto close = nearest(typed, names);
    return usage_error(fmt::format("unknown verb '{}'", typed), "",
                       close ? fmt::format("did you mean '{}'? See 'rudder --help'", *close)
                             : "see 'rudder --help'");
}

int dispatch(std::vector<std::string> arguments) {
    const auto commands = make_commands();
    const auto asks_help = [](const std::string& word) {
        return word == "--help" || word == "-h" || word == "help";
    };
    if (arguments.empty() || asks_help(arguments[0])) {
        std::fputs(overview(commands).c_str(), stdout);
        return arguments.empty() ? static_cast<int>(ErrorKind::usage) : 0;
    }
    if (arguments[0] == "--version") {
        fmt::print("rudder {}\n", version());
        return 0;
    }
    std::string typed = arguments[0];
    std::ptrdiff_t words = 1;
    if (const auto members = family(commands, typed); !members.empty()) {
        if (arguments.size() == 1 || asks_help(arguments[1])) {
            std::fputs(family_overview(members, typed).c_str(), stdout);
            return arguments.size() == 1 ? static_cast<int>(ErrorKind::usage) : 0;
        }
        typed += " " + arguments[1];
        words = 2;
    }
    std::vector<std::string_view> names;
    for (const auto& command : commands) {
        if (command->verb->name() == typed)
            return run_command(*command, {arguments.begin() + words, arguments.end()});
        names.push_back(command->verb->name());
    }
    throw unknown_verb(typed, names);
}

}  // namespace

int run_program(std::vector<std::string> arguments) {
    install_interrupt_handler();
    try {
        return dispatch(std::move(arguments));
    } catch (const Error& error) {
        fmt::print(stderr, "rudder: error: {}\n", error.what());
        return error.exit_code();
    } catch (const std::bad_alloc&) {
        fmt::print(stderr, "rudder: error: out of memory\n  to do: work on a smaller graph\n");
    } catch (const std::exception& error) {
        fmt::print(stderr, "rudder: {}\n", error.what());
    }
    return static_cast<int>(ErrorKind::failed);
}

}  // namespace rudder::cli
