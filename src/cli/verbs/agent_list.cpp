// rudder agent list
#include <fmt/format.h>

#include "cli/describe.hpp"
#include "cli/table.hpp"
#include "cli/verb.hpp"
#include "core/json.hpp"
#include "rudder/steer/agent_spec.hpp"

namespace rudder::cli {

namespace {

std::string agents_text() {
    KeyValues lines;
    for (const steer::AgentInfo* info : steer::all_agents()) {
        lines.emplace_back(std::string(info->name), std::string(info->sentence));
        lines.emplace_back("", fmt::format("needs {}; costs {}", info->needs, info->costs));
        add_parameters(lines, info->parameters);
    }
    return key_values(lines);
}

std::string knobs_text() {
    Table table({"knob", "values", "sets", "a change costs"});
    for (const steer::Knob& knob : steer::all_knobs()) {
        const std::string range =
            knob.kind == steer::KnobKind::text
                ? "a policy"
                : fmt::format("{}{} to {}", knob.above_minimum ? "above " : "", knob.minimum,
                              knob.maximum);
        table.add(
            {std::string(knob.name), range, std::string(knob.sentence), std::string(knob.cost)});
    }
    return table.text();
}

class AgentListVerb final : public Verb {
public:
    [[nodiscard]] std::string_view name() const override { return "agent list"; }
    [[nodiscard]] std::string_view summary() const override {
        return "List the agents that can steer, and the knobs they set";
    }
    [[nodiscard]] std::string_view example() const override { return "rudder agent list"; }
    void define(CLI::App& /*app*/) override {}
    int run(const Context& context) override {
        if (context.json) {
            print_json({{"agents", steer::agents_json()}, {"knobs", steer::knobs_json()}});
        } else {
            print_text(agents_text() + "\n" + knobs_text() +
                       "\nAn agent is written NAME[:VALUE]{,KEY:VALUE}: --agent every:4.\n");
        }
        return 0;
    }
};

}  // namespace

std::unique_ptr<Verb> make_agent_list_verb() {
    return std::make_unique<AgentListVerb>();
}

}  // namespace rudder::cli
