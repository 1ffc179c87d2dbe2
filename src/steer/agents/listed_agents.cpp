// Agents that do what a list has for each step: schedule:FILE, replay:FILE (a decision log).
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"
#include "steer/log/decision_log.hpp"

#include "agents.hpp"

namespace rudder::steer {

namespace {

struct ListedAction {
    std::uint64_t step;
    Action action;
};

/// Says at each step what a list has for it, and otherwise nothing. Several actions of one step
/// come one after the other, in as many steps.
class ListedAgent final : public Agent {
public:
    /// `list` is in the order of steps.
    ListedAgent(std::vector<ListedAction> list, Reason otherwise)
        : list_(std::move(list)), otherwise_(otherwise) {}

    /// An action whose step has passed without being asked is due still: nothing is left out
    /// because a question came late.
    [[nodiscard]] Answer decide(const Observation& observation) override {
        if (next_ == list_.size() || list_[next_].step > observation.step) {
            return {.action = Action::keep(otherwise_)};
        }
        return {.action = list_[next_++].action};
    }

private:
    std::vector<ListedAction> list_;
    Reason otherwise_;
    std::size_t next_ = 0;
};

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

namespace {

constexpr std::array<SpecParameter, 2> replay_parameters{
    {{"log", ParameterKind::file, 0, 0, std::nullopt, "decision log, or the folder of a run"},
     {"rank", ParameterKind::whole, 0, 1000000, std::nullopt,
      "rank whose decisions are repeated; not given: the same rank, else the lowest"}}};

void check_run(const DecisionRecord& record, const AgentFacts& facts, const std::string& file) {
    if (facts.force || record.run == facts.run) return;
    throw usage_error(
        fmt::format("the decision log is from another run ('{}', not '{}')", record.run, facts.run),
        file, "give a log of the same data and seed, or --force");
}

/// What took effect, with why it does so now.
std::vector<ListedAction> read_log(const AgentSpec& spec, const AgentFacts& facts) {
    const std::string file = spec.text("log");
    const std::vector<DecisionRecord> records = read_decisions(file);
    std::uint64_t lowest = ~std::uint64_t{0};
    bool own = false;
    for (const DecisionRecord& record : records) {
        check_run(record, facts, file);
        lowest = std::min<std::uint64_t>(lowest, record.rank);
        own = own || record.rank == facts.rank;
    }
    const std::uint64_t rank = spec.given("rank") ? spec.whole("rank") : own ? facts.rank : lowest;
    std::vector<ListedAction> list;
    for (const DecisionRecord& record : records) {
        const bool took_effect =
            record.status == DecisionStatus::applied || record.status == DecisionStatus::undone;
        if (!took_effect || record.rank != rank) continue;
        if (record.action.kind == ActionKind::keep) continue;
        list.push_back({record.effective_step, record.action});
        list.back().action.reason = Reason::replayed;
    }
    std::ranges::stable_sort(list, {}, &ListedAction::step);
    return list;
}

}  // namespace

const AgentInfo replay_info{{"replay", "Repeats a recorded decision log, step for step.",
                             replay_parameters, SpecValue::required},
                            "a decision log of the same run",
                            "nothing",
                            /*decides=*/false,
                            /*fixed=*/true};

std::unique_ptr<Agent> make_replay(const AgentSpec& spec, const AgentFacts& facts) {
    return std::make_unique<ListedAgent>(read_log(spec, facts), Reason::replayed);
}

}  // namespace rudder::steer
