#include "rudder/cli/program.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <optional>

#include <fmt/format.h>
#include <unistd.h>

#include "comm/rank_status.hpp"
#include "core/interrupt.hpp"
#include "core/json.hpp"
#include "core/log.hpp"
#include "core/mapped_files.hpp"
#include "core/standard_streams.hpp"
#include "rudder/core/check.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/parallel.hpp"
#include "rudder/core/text.hpp"
#include "rudder/core/version.hpp"

#include "bind_options.hpp"
#include "commands.hpp"
#include "config.hpp"
#include "describe.hpp"
#include "in_process.hpp"
#include "progress_bar.hpp"

namespace rudder::cli {

namespace {

/// The value of an option that is needed before the others are parsed.
std::string early_value(const std::vector<std::string>& arguments, const std::string& option) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i].starts_with(option + "=")) return arguments[i].substr(option.size() + 1);
        if (arguments[i] == option && i + 1 < arguments.size()) return arguments[i + 1];
    }
    return {};
}

/// "Learning rate" as somebody would guess the option: "learning-rate".
std::string guessed_name(const std::string& description) {
    std::string name = description.substr(0, description.find_first_of(":(,;\n"));
    for (char& c : name)
        c = c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name;
}

/// The option that was meant by an unknown one: the nearest name, or else the one whose
/// description begins that way.
std::optional<std::string> meant_option(const CLI::App& app, const std::string& typed) {
    std::vector<std::string> names;
    std::vector<std::string> guesses;
    for (const CLI::Option* option : app.get_options()) {
        if (option->get_lnames().empty()) continue;
        names.push_back(option->get_lnames().front());
        guesses.push_back(guessed_name(option->get_description()));
    }
    for (const auto* candidates : {&names, &guesses}) {
        const std::vector<std::string_view> views(candidates->begin(), candidates->end());
        if (const auto close = nearest(typed, views)) {
            const auto at = std::ranges::find(views, *close) - views.begin();
            return names[static_cast<std::size_t>(at)];
        }
    }
    return std::nullopt;
}

/// Turns the parser's complaint into ours: the nearest option, and where to read on.
Error parse_error(const CLI::App& app, const CLI::ParseError& error,
                  const std::vector<std::string>& arguments) {
    const std::string help = fmt::format("see '{} --help'", app.get_name());
    for (const std::string& word : arguments) {
        const std::size_t dashes = word.find_first_not_of('-');
        if (dashes == 0 || dashes == std::string::npos || dashes > 2) continue;
        if (dashes == 1 && std::isalpha(static_cast<unsigned char>(word[1])) == 0) continue;
        const std::string typed = word.substr(0, word.find('='));
        if (app.get_option_no_throw(typed) != nullptr) continue;
        const auto meant = meant_option(app, typed.substr(dashes));
        return usage_error(fmt::format("unknown option '{}'", typed), app.get_name(),
                           meant ? fmt::format("did you mean '--{}'? {}", *meant, help) : help);
    }
    return usage_error(error.what(), app.get_name(), help);
}

/// The arguments without an option and its value.
std::vector<std::string> without(const std::vector<std::string>& arguments,
                                 const std::string& option) {
    std::vector<std::string> kept;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i] == option) {
            ++i;
        } else if (!arguments[i].starts_with(option + "=")) {
            kept.push_back(arguments[i]);
        }
    }
    return kept;
}

/// Reads the arguments, with those of a configuration and a preset; false: help was asked for. A
/// configuration that can be read only once, such as a pipe, is taken into `typed`.
bool parse(Command& command, std::vector<std::string>& typed) {
    CLI::App& app = *command.app;
    std::vector<std::string> arguments = typed;
    if (const std::string file = early_value(arguments, "--config"); !file.empty()) {
        merge_config(app, file, arguments);
        std::error_code code;
        if (!std::filesystem::is_regular_file(file, code)) typed = without(arguments, "--config");
    }
    const bool presets = app.get_option_no_throw("--preset") != nullptr;
    if (const std::string name = early_value(arguments, "--preset"); presets && !name.empty())
        merge_preset(app, name, arguments);
    if (std::ranges::find(arguments, "--print-config") != arguments.end()) {
        for (CLI::Option* option : app.get_options())
            option->required(false);
    }
    try {
        app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
    } catch (const CLI::CallForHelp&) {
        std::fputs(app.help().c_str(), stdout);
        return false;
    } catch (const CLI::CallForAllHelp&) {
        std::fputs(app.help("", CLI::AppFormatMode::All).c_str(), stdout);
        return false;
    } catch (const CLI::ParseError& error) {
        throw parse_error(app, error, arguments);
    }
    command.verb->settle();
    return true;
}

Context make_context(const Command& command, Progress* progress) {
    Context context;
    context.json = command.common.json;
    context.quiet = command.common.quiet;
    context.threads = command.common.threads;
    context.progress = progress;
    const Json made_by = {{"verb", command.verb->name()},
                          {"options", resolved_options(*command.app)}};
    context.provenance.made_by = made_by.dump();
    context.provenance.config = to_toml(*command.app);
    return context;
}

