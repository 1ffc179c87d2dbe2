// How an agent is written: name[:value]{,key:value}, members of a mixture joined by '+'. Members
// come last: keys behind the last of them are its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "rudder/core/spec.hpp"
#include "rudder/steer/agent.hpp"
#include "rudder/steer/llm/options.hpp"

namespace rudder::steer {

class AgentSpec;

/// An agent's description.
struct AgentInfo : SpecInfo {
    std::string_view needs;  ///< before it can run: nothing, a file, a trained model, a server
    std::string_view costs;  ///< of one decision
    bool decides = false;    ///< says when to replace: no policy with its own signal
    bool fixed = false;      ///< a rule the user asked for: no guard overrules it
    /// Whether it says when to replace where that depends on its parameters; none: it does not.
    bool (*decides_if)(const AgentSpec& spec) = nullptr;
    bool predicts = false;  ///< its yes and no say whether the hit rate will rise
};

/// All agents, in the order of the design's table.
[[nodiscard]] std::span<const AgentInfo* const> all_agents() noexcept;
/// The agent of that name; a usage Error that lists the known ones otherwise.
[[nodiscard]] const AgentInfo& agent_info(std::string_view name, const std::string& where);

/// An agent with its parameters.
class AgentSpec : public Spec {
public:
    /// Parses; a usage Error names what is wrong and lists the known names, keys or ranges.
    [[nodiscard]] static AgentSpec parse(std::string_view text,
                                         const std::string& where = "--agent");

    [[nodiscard]] const AgentInfo& info() const noexcept {
        return static_cast<const AgentInfo&>(Spec::info());
    }
    /// The members of a mixture.
    [[nodiscard]] std::vector<AgentSpec> members() const;
    /// Whether it, or a member, says when to replace.
    [[nodiscard]] bool decides() const {
        return info().decides || (info().decides_if != nullptr && info().decides_if(*this));
    }

private:
    explicit AgentSpec(Spec spec) : Spec(std::move(spec)) {}
};

/// What an agent may know from the start.
struct AgentFacts {
    std::uint64_t seed = 0;
    Setting start;                                                 ///< as configured
    buffer::PolicySpec built_in{*buffer::all_policies().front()};  ///< the rule to fall back to
    KnobLimits limits;
    CostKind cost = CostKind::rows;
    std::uint64_t steps = 0;
    std::uint64_t steps_per_epoch = 0;
    std::uint32_t rank = 0;  ///< whose buffer it is
    std::string run;         ///< identifies the run's data and seed, for decision logs
    bool force = false;      ///< take a log of another run
    LlmOptions llm;          ///< how language models are reached
    bool refit = false;      ///< classifiers fit their last layer again while they run
    std::atomic<std::uint64_t>* refit_cpu = nullptr;  ///< where the CPU time of that is added
    bool repeatable = true;  ///< the same questions get the same answers: nothing goes by the clock
    /// What the agent's own shadows have taken, in nanoseconds; null: nothing goes by the clock.
    const std::atomic<std::uint64_t>* shadow_cpu = nullptr;
};

/// Makes the agent of a spec. A usage or input Error where it lacks what it needs.
[[nodiscard]] std::unique_ptr<Agent> make_agent(const AgentSpec& spec, const AgentFacts& facts);

/// Refuses (usage Error) an agent that says when to replace beside a policy with its own signal.
void check_agent(const AgentSpec& agent, const buffer::PolicySpec& policy);
/// Agents with what they are, need and cost, as `agent list` prints them.
[[nodiscard]] Json agents_json();

}  // namespace rudder::steer
