// replay:FILE: repeats a decision log.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "steer/log/decision_log.hpp"

#include "agents.hpp"
#include "listed_agent.hpp"

namespace rudder::steer {

namespace {

constexpr std::array<SpecParameter, 2> replay_parameters{
    {{"log", ParameterKind::file, 0, 0, std::nullopt, "decision log, or the folder of a run"},
     {"rank", ParameterKind::whole, 0, 1000000, std::nullopt,
      "rank whose decisions are repeated; not given: the same rank, else the lowest"}}};

void check_run(const DecisionRecord& record, const AgentFacts& facts, const std::string& file) {
    if (facts.force || record.run == facts.run) return;
    throw usage_error(
        fmt::format("the decision log is of another run ('{}', not '{}')", record.run, facts.run),
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
