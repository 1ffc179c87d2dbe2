#include "commands.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "topics.hpp"

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

}  // namespace

Commands make_commands() {
    Commands commands;
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

std::string overview(const Commands& commands) {
    std::string text =
        "rudder: distributed training of graph neural networks with steered prefetching\n\n"
        "Usage: rudder VERB [OPTIONS]\n\nVerbs:\n";
    for (const auto& command : commands) {
        text += fmt::format("  {:<13} {}\n", command->verb->name(), command->verb->summary());
    }
    return text +
           fmt::format(
               "\nTopics of 'rudder help':\n  {}\n"
               "\n'rudder VERB --help' lists a verb's options; 'rudder --version' prints the "
               "version.\n\nExample:\n  rudder generate sbm graph --vertices 20000\n",
               fmt::join(topic_names(), ", "));
}

std::vector<const Command*> family(const Commands& commands, const std::string& word) {
    std::vector<const Command*> members;
    for (const auto& command : commands) {
        if (command->verb->name().starts_with(word + " ")) members.push_back(command.get());
    }
    return members;
}

std::string family_overview(std::span<const Command* const> members, const std::string& word) {
    std::string text = fmt::format("Usage: rudder {} VERB [OPTIONS]\n\nVerbs:\n", word);
    for (const Command* command : members)
        text += fmt::format("  {:<13} {}\n", command->verb->name(), command->verb->summary());
    return text + fmt::format("\nExample:\n  {}\n", members.front()->verb->example());
}

}  // namespace rudder::cli
