// rudder completion SHELL: completion of verbs, options and their words, made from the verbs
// themselves.
#include <array>
#include <utility>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/common_options.hpp"
#include "cli/describe.hpp"
#include "cli/verb.hpp"
#include "rudder/core/error.hpp"

namespace rudder::cli {

namespace {

/// What may be typed behind a word: an option, or the verb's last word.
struct Values {
    std::string behind;
    std::string words;
};

struct VerbWords {
    std::string name;  ///< one word, or two
    std::string summary;
    std::vector<std::string> options;
    std::vector<Values> values;

    [[nodiscard]] std::string first() const { return name.substr(0, name.find(' ')); }
    /// Its second word, or nothing.
    [[nodiscard]] std::string second() const {
        const std::size_t space = name.find(' ');
        return space == std::string::npos ? "" : name.substr(space + 1);
    }
    [[nodiscard]] std::string last() const { return name.substr(name.rfind(' ') + 1); }
    [[nodiscard]] std::string words() const { return fmt::format("{}", fmt::join(options, " ")); }
    /// A line for each word that has values; the format gets the word and the values.
    [[nodiscard]] std::string value_lines(
        fmt::format_string<const std::string&, const std::string&> line) const {
        std::string text;
        for (const auto& [behind, known] : values)
            text += fmt::format(line, behind, known);
        return text;
    }
};

std::vector<VerbWords> collect_verbs() {
    std::vector<VerbWords> words;
    for (const auto& verb : all_verbs()) {
        CLI::App app;
        verb->define(app);
        VerbWords entry{std::string(verb->name()), std::string(verb->summary()), {}, {}};
        bool first = true;
        for (CLI::Option* option : app.get_options()) {
            const auto known = offered(*option);
            const bool behind_verb = option->get_positional() && std::exchange(first, false);
            if (behind_verb && !known.empty())
                entry.values.push_back({entry.last(), fmt::format("{}", fmt::join(known, " "))});
            for (const std::string& word : option->get_lnames()) {
                entry.options.push_back("--" + word);
                if (!known.empty())
                    entry.values.push_back({"--" + word, fmt::format("{}", fmt::join(known, " "))});
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
        cases += fmt::format(
            "        {})\n            words=\"{}\"\n            case \"$previous\" in\n{}"
            "            esac ;;\n",
            pattern(verb), verb.words(),
            verb.value_lines("                {}) values=\"{}\" ;;\n"));
    }
    return fmt::format(
        R"(# bash completion for rudder; load it with: source <(rudder completion bash)
_rudder() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}"
    local words="" second="" values=""
    if [ "$current" = "=" ]; then
        current=""
    elif [ "$previous" = "=" ]; then
        previous="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
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
    elif [ -n "$values" ]; then
        COMPREPLY=($(compgen -W "$values" -- "$current"))
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
        if (!word.seconds.empty()) {
            groups +=
                fmt::format("        {}) compadd -- {}; return ;;\n", word.name, word.seconds);
        }
    }
    for (const VerbWords& verb : verbs) {
        cases += fmt::format(
            "        {})\n            options=({})\n            case \"$words[CURRENT-1]\" in\n{}"
            "            esac ;;\n",
            pattern(verb), verb.words(), verb.value_lines("                {}) values=({}) ;;\n"));
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
    local -a options values
    case "$words[2] $words[3]" in
{}    esac
    if [[ "$words[CURRENT]" == -* ]]; then
        compadd -- $options
    elif (( $#values )); then
        compadd -- $values
    else
        _files
    fi
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
        for (const auto& [behind, known] : verb.values) {
            text += behind.starts_with("--")
                        ? fmt::format("complete -c rudder -n '{}' -l {} -x -a '{}'\n", seen,
                                      behind.substr(2), known)
                        : fmt::format(
                              "complete -c rudder -n '{}; and __fish_prev_arg_in {}' -f "
                              "-a '{}'\n",
                              seen, behind, known);
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
        CLI::Option* shell = app.add_option("SHELL", shell_, "bash, zsh or fish")->required();
        offer(*shell, std::array<std::string_view, 3>{"bash", "zsh", "fish"});
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
