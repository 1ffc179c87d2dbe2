// What the Python side of the steering model is held against.
//
//   prompt_samples                    prints prompts of the program as JSON lines
//   prompt_samples --checksum FILE    prints the checksum of a file's bytes
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/json.hpp"
#include "rudder/core/checksum.hpp"
#include "rudder/core/file.hpp"
#include "steer/llm/prompt.hpp"
#include "steer/llm/seen.hpp"

namespace {

using namespace rudder;
using namespace rudder::test;

void print(const steer::AgentFacts& facts, const steer::Observation& seen_now) {
    const Json line{{"system", steer::system_message(facts)},
                    {"user", steer::user_message(seen_now, 16, {}, {100000}).text}};
    fmt::print("{}\n", line.dump());
}

steer::PastDecision decided(std::uint64_t step, steer::Action action, const char* status) {
    steer::PastDecision decision = past(step);
    decision.action = std::move(action);
    decision.status = status;
    return decision;
}

/// Every kind of line, knobs that differ from what they are by themselves, seconds as the cost.
void print_long() {
    steer::AgentFacts facts = some_facts();
    facts.cost = steer::CostKind::seconds;
    facts.llm.about = "graph: 1000 vertices";
    facts.start.bulk = 4096;
    facts.start.sample_threads = 3;
    facts.limits.sample_threads = 16;
    facts.limits.fetch_threads = 8;

    steer::Observation o = seen(1600);
    o.cost = facts.cost;
    o.seconds = {.steps = 16, .step = 0.5, .fetch = 0.25, .stall = 0.125, .compute = 0.3};
    o.setting = facts.start;
    o.setting.policy = buffer::PolicySpec::parse("window:32");
    o.twin.setting = o.setting;
    o.built_in.setting = o.setting;
    o.built_in.setting.policy = facts.built_in;
    o.takes_decisions = false;
    using steer::Action;
    using steer::Reason;
    const auto set = [](steer::KnobId id, steer::KnobValue value) {
        return Action::set({{id, std::move(value)}}, Reason::none);
    };
    o.history.push_back(decided(16, Action::keep(), "applied"));
    o.history.push_back(decided(32, Action::replace(Reason::none, 0.25), "late"));
    o.history.push_back(decided(48, set(steer::KnobId::policy, std::string("lru")), "undone"));
    o.history.back().correct = false;
    o.history.push_back(decided(64, set(steer::KnobId::capacity, 1200.0), "refused"));
    o.history.back().correct.reset();
    o.history.push_back(decided(80, set(steer::KnobId::decay, 0.999), "applied"));
    o.history.back().rows_before = 1234.56;
    print(facts, o);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == "--checksum") {
        const std::string content = read_text(argv[2], std::uint64_t{1} << 30U);
        fmt::print("{}\n", to_hex(array_checksum(std::as_bytes(std::span(content)))));
        return 0;
    }
    if (argc != 1) {
        fmt::print(stderr, "usage: prompt_samples [--checksum FILE]\n");
        return 2;
    }
    print(some_facts(), seen(160));
    print_long();
    return 0;
}
