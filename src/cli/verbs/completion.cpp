// rudder completion SHELL: completion of verbs and options, made from the verbs themselves.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "rudder/cli/common_options.hpp"
#include "rudder/cli/describe.hpp"
#include "rudder/cli/verb.hpp"
#include "rudder/core/error.hpp"

namespace rudder::cli {

namespace {

struct VerbWords {
    std::string name;  ///< its first word
    std::string rest;  ///< its second, if it has one
    std::string summary;
    std::vector<std::string> options;
};

std::vector<VerbWords> collect_verbs() {
    std::vector<VerbWords> words;
    for (const auto& verb : all_verbs()) {
        CLI::App app;
        verb->define(app);
        const std::string name(verb->name());
        const std::size_t space = std::min(name.find(' '), name.size());
        VerbWords entry{name.substr(0, space),
                        space == name.size() ? "" : name.substr(space + 1),
                        std::string(verb->summary()),
                        {}};
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& word : option->get_lnames()) {
                entry.options.push_back("--" + word);
            }
        }
        for (const char* common : {"--json", "--quiet", "--config", "--threads"}) {
            entry.options.emplace_back(common);
        }
        words.push_back(std::move(entry));
    }
    return words;
}

/// One entry per first word; verbs of two words become one, whose words are the second ones and the
/// options of all of them.
std::vector<VerbWords> collect() {
    std::vector<VerbWords> words;
    for (VerbWords& verb : collect_verbs()) {
        if (!verb.rest.empty()) {
            verb.summary = fmt::format("{} and others", verb.summary);
            if (!words.empty() && words.back().name == verb.name) {
                auto& options = words.back().options;
                words.back().rest += " " + verb.rest;
                for (const std::string& option : verb.options) {
                    if (std::ranges::find(options, option) == options.end())
                        options.push_back(option);
                }
                continue;
            }
        }
        words.push_back(std::move(verb));
    }
    return words;
}

std::string bash_script() {
    std::string verbs;
    std::string cases;
    for (const VerbWords& verb : collect()) {
        verbs += (verbs.empty() ? "" : " ") + verb.name;
        cases += fmt::format("        {}) words=\"{}\" second=\"{}\" ;;\n", verb.name,
                             fmt::join(verb.options, " "), verb.rest);
    }
    return fmt::format(
        R"(# bash completion for rudder; load it with: source <(rudder completion bash)
_rudder() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words="" second=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{}" -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{}    esac
    if [[ "$COMP_CWORD" -eq 2 && -n "$second" ]]; then
        COMPREPLY=($(compgen -W "$second" -- "$current"))
    elif [[ "$current" == -* ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    else
        COMPREPLY=($(compgen -f -- "$current"))
    fi
}}
complete -o filenames -F _rudder rudder
)",
        verbs, cases);
}

std::string zsh_script() {
    std::string verbs;
    std::string cases;
    for (const VerbWords& verb : collect()) {
        verbs += fmt::format("        '{}:{}'\n", verb.name, verb.summary);
        if (!verb.rest.empty()) {
            cases +=
                fmt::format("        {}) (( CURRENT == 3 )) && compadd -- {} || compadd -- {} ;;\n",
                            verb.name, verb.rest, fmt::join(verb.options, " "));
            continue;
        }
        cases +=
            fmt::format("        {}) compadd -- {} ;;\n", verb.name, fmt::join(verb.options, " "));
    }
    return fmt::format(R"(#compdef rudder
# zsh completion for rudder; put this file as _rudder into a folder of $fpath
_rudder() {{
    local -a verbs=(
{}    )
    if (( CURRENT == 2 )); then
        _describe 'verb' verbs
        return
    fi
    if [[ "$words[CURRENT]" != -* && ! ( $CURRENT == 3 && "$words[2]" == agent ) ]]; then
        _files
        return
    fi
    case "$words[2]" in
{}    esac
}}
compdef _rudder rudder
)",
                       verbs, cases);
}

std::string fish_script() {
    std::string text =
        "# fish completion for rudder; load it with: rudder completion fish | source\n";
    for (const VerbWords& verb : collect()) {
        text += fmt::format("complete -c rudder -n __fish_use_subcommand -f -a {} -d '{}'\n",
                            verb.name, verb.summary);
        if (!verb.rest.empty()) {
            text +=
                fmt::format("complete -c rudder -n '__fish_seen_subcommand_from {}' -f -a '{}'\n",
                            verb.name, verb.rest);
        }
        for (const std::string& option : verb.options) {
            text += fmt::format("complete -c rudder -n '__fish_seen_subcommand_from {}' -l {}\n",
                                verb.name, option.substr(2));
        }
    }
    return text;
}

class CompletionVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "completion"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Print the shell completion for bash, zsh or fish";
    }
    [[nodiscard]] std::string_view example() const override {
        return "source <(rudder completion bash)";
    }
    void define(CLI::App& app) override {
        app.add_option("SHELL", shell_, "bash, zsh or fish")->required();
    }
    int run(const Context& /*context*/) override {
        if (shell_ == "bash") {
            print_text(bash_script());
        } else if (shell_ == "zsh") {
            print_text(zsh_script());
        } else if (shell_ == "fish") {
            print_text(fish_script());
        } else if (shell_ == "markdown") {  // of no shell: docs/options.md
            print_text(options_page());
        } else {
            throw usage_error(fmt::format("unknown shell '{}'", shell_), "completion",
                              "use bash, zsh or fish");
        }
        return 0;
    }

private:
    std::string shell_;
};

}  // namespace

std::unique_ptr<Verb> make_completion_verb() {
    return std::make_unique<CompletionVerb>();
}

}  // namespace rudder::cli
