// Decisions of a language model behind a real server; all replies must obey the schema.
//
//   llama_decisions --prompt            prints a prompt, for the vocabulary of a model
//   llama_decisions URL COUNT [KEYS]    asks COUNT times; KEYS are further parameters of the agent
#include <cstdio>
#include <map>
#include <string>

#include <fmt/format.h>

#include "rudder/core/error.hpp"
#include "rudder/core/text.hpp"
#include "steer/llm/prompt.hpp"
#include "steer/llm/seen.hpp"

namespace {

using namespace rudder;
using namespace rudder::test;

/// A run that does what it is told: knobs keep their values, and the past is remembered.
void act(steer::Observation& o, const steer::Action& action) {
    o.setting = steer::with_changes(o.setting, action.knobs, o.limits, "the model");
    o.twin.setting = o.setting;
    o.takes_decisions =
        o.setting.policy.info().takes_decisions && !buffer::has_own_signal(o.setting.policy);
    steer::PastDecision decided = past(o.step);
    decided.action = action;
    o.history.push_back(decided);
    if (o.history.size() > 20) o.history.erase(o.history.begin());
}

int decide(const std::string& url, std::uint64_t count, const std::string& keys) {
    const auto agent = llm_agent(url, ",temperature:1,tokens:1024,context:8192,deadline:60" + keys);
    std::map<std::string, std::uint64_t> actions;
    std::map<std::string, std::uint64_t> problems;
    steer::Observation o = seen(16);
    for (std::uint64_t i = 1; i <= count; ++i) {
        const steer::Observation fresh = seen(16 * i);
        o.step = fresh.step;
        o.total = fresh.total;
        o.rows.hit = 2000 + i;
        o.rows.demand = o.rows.needed - o.rows.hit;
        try {
            const steer::Answer answer = agent->decide(o);
            ++actions[std::string(to_string(answer.action.kind))];
            act(o, answer.action);
        } catch (const Error& error) {
            ++problems[error.problem()];
        }
    }
    fmt::print("{}\n", agent->learned());
    for (const auto& [kind, times] : actions)
        fmt::print("  {}: {}\n", kind, times);
    for (const auto& [problem, times] : problems)
        fmt::print("  no answer, {} times: {}\n", times, problem);
    return problems.empty() ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc == 2 && std::string(argv[1]) == "--prompt") {
            fmt::print("{}\n{}\n", steer::system_message(some_facts()),
                       steer::user_message(seen(160), 0, {}, {100000}).text);
            return 0;
        }
        const auto count = argc >= 3 ? parse_u64(argv[2]) : std::nullopt;
        if (!count) {
            fmt::print(stderr, "usage: llama_decisions URL COUNT [KEYS]\n");
            return 2;
        }
        return decide(argv[1], *count, argc > 3 ? argv[3] : "");
    } catch (const Error& error) {
        fmt::print(stderr, "{}\n", error.what());
        return error.exit_code();
    }
}
