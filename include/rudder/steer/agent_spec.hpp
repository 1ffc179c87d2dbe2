// How an agent is written: name[:value]{,key:value}, members of a mixture joined by '+'. Members
// come last; a key behind the last of them is its own if it has one of that name, else the
// mixture's.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rudder/steer/agent.hpp"
#include "rudder/steer/llm/options.hpp"

namespace rudder::steer {

/// One parameter of an agent. Values stay text; numbers are checked against their range.
struct AgentParameter {
    enum class Kind : std::uint8_t { whole, real, word, file, agents, flag };
    std::string_view name;
    Kind kind = Kind::whole;
    double minimum = 0;
    double maximum = 0;
    std::string_view fallback;  ///< where it is not given; empty: none
    std::string_view help;      ///< a few words; the words of `word`, separated by '|', in front
};

struct AgentInfo {
    std::string_view name;
    std::string_view sentence;  ///< what it is
    std::string_view needs;     ///< before it can run: nothing, a file, a trained model, a server
    std::string_view costs;     ///< of one decision
    std::span<const AgentParameter> parameters;
    bool has_value = false;  ///< name:value sets the first parameter
    bool value_required = false;
    bool decides = false;  ///< says when to replace: no policy with its own signal
    bool fixed = false;    ///< a rule the user asked for: no guard overrules it
};

/// All agents, in the order of the design's table.
[[nodiscard]] std::span<const AgentInfo* const> all_agents() noexcept;
/// The agent of that name; a usage Error that lists the known ones otherwise.
[[nodiscard]] const AgentInfo& agent_info(std::string_view name, const std::string& where);

class AgentSpec {
public:
    /// Parses; a usage Error names what is wrong and lists the known names, keys or ranges.
    [[nodiscard]] static AgentSpec parse(std::string_view text,
                                         const std::string& where = "--agent");
    explicit AgentSpec(const AgentInfo& info);

    [[nodiscard]] const AgentInfo& info() const noexcept { return *info_; }
    [[nodiscard]] std::string_view name() const noexcept { return info_->name; }
    [[nodiscard]] bool given(std::string_view parameter) const;
    [[nodiscard]] std::string text(std::string_view parameter) const;  ///< given or fallback
    [[nodiscard]] double number(std::string_view parameter) const;
    [[nodiscard]] std::uint64_t whole(std::string_view parameter) const {
        return static_cast<std::uint64_t>(number(parameter));
    }
    /// The members of a mixture.
    [[nodiscard]] const std::vector<AgentSpec>& members() const noexcept { return members_; }
    /// Whether it, or a member, says when to replace.
    [[nodiscard]] bool decides() const noexcept;
    /// The canonical text.
    [[nodiscard]] std::string text() const;
    friend bool operator==(const AgentSpec& a, const AgentSpec& b) { return a.text() == b.text(); }

private:
    [[nodiscard]] std::size_t index(std::string_view parameter) const noexcept;
    [[nodiscard]] std::size_t required(std::string_view parameter, const std::string& where) const;
    void set(std::string_view parameter, std::string_view value, const std::string& where);
    void set_key(std::string_view word, const std::string& where);
    void set_members(std::string_view text, const std::string& where);

    const AgentInfo* info_;
    std::vector<std::optional<std::string>> values_;  ///< by parameter
    std::vector<AgentSpec> members_;
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
};

/// Makes the agent of a spec. A usage or input Error where it lacks what it needs.
[[nodiscard]] std::unique_ptr<Agent> make_agent(const AgentSpec& spec, const AgentFacts& facts);

/// Refuses (usage Error) an agent that says when to replace beside a policy with its own signal.
void check_agent(const AgentSpec& agent, const buffer::PolicySpec& policy);
/// Agents with what they are, need and cost, as `agent list` prints them.
[[nodiscard]] Json agents_json();

}  // namespace rudder::steer