void print_config(const Command& command) {
    if (command.common.json) {
        print_json({{"verb", command.verb->name()},
                    {"options", typed_options(*command.app, ConfigScope::whole)}});
    } else {
        print_text(to_toml(*command.app, ConfigScope::whole));
    }
}

/// The command line of a verb with these arguments.
void add_words(const Command& command, const std::vector<std::string>& arguments,
               Context& context) {
    for (const std::string_view word : split(command.verb->name(), ' '))
        context.arguments.emplace_back(word);
    context.arguments.insert(context.arguments.end(), arguments.begin(), arguments.end());
}

int run_command(Command& command, std::vector<std::string> arguments) {
    try {
        if (!parse(command, arguments)) return 0;
        if (given(*command.app, "--print-config")) {
            print_config(command);
            return 0;
        }
        if (command.common.quiet) log::set_level(log::Level::error);
        set_thread_count(command.common.threads);
        const auto progress = make_progress(command.common.quiet);
        Context context = make_context(command, progress.get());
        add_words(command, arguments, context);
        return command.verb->run(context);
    } catch (const Error& error) {
        // Libraries call options by their names; the command line adds the dashes.
        if (command.app->get_option_no_throw("--" + error.where()) == nullptr) throw;
        throw Error(error.kind(), error.problem(), "--" + error.where(), error.remedy());
    }
}

Error unknown_verb(const std::string& typed, const std::vector<std::string_view>& names) {
    const auto close = nearest(typed, names);
    return usage_error(fmt::format("unknown verb '{}'", typed), "",
                       close ? fmt::format("did you mean '{}'? See 'rudder --help'", *close)
                             : "see 'rudder --help'");
}

int dispatch(std::vector<std::string> arguments) {
    const auto commands = make_commands();
    const auto asks_help = [](const std::string& word) { return word == "--help" || word == "-h"; };
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
        if (arguments.size() == 1 || asks_help(arguments[1]) || arguments[1] == "help") {
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
    // Of verbs of two words the first may be misspelt, and what follows is then another argument.
    if (words == 1 && arguments.size() > 1 && !nearest(typed, names)) typed += " " + arguments[1];
    throw unknown_verb(typed, names);
}

/// Where nobody reads it, it is not said.
void complain(std::string_view message) {
    try {
        log::last_error(message);
    } catch (const std::bad_alloc&) {
        std::fputs("rudder: error: out of memory\n", stderr);
    }
}

/// Messages are wanted in their format from the first on.
void set_log_format(const std::vector<std::string>& arguments) {
    const auto found = std::ranges::find(log::format_names, early_value(arguments, "--log-format"));
    if (found != log::format_names.end())
        log::set_format(static_cast<log::Format>(found - log::format_names.begin()));
}

}  // namespace

namespace {

/// Libraries that run out of memory in functions that must not throw end here.
[[noreturn]] void end_in_library() noexcept {
    constexpr const char* problem = "out of memory";
    if (const std::exception_ptr thrown = std::current_exception()) {
        try {
            std::rethrow_exception(thrown);
        } catch (const std::bad_alloc&) {
            std::fputs("rudder: error: out of memory\n  to do: work on a smaller graph\n", stderr);
            comm::write_rank_status(static_cast<int>(ErrorKind::failed), problem);
            ::_exit(static_cast<int>(ErrorKind::failed));
        } catch (const std::exception& error) {
            std::fputs("rudder: internal error: ", stderr);
            std::fputs(error.what(), stderr);
        } catch (...) {
            std::fputs("rudder: internal error: unknown exception", stderr);
        }
    } else {
        std::fputs("rudder: error: a library ended the program, probably out of memory", stderr);
    }
    std::fputs("\n", stderr);
    std::abort();
}

}  // namespace

VerbOutcome run_in_process(const std::string& verb, std::vector<std::string> arguments,
                           const InProcess& how) {
    const auto commands = make_commands();
    const auto found = std::ranges::find_if(
        commands, [&](const auto& command) { return command->verb->name() == verb; });
    RUDDER_CHECK(found != commands.end());
    Command& command = **found;
    if (!parse(command, arguments))
        throw usage_error("a program cannot ask a verb for its help", verb, "see 'rudder --help'");
    if (command.common.threads != 0) set_thread_count(command.common.threads);
    Json result;
    Context context = make_context(command, &Progress::none());
    context.json = true;
    context.quiet = true;
    context.run_ranks = how.run_ranks;
    context.observer = how.observer;
    context.result = &result;
    add_words(command, arguments, context);
    VerbOutcome outcome;
    outcome.code = command.verb->run(context);
    outcome.answer = result.dump();
    return outcome;
}

int run_program(std::vector<std::string> arguments) {
    open_standard_streams();  // before anything else is opened
    std::set_terminate(end_in_library);
    install_interrupt_handler();
    ignore_write_signals();
    install_lost_file_handler();
    set_log_format(arguments);
    try {
        return dispatch(std::move(arguments));
    } catch (const Error& error) {
        complain(error.what());
        return error.exit_code();
    } catch (const std::bad_alloc&) {
        complain("out of memory\n  to do: work on a smaller graph");
    } catch (const std::exception& error) {
        complain(error.what());
    }
    return static_cast<int>(ErrorKind::failed);
}

}  // namespace rudder::cli
