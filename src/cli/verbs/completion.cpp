// rudder completion SHELL: completion of verbs, options and their words, made from the verbs
// themselves; and the pages that are made from them, too.
#include <array>

#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/common_options.hpp"
#include "cli/completion_words.hpp"
#include "cli/describe.hpp"
#include "cli/man_pages.hpp"
#include "cli/verb.hpp"
#include "core/staging.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"

namespace rudder::cli {

namespace {

/// What a case matches of the first two words typed.
std::string pattern(const VerbWords& verb) {
    return verb.second().empty() ? fmt::format("\"{} \"*", verb.name)
                                 : fmt::format("\"{}\"", verb.name);
}

/// Text between single quotes; `quote` is how a shell writes one there.
std::string in_quotes(const std::string& text, std::string_view quote) {
    std::string safe = "'";
    for (const char c : text) {
        if (c == '\'') {
            safe += quote;
        } else {
            safe += c;
        }
    }
    return safe + "'";
}

/// How a shell's script writes what stands behind a word.
struct CaseSyntax {
    fmt::format_string<const std::string&> values;  ///< sets the words
    const char* of_runs;                            ///< asks for those of runs, too
    const char* files;                              ///< what completes files
    const char* folders;
    const char* none;
};

/// The lines of a case on the word before, for bash and zsh.
std::string case_lines(const VerbWords& verb, const CaseSyntax& syntax) {
    std::string text;
    for (const Values& values : verb.values) {
        text += fmt::format("                {}) {}{} ;;\n", values.behind,
                            fmt::format(syntax.values, values.words),
                            values.of_runs ? syntax.of_runs : "");
    }
    const std::array<std::pair<Paths, const char*>, 3> kinds{{{Paths::files, syntax.files},
                                                              {Paths::folders, syntax.folders},
                                                              {Paths::none, syntax.none}}};
    for (const auto& [kind, set] : kinds) {
        const auto options = verb.options_with(kind);
        if (!options.empty())
            text += fmt::format("                {}) {} ;;\n", fmt::join(options, "|"), set);
    }
    return text;
}

constexpr CaseSyntax bash_syntax{"values=\"{}\"", "; of_runs=1", "paths=-f", "paths=-d", "paths="};

/// Takes the first words, the second words by first, and the cases of verbs.
constexpr std::string_view bash_form =
    R"sh(# bash completion for rudder; load it with: source <(rudder completion bash)
_rudder() {{
    local at=$COMP_CWORD head="" current="${{COMP_WORDS[COMP_CWORD]}}" previous
    local words="" second="" values="" of_runs="" paths=-f
    # Words are cut at ':' and '='; what belongs together is put together again.
    if [ "$current" = ":" ]; then
        head=":"
        current=""
    fi
    while [[ $at -gt 2 && ( "${{COMP_WORDS[at]}}" == ":" || "${{COMP_WORDS[at-1]}}" == ":" ) ]]; do
        at=$((at - 1))
        head="${{COMP_WORDS[at]}}$head"
    done
    previous="${{COMP_WORDS[at-1]}}"
    if [ "$current" = "=" ]; then
        current=""
    elif [ "$previous" = "=" ]; then
        previous="${{COMP_WORDS[at-2]}}"
    fi
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{}" -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{}    esac
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{}    esac
    if [ -n "$of_runs" ]; then
        values="$values $(rudder completion policies "${{COMP_WORDS[@]/#-*/}}" 2>/dev/null)"
    fi
    COMPREPLY=()
    if [[ "$COMP_CWORD" -eq 2 && -n "$second" ]]; then
        COMPREPLY=($(compgen -W "$second" -- "$current"))
    elif [[ "$current" == -* && -z "$head" ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
    elif [ -n "$values" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$values" -- "$head$current" | awk '!seen[$0]++')
    elif [ -n "$paths" ]; then
        mapfile -t COMPREPLY < <(compgen "$paths" -- "$head$current")
    fi
    COMPREPLY=("${{COMPREPLY[@]#"$head"}}")
}}
complete -o filenames -F _rudder rudder
)sh";

std::string bash_script() {
    const auto verbs = collect_verb_words();
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
            "        {})\n            words=\"{}\"; {}\n            case \"$previous\" in\n{}"
            "            esac ;;\n",
            pattern(verb), fmt::join(verb.options, " "),
            verb.arguments == Paths::folders ? bash_syntax.folders : bash_syntax.files,
            case_lines(verb, bash_syntax));
    }
    return fmt::format(bash_form, firsts, seconds, cases);
}

constexpr CaseSyntax zsh_syntax{"values=({})", "; of_runs=1", "paths=files", "paths=folders",
                                "paths=none"};

constexpr std::string_view zsh_form = R"sh(#compdef rudder
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
    local of_runs= paths=files current="$words[CURRENT]" previous="$words[CURRENT-1]"
    # Behind --option= the value alone is completed.
    if [[ "$current" == --*=* ]]; then
        previous="${{current%%=*}}"
        current="${{current#*=}}"
        compset -P "$previous="
    fi
    case "$words[2] $words[3]" in
{}    esac
    if [[ -n "$of_runs" ]]; then
        values+=(${{(f)"$(rudder completion policies ${{words[3,-1]:#-*}} 2>/dev/null)"}})
    fi
    if [[ "$current" == -* ]]; then
        compadd -- $options
    elif (( $#values )); then
        compadd -- $values
    elif [[ "$paths" == folders ]]; then
        _files -/
    elif [[ "$paths" == files ]]; then
        _files
    fi
}}
# Loaded from $fpath this file is the function, and is called to complete; sourced, it is not.
if [[ "$funcstack[1]" == _rudder ]]; then
    _rudder "$@"
else
    compdef _rudder rudder
fi
)sh";

std::string zsh_script() {
    const auto verbs = collect_verb_words();
    std::string firsts;
    std::string cases;
    std::string groups;
    for (const FirstWord& word : first_words(verbs)) {
        firsts += "        " + in_quotes(word.name + ":" + word.summary, "'\\''") + "\n";
        if (!word.seconds.empty()) {
            groups +=
                fmt::format("        {}) compadd -- {}; return ;;\n", word.name, word.seconds);
        }
    }
    for (const VerbWords& verb : verbs) {
        cases += fmt::format(
            "        {})\n            options=({}); {}\n            case \"$previous\" in\n"
            "{}            esac ;;\n",
            pattern(verb), fmt::join(verb.options, " "),
            verb.arguments == Paths::folders ? zsh_syntax.folders : zsh_syntax.files,
            case_lines(verb, zsh_syntax));
    }
    return fmt::format(zsh_form, firsts, groups, cases);
}

/// The lines of an option whose values are not words, or of a flag.
std::string fish_option(const VerbWords& verb, const std::string& seen, const std::string& option) {
    const char* value = "";
    for (const ValueOption& each : verb.unworded) {
        if (each.name != option) continue;
        value = each.paths == Paths::files     ? " -r -F"
                : each.paths == Paths::folders ? " -x -a '(__fish_complete_directories)'"
                                               : " -x";
    }
    return fmt::format("complete -c rudder -n '{}' -l {}{}\n", seen, option.substr(2), value);
}

std::string fish_values(const Values& values, const std::string& seen) {
    if (!values.behind.starts_with("--")) {
        return fmt::format("complete -c rudder -n '{}; and __fish_prev_arg_in {}' -f -a '{}'\n",
                           seen, values.behind, values.words);
    }
    std::string text = fmt::format("complete -c rudder -n '{}' -l {} -x -a '{}'\n", seen,
                                   values.behind.substr(2), values.words);
    if (values.of_runs) {
        text += fmt::format(
            "complete -c rudder -n '{}' -l {} -x "
            "-a '(rudder completion policies (commandline -opc | string match -v -- \"-*\") "
            "2>/dev/null)'\n",
            seen, values.behind.substr(2));
    }
    return text;
}

std::string fish_script() {
    const auto verbs = collect_verb_words();
    std::string text =
        "# fish completion for rudder; load it with: rudder completion fish | source\n";
    for (const FirstWord& word : first_words(verbs)) {
        text += fmt::format("complete -c rudder -n __fish_use_subcommand -f -a {} -d {}\n",
                            word.name, in_quotes(word.summary, "\\'"));
        if (word.seconds.empty()) continue;
        text += fmt::format("complete -c rudder -n '__fish_seen_subcommand_from {}' -f -a '{}'\n",
                            word.name, word.seconds);
    }
    for (const VerbWords& verb : verbs) {
        std::string seen = "__fish_seen_subcommand_from " + verb.first();
        if (!verb.second().empty()) seen += "; and __fish_seen_subcommand_from " + verb.second();
        if (verb.arguments == Paths::folders) {
            text += fmt::format(
                "complete -c rudder -n '{}' -f -a '(__fish_complete_directories)'\n", seen);
        }
        for (const std::string& option : verb.options)
            text += fish_option(verb, seen, option);
        for (const Values& values : verb.values)
            text += fish_values(values, seen);
    }
    return text;
}

std::vector<MadeFile> made_policies(const std::vector<std::string>& folders) {
    std::string text;
    for (const std::string& policy : policies_of_runs(folders))
        text += policy + "\n";
    return {{"policies.txt", text}};
}

class CompletionVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "completion"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Print the shell completion for bash, zsh or fish, or the manual pages";
    }
    [[nodiscard]] std::string_view example() const override {
        return "source <(rudder completion bash)";
    }
    void define(CLI::App& app) override {
        CLI::Option* shell =
            app.add_option("SHELL", shell_,
                           "Shell (bash, zsh, fish), man (manual pages) or policies (of runs)")
                ->required();
        offer(*shell, std::array<std::string_view, 5>{"bash", "zsh", "fish", "man", "policies"});
        offer_folders(*app.add_option("RUN", runs_, "Folders of runs, for policies"));
        CLI::Option* out = app.add_option(
            "--out", out_, "Folder to create for the files instead (man: a page per verb)");
        offer_folders(*out->type_name("FOLDER"));
        app.add_flag("--force", force_, "Replace an existing output");
    }
    int run(const Context& /*context*/) override {
        const auto files = made();
        if (out_.empty()) {
            print_text(files.front().text);
            return 0;
        }
        auto folder = Staging::folder(out_, force_ ? Existing::replace : Existing::refuse);
        for (const MadeFile& file : files)
            write_text(folder.path() / file.name, file.text);
        folder.commit();
        return 0;
    }

private:
    [[nodiscard]] std::vector<MadeFile> made() const {
        if (shell_ == "bash") return {{"rudder", bash_script()}};
        if (shell_ == "zsh") return {{"_rudder", zsh_script()}};
        if (shell_ == "fish") return {{"rudder.fish", fish_script()}};
        if (shell_ == "man") return man_pages();
        if (shell_ == "policies") return made_policies(runs_);  // what the scripts ask for
        if (shell_ == "markdown") return {{"options.md", options_page()}};  // docs/options.md
        throw usage_error(fmt::format("unknown shell '{}'", shell_), "completion",
                          "use bash, zsh or fish");
    }

    std::string shell_;
    std::vector<std::string> runs_;
    std::string out_;
    bool force_ = false;
};

}  // namespace

std::unique_ptr<Verb> make_completion_verb() {
    return std::make_unique<CompletionVerb>();
}

}  // namespace rudder::cli
