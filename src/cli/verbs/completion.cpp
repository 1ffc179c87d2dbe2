// rudder completion SHELL: completion of verbs and options, made from the verbs themselves.
#include <set>

#include <fmt/format.h>

#include "rudder/cli/describe.hpp"
#include "rudder/cli/verb.hpp"
#include "rudder/core/error.hpp"

namespace rudder::cli {

namespace {

struct VerbWords {
    std::string name;
    std::string summary;
    std::vector<std::string> options;
};

std::vector<VerbWords> collect() {
    std::vector<VerbWords> words;
    for (const auto& verb : all_verbs()) {
        CLI::App app;
        verb->define(app);
        VerbWords entry{std::string(verb->name()), std::string(verb->summary()), {}};
        for (const CLI::Option* option : app.get_options()) {
            for (const std::string& name : option->get_lnames()) {
                entry.options.push_back("--" + name);
            }
        }
        for (const char* common : {"--json", "--quiet", "--config", "--threads"}) {
            entry.options.emplace_back(common);
        }
        words.push_back(std::move(entry));
    }
    return words;
}

std::string bash_script() {
    std::string verbs;
    std::string cases;
    for (const VerbWords& verb : collect()) {
        verbs += (verbs.empty() ? "" : " ") + verb.name;
        cases +=
            fmt::format("        {}) words=\"{}\" ;;\n", verb.name, fmt::join(verb.options, " "));
    }
    return fmt::format(
        R"(# bash completion for rudder; load it with: source <(rudder completion bash)
_rudder() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" words=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{}" -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{}    esac
    if [[ "$current" == -* ]]; then
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
    if [[ "$words[CURRENT]" != -* ]]; then
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
