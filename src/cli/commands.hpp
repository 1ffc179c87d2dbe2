// The verbs with the parsers of their options, and the help that follows from both.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "common_options.hpp"
#include "verb.hpp"

namespace rudder::cli {

/// One verb with the parser of its options.
struct Command {
    std::unique_ptr<Verb> verb;
    std::unique_ptr<CLI::App> app;
    CommonOptions common;
};
using Commands = std::vector<std::unique_ptr<Command>>;

/// Every verb, in the order of the help.
[[nodiscard]] Commands make_commands();

/// What `rudder --help` prints.
[[nodiscard]] std::string overview(const Commands& commands);

/// The verbs that share their first word; none where that is a verb of its own, or not known.
[[nodiscard]] std::vector<const Command*> family(const Commands& commands, const std::string& word);
/// What `rudder WORD --help` prints of them.
[[nodiscard]] std::string family_overview(std::span<const Command* const> members,
                                          const std::string& word);

}  // namespace rudder::cli
