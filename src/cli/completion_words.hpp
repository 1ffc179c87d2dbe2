// What shells complete: verbs, their options, and what may stand behind each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rudder::cli {

/// What may be typed behind a word (an option, or a verb's last word).
struct Values {
    std::string behind;
    std::string words;     ///< separated by spaces
    bool of_runs = false;  ///< and what runs used: `completion policies` prints it
};

/// What is completed where no words are known.
enum class Paths : std::uint8_t { none, files, folders };

struct ValueOption {
    std::string name;  ///< with its dashes
    Paths paths;
};

struct VerbWords {
    std::string name;  ///< one word, or two
    std::string summary;
    std::vector<std::string> options;   ///< with their dashes
    std::vector<Values> values;         ///< words behind options and the verb itself
    std::vector<ValueOption> unworded;  ///< options whose values are no words
    Paths arguments = Paths::files;     ///< what its arguments are

    [[nodiscard]] std::string first() const { return name.substr(0, name.find(' ')); }
    /// Its second word, or nothing.
    [[nodiscard]] std::string second() const {
        const std::size_t space = name.find(' ');
        return space == std::string::npos ? "" : name.substr(space + 1);
    }
    [[nodiscard]] std::string last() const { return name.substr(name.rfind(' ') + 1); }
    /// The options whose values are such paths, or nothing that a shell knows.
    [[nodiscard]] std::vector<std::string> options_with(Paths paths) const;
};

[[nodiscard]] std::vector<VerbWords> collect_verb_words();

/// A first word of verbs: what it means, and the second words it may have.
struct FirstWord {
    std::string name;
    std::string summary;
    std::string seconds;
};
[[nodiscard]] std::vector<FirstWord> first_words(const std::vector<VerbWords>& verbs);

/// The policies that runs used, each once: of these folders as far as they are runs, and of those
/// in the current folder. Nothing that a shell could take for more than a word.
[[nodiscard]] std::vector<std::string> policies_of_runs(const std::vector<std::string>& folders);

}  // namespace rudder::cli
