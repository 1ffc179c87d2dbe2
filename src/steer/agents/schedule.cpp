// schedule:FILE: actions that a file lists by step.
#include <array>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"

#include "agents.hpp"
#include "listed_agent.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<SpecParameter, 1> schedule_parameters{
    {{"file", ParameterKind::file, 0, 0, std::nullopt,
      "file of lines {\"step\": N, \"action\": ...}, in the order of steps"}}};

constexpr std::uint64_t most_schedule_bytes = std::uint64_t{64} << 20;

/// {"step": N, "action": {...}}, or an action's own keys beside the step.
ListedAction parse_line(const Json& line, const std::string& where) {
    const std::uint64_t step = json_u64(line, "step", where);
    const Json& said = json_field(line, "action", where);
    if (said.is_object() && line.size() == 2) {
        return {step, parse_action(said, where)};
    }
    Json action = line;
    action.erase("step");
    return {step, parse_action(action, where)};
}

std::vector<ListedAction> read_schedule(const std::string& file) {
    std::vector<ListedAction> list;
    const std::string text = read_text(file, most_schedule_bytes);
    std::size_t number = 0;
    for (const std::string_view line : split(text, '\n')) {
        const std::string where = fmt::format("{}, line {}", file, ++number);
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        ListedAction next = parse_line(parse_json(line, where), where);
        if (next.action.reason == Reason::none) next.action.reason = Reason::scheduled;
        if (!list.empty() && list.back().step >= next.step) {
            throw input_error(fmt::format("invalid schedule: step {} comes after step {}",
                                          next.step, list.back().step),
                              where, "list each step once, in ascending order");
        }
        list.push_back(std::move(next));
    }
    return list;
}

}  // namespace

const AgentInfo schedule_info{
    {"schedule", "Does what a file lists for each step.", schedule_parameters, SpecValue::required},
    "a file of actions",
    "nothing",
    /*decides=*/false,
    /*fixed=*/true};

std::unique_ptr<Agent> make_schedule(const AgentSpec& spec, const AgentFacts& /*facts*/) {
    return std::make_unique<ListedAgent>(read_schedule(spec.text("file")), Reason::scheduled);
}

}  // namespace rudder::steer
