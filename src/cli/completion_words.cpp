#include "completion_words.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"

#include "bind_options.hpp"
#include "common_options.hpp"
#include "verb.hpp"

namespace rudder::cli {

namespace {

/// What a shell completes of an option that has no words of its own.
Paths paths_of(CLI::Option& option) {
    const std::string type = option.get_type_name();
    const std::string unit = type.substr(0, type.find(':'));
    if (offers_folders(option)) return Paths::folders;
    return unit == "TEXT" || unit == "FILE" ? Paths::files : Paths::none;
}

/// The words and options of a verb, one option after the other.
class WordsOfVerb {
public:
    explicit WordsOfVerb(const Verb& verb) {
        words_.name = std::string(verb.name());
        words_.summary = std::string(verb.summary());
    }
    void add(CLI::Option& option) {
        const auto known = offered(option);
        const std::string words = fmt::format("{}", fmt::join(known, " "));
        if (option.get_positional()) {
            if (!known.empty() && arguments_ == 0) words_.values.push_back({words_.last(), words});
            if (known.empty()) only_folders_ = only_folders_ && paths_of(option) == Paths::folders;
            arguments_ += 1;
            return;
        }
        for (const std::string& name : option.get_lnames()) {
            const std::string typed = "--" + name;
            words_.options.push_back(typed);
            if (!known.empty() || name == "policy") {
                words_.values.push_back({typed, words, name == "policy"});
            } else if (option.get_expected_max() > 0) {
                words_.unworded.push_back({typed, paths_of(option)});
            }
        }
    }
    [[nodiscard]] VerbWords done() && {
        if (arguments_ > 0 && only_folders_) words_.arguments = Paths::folders;
        return std::move(words_);
    }

private:
    VerbWords words_;
    int arguments_ = 0;
    bool only_folders_ = true;
};

/// A policy as it is written: letters, digits and what joins them. Shells expand other characters.
bool plain_policy(const std::string& text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) {
        return std::isalnum(c) != 0 ||
               std::string_view("-_.:,+").find(static_cast<char>(c)) != std::string_view::npos;
    });
}

void add_policy(const std::filesystem::path& folder, std::set<std::string>& policies) {
    std::error_code code;
    const auto file = folder / "run.json";
    if (!std::filesystem::is_regular_file(file, code)) return;
    try {
        const Json card = read_json(file);
        const Json& policy = card.at("policy");
        if (policy.is_string() && plain_policy(policy.get<std::string>()))
            policies.insert(policy.get<std::string>());
    } catch (const std::exception&) {  // who completes a word is told of no damaged file
    }
}

}  // namespace

std::vector<std::string> VerbWords::options_with(Paths paths) const {
    std::vector<std::string> names;
    for (const ValueOption& option : unworded)
        if (option.paths == paths) names.push_back(option.name);
    return names;
}

std::vector<VerbWords> collect_verb_words() {
    std::vector<VerbWords> all;
    for (const auto& verb : all_verbs()) {
        CLI::App app;
        verb->define(app);
        CommonOptions common;
        common.define(app);
        WordsOfVerb words(*verb);
        for (CLI::Option* option : app.get_options())
            words.add(*option);
        all.push_back(std::move(words).done());
    }
    return all;
}

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

std::vector<std::string> policies_of_runs(const std::vector<std::string>& folders) {
    std::set<std::string> policies;
    for (const std::string& folder : folders)
        if (!folder.empty()) add_policy(folder, policies);
    std::error_code code;
    constexpr int most_entries = 1000;
    int seen = 0;
    for (std::filesystem::directory_iterator at(".", code), end; !code && at != end;
         at.increment(code)) {
        if (++seen > most_entries) break;
        add_policy(at->path(), policies);
    }
    return {policies.begin(), policies.end()};
}

}  // namespace rudder::cli
