// rudder help [TOPIC]: what a topic means, or a verb does.
#include <fmt/format.h>

#include "cli/bind_options.hpp"
#include "cli/commands.hpp"
#include "cli/describe.hpp"
#include "cli/topics.hpp"
#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"

namespace rudder::cli {

namespace {

class HelpVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "help"; }
    [[nodiscard]] std::string_view summary() const override {
        return "Explain a topic, such as policies or exit-codes, or a verb";
    }
    [[nodiscard]] std::string_view example() const override { return "rudder help policies"; }
    void define(CLI::App& app) override {
        CLI::Option* topic = app.add_option("TOPIC", words_, topics_text());
        auto known = topic_names();
        for (const auto& verb : all_verbs())
            known.emplace_back(verb->name().substr(0, verb->name().find(' ')));
        known.erase(std::unique(known.begin(), known.end()), known.end());
        offer(*topic, std::vector<std::string_view>(known.begin(), known.end()));
    }
    int run(const Context& context) override {
        const std::string topic = fmt::format("{}", fmt::join(words_, " "));
        const std::string text = explain(topic);
        if (context.json) {
            print_json({{"topic", topic}, {"text", text}});
        } else {
            print_text(text);
        }
        return 0;
    }

private:
    static std::string topics_text() {
        const auto names = topic_names();
        const auto half = names.begin() + static_cast<std::ptrdiff_t>(names.size() / 2);
        return fmt::format("{},\n{}; or a verb", fmt::join(names.begin(), half, ", "),
                           fmt::join(half, names.end(), ", "));
    }

    static std::string explain(const std::string& topic) {
        const Commands commands = make_commands();
        if (topic.empty()) return overview(commands);
        for (const Topic& each : all_topics()) {
            if (each.name == topic)
                return fmt::format("{}: {}\n\n{}", each.name, each.summary, each.body);
        }
        for (const auto& command : commands) {
            if (command->verb->name() == topic) return command->app->help();
        }
        if (const auto members = family(commands, topic); !members.empty())
            return family_overview(members, topic);
        throw usage_error(fmt::format("unknown topic '{}'", topic), "",
                          fmt::format("use one of {}, or a verb of 'rudder --help'",
                                      fmt::join(topic_names(), ", ")));
    }

    std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Verb> make_help_verb() {
    return std::make_unique<HelpVerb>();
}

}  // namespace rudder::cli
