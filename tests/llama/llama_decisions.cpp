// A training run that a language model behind a real server has steered: what must hold of it.
//
//   llama_decisions --prompt           prints a prompt, for the vocabulary of a model
//   llama_decisions RUN PLAIN COUNT    RUN has at least COUNT decisions, all answered and by the
//                                      schema; PLAIN, the same run unsteered, has the same losses,
//                                      and hardly fewer rows
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/error.hpp"
#include "rudder/core/file.hpp"
#include "rudder/core/text.hpp"
#include "steer/llm/prompt.hpp"
#include "steer/llm/reply.hpp"
#include "steer/llm/seen.hpp"
#include "steer/log/decision_log.hpp"

namespace {

using namespace rudder;
using namespace rudder::test;

constexpr double guard = 0.01;  // the default of --guard

/// What was found wrong.
struct Findings {
    std::vector<std::string> problems;
    void expect(bool holds, std::string otherwise) {
        if (!holds) problems.push_back(std::move(otherwise));
    }
};

Json summary_of(const std::filesystem::path& run) {
    return parse_json(read_text(run / "summary.json", 1U << 24U), run.string());
}

double fetched(const Json& summary) {
    const Json& rows = summary.at("rows");
    return rows.at("demand").get<double>() + rows.at("replacement").get<double>() +
           rows.at("ahead").get<double>();
}

/// By the schema that went to the server with the question.
void check_schema(const steer::DecisionRecord& record, const buffer::PolicySpec& built_in,
                  Findings& found) {
    Json action = steer::to_json(record.action);
    // What is noted of a reply that gave no reason.
    if (action.value("reason", "") == "model_choice") action.erase("reason");
    const Json schema = steer::reply_schema(record.observation, built_in);
    const std::string problem = steer::schema_problem(action, schema);
    found.expect(record.observation.sequence > 0, "a decision without its observation");
    found.expect(problem.empty(), fmt::format("step {}: {}", record.step, problem));
}

void check_log(const std::vector<steer::DecisionRecord>& log, const Json& summary,
               std::uint64_t count, Findings& found) {
    const Json& agent = summary.at("agent");
    const auto built_in =
        buffer::built_in_rule(buffer::PolicySpec::parse(summary.at("policy").get<std::string>()));
    found.expect(log.size() >= count, fmt::format("{} decisions, not {}", log.size(), count));
    found.expect(agent.at("decisions") == log.size(), "the summary counts other decisions");
    found.expect(agent.at("late") == 0, fmt::format("late: {}", agent.at("late").dump()));
    found.expect(agent.at("invalid") == 0, fmt::format("invalid: {}", agent.at("invalid").dump()));
    for (const steer::DecisionRecord& record : log) {
        const bool answered = record.status != steer::DecisionStatus::late &&
                              record.status != steer::DecisionStatus::invalid;
        found.expect(answered, fmt::format("step {}: {}: {}", record.step, to_string(record.status),
                                           record.problem));
        if (answered) check_schema(record, built_in, found);
    }
}

/// What it cost: no bit of the losses, and no more rows than the account allows.
void check_cost(const Json& run, const Json& plain, Findings& found) {
    found.expect(run.at("loss") == plain.at("loss"), "other losses than unsteered");
    const double filling = run.at("buffer_rows").get<double>();
    const double most = (1 + guard) * fetched(plain) + filling;
    found.expect(fetched(run) <= most, fmt::format("{} rows, over {}", fetched(run), most));
    const double excess = run.at("agent").at("excess").get<double>();
    const double most_excess = guard + filling / fetched(plain);
    found.expect(excess <= most_excess, fmt::format("excess {}, over {}", excess, most_excess));
}

void print_run(const std::vector<steer::DecisionRecord>& log, const Json& run, const Json& plain) {
    std::map<std::string, std::uint64_t> kinds;
    for (const steer::DecisionRecord& record : log)
        ++kinds[fmt::format("{}, {}", to_string(record.action.kind), to_string(record.status))];
    fmt::print("{} decisions, {} rows ({} unsteered), breakers opened {} times\n", log.size(),
               fetched(run), fetched(plain), run.at("agent").at("breaker_openings").dump());
    for (const auto& [kind, times] : kinds)
        fmt::print("  {}: {}\n", kind, times);
    for (const Json& learned : run.at("agent").at("learned"))
        fmt::print("{}\n", learned.get<std::string>());
}

int check_run(const std::filesystem::path& run, const std::filesystem::path& plain,
              std::uint64_t count) {
    const std::vector<steer::DecisionRecord> log = steer::read_decisions(run);
    const Json summary = summary_of(run);
    const Json unsteered = summary_of(plain);
    print_run(log, summary, unsteered);
    Findings found;
    check_log(log, summary, count, found);
    check_cost(summary, unsteered, found);
    for (const std::string& problem : found.problems)
        fmt::print("WRONG: {}\n", problem);
    return found.problems.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc == 2 && std::string(argv[1]) == "--prompt") {
            fmt::print("{}\n{}\n", steer::system_message(some_facts()),
                       steer::user_message(seen(160), 0, {}, {100000}).text);
            return 0;
        }
        const auto count = argc == 4 ? parse_u64(argv[3]) : std::nullopt;
        if (!count) {
            fmt::print(stderr, "usage: llama_decisions RUN PLAIN COUNT\n");
            return 2;
        }
        return check_run(argv[1], argv[2], *count);
    } catch (const Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return error.exit_code();
    }
}
