// rudder completion SHELL: completion of verbs and options, made from the verbs themselves.
#include <fmt/format.h>

#include "cli/common_options.hpp"
#include "cli/describe.hpp"
#include "cli/verb.hpp"
#include "rudder/core/error.hpp"

namespace rudder::cli {

namespace {

struct VerbWords {
    std::string name;  ///< one word, or two
    std::string summary;
    std::vector<std::string> options;

    [[nodiscard]] std::string first() const { return name.substr(0, name.find(' ')); }
    /// Its second word, or nothing.
    [[nodiscard]] std::string second() const {
        const std::size_t space = name.find(' ');
        return space == std::string::npos ? "" : name.substr(space + 1);
    }
    [[nodiscard]] std::string words() const { return fmt::format("{}", fmt::join(options, " ")); }
};

std::vector<VerbWords> collect_verbs() {
    std::vector<VerbWords> words;
    for (const auto& verb : all_verbs()) {
        CLI::App app;
        verb->define(app);
        VerbWords entry{std::string(verb->name()), std::string(verb->summary()), {}};
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

/// A first word of verbs: what it means, and the second words it may have.
struct FirstWord {
    std::string name;
    std::string summary;
    std::string seconds;
};

std::vector<FirstWord> first_words(const std::vector<VerbWords>& verbs) {
    std::vector<FirstWord> words;
    for (const VerbWords& verb : verbs) {
        if (!words.empty() && words.back().name == verb.first()) {
            words.back().seconds += " " + verb.second();
            continue;
        }
        const bool more = !verb.second().empty();
        words.push_back(
            {verb.first(), more ? verb.summary + " and others" : verb.summary, verb.second()});
    }
    return words;
}

/// What a case matches of the first two words typed.
std::string pattern(const VerbWords& verb) {
    return verb.second().empty() ? fmt::format("\"{} \"*", verb.name)
                                 : fmt::format("\"{}\"", verb.name);
}

std::string bash_script() {
    const auto verbs = collect_verbs();
    std::string firsts;
    std::string seconds;
    std::string cases;
    for (const FirstWord& word : first_words(verbs)) {
        firsts += (firsts.empty() ? "" : " ") + word.name;
        if (!word.seconds.empty())
            seconds += fmt::format("        {}) second=\"{}\" ;;\n", word.name, word.seconds);
    }
    for (const VerbWords& verb : verbs) {
        cases += fmt::format("        {}) words=\"{}\" ;;\n", pattern(verb), verb.words());
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
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
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
        firsts, seconds, cases);
}

std::string zsh_script() {
    const auto verbs = collect_verbs();
    std::string firsts;
    std::string cases;
    std::string groups;
    for (const FirstWord& word : first_words(verbs)) {
        firsts += fmt::format("        '{}:{}'\n", word.name, word.summary);
        if (!word.seconds.empty())
            groups +=
                fmt::format("        {}) compadd -- {}; return ;;\n", word.name, word.seconds);
    }
    for (const VerbWords& verb : verbs) {
        cases += fmt::format("        {}) compadd -- {} ;;\n", pattern(verb), verb.words());
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
    if (( CURRENT == 3 )); then
        case "$words[2]" in
{}        esac
    fi
    if [[ "$words[CURRENT]" != -* ]]; then
        _files
        return
    fi
    case "$words[2] $words[3]" in
{}    esac
}}
compdef _rudder rudder
)",
                       firsts, groups, cases);
}

std::string fish_script() {
    const auto verbs = collect_verbs();
    std::string text =
        "# fish completion for rudder; load it with: rudder completion fish | source\n";
    for (const FirstWord& word : first_words(verbs)) {
        text += fmt::format("complete -c rudder -n __fish_use_subcommand -f -a {} -d '{}'\n",
                            word.name, word.summary);
        if (word.seconds.empty()) continue;
        text += fmt::format("complete -c rudder -n '__fish_seen_subcommand_from {}' -f -a '{}'\n",
                            word.name, word.seconds);
    }
    for (const VerbWords& verb : verbs) {
        std::string seen = "__fish_seen_subcommand_from " + verb.first();
        if (!verb.second().empty()) seen += "; and __fish_seen_subcommand_from " + verb.second();
        for (const std::string& option : verb.options)
            text += fmt::format("complete -c rudder -n '{}' -l {}\n", seen, option.substr(2));
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
