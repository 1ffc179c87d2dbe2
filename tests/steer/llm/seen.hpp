// Observations, facts and agents made by hand, for the tests of language models.
#pragma once

#include <memory>
#include <string>

#include "rudder/steer/agent_spec.hpp"

namespace rudder::test {

[[nodiscard]] inline steer::Setting scored_setting() {
    steer::Setting setting;
    setting.policy = buffer::PolicySpec::parse("scored");
    setting.capacity = 1000;
    return setting;
}

[[nodiscard]] inline steer::KnobLimits some_limits() {
    steer::KnobLimits limits;
    limits.slots = 1200;
    limits.window = 64;
    return limits;
}

[[nodiscard]] inline steer::AgentFacts some_facts() {
    steer::AgentFacts facts;
    facts.seed = 7;
    facts.start = scored_setting();
    facts.built_in = buffer::PolicySpec::parse("scored,every:16");
    facts.limits = some_limits();
    facts.steps = 2000;
    facts.steps_per_epoch = 100;
    return facts;
}

/// 16 steps of a buffer that is told when to replace.
[[nodiscard]] inline steer::Observation seen(std::uint64_t step) {
    steer::Observation o;
    o.sequence = step / 16;
    o.step = step;
    o.steps = 2000;
    o.steps_per_epoch = 100;
    o.rows = {.steps = 16, .needed = 3200, .hit = 2400, .demand = 800, .replacement = 160};
    o.total = {.steps = step,
               .needed = 200 * step,
               .hit = 140 * step,
               .demand = 60 * step,
               .replacement = 10 * step};
    o.row_bytes = 400;
    o.setting = scored_setting();
    o.limits = some_limits();
    o.halo = 4000;
    o.takes_decisions = true;
    o.candidates = 321;
    o.twin = {.name = "twin", .setting = o.setting, .age = step, .rows = o.rows, .total = o.total};
    o.built_in = o.twin;
    o.built_in.setting.policy = buffer::PolicySpec::parse("scored,every:16");
    return o;
}

[[nodiscard]] inline steer::PastDecision past(std::uint64_t step) {
    steer::PastDecision p;
    p.step = step;
    p.action = steer::Action::replace(steer::Reason::low_hit_rate, 0.5);
    p.status = "applied";
    p.hit_rate_before = 0.7;
    p.hit_rate_after = 0.75;
    p.rows_before = 70;
    p.rows_after = 60;
    p.correct = true;
    return p;
}

[[nodiscard]] inline std::unique_ptr<steer::Agent> llm_agent(const std::string& url,
                                                             const std::string& more = {}) {
    return steer::make_agent(steer::AgentSpec::parse("llm,url:" + url + more), some_facts());
}

/// The problem of what decide throws; empty if it answers.
[[nodiscard]] std::string problem_of(steer::Agent& agent, const steer::Observation& observation);

}  // namespace rudder::test
